// SPDX-License-Identifier: Apache-2.0
// Proves L8: a refusal's numbers are true and its repairs repair.
// Guards: the planner that told its user to shrink the wrong thing (case negative-1), and the one
// that gave up when anything was pinned (pin-2).

#include "fixtures.hpp"

#include <allot/laws.hpp>

namespace {

using namespace proofs;

template <auto const& Table>
consteval bool every_refusal_is_true(demand d, objective o, std::int64_t to, std::int64_t step) {
  bool any = false;
  bool const all = for_budgets(-100, to, step, [&](bytes b) {
    auto const out = solve(Table, b, d, o);
    any = any || !out;
    return laws::hold({Table, b, d, o}, out);
  });
  return any && all;  // a sweep that refuses nothing proves nothing
}
static_assert(every_refusal_is_true<seed>({.min_tokens = {256}}, objective::experts_first, 500, 7));
static_assert(every_refusal_is_true<mixed>({.min_tokens = {90}}, objective::experts_first, 30'000,
                                           997));
static_assert(every_refusal_is_true<mixed>({.pinned_tokens = tokens{70}}, objective::experts_first,
                                           30'000, 997));
static_assert(every_refusal_is_true<dense>({.min_tokens = {30}}, objective::experts_first, 2'000,
                                           17));

consteval bool repairs_with(refusal const& r, repair const& wanted) {
  for (std::int32_t i = 0; i < r.repair_count; ++i) {
    if (r.repairs[i] == wanted) { return true; }
  }
  return false;
}

// 200 bytes of slots and 50 of pages do not fit 230; 4 pages become 2, or the budget grows by 20.
constexpr auto short_by_20 = solve(seed, bytes{230}, {.min_tokens = {256}});
static_assert(short_by_20.error.error == solve_error::floors_exceed_budget);
static_assert(short_by_20.error.needed == bytes{250} && short_by_20.error.shortfall == bytes{20});
static_assert(short_by_20.error.binding == request_path{"experts"});
static_assert(short_by_20.error.repair_count == 2);
static_assert(repairs_with(short_by_20.error, {.set = setting::budget, .to = 250}));
static_assert(repairs_with(short_by_20.error, {.set = setting::min_tokens, .to = 128}));

// negative-1: the charge alone exceeds the budget, and the refusal says so.
constexpr auto window_floor =
    solve(make_table(raw_pages{.page_bytes = bytes{61'448}},
                     expert_bank{.slot_bytes = bytes{3'353'856}, .per_layer = 128, .layers = 30},
                     charge{"window floor of 4 requests", bytes{1'797'324'800}}),
          bytes{832'032'052});
static_assert(window_floor.error.error == solve_error::fixed_exceeds_budget);
static_assert(window_floor.error.shortfall == bytes{965'292'748});
static_assert(window_floor.error.binding == request_path{"charges"});

// A negative budget is a refusal with numbers, not an assertion.
constexpr auto negative = solve(seed, bytes{-7}, {.min_tokens = {256}});
static_assert(negative.error.error == solve_error::fixed_exceeds_budget);
static_assert(negative.error.binding == request_path{"budget"});
static_assert(negative.error.shortfall == bytes{7});
static_assert(repairs_with(negative.error, {.set = setting::budget, .to = 250}));

// Two pins: dropping either works here, so both are offered.
constexpr auto both =
    solve(seed, bytes{940}, {.pinned_pages = usable_pages{4}, .pinned_tokens = tokens{128}});
static_assert(both.error.error == solve_error::conflicting_pins && both.error.repair_count == 2);

// tp-1: six heads on four ranks; the nearest sizes that split are offered, and they solve.
constexpr kv_family six_heads[] = {gqa{.layers = 1, .kv_heads = 6, .head_dim = 64, .tp = 4}};
constexpr auto split = solve({.budget = 1_GiB, .kv = six_heads});
static_assert(split.error.error == solve_error::kv_head_split);
static_assert(split.error.binding == request_path{"kv", 0, "tp"} && split.error.repair_count == 2);
static_assert(repairs_with(split.error, {.set = setting::tp, .index = 0, .to = 3}));
static_assert(repairs_with(split.error, {.set = setting::tp, .index = 0, .to = 6}));

// context_first without a context to put first.
constexpr auto aimless = solve(seed, bytes{940}, {.min_tokens = {64}}, objective::context_first);
static_assert(aimless.error.error == solve_error::bad_input);
static_assert(aimless.error.binding == request_path{"objective"});
static_assert(repairs_with(aimless.error,
                           {.set = setting::objective,
                            .to = static_cast<std::int64_t>(objective::experts_first)}));

// What overflows whatever the heads are is `overflow`, which comes before `kv_head_split`.
static_assert(solve(make_table(gqa{
                        .layers = 1, .kv_heads = 3, .head_dim = 1, .tp = 2, .page_tokens = 64}),
                    bytes{100}, {.pinned_pages = usable_pages{INT64_MAX}})
                  .error.error == solve_error::overflow);
static_assert(solve(make_table(raw_pages{.page_bytes = bytes{1}},
                               gqa{.layers = 1, .kv_heads = 3, .head_dim = 1, .tp = 2}),
                    bytes{100}, {.min_tokens = {10}})
                  .error.error == solve_error::kv_head_split);
// A pin that no count can hold is dropped when the floor can do without it.
constexpr auto heavy =
    solve(make_table(raw_pages{.page_bytes = bytes{INT64_MAX / 2 + 1}}), bytes{INT64_MAX},
          {.min_tokens = {0}, .min_usable_pages = {0}, .pinned_pages = usable_pages{5}});
static_assert(heavy.error.error == solve_error::overflow);
static_assert(repairs_with(heavy.error, {.set = setting::pages, .removes = true}));

}  // namespace
