// SPDX-License-Identifier: Apache-2.0
#include "published.hpp"

#include <doctest/doctest.h>

// Caps, negative budgets and fixed lines: what a planner must subtract, and what it must not
// ignore.

using allot_test::published;

TEST_CASE("cap-1: a kernel that addresses few slots leaves the bytes to the context") {
  published fault{"cap-1"};
  CHECK(fault.kind() == "cap");
  allot::outcome const out = fault.solve();
  REQUIRE(out);
  CHECK(out->slots.count == fault.number("/expect/slots"));
  CHECK(out->pages.count == fault.number("/expect/usable_pages"));
}

TEST_CASE("cap-1 around: every cap down to one layer") {
  published fault{"cap-1"};
  allot::request& r = fault.request();
  std::int64_t const budget = r.budget.absolute->count;
  std::int64_t const slot = r.experts->slot_bytes.count;
  std::int64_t const page = r.kv[0].raw.page_bytes.count;
  std::int64_t const layer = r.experts->per_layer;
  std::int64_t const total = layer * r.experts->layers;
  std::int64_t const affordable = (budget - 8193 * page) / slot;
  std::int64_t const uncapped = affordable < total ? affordable : total;
  for (std::int64_t cap = layer - 3; cap < uncapped + 200; cap += 61) {
    r.experts->max_slots = allot::expert_slots{cap};
    allot::outcome const out = fault.solve();
    CHECK(out.ok == (cap >= layer));
    if (!out) {
      CHECK(out.error.error == allot::solve_error::slot_cap_below_minimum);
      CHECK(out.error.low == layer);
      CHECK(out.error.high == cap);
      continue;
    }
    CHECK(out->slots.count == (cap < uncapped ? cap : uncapped));
    CHECK(out->pages.count == (budget - out->slots.count * slot) / page - 1);
    CHECK(out->prefill_buffer == (cap >= 2 * layer));
  }
}

TEST_CASE("negative-1: a fixed line above the budget is refused for itself, not for slots") {
  published fault{"negative-1"};
  CHECK(fault.kind() == "negative budget");
  allot::outcome const out = fault.solve();
  REQUIRE_FALSE(out);
  CHECK(out.error.error == allot::solve_error::fixed_exceeds_budget);
  CHECK(out.error.shortfall.count == fault.number("/expect/shortfall_bytes"));
  CHECK(out.error.binding == allot::request_path{"charges"});
  for (int i = 0; i < out.error.repair_count; ++i) {
    CHECK(out.error.repairs[i].set != allot::setting::slots);
    CHECK(out.error.repairs[i].set != allot::setting::max_slots);
  }
}

TEST_CASE("negative-1 around: weights above the share make the budget negative, and it stays so") {
  published fault{"negative-1"};
  allot::request& r = fault.request();
  r.charges = {};
  int negative = 0;
  for (std::int64_t weights = 0; weights <= 20'000'000'000; weights += 250'000'000) {
    r.budget = allot::budget::share_of({12'348'030'976}, .9, {weights});
    std::int64_t const net = 11'113'227'878 - weights;
    allot::outcome const out = fault.solve();
    if (out) {
      CHECK(out->budget.count == net);
      continue;
    }
    CHECK(out.error.budget.count == net);
    CHECK(out.error.shortfall == allot::bytes{out.error.needed.count - net});
    CHECK((out.error.error == allot::solve_error::fixed_exceeds_budget) == (net < 0));
    if (net < 0) {
      ++negative;
      CHECK(out.error.needed.count == 0);
      CHECK(out.error.binding == allot::request_path{"budget"});
    }
  }
  CHECK(negative > 20);
}

TEST_CASE("transient-1: a transient that is named lowers the slots and shows in what is fixed") {
  CHECK(published{"transient-1"}.kind() == "unpriced transient");
  published fault{"sentinel-3"};
  allot::request& r = fault.request();
  std::int64_t const slot = r.experts->slot_bytes.count;
  std::int64_t const page = r.kv[0].raw.page_bytes.count;
  std::int64_t const budget = r.budget.absolute->count;
  std::int64_t before = fault.number("/expect/slots") + 1;
  for (std::int64_t transient = 0; transient < 4'000'000'000; transient += 130'000'001) {
    allot::charge const line[] = {{"prefill transient", {transient}}};
    r.charges = line;
    allot::outcome const out = fault.solve();
    REQUIRE(out);
    CHECK(out->slots.count == (budget - transient - 131'073 * page) / slot);
    CHECK(out->slots.count < before);
    CHECK(out->fixed.count == transient);
    before = out->slots.count;
  }
}

TEST_CASE("base-1: the share is of what was free before, and only our own bytes come off") {
  published const fault{"base-1"};
  CHECK(fault.kind() == "ratio base");
  auto const b = allot::budget::share_of({84'974'239'744}, .3, {770'516'480 + 566'099'456});
  CHECK(b.net() == allot::checked{fault.number("/expect/budget")});
  // One product of doubles, truncated once: as the planner of the reports computes it.
  struct {
    std::int64_t baseline;
    double ratio;
    std::int64_t share;
  } const table[] = {{100, .57, 56},
                     {100, .29, 28},
                     {12'348'030'976, .9, 11'113'227'878},
                     {25'757'220'864, .85, 21'893'637'734}};
  for (auto const& row : table) {
    for (std::int64_t resident = 0; resident <= 3 * row.share; resident += row.share / 4) {
      auto const net = allot::budget::share_of({row.baseline}, row.ratio, {resident}).net();
      CHECK(net == allot::checked{row.share - resident});
    }
  }
}
