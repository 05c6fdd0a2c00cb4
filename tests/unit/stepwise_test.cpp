// SPDX-License-Identifier: Apache-2.0
#include "random.hpp"
#include "tally.hpp"

#include <allot/family/compressed_tiers.hpp>
#include <allot/family/expert_bank.hpp>
#include <allot/family/make_table.hpp>
#include <allot/family/raw_pages.hpp>
#include <allot/family/sliding_window.hpp>
#include <allot/laws.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>

// Pools whose cost is a staircase: windows and compressed tiers, priced by the formulas of the
// reference and solved by counting pages one by one.

using allot_test::dice;

namespace {

std::int64_t up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b * b;
}

/// A table of random families, and what it costs by their formulas.
struct problem {
  allot::raw_pages anchor{};
  allot::compressed_tiers tiers{};
  allot::sliding_window window{};
  allot::raw_pages draft{};
  allot::expert_bank experts{};
  std::int64_t ratios[6] = {};
  bool has_tiers = false;
  bool has_window = false;
  bool has_draft = false;
  bool has_experts = false;
  std::int64_t granularity = 1;
  allot::extent extents[16];
  allot::pool pools[4];

  explicit problem(dice& draw) {
    has_tiers = draw.chance(50);
    has_window = !has_tiers && draw.chance(80);
    has_draft = draw.chance(30);
    has_experts = draw.chance(50);
    granularity = draw.chance(50) ? 1 : draw.one_of<std::int64_t>({16, 256, 512, 2 << 20, 77});
    anchor = {{draw.in(1, 300)}, draw.in(1, 16), draw.in(0, 2)};
    draft = {{draw.in(1, 50)}, draw.in(1, 20), draw.in(0, 2)};
    experts = {.slot_bytes = {draw.in(1, 900)},
               .per_layer = draw.in(1, 4),
               .layers = draw.in(1, 5),
               .buffer = allot::prefill_buffer::off};
    for (std::int64_t& r : ratios) {
      r = draw.one_of<std::int64_t>({0, 4, 128});
    }
    tiers.head_dim = draw.in(1, 8);
    tiers.index_head_dim = draw.in(1, 4);
    tiers.compress_ratios = {ratios, draw.in(1, 6)};
    tiers.window_tokens = draw.one_of<std::int64_t>({4, 16, 128, 128});
    tiers.max_running = draw.in(1, 4);
    tiers.max_seq_tokens = draw.in(1, 5000);
    tiers.prefix_cached = draw.chance(50);
    tiers.sentinel_pages = draw.in(0, 2);
    if (draw.chance(70)) {
      tiers.window_ratio = draw.one_of({.05, .2, .33, .5, 1.0});
    } else {
      tiers.pinned_pages = draw.in(1, 60);
    }
    window = {.layers = draw.in(1, 3),
              .kv_heads = draw.in(1, 3),
              .head_dim = draw.in(1, 4),
              .window_tokens = draw.in(1, 40),
              .max_running = draw.in(1, 3)};
    window.prefix_cached = draw.chance(75);
    window.retain_gap = draw.in(0, 20);
    window.eviction_interval = draw.in(0, 40);
    window.sentinel_rows = draw.in(0, 2);
    if (!window.prefix_cached) {
      window.prefill_chunk_tokens = draw.in(1, 64);
    } else if (draw.chance(70)) {
      window.ratio = draw.one_of({.05, .2, .33, .5, 1.0});
    } else {
      window.pinned_tokens = allot::tokens{draw.in(1, 900)};
    }
  }

  allot::table_view table() {
    allot::table_builder builder{extents, pools, granularity};
    if (has_tiers) {
      builder.add(tiers);
    } else {
      builder.add(anchor);
    }
    if (has_window) { builder.add(window); }
    if (has_draft) { builder.add(draft); }
    if (has_experts) { builder.add(experts); }
    return builder.table();
  }

  allot::paging paging() const { return has_tiers ? tiers.paging() : anchor.paging(); }

  std::int64_t array(std::int64_t bytes) const { return up(bytes, granularity); }

  std::int64_t tiers_bytes(std::int64_t physical) const {
    std::int64_t const page = tiers.window_tokens;
    std::int64_t const kv = 2 * tiers.head_dim;
    std::int64_t const longest = up(tiers.max_seq_tokens, page) / page;
    std::int64_t const floor = (longest < 8 ? longest : 8) + 2 * (tiers.max_running + 1) +
                               (tiers.prefix_cached ? 3 * tiers.max_running : 0) + 1;
    std::int64_t w = tiers.pinned_pages ? *tiers.pinned_pages + 1 : 0;
    if (tiers.window_ratio) {
      double const share = *tiers.window_ratio * static_cast<double>(physical * page);
      w = up(static_cast<std::int64_t>(std::nearbyint(share)), page) / page;
    }
    w = w < floor ? floor : w;
    w = w > physical ? physical : w;
    std::int64_t const q = tiers.max_running + 1;
    std::int64_t bytes = array(8 * (physical * page + 1));
    for (std::int64_t const r : tiers.compress_ratios) {
      bytes += array(w * page * kv);
      if (r == 0) { continue; }
      std::int64_t const ring = r == 4 ? 8 : 128;
      std::int64_t const state = tiers.head_dim * (r == 4 ? 16 : 8);
      bytes += array((physical * page / r + q) * kv) + array((w * ring + 1) * state);
      if (r == 4) {
        bytes += array((physical * page / 4 + q) * 2 * tiers.index_head_dim);
        bytes += array((w * 8 + 1) * 4 * tiers.index_head_dim * 4);
      }
    }
    return bytes;
  }

  std::int64_t window_bytes(std::int64_t physical) const {
    std::int64_t const page = anchor.page_tokens;
    std::int64_t const w = window.window_tokens;
    std::int64_t const running = window.max_running;
    std::int64_t const token = window.layers * window.kv_heads * window.head_dim * 2 * 2;
    std::int64_t const s = window.sentinel_rows;
    std::int64_t rows = 0;
    if (!window.prefix_cached) {
      rows = (running + 1) * up(w + *window.prefill_chunk_tokens + 1, 32);
    } else {
      std::int64_t const floor =
          running * (up(w + window.retain_gap, page) + w + window.eviction_interval + 2 * page);
      std::int64_t share = window.pinned_tokens ? window.pinned_tokens->count : 0;
      if (window.ratio) {
        share = static_cast<std::int64_t>(*window.ratio * static_cast<double>(physical * page));
      }
      rows = (floor > share ? floor : share) + s;
    }
    std::int64_t const free = rows > s ? rows - s : 0;
    return array(rows * token) + array((physical * page + page + 1) * 8) + array(free * 4);
  }

  std::int64_t kv_bytes(std::int64_t pages) const {
    std::int64_t const physical = pages + paging().sentinel_pages;
    std::int64_t bytes =
        has_tiers ? tiers_bytes(physical) : array(physical * anchor.page_bytes.count);
    if (has_window) { bytes += window_bytes(physical); }
    if (has_draft) {
      std::int64_t const tokens = pages * paging().page_tokens;
      bytes += array((up(tokens, draft.page_tokens) / draft.page_tokens + draft.sentinel_pages) *
                     draft.page_bytes.count);
    }
    return bytes;
  }

  std::int64_t expert_bytes(std::int64_t slots) const {
    return has_experts ? array(slots * experts.slot_bytes.count) : 0;
  }
};

}  // namespace

TEST_CASE("windows and tiers cost what their formulas say, and are filled to the last page") {
  dice draw{31};
  allot_test::tally seen;
  std::int64_t kinds[4] = {};
  std::int64_t pairs = 0;
  std::int64_t wrong = 0;
  while (seen.total < 200'000) {
    problem p{draw};
    allot::table_view const table = p.table();
    allot::demand d;
    std::int64_t const floor = draw.in(0, 40);
    d.min_usable_pages = {floor};
    d.min_tokens = {0};
    std::int64_t const layer = p.has_experts ? p.experts.per_layer : 0;
    std::int64_t const all = layer * p.experts.layers;
    std::int64_t const step = p.kv_bytes(floor + 1) - p.kv_bytes(floor);
    std::int64_t const least = p.kv_bytes(floor) + p.expert_bytes(layer);
    std::int64_t budget = least - draw.in(0, 1);
    if (draw.chance(80)) {
      budget = p.kv_bytes(floor + draw.in(0, 30)) + p.expert_bytes(draw.in(layer, all)) +
               draw.in(-1, 1) * draw.one_of<std::int64_t>({0, 1, step});
    }
    allot::outcome before;
    for (int k = 0; k < 2; ++k, budget += draw.in(0, 2 * step + 1)) {
      allot::outcome const out = allot::solve(table, allot::bytes{budget}, d);
      seen.add(out);
      ++kinds[p.has_tiers ? 0 : p.has_window ? 1 : 2];
      kinds[3] += p.has_draft;
      bool good = allot::laws::hold({table, allot::bytes{budget}, d, {}}, out);
      good = good && out.ok == (budget >= least);
      if (out) {
        std::int64_t slots = all;
        while (slots > layer && p.expert_bytes(slots) + p.kv_bytes(floor) > budget) {
          --slots;
        }
        std::int64_t pages = floor;
        while (p.kv_bytes(pages + 1) + p.expert_bytes(slots) <= budget) {
          ++pages;
        }
        good = good && out->slots.count == slots && out->pages.count == pages &&
               out->kv.count == p.kv_bytes(pages);
      }
      if (k > 0) {
        ++pairs;
        good = good && allot::laws::is_monotone(d, allot::objective::experts_first, before, out);
      }
      before = out;
      wrong += !good;
    }
  }
  CHECK(wrong == 0);
  REQUIRE(seen.total >= 200'000);
  REQUIRE(pairs >= 100'000);
  MESSAGE(seen.text());
  for (std::int64_t const kind : kinds) {
    CHECK(kind * 100 >= seen.total);
  }
  CHECK(seen.errors[0] * 2 >= seen.total);
  CHECK(seen.errors[static_cast<int>(allot::solve_error::floors_exceed_budget)] * 20 >= seen.total);
}
