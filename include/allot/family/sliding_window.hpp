// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/family/index_slab.hpp>
#include <allot/policy/sharding.hpp>

namespace allot {

/// Sliding-window layers beside full-attention ones: a pool of token rows of its own, a map from
/// the anchor's tokens to those rows, and the list of free ones. It follows the anchor's pages and
/// cannot be the anchor.
///
/// With a prefix cache a request holds f = round_up(window + retain_gap, P) + window +
/// eviction_interval + 2 P tokens, and the pool
///
///     rows = max(max_running * f, pinned or trunc(ratio * physical pages * P)) + sentinel_rows
///
/// without one, (max_running + 1) * round_up(window + chunk + 1, 32), sentinels in.
///
/// \source  docs/formulas.md; cases window-1 to window-3
struct sliding_window {
  static constexpr std::int32_t max_extents = 3;

  std::int64_t layers = 0;           ///< layers that attend a window                      [>= 1]
  std::int64_t kv_heads = 0;         ///< KV heads of the whole model                      [>= 1]
  std::int64_t head_dim = 0;         ///< elements of a K row                              [>= 1]
  maybe<std::int64_t> v_head_dim{};  ///< elements of a V row; absent: as K, 0: V is K     [>= 0]
  element dtype = element::bf16;
  std::int64_t tp = 1;             ///< tensor-parallel ranks                            [>= 1]
  std::int64_t window_tokens = 0;  ///< tokens a layer attends                           [>= 1]
  maybe<std::int64_t> prefill_chunk_tokens{};  ///< without a prefix cache                [>= 1]
  std::int64_t max_running = 1;   ///< requests that run at once                        [>= 1]
  maybe<double> ratio{};          ///< rows per token of the anchor pool                (0, 1]
  maybe<tokens> pinned_tokens{};  ///< exactly these rows, if the floor allows          [>= 1]
  bool prefix_cached = true;
  std::int64_t retain_gap = 16;  ///< tokens kept beyond the window                    [>= 0]
  std::int64_t eviction_interval = 128;  ///< tokens between evictions                    [>= 0]
  std::int64_t sentinel_rows = 1;  ///< rows never handed out                            [>= 0]
  std::int64_t map_bytes = 8;      ///< bytes of one map entry                           [>= 0]
  text name = "sliding_window";

  /// It has no pages of its own; the anchor's are asked for in `lower`.
  constexpr allot::paging paging() const { return {}; }

  /// Bytes of one token row over all layers, on one rank.
  ///
  /// \requires  kv_heads and tp split (`local_heads`)
  constexpr checked token_bytes() const {
    return detail::kv_row_bytes(dtype, head_dim, v_head_dim, 0) * local_heads(kv_heads, tp).value *
           layers;
  }

  /// Rows the running requests need whatever the ratio says.
  constexpr checked floor_rows(std::int64_t page_tokens) const {
    checked const window = window_tokens;
    if (!prefix_cached) {
      return (checked{max_running} + 1) *
             round_up(window + prefill_chunk_tokens.value_or(0) + 1, 32);
    }
    return checked{max_running} * (round_up(window + retain_gap, page_tokens) + window +
                                   eviction_interval + checked{page_tokens} * 2);
  }

  constexpr lowered lower(lowering const& in, extent* out) const {
    fault_check check{"kv", in.index};
    check_fields(in, check);
    if (!check.ok()) { return {.found = check.found}; }
    if (!local_heads(kv_heads, tp)) {
      check.report(solve_error::kv_head_split, "tp", tp, "a divisor or a multiple of kv_heads");
      return {.found = check.found};
    }
    std::int64_t const page_tokens = in.anchor_page_tokens;
    checked const row = token_bytes();
    checked const floor = floor_rows(page_tokens);
    checked const map_tail = checked{page_tokens} + 1;
    if (row.overflowed || floor.overflowed || map_tail.overflowed) {
      check.report(solve_error::overflow, "", 0, "a window pool of less than 2^63 bytes");
      return {.found = check.found};
    }
    out[0] = {
        .name = "window rows", .row_bytes = row.value, .rows = rows(page_tokens, floor.value)};
    if (in.by_layer()) {
      out[0].row_bytes = row.value / layers;
      out[0].copies = layers;
    }
    out[1] = {.name = "window map",
              .row_bytes = map_bytes,
              .rows = {.of = rows_of::anchor_physical, .mul = page_tokens, .plus = map_tail.value}};
    out[2] = {.name = "window free list",
              .row_bytes = 4,
              .rows = {.of = rows_of::extent, .extent_index = 0, .plus = -sentinel_rows}};
    return {.pool = {.name = name,
                     .family = "sliding_window",
                     .unit = pool_unit::tokens,
                     .sentinel = sentinel_rows,
                     .extents = 3}};
  }

 private:
  constexpr rows_rule rows(std::int64_t page_tokens, std::int64_t floor) const {
    if (!prefix_cached) { return {.mul = 0, .at_least = floor}; }
    if (pinned_tokens) {
      return {.mul = 0,
              .at_least = floor > pinned_tokens->count ? floor : pinned_tokens->count,
              .plus = sentinel_rows};
    }
    return {.of = rows_of::anchor_physical,
            .mul = page_tokens,
            .ratio = *ratio,
            .at_least = floor,
            .plus = sentinel_rows};
  }

  constexpr void check_fields(lowering const& in, fault_check& check) const {
    if (in.index == 0) {
      check.report(solve_error::bad_input, "family", 0,
                   "a family with pages of its own: a sliding window follows kv[0]");
    }
    check.positive("layers", layers);
    check.positive("kv_heads", kv_heads);
    check.positive("head_dim", head_dim);
    check.not_negative("v_head_dim", v_head_dim.value_or(0));
    check.positive("tp", tp);
    check.positive("window_tokens", window_tokens);
    check.positive("max_running", max_running);
    check.not_negative("retain_gap", retain_gap);
    check.not_negative("eviction_interval", eviction_interval);
    check.not_negative("sentinel_rows", sentinel_rows);
    check.not_negative("map_bytes", map_bytes);
    if (pinned_tokens) { check.positive("pinned_tokens", pinned_tokens->count); }
    if (ratio && !(*ratio > 0 && *ratio <= 1)) {
      check.report(solve_error::bad_input, "ratio", 0, "a number above 0 and at most 1");
    }
    if (prefill_chunk_tokens) { check.positive("prefill_chunk_tokens", *prefill_chunk_tokens); }
    if (!prefix_cached && !prefill_chunk_tokens) {
      check.report(solve_error::bad_input, "prefill_chunk_tokens", 0,
                   "the tokens of one prefill chunk, without a prefix cache");
    }
    if (prefix_cached && ratio.given == pinned_tokens.given) {
      check.report(solve_error::bad_input, "ratio", 0, "either ratio or pinned_tokens");
    }
  }
};
static_assert(describes_pool_family<sliding_window>);

}  // namespace allot
