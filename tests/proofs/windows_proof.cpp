// SPDX-License-Identifier: Apache-2.0
// Proves the stepwise pools, sliding windows and compressed tiers, against published numbers.
// Guards: ratio share and floor added where the pool takes their maximum (case window-3), an affine
// shortcut 284 MB below the real pool (tiers-1), a window that cannot hold its own page (window-1).

#include "fixtures.hpp"

#include <allot/laws.hpp>

namespace {

using namespace proofs;

// 43 layers (0,0)+(4,128)*20+(4), head_dim 512, index 128: docs/formulas.md.
struct published_ratios {
  std::int64_t each[43] = {};
  constexpr published_ratios() {
    for (int i = 2; i < 42; i += 2) {
      each[i] = 4;
      each[i + 1] = 128;
    }
    each[42] = 4;
  }
};
constexpr published_ratios ratios;
constexpr compressed_tiers tiers(std::int64_t max_running, double window_ratio) {
  return {.head_dim = 512,
          .index_head_dim = 128,
          .compress_ratios = ratios.each,
          .window_ratio = window_ratio,
          .max_running = max_running,
          .max_seq_tokens = 1 << 20,
          .prefix_cached = true};
}
constexpr std::int64_t window_pages(compressed_tiers const& family, std::int64_t physical) {
  extent extents[compressed_tiers::max_extents] = {};
  static_cast<void>(family.lower({}, extents));
  return rows(extents, 1, {.anchor_pages = physical - 1, .anchor_physical = physical}).value;
}
static_assert(kv_bytes(make_table(tiers(4, .2)), 1172).value == 5'227'637'000);
static_assert(window_pages(tiers(4, .2), 1173) == 235);
static_assert(tiers(4, .2).prefill_chunk_tokens(235) == 13'440);
static_assert(kv_bytes(make_table(tiers(4, .2)), 2499).value == 11'125'781'768);
static_assert(window_pages(tiers(4, .2), 2500) == 500);
static_assert(tiers(4, .2).prefill_chunk_tokens(500) == 30'464);
// tiers-1: 284,421,120 bytes above the affine shortcut.
static_assert(kv_bytes(make_table(tiers(1, .05)), 3985).value == 7'083'139'592);
static_assert(window_pages(tiers(1, .05), 3986) == 200);
// tiers-2: a window collapsed to its floor.
static_assert(kv_bytes(make_table(tiers(50, .12)), 2560).value == 7'756'044'040);
static_assert(window_pages(tiers(50, .12), 2561) == 308);
static_assert(tiers(50, .12).prefill_chunk_tokens(308) == 3'456);
static_assert(kv_bytes(make_table(tiers(50, .02)), 2560).value == 6'917'461'768);
static_assert(window_pages(tiers(50, .02), 2561) == 261);
static_assert(tiers(50, .02).prefill_chunk_tokens(261) == 384);

// window-3: 25 window layers of 8 x 256 at ratio .2 beside a page of one token.
constexpr sliding_window window{.layers = 25,
                                .kv_heads = 8,
                                .head_dim = 256,
                                .window_tokens = 1024,
                                .max_running = 4,
                                .ratio = .2};
static_assert(window.token_bytes().value == 204'800);
static_assert(window.floor_rows(1).value == 4 * (1040 + 1024 + 128 + 2));
static_assert(window.floor_rows(1).value == 8'776);
constexpr auto beside_window = make_table(raw_pages{.page_bytes = bytes{20'480}}, window);
constexpr std::int64_t window_rows(std::int64_t usable) {
  return rows(beside_window.extents + 1, 0, {.anchor_pages = usable, .anchor_physical = usable + 1})
      .value;
}
static_assert(window_rows(8'192) == 8'777 && window_rows(43'879) == 8'777);
static_assert(window_rows(100'000) == 20'001 && window_rows(200'000) == 40'001);

// An anchor at fault is refused by its own name; the window beside it does not divide by its pages.
constexpr auto no_page = solve(
    make_table(gqa{.layers = 1, .kv_heads = 1, .head_dim = 8, .page_tokens = 0}, window), 1_GiB);
static_assert(no_page.error.binding == request_path{"kv", 0, "page_tokens"});

// window-1: a floor that holds the window and its pages, whatever the ratio says.
constexpr sliding_window small_window{
    .layers = 1, .kv_heads = 1, .head_dim = 1, .window_tokens = 128, .ratio = .1};
static_assert(small_window.floor_rows(256).value == 256 + 128 + 128 + 512);

// Stepwise costs keep every law, whatever the budget and the granularity.
constexpr sliding_window odd_window{.layers = 2,
                                    .kv_heads = 1,
                                    .head_dim = 3,
                                    .window_tokens = 5,
                                    .ratio = .37,
                                    .retain_gap = 2,
                                    .eviction_interval = 3};
constexpr auto with_window =
    make_table(gqa{.layers = 3, .kv_heads = 1, .head_dim = 2, .page_tokens = 4}, odd_window,
               expert_bank{.slot_bytes = bytes{997}, .per_layer = 5, .layers = 7});
constexpr std::int64_t small_ratios[] = {0, 4, 128};
constexpr auto with_tiers =
    make_table(compressed_tiers{.head_dim = 2,
                                .index_head_dim = 1,
                                .compress_ratios = small_ratios,
                                .window_tokens = 8,
                                .window_ratio = .3,
                                .max_seq_tokens = 40},
               expert_bank{.slot_bytes = bytes{1'997}, .per_layer = 5, .layers = 7});

template <auto const& Table>
consteval bool laws_hold(std::int64_t granularity, std::int64_t to, std::int64_t step) {
  demand const d{.min_tokens = {30}};
  auto const table = Table.with_granularity(granularity);
  bool planned = false;
  return for_budgets(0, to, step,
                     [&](bytes b) {
                       auto const out = solve(table, b, d);
                       planned = planned || out;
                       return laws::hold({table, b, d, objective::experts_first}, out);
                     }) &&
         planned;
}
static_assert(laws_hold<with_window>(1, 40'000, 997));
static_assert(laws_hold<with_window>(256, 40'000, 997));
static_assert(laws_hold<with_tiers>(1, 60'000, 1'997));
static_assert(laws_hold<with_tiers>(16, 60'000, 1'997));

}  // namespace
