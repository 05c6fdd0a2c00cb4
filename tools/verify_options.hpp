// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace allot::tools {

/// What `allot verify` was asked.
struct verify_options {
  std::string file = "-";       ///< JSON Lines, or "-" for the standard input
  std::optional<int> device{};  ///< a GPU; absent: host memory
};

}  // namespace allot::tools
