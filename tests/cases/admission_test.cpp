// SPDX-License-Identifier: Apache-2.0
#include "published.hpp"

#include <allot/plan/admission.hpp>

#include <doctest/doctest.h>

// Admission asks the policy that priced the pool: whole pages for each request, and a refusal with
// both numbers for one that can never run.

using allot_test::published;

TEST_CASE("admit-1: two short requests take a page each, whatever their tokens add up to") {
  CHECK(published{"admit-1"}.kind() == "admission");
  allot::paging const policy{128, 1};
  allot::usable_pages free{1};
  auto const first = allot::can_serve(policy, free, {2}, {0});
  REQUIRE(first);
  CHECK(first->count == 1);
  free.count -= first->count;
  auto const second = allot::can_serve(policy, free, {2}, {0});
  REQUIRE_FALSE(second);
  CHECK(second.error.needed.count == 1);
  CHECK(second.error.available.count == 0);
}

TEST_CASE("admit-2: the last page is not the sentinel's") {
  published const fault{"admit-2"};
  allot::paging const policy{64, 1};
  allot::usable_pages const usable = policy.usable(allot::physical_pages{2981});
  std::int64_t const longest = fault.number("/expect/max_input");
  // The longest input that can still generate a token.
  CHECK(allot::can_serve(policy, usable, {longest}, {1}));
  CHECK_FALSE(allot::can_serve(policy, usable, {longest + 1}, {1}));
  CHECK_FALSE(allot::can_serve(policy, usable, {190'784 - 1}, {1}));  // what the report read
}

TEST_CASE("admit-3: a request longer than the pool is refused at once, with both numbers") {
  CHECK(published{"admit-3"}.kind() == "admission");
  auto const refused = allot::can_serve({16, 1}, {100}, {1500}, {101});
  REQUIRE_FALSE(refused);
  CHECK(refused.error.needed.count == 101);
  CHECK(refused.error.available.count == 100);
  CHECK(allot::can_serve({16, 1}, {100}, {1500}, {100}));
  CHECK_FALSE(allot::can_serve({16, 1}, {100}, {INT64_MAX}, {1}));  // the sum is no token count
}

TEST_CASE("append-1: reserving a prefill takes its pages once") {
  published const fault{"append-1"};
  allot::paging const policy{256, 1};
  std::int64_t const pages = fault.number("/expect/pages");
  CHECK(policy.pages_for({4079}).count == pages);
  CHECK(allot::can_serve(policy, {pages}, {4079}, {0}));
  CHECK_FALSE(allot::can_serve(policy, {pages - 1}, {4079}, {0}));
  // Tokens appended to the last page take no page; the one after it does.
  for (std::int64_t more = 0; more <= 300; ++more) {
    CHECK(policy.pages_for({4079 + more}).count ==
          (more <= 17 ? pages : 1 + pages + (more - 18) / 256));
  }
}

TEST_CASE("around them: every request length and pool size of a few pages") {
  int served = 0;
  int refused = 0;
  for (std::int64_t page = 1; page <= 9; ++page) {
    for (std::int64_t usable = 0; usable <= 6; ++usable) {
      for (std::int64_t input = 0; input <= 60; ++input) {
        for (std::int64_t output = 0; output <= 12; ++output) {
          auto const answer = allot::can_serve({page, 1}, {usable}, {input}, {output});
          bool const fits = input + output <= usable * page;
          CHECK(answer.ok == fits);
          if (!answer) {
            CHECK(answer.error.needed.count * page >= input + output);
            CHECK(answer.error.available.count == usable);
          }
          ++(fits ? served : refused);
        }
      }
    }
  }
  CHECK(served > 5000);
  CHECK(refused > 5000);
}

TEST_CASE("constants-1: what was planned is what is laid out, page for page") {
  CHECK(published{"constants-1"}.kind() == "two planners");
  for (char const* const id : {"seed-1", "sentinel-3", "sentinel-4", "floor-1", "cap-1"}) {
    published fault{id};
    allot::outcome const out = fault.solve();
    REQUIRE(out);
    std::int64_t rows[2] = {};
    allot::arena_map const map = allot::lay_out(
        fault.table(), *out,
        [&](std::int32_t index, allot::placement const& place) { rows[index] = place.rows; });
    CHECK(rows[0] == out->physical.count);
    CHECK(rows[1] == out->slots.count);
    CHECK(map.carved.count == out->kv.count + out->experts.count);
  }
}
