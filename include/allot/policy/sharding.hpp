// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/core/maybe.hpp>

#include <cstdint>

namespace allot {

/// Heads one rank holds under tensor parallelism: an equal share, or one head replicated over the
/// ranks that outnumber the heads. Absent when neither divides the other (`kv_head_split`).
///
/// \param heads  heads of the whole model       [>= 1]
/// \param ranks  tensor-parallel size           [>= 1]
/// \source       cases tp-1: (8, 16) -> 1, (8, 3) and (6, 4) refused
constexpr maybe<std::int64_t> local_heads(std::int64_t heads, std::int64_t ranks) {
  if (ranks <= heads) {
    if (heads % ranks != 0) { return {}; }
    return heads / ranks;
  }
  if (ranks % heads != 0) { return {}; }
  return std::int64_t{1};
}

}  // namespace allot
