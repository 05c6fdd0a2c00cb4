// SPDX-License-Identifier: Apache-2.0
// A plan or its refusal as one screen of text: at most 80 columns.
#pragma once

#include "plan_request.hpp"
#include "terminal.hpp"

#include <allot/model/geometry.hpp>

#include <string>

namespace allot::tools {

/// \returns the text of a plan that fits
[[nodiscard]] std::string plan_text(model::model_geometry const& model, plan_options const& options,
                                    solved_plan const& planned, painter const& paint);

/// \returns the text of a plan that does not fit: what is short, and what repairs it
[[nodiscard]] std::string shortage_text(model::model_geometry const& model,
                                        plan_options const& options, solved_plan const& refused,
                                        painter const& paint);

/// \returns why the options cannot be used together, in one sentence, and what would be right
[[nodiscard]] std::string misuse_text(model::model_geometry const& model,
                                      plan_options const& options, solved_plan const& refused);

}  // namespace allot::tools
