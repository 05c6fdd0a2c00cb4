// SPDX-License-Identifier: Apache-2.0
// Proves L1: bytes priced are bytes carved, whatever the granularity.
// Guards: engines that size pools by one formula and allocate them by another.

#include "fixtures.hpp"

#include <allot/laws.hpp>

namespace {

using namespace proofs;

static_assert(lay_out(seed, solve_or_stop(seed, bytes{940}, {.min_tokens = {256}})).carved ==
              bytes{940});

consteval bool carves_what_it_priced(std::int64_t granularity) {
  auto const table = mixed.with_granularity(granularity);
  return for_budgets(0, 60'000, 211, [&](bytes b) {
    auto const p = solve(table, b, {.min_tokens = {20}});
    return !p || laws::carved_is_priced(table, *p);
  });
}
static_assert(carves_what_it_priced(1));
static_assert(carves_what_it_priced(16));
static_assert(carves_what_it_priced(48));
static_assert(carves_what_it_priced(512));

// The same tenants with a block a page, and with an array a layer. 16 bytes align the rows.
template <arrangement Arranged>
constexpr auto arranged =
    make_table<Arranged>(gqa{.layers = 3,
                             .kv_heads = 2,
                             .head_dim = 5,
                             .index = index_slab{3, 2},
                             .page_tokens = 8,
                             .sentinel_pages = 2},
                         mla{.layers = 1,
                             .latent_dim = 9,
                             .dtype = element::fp4,
                             .page_tokens = 16,
                             .sentinel_pages = 2},
                         recurrent_state{.layers = 2,
                                         .key_heads = 2,
                                         .value_heads = 4,
                                         .key_head_dim = 3,
                                         .value_head_dim = 5,
                                         .conv_kernel = 4,
                                         .max_running = 3},
                         expert_bank{.slot_bytes = bytes{992}, .per_layer = 5, .layers = 7},
                         charge{"workspace", bytes{1009}});

template <arrangement Arranged>
consteval bool arranged_as_priced(std::int64_t granularity) {
  auto const table = arranged<Arranged>.with_granularity(granularity);
  std::int64_t plans = 0;
  bool const held = for_budgets(0, 60'000, 1511, [&](bytes b) {
    auto const p = attempt(table, b, {.min_tokens = {20}}, objective::experts_first);
    plans += p.ok ? 1 : 0;
    return !p || laws::carved_is_priced(table, *p);
  });
  return held && plans > 20;
}
static_assert(arranged_as_priced<arrangement::page_major>(1));
static_assert(arranged_as_priced<arrangement::page_major>(256));
static_assert(arranged_as_priced<arrangement::layer_major>(1));
static_assert(arranged_as_priced<arrangement::layer_major>(48));

// The layout itself: in table order, touching, each extent where the one before it ended.
constexpr auto plan_of_mixed = solve_or_stop(mixed, bytes{40'000}, {.min_tokens = {20}});
constexpr auto places = lay_out(mixed, plan_of_mixed);
static_assert(places.places[0].offset == 0);
static_assert(places.places[1].offset == places.places[0].end());
static_assert(places.places[2].offset == places.places[1].end());
static_assert(places.places[5].offset == places.places[4].end());
static_assert(places.carved.count == places.places[5].end());
static_assert(places.carved.count == plan_of_mixed.kv.count + plan_of_mixed.experts.count +
                                         plan_of_mixed.fixed.count - 1040);

// round-2: 36 buffers of 400 B a token, each rounded up to 2 MiB: the last 4096 tokens are free.
constexpr extent buffers[] = {{.name = "kv", .row_bytes = 400, .rows = {}, .copies = 36}};
constexpr std::int64_t two_mib = (2_MiB).count;
constexpr checked buffer_bytes(std::int64_t context) {
  return array_bytes(buffers, 0, {.anchor_pages = context}, two_mib) * buffers[0].copies;
}
static_assert(buffer_bytes(262'144) == buffer_bytes(258'048));
static_assert((buffer_bytes(258'048) - buffer_bytes(253'952)).value == (72_MiB).count);

}  // namespace
