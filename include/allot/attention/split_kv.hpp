// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/core/checked.hpp>
#include <allot/core/host_device.hpp>
#include <allot/core/rounding.hpp>
#include <allot/core/units.hpp>

#include <cstdint>

namespace allot {

/// How a decode step is cut along the KV of its requests. The numbers are those of the captured
/// graph: they do not follow the lengths, so that grid and workspace stay as they are.
struct split_kv {
  std::int64_t requests = 0;  ///< rows of the batch                                  [>= 0]
  std::int64_t parts = 1;     ///< equal shares of the batch's KV                     [>= 1]
  /// Each request in so many pieces, whatever else is in the batch: a row's result then does not
  /// depend on its neighbours. 0: even shares; else `parts == requests * splits_per_request`.
  std::int64_t splits_per_request = 0;

  friend constexpr bool operator==(split_kv, split_kv) = default;
};

/// Tokens that are never cut: what a part is counted in.
inline constexpr std::int32_t split_block_tokens = 64;

/// What one more (part, request) pair costs beside its tokens, in blocks.
inline constexpr std::int32_t split_overhead_blocks = 2;

/// What one part of a decode step works on: from a block of a first request to a block of a last
/// one. The requests between, and where there are two the end of the first, are its own entirely.
struct split_part {
  std::int32_t first_request = 0;
  std::int32_t first_block = 0;    ///< in the first request, of those it sees
  std::int32_t last_request = -1;  ///< < first_request: the part is empty
  std::int32_t end_block = 0;      ///< in the last request
  std::int32_t first_piece = 0;    ///< pieces of the first request that are with earlier parts

  friend constexpr bool operator==(split_part const&, split_part const&) = default;
};

/// Where the workspace of a decode step has what. A piece is what one part has of one request:
/// there are at most requests + parts.
///
///     float accumulators[pieces][query_heads][v_head_dim]   unnormalised
///     float maxima[pieces][query_heads]
///     float sums[pieces][query_heads]
///     split_part parts[parts]
///     int32 first_piece[requests + 1]                        of each request; the last one: all
struct split_workspace {
  std::int64_t pieces = 0;
  std::int64_t maxima = 0;  ///< bytes from the start, as the next ones
  std::int64_t sums = 0;
  std::int64_t parts = 0;
  std::int64_t first_piece = 0;
  checked bytes{};  ///< of all of it; a multiple of 16
};

/// \param query_heads  of one rank   [>= 1]
/// \param v_head_dim   elements      [>= 1]
constexpr split_workspace split_workspace_of(split_kv const& s, std::int64_t query_heads,
                                             std::int64_t v_head_dim) {
  checked const pieces = checked{s.requests} + s.parts;
  checked const scalars = pieces * query_heads * std::int64_t{sizeof(float)};
  split_workspace out;
  checked const maxima = scalars * v_head_dim;
  checked const sums = maxima + scalars;
  checked const parts = sums + scalars;
  checked const first_piece = parts + checked{s.parts} * std::int64_t{sizeof(split_part)};
  out.bytes =
      round_up(first_piece + (checked{s.requests} + 1) * std::int64_t{sizeof(std::int32_t)}, 16);
  out.pieces = pieces.value;
  out.maxima = maxima.value;
  out.sums = sums.value;
  out.parts = parts.value;
  out.first_piece = first_piece.value;
  return out;
}

/// Bytes of the workspace of a decode step: a `charge` in the plan, and what the launcher asks for.
///
///     round_up((requests + parts) * query_heads * (v_head_dim + 2) * 4
///              + parts * 20 + (requests + 1) * 4, 16)
constexpr checked_quantity<unit::byte> decode_workspace_bytes(split_kv const& s,
                                                              std::int64_t query_heads,
                                                              std::int64_t v_head_dim) {
  return {split_workspace_of(s, query_heads, v_head_dim).bytes};
}

/// Cuts a batch. Both ways run on the host and, in one warp, on a device.
///
/// \param s          parts >= 1
/// \param blocks_of  (request) -> blocks that it sees; asked in order, each once a walk
/// \param take_part  (part, split_part): every part, once, in order
/// \param take_first (request, pieces before it): requests 0 … requests, in order
/// \ensures  every block of every request is in one part, and a request of no blocks in none
///           pieces <= requests + parts
/// \cost     O(requests + parts), two walks
#ifdef __CUDACC__
#pragma nv_exec_check_disable  // of what it is handed, a kernel's part runs on the device only
#endif
template <class Blocks, class TakePart, class TakeFirst>
ALLOT_HOST_DEVICE constexpr void split_batch(split_kv const& s, Blocks&& blocks_of,
                                             TakePart&& take_part, TakeFirst&& take_first) {
  auto const requests = static_cast<std::int32_t>(s.requests);
  auto const parts = static_cast<std::int32_t>(s.parts);
  std::int32_t pieces = 0;
  if (s.splits_per_request > 0) {
    auto const splits = static_cast<std::int32_t>(s.splits_per_request);
    for (std::int32_t r = 0; r < requests; ++r) {
      take_first(r, pieces);
      std::int32_t const blocks = blocks_of(r);
      std::int32_t const each = (blocks + splits - 1) / splits;
      for (std::int32_t i = 0; i < splits; ++i) {
        std::int32_t const from = each * i < blocks ? each * i : blocks;
        std::int32_t const to = blocks - from > each ? from + each : blocks;
        take_part(r * splits + i, from < to ? split_part{r, from, r, to, i} : split_part{});
        pieces += from < to ? 1 : 0;
      }
    }
    take_first(requests, pieces);
    return;
  }

  std::int64_t cost = 0;
  for (std::int32_t r = 0; r < requests; ++r) {
    std::int32_t const blocks = blocks_of(r);
    cost += blocks > 0 ? std::int64_t{blocks} + split_overhead_blocks : 0;
  }
  std::int64_t const share = (cost + parts - 1) / parts + split_overhead_blocks;

  std::int32_t part = 0;
  std::int64_t left = share;  // of the part, in blocks
  split_part open{};
  for (std::int32_t r = 0; r < requests; ++r) {
    take_first(r, pieces);
    std::int32_t const blocks = blocks_of(r);
    std::int32_t from = 0;
    for (std::int32_t piece = 0; from < blocks; ++piece) {
      if (left <= split_overhead_blocks) {  // room for not one block: the next part
        take_part(part++, open);
        open = {};
        left = share;
      }
      if (open.last_request < open.first_request) { open = {r, from, r, 0, piece}; }
      std::int64_t const room = left - split_overhead_blocks;
      std::int32_t const taken =
          room < blocks - from ? static_cast<std::int32_t>(room) : blocks - from;
      from += taken;
      left -= taken + split_overhead_blocks;
      open.last_request = r;
      open.end_block = from;
      ++pieces;
    }
  }
  take_first(requests, pieces);
  for (; part < parts; ++part) {
    take_part(part, open);
    open = {};
  }
}

}  // namespace allot
