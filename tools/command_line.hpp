// SPDX-License-Identifier: Apache-2.0
// The command line of `allot`.
#pragma once

#include "doctor_options.hpp"
#include "plan_options.hpp"
#include "verify_options.hpp"

#include <optional>
#include <string>

namespace allot::tools {

/// What the command line asks for: exactly one of these.
struct command {
  std::optional<std::string> print;       ///< help or version: print it and be done
  std::optional<plan_options> plan;       ///< `allot plan`
  std::optional<std::string> solve_from;  ///< `allot solve`: a file, or "-"
  std::optional<verify_options> verify;   ///< `allot verify`
  std::optional<doctor_options> doctor;   ///< `allot doctor`
};

/// \errors throws `option_error`, or `usage_error` when the command line cannot be read at all
[[nodiscard]] command read_command_line(int argc, char const* const* argv);

/// A command line that cannot be read; `what()` says why.
class usage_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace allot::tools
