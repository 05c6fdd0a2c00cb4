// SPDX-License-Identifier: Apache-2.0
// Proves L6: a pin is met exactly or refused; it is never overridden and never ignored.
// Guards: an explicit 262144 tokens that the split did not see (case pin-1: 6.4 GB over).

#include "fixtures.hpp"

#include <allot/laws.hpp>

namespace {

using namespace proofs;

constexpr auto reported = solve_or_stop(
    make_table(raw_pages{.page_bytes = bytes{1'622'016}, .page_tokens = 64},
               expert_bank{.slot_bytes = bytes{2'772'480}, .per_layer = 512, .layers = 48}),
    30_GiB, {.pinned_tokens = tokens{262'144}});
static_assert(reported.slots == expert_slots{9221} && reported.pages == usable_pages{4096});

consteval bool pages_pin_holds(std::int64_t pages) {
  demand const d{.pinned_pages = usable_pages{pages}};
  return for_budgets(0, 3'000, 7, [&](bytes b) {
    auto const p = solve(seed, b, d);
    // The pin replaces the default floor of 8192 tokens, and costs itself and its sentinel.
    bool const fits = b.count >= 200 + (pages + 1) * 10;
    return p.ok == fits && (!p || laws::pins_hold(seed, d, *p)) &&
           (p || p.error.error == solve_error::pins_exceed_budget);
  });
}
static_assert(pages_pin_holds(1) && pages_pin_holds(5) && pages_pin_holds(77));

constexpr auto pinned_slots(std::int64_t slots, prefill_buffer buffer) {
  return make_table(raw_pages{.page_bytes = bytes{10}, .page_tokens = 64},
                    expert_bank{.slot_bytes = bytes{100},
                                .per_layer = 2,
                                .layers = 25,
                                .pinned_slots = expert_slots{slots},
                                .buffer = buffer});
}
constexpr demand small{.min_tokens = {64}};
static_assert(solve_or_stop(pinned_slots(7, prefill_buffer::preferred), bytes{2'000}, small)
                  .slots == expert_slots{7});
static_assert(
    solve_or_stop(pinned_slots(4, prefill_buffer::preferred), bytes{2'000}, small).prefill_buffer);
static_assert(
    !solve_or_stop(pinned_slots(3, prefill_buffer::preferred), bytes{2'000}, small).prefill_buffer);
static_assert(solve(pinned_slots(3, prefill_buffer::required), bytes{2'000}, small).error.error ==
              solve_error::slots_out_of_range);
static_assert(solve(pinned_slots(1, prefill_buffer::off), bytes{2'000}, small).error.error ==
              solve_error::slots_out_of_range);
static_assert(solve(pinned_slots(51, prefill_buffer::off), bytes{9'000}, small).error.error ==
              solve_error::slots_out_of_range);

// Not a page multiple names the two nearest values, never 0.
constexpr auto odd = solve(seed, 1_MiB, {.pinned_tokens = tokens{100}});
static_assert(odd.error.error == solve_error::not_a_page_multiple);
static_assert(odd.error.low == 64 && odd.error.high == 128 && odd.error.repair_count == 2);
constexpr auto tiny = solve(seed, 1_MiB, {.pinned_tokens = tokens{10}});
static_assert(tiny.error.low == 64 && tiny.error.high == 64 && tiny.error.repair_count == 1);

}  // namespace
