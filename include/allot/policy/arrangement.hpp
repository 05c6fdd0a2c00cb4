// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace allot {

// g++ 12 counts a scoped enumerator as shadowing a type of its name.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"

/// How the extents of a table share the arena.
enum class arrangement : std::uint8_t {
  /// Every array contiguous, one after the other, each rounded up to the granularity.
  flat,
  /// The rows of a page lie together, one block a page; pages grow up, expert slots down, and what
  /// is neither lies below both. Only these faces are rounded. The boundary can move.
  page_major,
  /// Flat with one array a layer: [layer][page].
  layer_major,
};

#pragma GCC diagnostic pop

/// Bytes that every stride and every array of a page_major arena is a multiple of: one vector load.
inline constexpr std::int64_t stride_bytes = 16;

}  // namespace allot
