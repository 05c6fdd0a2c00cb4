// SPDX-License-Identifier: Apache-2.0
#include "published.hpp"

#include <doctest/doctest.h>

// Re-splitting a budget between slots and context, and splitting cards, as plain solves; moving
// what is there already is step 7.

using allot_test::published;

TEST_CASE("ladder-1: 64 usable pages leave 93 or 87 slots, and never fewer than one layer") {
  published const fault{"ladder-1"};
  CHECK(fault.kind() == "resplit");
  auto const page_bytes = fault.numbers("/given/page_bytes");
  auto const slots = fault.numbers("/expect/slots");
  allot::demand const target{.pinned_pages = allot::usable_pages{64}};
  for (std::size_t i = 0; i < 2; ++i) {
    auto const table =
        allot::make_table(allot::raw_pages{.page_bytes = {page_bytes[i]}},
                          allot::expert_bank{.slot_bytes = {100}, .per_layer = 4, .layers = 25});
    auto const grown = allot::solve(table, allot::bytes{10'000}, target);
    REQUIRE(grown);
    CHECK(grown->slots.count == slots[i]);
    CHECK(grown->pages.count == 64);

    // Every budget: refused below one layer beside the pages, never a plan with fewer slots.
    for (std::int64_t b = 0; b <= 12'000; b += 7) {
      auto const out = allot::solve(table, allot::bytes{b}, target);
      std::int64_t const beside = (b - 65 * page_bytes[i]) / 100;
      bool const fits = b >= 65 * page_bytes[i] + 400;
      CHECK(out.ok == fits);
      if (out) { CHECK(out->slots.count == (beside < 100 ? beside : 100)); }
    }
  }
}

TEST_CASE("ladder-1: at 1049 bytes three slots are left of the four") {
  auto const table =
      allot::make_table(allot::raw_pages{.page_bytes = {10}},
                        allot::expert_bank{.slot_bytes = {100}, .per_layer = 4, .layers = 25});
  allot::demand const target{.pinned_pages = allot::usable_pages{64}};
  auto const refused = allot::solve(table, allot::bytes{1049}, target);
  CHECK(refused.error.error == allot::solve_error::pins_exceed_budget);
  CHECK(refused.error.shortfall.count == 1);
  CHECK(allot::solve(table, allot::bytes{1050}, target)->slots.count == 4);
}

TEST_CASE("margin-1: each card is its own budget, the margin its own line") {
  published const fault{"margin-1"};
  CHECK(fault.kind() == "ranks");
  std::int64_t const mib = 1 << 20;
  auto const table =
      allot::make_table(allot::raw_pages{.page_bytes = {3264 * mib}, .sentinel_pages = 0},
                        allot::charge{"margin", {1024 * mib}});
  allot::demand const none{.min_tokens = {0}, .min_usable_pages = {0}};
  std::int64_t const after_one[] = {845, 1287};
  std::int64_t const bundles[] = {0, 1};
  for (int card = 0; card < 2; ++card) {
    auto const out = allot::solve(table, allot::bytes{(after_one[card] + 3264) * mib}, none);
    REQUIRE(out);
    CHECK(out->pages.count == bundles[card]);
  }
  // Around: a bundle is given exactly from margin + bundle on.
  for (std::int64_t free = 1024; free < 12'000; free += 13) {
    auto const out = allot::solve(table, allot::bytes{free * mib}, none);
    REQUIRE(out);
    CHECK(out->pages.count == (free - 1024) / 3264);
  }
  CHECK_FALSE(allot::solve(table, allot::bytes{1023 * mib}, none));
}
