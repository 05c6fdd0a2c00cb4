// SPDX-License-Identifier: Apache-2.0
#include "published.hpp"

#include <allot/plan/admission.hpp>

#include <doctest/doctest.h>

// Sentinel pages are allocated, so they are priced; they are never handed out, so they hold
// nothing.

using allot_test::published;

namespace {

/// One pool of pages and an expert cache, by hand: what is taken, and that no page more fits.
void check_tight(allot::request const& r, allot::plan const& p) {
  std::int64_t const page = r.kv[0].raw.page_bytes.count;
  std::int64_t const sentinel = r.kv[0].raw.sentinel_pages;
  std::int64_t const slot = r.experts ? r.experts->slot_bytes.count : 0;
  std::int64_t const left =
      r.budget.absolute->count - p.slots.count * slot - (p.pages.count + sentinel) * page;
  CHECK(p.physical.count == p.pages.count + sentinel);
  CHECK(p.left.count == left);
  CHECK(left >= 0);
  if (!r.demand.pinned_tokens) { CHECK(left < page); }
}

}  // namespace

TEST_CASE("reported plans: the page nobody is given is paid for") {
  for (char const* const id :
       {"seed-1", "sentinel-1", "sentinel-2", "sentinel-3", "sentinel-4", "sentinel-5"}) {
    CAPTURE(std::string{id});
    published fault{id};
    CHECK(fault.kind() == "sentinel");
    allot::outcome const out = fault.solve();
    REQUIRE(out);
    CHECK(out->slots.count == fault.number("/expect/slots"));
    CHECK(out->pages.count == fault.number("/expect/usable_pages"));
    if (fault.has("/expect/physical_pages")) {
      CHECK(out->physical.count == fault.number("/expect/physical_pages"));
    }
    if (fault.has("/expect/left")) { CHECK(out->left.count == fault.number("/expect/left")); }
    if (fault.has("/expect/usable_tokens")) {
      CHECK(out->usable_tokens.count == fault.number("/expect/usable_tokens"));
    }
    if (fault.has("/expect/not")) { CHECK(out->pages.count < fault.numbers("/expect/not")[1]); }
    check_tight(fault.request(), *out);
  }
}

TEST_CASE("sentinel-4: what the plan admits is what its pages hold") {
  published fault{"sentinel-4"};
  allot::outcome const out = fault.solve();
  REQUIRE(out);
  for (int i = 0; i < 2; ++i) {
    std::string const row = "/expect/can_serve/" + std::to_string(i);
    std::int64_t const tokens = fault.number(row + "/0");
    auto const served = allot::can_serve(fault.table().anchor, out->pages, {tokens}, {0});
    CHECK(served.ok == (i == 0));
    if (!served) {
      CHECK(served.error.needed.count == 8760);
      CHECK(served.error.available.count == 8208);
    }
  }
}

TEST_CASE("around them: every number of sentinels, budgets near every page") {
  for (char const* const id : {"sentinel-1", "sentinel-2"}) {
    published fault{id};
    std::int64_t const budget = fault.request().budget.absolute->count;
    allot::kv_family pool = fault.request().kv[0];
    fault.request().kv = {&pool, 1};
    int plans = 0;
    for (std::int64_t sentinel = 0; sentinel <= 4; ++sentinel) {
      pool.raw.sentinel_pages = sentinel;
      for (std::int64_t extra = -40; extra <= 400; ++extra) {
        fault.request().budget = allot::bytes{budget + extra};
        allot::outcome const out = fault.solve();
        REQUIRE(out);
        check_tight(fault.request(), *out);
        ++plans;
      }
    }
    REQUIRE(plans == 5 * 441);
  }
}

TEST_CASE("sentinel-6: a length takes its pages and the one that is not given") {
  published const fault{"sentinel-6"};
  allot::paging const policy{fault.number("/given/page_tokens"), 1};
  allot::tokens const longest{fault.number("/given/max_len")};
  allot::usable_pages const usable = policy.pages_for(longest);
  REQUIRE(policy.physical(usable));
  CHECK((*policy.physical(usable)).count == fault.number("/expect/physical_pages_needed"));
  // The report's pool had exactly ceil(length / page) pages: it cannot hold the length.
  CHECK(*policy.reachable(policy.usable({usable.count})) < longest);
}

TEST_CASE("sentinel-7: thirteen pages, one of them null") {
  published const fault{"sentinel-7"};
  allot::paging const policy{fault.number("/given/page_tokens"), 1};
  allot::physical_pages const all{fault.number("/given/physical_pages")};
  CHECK((*policy.reachable(policy.usable(all))).count == fault.number("/expect/usable_tokens"));
  CHECK(*policy.physical(policy.usable(all)) == all);
}

TEST_CASE("sentinel-8: state slots have a padding sink, and it is paid for") {
  CHECK(published{"sentinel-8"}.kind() == "sentinel");
  allot::recurrent_state state{.layers = 2,
                               .key_heads = 2,
                               .value_heads = 4,
                               .key_head_dim = 8,
                               .value_head_dim = 8,
                               .conv_kernel = 4};
  std::int64_t const slot = state.conv_bytes().value + state.recurrent_bytes().value;
  CHECK(slot == 2 * (2 * 16 + 32) * 3 * 2 + 2 * 4 * 64 * 4);
  for (std::int64_t budget = 2 * slot; budget <= 9 * slot; budget += 101) {
    std::int64_t const usable = (budget - slot) / slot;
    for (std::int64_t const more : {0, 1}) {
      state.pinned_slots = allot::usable_state_slots{usable + more};
      auto const table = allot::make_table(allot::raw_pages{{1}, 1, 0}, state);
      allot::table_view const view = table;
      allot::demand const none{.min_tokens = {0}, .min_usable_pages = {0}};
      allot::outcome const out = allot::solve(table, allot::bytes{budget}, none);
      CHECK(allot::state_bytes(view).value == (usable + more + 1) * slot);
      CHECK(out.ok == (more == 0));
      CHECK((*state.slots().padding.physical(*state.pinned_slots)).count == usable + more + 1);
    }
  }
}
