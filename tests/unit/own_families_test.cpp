// SPDX-License-Identifier: Apache-2.0
#include "random.hpp"

#include <allot/allot.hpp>
#include <allot/laws.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <initializer_list>

// Families that an engine might write itself, with rules of every shape: priced, arranged and laid
// out by the walk that serves the built-in ones.

using allot::arrangement;
using allot::rows_of;
using allot_test::dice;

namespace {

/// Any extents, behind the pages of the anchor.
struct own_family {
  static constexpr std::int32_t max_extents = 5;

  allot::extent extents[max_extents] = {};
  std::int32_t used = 1;
  allot::paging own{};

  allot::paging paging() const { return own; }
  allot::lowered lower(allot::lowering const& in, allot::extent* out) const {
    for (std::int32_t k = 0; k < used; ++k) {
      out[k] = extents[k];
    }
    out[0].rows = allot::page_rows(own, in);
    return {.pool = {.name = "own",
                     .family = "own",
                     .page_tokens = own.page_tokens,
                     .sentinel = own.sentinel_pages,
                     .extents = used}};
  }
};
static_assert(allot::describes_pool_family<own_family>);

/// Slots with a map beside them, and a tensor of three rows a slot.
struct own_experts {
  static constexpr std::int32_t max_extents = 3;

  allot::expert_terms asked{};
  std::int64_t map_bytes = 4;

  allot::expert_terms terms() const { return asked; }
  allot::lowered lower(allot::extent* out) const {
    out[0] = {"slots", asked.slot_bytes - 48, {.of = rows_of::expert_slots}};
    out[1] = {"map", map_bytes, {.of = rows_of::expert_slots, .plus = 1}};
    out[2] = {"scales", 16, {.of = rows_of::expert_slots, .mul = 3}};
    return {.pool = {
                .name = "own", .family = "experts", .unit = allot::pool_unit::slots, .extents = 3}};
  }
};
static_assert(allot::describes_experts<own_experts>);

allot::rows_rule random_rule(dice& draw, int k, std::int64_t sentinels) {
  allot::rows_rule r;
  switch (draw.in(0, k > 0 ? 6 : 5)) {
    case 0: r.plus = sentinels; break;  // a row a page
    case 1:
      r.mul = draw.in(1, 6);
      r.plus = draw.chance(70) ? r.mul * sentinels : draw.in(0, 9);
      break;
    case 2:
      r.of = rows_of::anchor_physical;
      r.per = draw.in(1, 3);
      r.mul = r.per * draw.in(1, 4);
      r.plus = draw.chance(70) ? 0 : draw.in(0, 3);
      break;
    case 3:
      r.of = rows_of::anchor_physical;
      r.mul = draw.in(0, 40);
      r.ratio = draw.one_of({.1, .5, 1.0, 2.5});
      r.ratio_rounding = static_cast<allot::rounding>(draw.in(0, 2));
      r.at_least = draw.in(0, 30);
      break;
    case 4:
      r.mul = draw.in(0, 9);
      r.per = draw.in(1, 5);
      r.per_rounding = draw.chance(50) ? allot::rounding::up : allot::rounding::down;
      r.at_most = draw.chance(50) ? draw.in(0, 60) : allot::unlimited;
      r.plus = draw.in(-1, 3);
      break;
    case 5:  // a free list, or what a few pages do without
      r.mul = draw.in(1, 4);
      r.plus = draw.in(-20, -1);
      break;
    default:
      r.of = rows_of::extent;
      r.extent_index = static_cast<std::int32_t>(draw.in(0, k - 1));
      r.mul = draw.in(0, 3);
      r.plus = draw.in(-1, 2);
      break;
  }
  return r;
}

own_family random_family(dice& draw, std::int64_t sentinels) {
  own_family f;
  f.used = static_cast<std::int32_t>(draw.in(1, own_family::max_extents));
  f.own = {draw.in(1, 9), draw.in(0, 2)};
  for (int k = 0; k < f.used; ++k) {
    f.extents[k] = {"rows", draw.in(0, 4) * (draw.chance(80) ? 16 : 7),
                    random_rule(draw, k, sentinels), draw.in(0, 3)};
  }
  return f;
}

/// Rows of every plan that joins page blocks are so many a page, for every count there is.
bool blocks_are_exact(allot::table_view const& t, dice& draw) {
  for (std::int64_t i = 0; i < t.kv_pools; ++i) {
    allot::pool const& p = t.pools[i];
    for (std::int32_t k = 0; k < p.extents; ++k) {
      std::int64_t const each = allot::block_rows(t, i, t.extents[p.first_extent + k]);
      for (int tries = 0; each > 0 && tries < 4; ++tries) {
        std::int64_t const n = draw.in(0, tries < 2 ? 20 : 1'000'000);
        std::int64_t const physical = n + t.anchor.sentinel_pages;
        allot::checked const rows = allot::rows(t.extents.data + p.first_extent, k,
                                                {.anchor_pages = n, .anchor_physical = physical});
        if (!(rows == allot::checked{each} * physical)) { return false; }
      }
    }
  }
  return true;
}

struct seen {
  std::int64_t plans = 0;
  std::int64_t misaligned = 0;
  std::int64_t interleaved = 0;
  std::int64_t broken = 0;
};

template <arrangement Arranged>
void solve_one(dice& draw, seen& all) {
  std::int64_t const sentinels = draw.in(0, 2);
  allot::raw_pages const anchor{.page_bytes = {16 * draw.in(1, 4)},
                                .page_tokens = draw.in(1, 9),
                                .sentinel_pages = sentinels};
  own_family const family = random_family(draw, sentinels);
  own_experts const experts{{.slot_bytes = 16 * draw.in(4, 9), .per_layer = 2, .layers = 5},
                            draw.in(1, 9)};
  allot::charge const workspace{"workspace", {draw.in(0, 99)}};
  auto const owned = allot::make_table<Arranged>(anchor, family, experts, workspace)
                         .with_granularity(draw.one_of<std::int64_t>({1, 1, 16, 256}));
  allot::table_view const t = owned;
  allot::demand const d{.min_tokens = {draw.in(0, 90)}};
  allot::problem const p{t, allot::bytes{draw.in(500, 20'000)}, d, {}};
  allot::outcome const out = allot::solve(p.table, p.budget, p.demand, p.objective);
  all.broken += !allot::laws::hold(p, out) || !blocks_are_exact(t, draw);
  all.misaligned += out.error.error == allot::solve_error::misaligned_stride;
  all.plans += out.ok;
  bool more = false;  // than the anchor's own rows
  for (std::int32_t k = 0; k < family.used; ++k) {
    more = more || allot::block_rows(t, 1, family.extents[k]) > 0;
  }
  all.interleaved += out.ok && more;
}

}  // namespace

TEST_CASE("families of an engine's own keep every law, in every arrangement") {
  dice draw{91};
  seen flat;
  seen layers;
  seen pages;
  for (int i = 0; i < 60'000; ++i) {
    solve_one<arrangement::flat>(draw, flat);
    solve_one<arrangement::layer_major>(draw, layers);
    solve_one<arrangement::page_major>(draw, pages);
  }
  for (seen const* s : {&flat, &layers, &pages}) {
    CHECK(s->broken == 0);
    CHECK(s->plans > 20'000);
  }
  CHECK(pages.interleaved > 10'000);
  CHECK(pages.misaligned > 1000);
  CHECK(flat.misaligned + layers.misaligned + flat.interleaved + layers.interleaved == 0);
}

TEST_CASE("rules that count from what a pool is not priced by are refused") {
  auto const solved = [](allot::rows_rule const& rule) {
    own_family family;
    family.used = 2;
    family.own = {16, 1};
    family.extents[0] = {"rows", 64, {}};
    family.extents[1] = {"more", 16, rule};
    auto const table =
        allot::make_table(allot::raw_pages{.page_bytes = {64}, .page_tokens = 16}, family,
                          own_experts{{.slot_bytes = 64, .per_layer = 2, .layers = 5}, 4});
    allot::outcome const out = allot::solve(table, allot::bytes{20'000}, {.min_tokens = {40}});
    return out.error.error;
  };
  using allot::solve_error;
  CHECK(solved({.plus = -1}) == solve_error::none);
  CHECK(solved({.of = rows_of::expert_slots}) == solve_error::bad_input);
  CHECK(solved({.of = rows_of::state_slots}) == solve_error::bad_input);
  CHECK(solved({.of = rows_of::expert_slots, .mul = 0, .at_least = 3}) == solve_error::none);
  CHECK(solved({.at_most = -3}) == solve_error::bad_input);
  CHECK(solved({.at_least = -3}) == solve_error::bad_input);
}

TEST_CASE("rows that a first page does without make no line of the price") {
  for (allot::rows_rule const& rule :
       {allot::rows_rule{.plus = -1}, {.mul = 16, .plus = -1}, {.mul = 16, .plus = -16}}) {
    own_family family;
    family.used = 2;
    family.own = {16, 1};
    family.extents[0] = {"rows", 64, {}};
    family.extents[1] = {"free list", 4, rule};
    auto const table = allot::make_table(family);
    allot::demand const d{.min_tokens = {40}};
    allot::outcome const out = allot::solve(table, allot::bytes{6000}, d);
    REQUIRE(out);
    CHECK(allot::laws::hold({table, allot::bytes{6000}, d, {}}, out));
    CHECK(allot::lay_out(table, *out).carved == out->kv);
  }
}
