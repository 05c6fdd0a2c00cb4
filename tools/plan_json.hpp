// SPDX-License-Identifier: Apache-2.0
// A plan or its refusal as one line of JSON.
#pragma once

#include "plan_request.hpp"

#include <allot/model/geometry.hpp>

#include <string>

namespace allot::tools {

/// \returns the answer of the solve contract, and behind it `request` (what `allot solve` answers
/// in
///          the same way), `model` and `ledger`; ends in a newline
[[nodiscard]] std::string plan_json(model::model_geometry const& model, plan_options const& options,
                                    solved_plan const& solved);

}  // namespace allot::tools
