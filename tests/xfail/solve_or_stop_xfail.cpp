// SPDX-License-Identifier: Apache-2.0
// A plan that does not fit does not compile, and the compiler names the rule that broke.

#include <allot/allot.hpp>

using namespace allot;

constexpr raw_pages pages{.page_bytes = bytes{10}, .page_tokens = 64};
constexpr auto table =
    make_table(pages, expert_bank{.slot_bytes = bytes{100}, .per_layer = 2, .layers = 25});

#if XFAIL == 0
// 2 slots, 4 pages and a sentinel are 250 bytes.
constexpr auto p = solve_or_stop(table, bytes{249}, {.min_tokens = {256}});
// expected-error-0 {{"floors_exceed_budget"}}
#elif XFAIL == 1
constexpr auto p = solve_or_stop(table, bytes{249}, {.pinned_tokens = tokens{256}});
// expected-error-1 {{"pins_exceed_budget"}}
#elif XFAIL == 2
constexpr auto p = solve_or_stop(table, 1_MiB, {.pinned_tokens = tokens{100}});
// expected-error-2 {{"not_a_page_multiple"}}
#elif XFAIL == 3
constexpr auto p =
    solve_or_stop(table, 1_MiB, {.pinned_pages = usable_pages{4}, .pinned_tokens = tokens{256}});
// expected-error-3 {{"conflicting_pins"}}
#elif XFAIL == 4
constexpr auto p =
    solve_or_stop(make_table(gqa{.layers = 1, .kv_heads = 6, .head_dim = 64, .tp = 4}), 1_GiB);
// expected-error-4 {{"kv_head_split"}}
#elif XFAIL == 5
constexpr auto p = solve_or_stop(make_table(pages, charge{"draft", 2_GiB}), 1_GiB);
// expected-error-5 {{"fixed_exceeds_budget"}}
#elif XFAIL == 6
constexpr auto p = solve_or_stop(table, 1_GiB, {.min_tokens = {INT64_MAX}});
// expected-error-6 {{"unsatisfied::overflow"}}
#elif XFAIL == 7
constexpr auto p =
    solve_or_stop(make_table(gqa{.layers = 1, .kv_heads = 0, .head_dim = 64}), 1_GiB);
// expected-error-7 {{"bad_input"}}
#elif XFAIL == 8
constexpr auto p = solve_or_stop(make_table(pages, expert_bank{.slot_bytes = bytes{100},
                                                               .per_layer = 2,
                                                               .layers = 25,
                                                               .pinned_slots = expert_slots{1}}),
                                 1_GiB);
// expected-error-8 {{"slots_out_of_range"}}
#elif XFAIL == 9
constexpr auto p = solve_or_stop(make_table(pages, expert_bank{.slot_bytes = bytes{100},
                                                               .per_layer = 2,
                                                               .layers = 1,
                                                               .buffer = prefill_buffer::required}),
                                 1_GiB);
// expected-error-9 {{"slot_cap_below_minimum"}}
#endif
