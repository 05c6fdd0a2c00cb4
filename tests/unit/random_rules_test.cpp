// SPDX-License-Identifier: Apache-2.0
#include "random.hpp"

#include <allot/core/maybe.hpp>
#include <allot/table/extent.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>

// Random rows-rules against their formula in 128-bit integers, and against each other: no rule may
// fall as a count grows, or the search would not find the most that fits.

using allot::extent;
using allot::rounding;
using allot::rows_of;
using allot_test::dice;

namespace {

__extension__ typedef __int128 wide;  // NOLINT(modernize-use-using)

/// The formula of a rule, in 128 bits; absent where a step leaves 64.
allot::maybe<std::int64_t> formula(extent const* pool, int k, allot::counts const& at) {
  allot::rows_rule const& r = pool[k].rows;
  wide x = 0;
  if (r.of == rows_of::anchor_pages) { x = at.anchor_pages; }
  if (r.of == rows_of::anchor_physical) { x = at.anchor_physical; }
  if (r.of == rows_of::expert_slots) { x = at.expert_slots; }
  if (r.of == rows_of::state_slots) { x = at.state_slots; }
  if (r.of == rows_of::extent) {
    auto const other = formula(pool, r.extent_index, at);
    if (!other) { return {}; }
    x = *other;
  }
  x *= r.mul;
  if (x > INT64_MAX) { return {}; }
  if (r.ratio != 1.0) {
    double const product = r.ratio * static_cast<double>(static_cast<std::int64_t>(x));
    if (product >= 0x1p63) { return {}; }
    x = static_cast<wide>(r.ratio_rounding == rounding::up          ? std::ceil(product)
                          : r.ratio_rounding == rounding::half_even ? std::nearbyint(product)
                                                                    : std::floor(product));
  }
  x = r.per_rounding == rounding::up ? (x + r.per - 1) / r.per : x / r.per;
  x = x < r.at_least ? wide{r.at_least} : x;
  x = x > r.at_most ? wide{r.at_most} : x;
  if (r.at_most_rows_of >= 0) {
    auto const bound = formula(pool, r.at_most_rows_of, at);
    if (bound && x > *bound) { x = *bound; }
  }
  x = x + r.plus < 0 ? 0 : x + r.plus;
  if (x > INT64_MAX) { return {}; }
  return static_cast<std::int64_t>(x);
}

allot::rows_rule random_rule(dice& draw, int k) {
  allot::rows_rule r;
  bool const back = k > 0 && draw.chance(30);
  r.of = back ? rows_of::extent : static_cast<rows_of>(draw.in(0, 3));
  if (back) { r.extent_index = static_cast<std::int32_t>(draw.in(0, k - 1)); }
  r.mul = draw.chance(40) ? 1 : draw.chance(8) ? INT64_MAX >> draw.in(0, 60) : draw.in(0, 300);
  if (draw.chance(40)) { r.ratio = draw.one_of({0.0, .05, .2, .5, .9, 1.5, 3.25}); }
  r.ratio_rounding = static_cast<rounding>(draw.in(0, 2));
  r.per = draw.chance(50) ? 1 : draw.in(1, 200);
  r.per_rounding = draw.chance(50) ? rounding::up : rounding::down;
  if (draw.chance(30)) { r.at_least = draw.in(0, 5000); }
  if (draw.chance(30)) { r.at_most = draw.in(0, 100'000); }
  if (k > 0 && draw.chance(25)) {
    r.at_most_rows_of = static_cast<std::int32_t>(draw.in(0, k - 1));
  }
  r.plus = draw.chance(50) ? 0 : draw.in(-1, 200);
  return r;
}

}  // namespace

TEST_CASE("random rules are what the formula says, and never fall as a count grows") {
  dice draw{2};
  std::int64_t checks = 0;
  std::int64_t wrong = 0;
  std::int64_t falls = 0;
  std::int64_t overflows = 0;
  for (int i = 0; i < 60'000; ++i) {
    extent pool[4];
    for (int k = 0; k < 4; ++k) {
      pool[k] = {"rows", draw.in(0, 4096), random_rule(draw, k)};
      wrong += !allot::is_well_formed(pool[k], k);
    }
    allot::counts at{.anchor_pages = draw.in(0, 3000),
                     .expert_slots = draw.in(0, 3000),
                     .state_slots = draw.in(0, 50)};
    if (draw.chance(10)) { at.anchor_pages = (INT64_MAX - 3) >> draw.in(0, 40); }
    at.anchor_physical = at.anchor_pages + draw.in(0, 3);
    allot::counts more = at;
    std::int64_t const grown = draw.in(0, INT64_MAX - at.anchor_physical) >> draw.in(0, 62);
    more.anchor_pages += grown;
    more.anchor_physical += grown;
    more.expert_slots += draw.in(0, 3);
    more.state_slots += draw.in(0, 3);
    for (int k = 0; k < 4; ++k) {
      allot::checked const got = allot::rows(pool, k, at);
      allot::checked const larger = allot::rows(pool, k, more);
      auto const want = formula(pool, k, at);
      wrong += got.ok() != want.given || (want && got.value != *want);
      falls += larger.ok() && !(got <= larger);
      overflows += got.overflowed;
      ++checks;
    }
  }
  CHECK(wrong == 0);
  CHECK(falls == 0);
  CHECK(overflows > checks / 100);
  REQUIRE(checks >= 200'000);
}

TEST_CASE("a rule that looks forward, divides by zero or counts backwards is not well formed") {
  extent const good{"rows", 1, {.of = rows_of::extent, .extent_index = 0, .at_most_rows_of = 0}};
  CHECK(allot::is_well_formed(good, 1));
  CHECK_FALSE(allot::is_well_formed(good, 0));
  CHECK_FALSE(allot::is_well_formed({"rows", 1, {.of = rows_of::extent}}, 1));
  CHECK_FALSE(allot::is_well_formed({"rows", 1, {.at_most_rows_of = 2}}, 2));
  CHECK_FALSE(allot::is_well_formed({"rows", 1, {.per = 0}}, 0));
  CHECK_FALSE(allot::is_well_formed({"rows", 1, {.mul = -1}}, 0));
  CHECK_FALSE(allot::is_well_formed({"rows", 1, {.ratio = -.5}}, 0));
  CHECK_FALSE(allot::is_well_formed({"rows", -1, {}}, 0));
  CHECK_FALSE(allot::is_well_formed({"rows", 1, {}, -1}, 0));
}

TEST_CASE("rows are never negative") {
  extent const pool[] = {{"pages", 1, {}},
                         {"free list", 4, {.of = rows_of::extent, .extent_index = 0, .plus = -1}}};
  CHECK(allot::rows(pool, 1, {.anchor_pages = 0}).value == 0);
  CHECK(allot::rows(pool, 1, {.anchor_pages = 1}).value == 0);
  CHECK(allot::rows(pool, 1, {.anchor_pages = 2}).value == 1);
  CHECK(allot::array_bytes(pool, 1, {.anchor_pages = 0}, 16).value == 0);
}
