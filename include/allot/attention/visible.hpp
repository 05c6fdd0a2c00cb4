// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/attention/split_kv.hpp>
#include <allot/core/host_device.hpp>

#include <cstdint>

namespace allot {

/// Positions [first, end) of a request's KV.
struct kv_range {
  std::int32_t first = 0;
  std::int32_t end = 0;

  friend constexpr bool operator==(kv_range, kv_range) = default;
};

/// Keys that the query at a position sees. A window of W tokens is [i - W + 1, i], the model's
/// definition: FlashAttention's `window_size` is W - 1.
///
/// \param position       of the query; below 0 it sees nothing
/// \param kv_len         tokens of the request; none is seen at or past it
/// \param window_tokens  [>= 0] 0: no window
/// \param causal         false: it sees the tokens after it, too
/// \source  cases/kernels.md G1: key i - W + 1 is seen, i - W is not
ALLOT_HOST_DEVICE constexpr kv_range visible_keys(std::int32_t position, std::int32_t kv_len,
                                                  std::int32_t window_tokens, bool causal) {
  if (position < 0) { return {}; }
  std::int32_t const end = causal && position < kv_len ? position + 1 : kv_len;
  std::int32_t const before = position - window_tokens + 1;
  std::int32_t const first = window_tokens > 0 && before > 0 ? before : 0;
  return {first < end ? first : end, end};
}

/// A length that stays within what the pages of a row can hold: a length beyond it is not followed.
///
/// \param columns  of the page table, those that were allocated
/// \source  cases/kernels.md F1: padding rows of a captured batch had lengths past the table
ALLOT_HOST_DEVICE constexpr std::int32_t reachable_len(std::int32_t kv_len, std::int32_t columns,
                                                       std::int32_t page_tokens) {
  std::int64_t const most = std::int64_t{columns} * page_tokens;
  if (kv_len < 0) { return 0; }
  return kv_len < most ? kv_len : static_cast<std::int32_t>(most);
}

/// Blocks of `split_block_tokens` that hold the visible keys, the first one being that of
/// `seen.first`: block `b` of them has the positions of block `seen.first / 64 + b`.
ALLOT_HOST_DEVICE constexpr std::int32_t visible_blocks(kv_range seen) {
  if (seen.first >= seen.end) { return 0; }
  return (seen.end - 1) / split_block_tokens - seen.first / split_block_tokens + 1;
}

/// Positions that the visible blocks [first_block, end_block) have of the visible keys.
ALLOT_HOST_DEVICE constexpr kv_range keys_of_blocks(kv_range seen, std::int32_t first_block,
                                                    std::int32_t end_block) {
  std::int64_t const base = seen.first / split_block_tokens;
  std::int64_t const first = (base + first_block) * split_block_tokens;
  std::int64_t const end = (base + end_block) * split_block_tokens;
  return {first > seen.first ? static_cast<std::int32_t>(first) : seen.first,
          end < seen.end ? static_cast<std::int32_t>(end) : seen.end};
}

}  // namespace allot
