// SPDX-License-Identifier: Apache-2.0
// A ledger as aligned lines with bars.
#pragma once

#include "ledger.hpp"
#include "terminal.hpp"

#include <string>
#include <vector>

namespace allot::tools {

/// \param whole  bytes that a full bar stands for
/// \param exact  every byte instead of GiB
/// \returns one line of at most 80 columns for each entry; of many charges the smallest are summed
[[nodiscard]] std::string ledger_text(std::vector<ledger_line> lines, std::int64_t whole,
                                      bool exact, painter const& paint);

}  // namespace allot::tools
