// SPDX-License-Identifier: Apache-2.0
#include "published.hpp"

#include <doctest/doctest.h>

// A wish for the two-layer prefill buffer never refuses a budget that holds one layer.

using allot_test::published;

TEST_CASE("reported refusals: one layer fits, so there is a plan without the buffer") {
  for (char const* const id : {"floor-1", "floor-2", "floor-3"}) {
    CAPTURE(std::string{id});
    published fault{id};
    CHECK(fault.kind() == "no fallback");
    allot::outcome const out = fault.solve();
    REQUIRE(out);
    CHECK(out->slots.count == fault.number("/expect/slots"));
    CHECK(out->pages.count == fault.number("/expect/usable_pages"));
    CHECK_FALSE(out->prefill_buffer);
    CHECK(out->has_note(allot::note_code::prefill_buffer_dropped));
    CHECK(out->notes[0].asked == 2 * fault.request().experts->per_layer);
    CHECK(out->notes[0].planned == out->slots.count);
  }
}

TEST_CASE("floor-1: what the report needed is what a required buffer needs") {
  published fault{"floor-1"};
  fault.request().experts->buffer = allot::prefill_buffer::required;
  allot::outcome const out = fault.solve();
  REQUIRE_FALSE(out);
  CHECK(out.error.error == allot::solve_error::floors_exceed_budget);
  // The report's 8,261,206,016 left the sentinel page out.
  CHECK(out.error.needed.count == 8'261'206'016 + 765'952);
  bool offered = false;
  for (int i = 0; i < out.error.repair_count; ++i) {
    offered = offered || out.error.repairs[i].set == allot::setting::prefill_buffer;
  }
  CHECK(offered);
}

TEST_CASE("around them: the buffer goes exactly where two layers stop fitting, one layer refuses") {
  for (char const* const id : {"floor-1", "floor-2", "floor-3"}) {
    CAPTURE(std::string{id});
    published fault{id};
    allot::request& r = fault.request();
    std::int64_t const layer = r.experts->per_layer;
    std::int64_t const slot = r.experts->slot_bytes.count;
    std::int64_t const page = r.kv[0].raw.page_bytes.count;
    allot::usable_pages const floor = r.kv[0].paging().pages_for(r.demand.min_tokens);
    std::int64_t const kv = (floor.count + 1) * page;
    struct {
      std::int64_t budget;
      bool fits, buffer;
    } const table[] = {
        {layer * slot + kv - 1, false, false},    {layer * slot + kv, true, false},
        {2 * layer * slot + kv - 1, true, false}, {2 * layer * slot + kv, true, true},
        {2 * layer * slot + kv + 1, true, true},  {layer * slot + kv + slot, true, false},
        {3 * layer * slot + kv, true, true}};
    for (auto const& row : table) {
      CAPTURE(row.budget);
      r.budget = allot::bytes{row.budget};
      allot::outcome const out = fault.solve();
      CHECK(out.ok == row.fits);
      if (!out) {
        CHECK(out.error.error == allot::solve_error::floors_exceed_budget);
        CHECK(out.error.shortfall.count == 1);
        continue;
      }
      CHECK(out->prefill_buffer == row.buffer);
      CHECK(out->has_note(allot::note_code::prefill_buffer_dropped) != row.buffer);
      CHECK(out->slots.count >= (row.buffer ? 2 * layer : layer));
    }
  }
}
