// SPDX-License-Identifier: Apache-2.0
// Proves L9: what does not fit 64 signed bits is the error `overflow`; nothing wraps into a plan.
// Guards: floors so large that their product came out small.

#include "fixtures.hpp"

#include <allot/laws.hpp>

namespace {

using namespace proofs;

constexpr std::int64_t huge = INT64_MAX;

constexpr auto error_of(outcome const& out) {
  return out.error.error;
}

static_assert(error_of(solve(make_table(gqa{.layers = huge, .kv_heads = 8, .head_dim = 128}),
                             1_GiB)) == solve_error::overflow);
static_assert(error_of(solve(make_table(mla{.layers = huge, .latent_dim = huge}), 1_GiB)) ==
              solve_error::overflow);
static_assert(error_of(solve(make_table(raw_pages{.page_bytes = bytes{huge}}), 1_GiB)) ==
              solve_error::overflow);  // two pages are past 2^63
static_assert(error_of(solve(make_table(raw_pages{.page_bytes = bytes{10}},
                                        charge{"a", bytes{huge}}, charge{"b", bytes{1}}),
                             1_GiB)) == solve_error::overflow);
static_assert(
    error_of(solve(make_table(raw_pages{.page_bytes = bytes{10}},
                              expert_bank{.slot_bytes = bytes{1}, .per_layer = huge, .layers = 2}),
                   1_GiB)) == solve_error::overflow);
static_assert(error_of(solve(seed, 1_GiB, {.min_tokens = {huge}})) == solve_error::overflow);
static_assert(error_of(solve(seed, 1_GiB, {.pinned_pages = usable_pages{huge}})) ==
              solve_error::overflow);
static_assert(error_of(solve(seed, budget::share_of({huge}, 1.0, {}))) == solve_error::overflow);
static_assert(error_of(solve(make_table(raw_pages{.page_bytes = bytes{10}},
                                        recurrent_state{.layers = huge,
                                                        .key_heads = 2,
                                                        .value_heads = 2,
                                                        .key_head_dim = 128,
                                                        .value_head_dim = 128,
                                                        .conv_kernel = 4}),
                             1_GiB)) == solve_error::overflow);

// An overflowing floor is repaired like any other that is too large.
constexpr auto absurd = solve(seed, bytes{940}, {.min_tokens = {huge}});
static_assert(absurd.error.repair_count == 1);
static_assert(absurd.error.repairs[0] == repair{setting::min_tokens, false, -1, 73 * 64});

// The largest budget there is still plans, and stays inside it.
constexpr auto everything = solve(seed, bytes{huge}, {.min_tokens = {256}});
static_assert(everything.ok && laws::never_over_budget(seed, *everything));
static_assert(everything->slots == expert_slots{50});
// Its pages are bounded by what their tokens can count.
static_assert(everything->usable_tokens.count > huge - 64);

}  // namespace
