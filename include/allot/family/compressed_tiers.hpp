// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/family/family.hpp>

namespace allot {

/// Compressed attention in tiers (DeepSeek-V4-like): every layer keeps a window of full rows;
/// layers with ratio 4 or 128 keep one compressed row per so many tokens and a ring of running
/// states, and those with ratio 4 an index beside it. Its pages are windows.
///
///     w      = min(max(floor, ceil(half_even(window_ratio * N * P) / P)), N)   window pages
///     floor  = min(ceil(max_seq / P), 8) + 2 (max_running + 1) + (cached ? 3 max_running : 0) + 1
///     bytes  = map 8 (N P + 1) + layers * w P * 2 head_dim
///              + per ratio-r layer: (N P / r + q) * 2 head_dim + (w ring(r) + 1) * state(r)
///              + per ratio-4 layer: (N P / 4 + q) * 2 index_head_dim + (8 w + 1) * index state
///
/// with N physical pages, q = max_running + 1 scratch rows, ring(4) = 8, ring(128) = 128. In a
/// page_major arena the scratch rows are arrays of their own, so that a page's rows can interleave.
///
/// \source  docs/formulas.md; cases tiers-1, tiers-2 (the affine shortcut
///          is up to 4.2 % below the real pool)
struct compressed_tiers {
  static constexpr std::int32_t max_extents = 12;

  std::int64_t head_dim = 0;             ///< elements                                   [>= 1]
  std::int64_t index_head_dim = 0;       ///< elements                                   [>= 1]
  view<std::int64_t> compress_ratios{};  ///< [layers] 0, 4 or 128
  std::int64_t window_tokens = 128;      ///< P: tokens of a window, and of a page       [>= 1]
  maybe<std::int64_t> page_tokens{};     ///< must equal window_tokens, when given
  maybe<double> window_ratio{};          ///< window pages per page                      (0, 1]
  maybe<std::int64_t> pinned_pages{};    ///< window pages, if the floor allows          [>= 1]
  std::int64_t max_running = 1;          ///< requests that run at once                  [>= 1]
  std::int64_t max_seq_tokens = 0;       ///< longest sequence                           [>= 1]
  bool prefix_cached = false;
  std::int64_t sentinel_pages = 1;  ///< pages never handed out                     [>= 0]
  text name = "compressed_tiers";

  constexpr allot::paging paging() const {
    return {window_tokens > 0 ? window_tokens : 1, sentinel_pages};
  }

  /// Window pages that are never for one request's window: what running requests and a prefix cache
  /// hold on to.
  constexpr checked reserved_pages() const {
    return (checked{max_running} + 1) * 2 + (prefix_cached ? checked{max_running} * 3 : checked{}) +
           1;
  }
  /// Window pages without which the pool does not run.
  constexpr checked floor_pages() const {
    std::int64_t const longest = divide_up(max_seq_tokens, window_tokens);
    return reserved_pages() + (longest < 8 ? longest : 8);
  }

  /// Tokens of the longest prefill chunk that `window_pages` allow.
  constexpr std::int64_t prefill_chunk_tokens(std::int64_t window_pages) const {
    std::int64_t const free = window_pages - 1 - reserved_pages().value;
    return free < 2 ? window_tokens : free / 2 * window_tokens;
  }

  constexpr lowered lower(lowering const& in, extent* out) const {
    fault_check check{"kv", in.index};
    check_fields(in, check);
    if (!check.ok()) { return {.found = check.found}; }
    std::int64_t const page = window_tokens;
    std::int64_t const compressed_4 = layers_of(4);
    std::int64_t const compressed_128 = layers_of(128);
    checked const full_row = checked{head_dim} * 2;
    checked const window_row = full_row * page;
    checked const index_row = checked{index_head_dim} * 2;
    checked const state_128 = checked{head_dim} * 8;  // K and V of a row, fp32
    checked const state_4 = state_128 * 2;
    checked const index_state = checked{index_head_dim} * 16;
    checked const floor = floor_pages();
    checked const scratch = checked{max_running} + 1;
    if (window_row.overflowed || index_row.overflowed || state_4.overflowed ||
        index_state.overflowed || floor.overflowed || scratch.overflowed) {
      check.report(solve_error::overflow, "", 0, "a pool of less than 2^63 bytes");
      return {.found = check.found};
    }
    auto const tokens_per = [&](std::int64_t ratio) {
      return rows_rule{
          .of = rows_of::anchor_physical, .mul = page, .per = ratio, .plus = scratch.value};
    };
    auto const ring_of = [](std::int64_t per_page) {
      return rows_rule{.of = rows_of::extent, .extent_index = 1, .mul = per_page, .plus = 1};
    };
    out[0] = {.name = "pages", .rows = {.of = rows_of::anchor_physical}};  // counts, holds no bytes
    out[1] = {.name = "window",
              .row_bytes = window_row.value,
              .rows = window_pages(floor.value),
              .copies = compress_ratios.size};
    out[2] = {.name = "token map",
              .row_bytes = 8,
              .rows = {.of = rows_of::anchor_physical, .mul = page, .plus = 1}};
    out[3] = {.name = "compressed by 4",
              .row_bytes = full_row.value,
              .rows = tokens_per(4),
              .copies = compressed_4};
    out[4] = {.name = "compressed by 128",
              .row_bytes = full_row.value,
              .rows = tokens_per(128),
              .copies = compressed_128};
    out[5] = {.name = "index",
              .row_bytes = index_row.value,
              .rows = tokens_per(4),
              .copies = compressed_4};
    out[6] = {.name = "ring of 8",
              .row_bytes = state_4.value,
              .rows = ring_of(8),
              .copies = compressed_4};
    out[7] = {.name = "ring of 128",
              .row_bytes = state_128.value,
              .rows = ring_of(128),
              .copies = compressed_128};
    out[8] = {.name = "index ring",
              .row_bytes = index_state.value,
              .rows = ring_of(8),
              .copies = compressed_4};
    return {.pool = {.name = name,
                     .family = "compressed_tiers",
                     .page_tokens = page,
                     .sentinel = sentinel_pages,
                     .extents = in.arrangement == arrangement::page_major ? part_scratch(out) : 9},
            .stride_field = "window_tokens"};
  }

 private:
  /// Moves the scratch rows of the compressed arrays behind all others.
  ///
  /// \returns  extents there are now
  static constexpr std::int32_t part_scratch(extent* out) {
    constexpr text names[] = {"scratch by 4", "scratch by 128", "index scratch"};
    std::int32_t next = 9;
    for (std::int32_t k = 3; k < 6; ++k) {
      extent& rows = out[k];
      if (rows.rows.mul % rows.rows.per != 0) { continue; }
      out[next] = rows;
      out[next].name = names[k - 3];
      out[next].rows = {.mul = 0, .at_least = rows.rows.plus};
      rows.rows.plus = 0;
      ++next;
    }
    return next;
  }

  constexpr std::int64_t layers_of(std::int64_t ratio) const {
    std::int64_t layers = 0;
    for (std::int64_t const r : compress_ratios) {
      layers += r == ratio ? 1 : 0;
    }
    return layers;
  }

  constexpr rows_rule window_pages(std::int64_t floor) const {
    if (pinned_pages) {
      std::int64_t const pinned = (checked{*pinned_pages} + 1).value;
      return {.mul = 0, .at_least = floor > pinned ? floor : pinned, .at_most_rows_of = 0};
    }
    return {.of = rows_of::anchor_physical,
            .mul = window_tokens,
            .ratio = *window_ratio,
            .ratio_rounding = rounding::half_even,
            .per = window_tokens,
            .per_rounding = rounding::up,
            .at_least = floor,
            .at_most_rows_of = 0};
  }

  constexpr void check_fields(lowering const& in, fault_check& check) const {
    if (in.index != 0) {
      check.report(solve_error::bad_input, "family", 0,
                   "compressed_tiers as kv[0]: it is an anchor");
    }
    check.positive("head_dim", head_dim);
    check.positive("index_head_dim", index_head_dim);
    check.positive("compress_ratios", compress_ratios.size);
    for (std::int64_t const r : compress_ratios) {
      if (r != 0 && r != 4 && r != 128) {
        check.report(solve_error::bad_input, "compress_ratios", r, "0, 4 or 128 for each layer");
      }
    }
    check.positive("window_tokens", window_tokens);
    if (page_tokens && *page_tokens != window_tokens) {
      check.report(solve_error::bad_input, "page_tokens", *page_tokens, "window_tokens, or absent");
    }
    if (window_ratio && !(*window_ratio > 0 && *window_ratio <= 1)) {
      check.report(solve_error::bad_input, "window_ratio", 0, "a number above 0 and at most 1");
    }
    if (pinned_pages && (*pinned_pages < 1 || *pinned_pages == unlimited)) {
      check.report(solve_error::bad_input, "pinned_pages", *pinned_pages,
                   "an integer of at least 1");
    }
    if (window_ratio.given == pinned_pages.given) {
      check.report(solve_error::bad_input, "window_ratio", 0,
                   "either window_ratio or pinned_pages");
    }
    check.positive("max_running", max_running);
    check.positive("max_seq_tokens", max_seq_tokens);
    check.not_negative("sentinel_pages", sentinel_pages);
  }
};
static_assert(describes_pool_family<compressed_tiers>);

}  // namespace allot
