// SPDX-License-Identifier: Apache-2.0
#include "published.hpp"

#include <doctest/doctest.h>

// What the user pinned is a constraint: reserved first, kept whatever happens, refused with numbers
// when it does not fit.

using allot_test::published;

namespace {

constexpr std::int64_t mib = 1 << 20;

}  // namespace

TEST_CASE("pin-1: an explicit context is reserved before any expert") {
  published fault{"pin-1"};
  CHECK(fault.kind() == "override");
  allot::outcome const out = fault.solve();
  REQUIRE(out);
  CHECK(out->slots.count == fault.number("/expect/slots"));
  CHECK(out->pages.count == fault.number("/expect/usable_pages"));
  CHECK(out->usable_tokens == *fault.request().demand.pinned_tokens);
}

TEST_CASE("pin-1 around: any number of pages, pinned as pages or as tokens") {
  published fault{"pin-1"};
  allot::request& r = fault.request();
  std::int64_t const budget = r.budget.absolute->count;
  std::int64_t const page = r.kv[0].raw.page_bytes.count;
  std::int64_t const slot = r.experts->slot_bytes.count;
  std::int64_t const least = r.experts->per_layer;
  std::int64_t const most = least * r.experts->layers;
  int fit = 0;
  int refused = 0;
  for (std::int64_t pages = 1; pages < 25'000; pages += 97) {
    for (bool const as_pages : {true, false}) {
      r.demand = {};
      if (as_pages) {
        r.demand.pinned_pages = allot::usable_pages{pages};
      } else {
        r.demand.pinned_tokens = allot::tokens{pages * 64};
      }
      allot::outcome const out = fault.solve();
      std::int64_t const beside = (budget - (pages + 1) * page) / slot;
      CHECK(out.ok == (beside >= least));
      if (out) {
        CHECK(out->pages.count == pages);
        CHECK(out->slots.count == (beside < most ? beside : most));
        ++fit;
      } else {
        CHECK(out.error.error == allot::solve_error::pins_exceed_budget);
        CHECK(out.error.shortfall.count == (pages + 1) * page + least * slot - budget);
        CHECK(out.error.binding ==
              allot::request_path{"demand", -1, as_pages ? allot::text{"pages"} : "tokens"});
        ++refused;
      }
    }
  }
  CHECK(fit > 100);
  CHECK(refused > 100);
}

TEST_CASE("pin-2: pins that do not fit are refused with what is short, and are not touched") {
  published const fault{"pin-2"};
  // 120 slots of 200 MiB and 41 + 1 pages of 20 MiB are the 24840 MiB of the report.
  auto const bank = allot::expert_bank{.slot_bytes = {200 * mib},
                                       .per_layer = 8,
                                       .layers = 30,
                                       .pinned_slots = allot::expert_slots{120}};
  auto const table = allot::make_table(allot::raw_pages{.page_bytes = {20 * mib}}, bank,
                                       allot::charge{"margin", {1024 * mib}});
  allot::demand const d{.pinned_pages = allot::usable_pages{41}};
  allot::bytes const free{22'341 * mib};
  allot::outcome const out = allot::solve(table, free, d);
  REQUIRE_FALSE(out);
  CHECK(out.error.error == allot::solve_error::pins_exceed_budget);
  CHECK(out.error.needed.count == (24'840 + 1024) * mib);
  CHECK(out.error.shortfall.count == fault.number("/expect/shortfall_mib") * mib);
  REQUIRE(out.error.repair_count > 0);
  for (int i = 0; i < out.error.repair_count; ++i) {
    allot::repair const& r = out.error.repairs[i];
    allot::problem const changed = allot::with_repair({table, free, d, {}}, r);
    allot::outcome const repaired =
        allot::solve(changed.table, changed.budget, changed.demand, changed.objective);
    REQUIRE(repaired);
    CHECK((repaired->slots.count == 120) == (r.set != allot::setting::slots));
    CHECK((repaired->pages.count == 41) == (r.set != allot::setting::pages));
  }
}

TEST_CASE("slots-1: a pin of slots that does not fit names how many do") {
  published const fault{"slots-1"};
  CHECK(fault.kind() == "floor");
  CHECK(fault.text("/expect") == "refusal whose text says 43 fit");
  // 198.425 MiB a slot, 8542 MiB free
  std::int64_t const slot = 198'425 * mib / 1000;
  for (std::int64_t asked = 8; asked <= 120; ++asked) {
    auto const table =
        allot::make_table(allot::raw_pages{{1}, 1, 0},
                          allot::expert_bank{.slot_bytes = {slot},
                                             .per_layer = 8,
                                             .layers = 15,
                                             .pinned_slots = allot::expert_slots{asked}});
    allot::outcome const out = allot::solve(table, allot::bytes{8542 * mib}, {.min_tokens = {0}});
    CHECK(out.ok == (asked <= 43));
    if (out) { continue; }
    CHECK(out.error.binding == allot::request_path{"experts", -1, "slots"});
    bool named = false;
    for (int i = 0; i < out.error.repair_count; ++i) {
      named = named || out.error.repairs[i] == allot::repair{allot::setting::slots, false, -1, 43};
    }
    CHECK(named);
  }
}
