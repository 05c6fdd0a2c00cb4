// SPDX-License-Identifier: Apache-2.0
// Proves L3 and L4: no budget, however awkward, is overcommitted, and none is wasted.
// Guards: pinned KV ignored by the split (cases pin-1), a slot cap whose bytes were lost (cap-1).

#include "fixtures.hpp"

#include <allot/laws.hpp>

namespace {

using namespace proofs;

template <auto const& Table>
consteval bool never_over_and_maximal(demand d, objective o, std::int64_t to, std::int64_t step) {
  return for_budgets(-50, to, step, [&](bytes b) {
    auto const p = solve(Table, b, d, o);
    return !p || (laws::never_over_budget(Table, *p) && laws::is_maximal(Table, d, *p) &&
                  laws::slots_in_range(Table, *p) && laws::differences_are_noted(Table, d, o, *p));
  });
}

static_assert(never_over_and_maximal<seed>({.min_tokens = {256}}, objective::experts_first, 9'000,
                                           13));
static_assert(never_over_and_maximal<seed>({.min_tokens = {1}, .target_tokens = tokens{1000}},
                                           objective::context_first, 9'000, 13));
static_assert(never_over_and_maximal<seed>({.min_tokens = {1}, .max_tokens = tokens{700}},
                                           objective::context_first, 9'000, 17));
static_assert(never_over_and_maximal<mixed>({.min_tokens = {20}}, objective::experts_first, 60'000,
                                            307));
static_assert(never_over_and_maximal<mixed>({.min_tokens = {20}, .target_tokens = tokens{90}},
                                            objective::context_first, 60'000, 307));
static_assert(never_over_and_maximal<dense>({.min_tokens = {1}}, objective::experts_first, 6'000,
                                            13));

// cap-1: a kernel addresses at most 992 slots; the bytes roll into the context.
constexpr auto capped = solve_or_stop(
    make_table(raw_pages{.page_bytes = bytes{20'480}}, expert_bank{.slot_bytes = bytes{1'769'472},
                                                                   .per_layer = 256,
                                                                   .layers = 40,
                                                                   .max_slots = expert_slots{992}}),
    20_GiB);
static_assert(capped.slots == expert_slots{992} && capped.pages == usable_pages{962'866});

// floor-1: two layers of slots do not fit but one does: the preferred buffer is dropped, said so.
constexpr auto dropped = solve_or_stop(
    make_table(raw_pages{.page_bytes = bytes{765'952}, .page_tokens = 64},
               expert_bank{.slot_bytes = bytes{14'172'160}, .per_layer = 288, .layers = 44}),
    bytes{5'840'260'300});
static_assert(dropped.slots == expert_slots{405} && dropped.pages == usable_pages{130});
static_assert(!dropped.prefill_buffer && dropped.has_note(note_code::prefill_buffer_dropped));

// Under context_first the buffer may cost slots, never context: judged beside the target.
constexpr auto judged = solve_or_stop(
    make_table(raw_pages{.page_bytes = bytes{10}, .sentinel_pages = 0},
               expert_bank{.slot_bytes = bytes{100}, .per_layer = 4, .layers = 10}),
    bytes{1000}, {.min_tokens = {1}, .target_tokens = tokens{40}}, objective::context_first);
static_assert(!judged.prefill_buffer && judged.pages == usable_pages{40} &&
              judged.slots == expert_slots{6});

// A ratio is one IEEE product, truncated, applied once.
static_assert(budget::share_of({100}, .57, {}).net() == checked{56});
static_assert(budget::share_of({100}, .29, {}).net() == checked{28});
static_assert(budget::share_of({12'348'030'976}, .9, {}).net() == checked{11'113'227'878});
static_assert(budget::share_of({25'757'220'864}, .85, {}).net() == checked{21'893'637'734});
static_assert(budget::share_of({100}, .5, {80}).net() == checked{-30});

}  // namespace
