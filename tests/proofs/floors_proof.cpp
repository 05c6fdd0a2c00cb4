// SPDX-License-Identifier: Apache-2.0
// Proves L5: a promised floor of t tokens holds t tokens, and not a page more is taken for it.
// Guards: floors that held fewer tokens than promised, or a whole page too many.

#include "fixtures.hpp"

#include <allot/laws.hpp>

namespace {

using namespace proofs;

consteval bool floors_are_reachable(std::int64_t page_tokens) {
  paging const policy{.page_tokens = page_tokens};
  for (std::int64_t t = 0; t <= 3 * page_tokens + 2; ++t) {
    if (!laws::floor_is_reachable(policy, {t})) { return false; }
  }
  return laws::floor_is_reachable(policy, {INT64_MAX}) &&
         laws::floor_is_reachable(policy, {INT64_MAX - page_tokens});
}
static_assert(floors_are_reachable(1) && floors_are_reachable(7) && floors_are_reachable(16) &&
              floors_are_reachable(64) && floors_are_reachable(256) && floors_are_reachable(1600));

// The floor is exact: at its own price it is planned, one byte below it is refused.
consteval bool floor_price_is_exact(std::int64_t tokens_wanted) {
  demand const d{.min_tokens = {tokens_wanted}};
  auto const pages = seed.rest.anchor.pages_for(d.min_tokens);
  bytes const price{2 * 100 + (pages.count + 1) * 10};  // one layer of slots, the pages, a sentinel
  auto const at = solve(seed, price, d);
  auto const below = solve(seed, bytes{price.count - 1}, d);
  return at && at->pages == pages && laws::floors_hold(seed, d, *at) && at->left == bytes{0} &&
         !below && below.error.error == solve_error::floors_exceed_budget &&
         below.error.shortfall == bytes{1};
}
static_assert(floor_price_is_exact(1) && floor_price_is_exact(64) && floor_price_is_exact(65) &&
              floor_price_is_exact(256) && floor_price_is_exact(8192));

static_assert(for_budgets(0, 60'000, 307, [](bytes b) {
  demand const d{.min_tokens = {40}, .min_usable_pages = {9}};
  auto const p = solve(mixed, b, d);
  return !p || laws::floors_hold(mixed, d, *p);
}));

// sentinel-5: a context of exactly 262144 tokens, in pages of 64.
constexpr auto exact_context = solve_or_stop(
    make_table(raw_pages{.page_bytes = bytes{1'622'016}, .page_tokens = 64},
               expert_bank{.slot_bytes = bytes{2'772'480}, .per_layer = 512, .layers = 48}),
    bytes{11'294'848'512}, {.min_tokens = {262'144}});
static_assert(exact_context.slots == expert_slots{1677});
static_assert(exact_context.usable_tokens == tokens{262'144});

// admit-1 to admit-3: whole pages per request; too long a request is refused with both numbers.
constexpr paging page_128{.page_tokens = 128};
static_assert(can_serve(page_128, {1}, {1}, {1})->count == 1);
static_assert(!can_serve(page_128, {1}, {100}, {29}));
static_assert(can_serve(page_128, {1}, {100}, {29}).error.needed == usable_pages{2});
static_assert(can_serve({.page_tokens = 64}, {2980}, {190'719}, {1}));
static_assert(!can_serve({.page_tokens = 64}, {2980}, {190'720}, {1}));
static_assert(!can_serve(page_128, {1'000'000}, {INT64_MAX}, {1}));

}  // namespace
