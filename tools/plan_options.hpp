// SPDX-License-Identifier: Apache-2.0
// What `allot plan` was asked.
#pragma once

#include "quantity.hpp"

#include <allot/model/deployment.hpp>
#include <allot/solve/demand.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace allot::tools {

struct plan_options {
  std::string model;                          ///< path of a config.json or its folder, or "-"
  std::int64_t free_bytes = 0;                ///< free before the model is loaded        [>= 0]
  double ratio = 0.9;                         ///< share of it that may be used         (0, 1]
  std::optional<std::int64_t> weights_bytes;  ///< dense weights, taken from the share    [>= 0]
  std::vector<named_bytes> charges;           ///< fixed lines, in the order given
  model::deployment deployment;
  bool max_running_given = false;              ///< to say so when it changes nothing
  std::optional<std::int64_t> context_tokens;  ///< floor or target, by the objective      [>= 1]
  std::optional<std::int64_t> max_tokens;      ///< cap                                    [>= 1]
  std::optional<std::int64_t> pages;           ///< pin                                    [>= 1]
  std::optional<std::int64_t> tokens;          ///< pin                                    [>= 1]
  std::optional<std::int64_t> slots;           ///< pin                                    [>= 1]
  allot::prefill_buffer buffer = allot::prefill_buffer::preferred;
  allot::objective objective = allot::objective::experts_first;
  bool json = false;         ///< one JSON answer instead of text
  bool exact_bytes = false;  ///< bytes instead of GiB in the text
};

}  // namespace allot::tools
