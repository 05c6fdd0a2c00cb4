// SPDX-License-Identifier: Apache-2.0
// The commands of `allot`. Each returns the exit status: 0 it fits (every line was answered), 1 it
// does not fit, 2 the input is wrong.
#pragma once

#include "doctor_options.hpp"
#include "plan_options.hpp"
#include "verify_options.hpp"

#include <string>

namespace allot::tools {

/// `allot plan`: prints whether the model fits, and how. \errors throws what the readers throw
[[nodiscard]] int run_plan(plan_options const& options);

/// `allot solve`: answers the lines of `file`, or of the standard input when it is "-".
[[nodiscard]] int run_solve(std::string const& file);

/// `allot verify`: allocates what `solve` would plan, and answers whether it is as it was planned.
[[nodiscard]] int run_verify(verify_options const& options);

/// `allot doctor`: prints what this machine and this allot offer.
[[nodiscard]] int run_doctor(doctor_options const& options);

}  // namespace allot::tools
