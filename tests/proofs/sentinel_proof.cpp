// SPDX-License-Identifier: Apache-2.0
// Proves L2: what is priced is physical, sentinels in, in every pool.
// Guards: the plan that "fits" and dies at boot (cases seed-1, sentinel-1 to sentinel-8).

#include "fixtures.hpp"

#include <allot/laws.hpp>

namespace {

using namespace proofs;

// sentinel-1: the motivating plan. Without the sentinel it said 9 slots and 4 pages.
constexpr auto motivating = solve_or_stop(seed, bytes{940}, {.min_tokens = {256}});
static_assert(motivating.slots == expert_slots{8});
static_assert(motivating.pages == usable_pages{13});
static_assert(motivating.physical == physical_pages{14});
static_assert(motivating.kv == bytes{140} && motivating.left == bytes{0});

// sentinel-2: a greedy fill overran by exactly one page.
constexpr auto greedy =
    solve_or_stop(make_table(raw_pages{.page_bytes = bytes{10}},
                             expert_bank{.slot_bytes = bytes{100}, .per_layer = 2, .layers = 25}),
                  bytes{1000}, {.min_tokens = {10}});
static_assert(greedy.slots == expert_slots{8} && greedy.pages == usable_pages{19});

// seed-1: a 48 GiB card, 512 experts in 48 layers, 262144 tokens pinned.
constexpr auto reported = solve_or_stop(
    make_table(raw_pages{.page_bytes = bytes{1'622'016}, .page_tokens = 64},
               expert_bank{.slot_bytes = bytes{2'772'480}, .per_layer = 512, .layers = 48}),
    bytes{31'552'000'000}, {.pinned_tokens = tokens{262'144}});
static_assert(reported.slots == expert_slots{8983});
static_assert(reported.pages == usable_pages{4096} && reported.physical == physical_pages{4097});

// sentinel-6: 262144 tokens in pages of 1600 need 165 physical pages, not ceil(262144 / 1600).
constexpr paging wide_pages{.page_tokens = 1600};
static_assert(wide_pages.physical(wide_pages.pages_for({262'144})) == physical_pages{165});
// sentinel-7: 13 pages of 8192, one a sentinel.
static_assert(paging{.page_tokens = 8192}.reachable(paging{.page_tokens = 8192}.usable({13})) ==
              tokens{98'304});

// Every budget, every pool: rows allocated are those usable and the sentinels.
static_assert(for_budgets(0, 60'000, 499, [](bytes b) {
  auto const p = solve(mixed, b, {.min_tokens = {20}});
  return !p || laws::sentinels_are_priced(mixed, *p);
}));

// A sentinel has its price: the same budget with one more of them holds no more pages.
constexpr auto with_sentinels(std::int64_t count) {
  return make_table(raw_pages{.page_bytes = bytes{10}, .sentinel_pages = count});
}
static_assert(for_budgets(40, 2'000, 7, [](bytes b) {
  auto const none = solve(with_sentinels(0), b, {.min_tokens = {1}});
  auto const two = solve(with_sentinels(2), b, {.min_tokens = {1}});
  return none->pages.count == two->pages.count + 2;
}));

}  // namespace
