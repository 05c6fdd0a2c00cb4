// SPDX-License-Identifier: Apache-2.0
#include "drawn.hpp"
#include "flaws.hpp"
#include "naive_solve.hpp"
#include "show.hpp"
#include "tally.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

// `solve` against a solver that knows nothing of tables, terms and searches: it counts slots down
// and pages up, one by one. Every number of every answer, over small problems of every kind.

using allot_test::dice;
using allot_test::drawer;
using allot_test::drawn;

namespace {

/// The first difference between the two answers; empty when there is none.
std::string difference(allot::outcome const& got, naive::answer const& want,
                       allot::request const& r) {
  auto const differ = [](char const* what, naive::wide a, naive::wide b) {
    return a == b ? std::string{}
                  : std::string{what} + ": solve " + std::to_string(static_cast<std::int64_t>(a)) +
                        ", naive " + std::to_string(static_cast<std::int64_t>(b)) + "; ";
  };
  std::string out =
      differ("error", static_cast<int>(got.error.error), static_cast<int>(want.refused.error));
  if (!out.empty()) { return out; }
  if (!got) {
    if (!got.error.priced) { return out; }
    naive::verdict const& v = want.refused;
    return differ("needed", got.error.needed.count, v.needed) +
           differ("budget", got.error.budget.count, v.budget) +
           differ("shortfall", got.error.shortfall.count, v.needed - v.budget);
  }
  allot::plan const& p = *got;
  naive::wide const sentinel = r.kv[0].paging().sentinel_pages;
  out += differ("slots", p.slots.count, want.slots);
  out += differ("prefill_buffer", p.prefill_buffer, want.prefill_buffer);
  out += differ("usable_pages", p.pages.count, want.pages);
  out += differ("physical_pages", p.physical.count, want.pages + sentinel);
  out += differ("usable_tokens", p.usable_tokens.count, want.pages * want.refused.P);
  out += differ("state slots", p.state.count, naive::state_slots(r));
  out += differ("budget", p.budget.count, want.refused.budget);
  out += differ("fixed", p.fixed.count, naive::fixed_bytes(r));
  out += differ("experts", p.experts.count, naive::expert_bytes(r, want.slots));
  out += differ("kv", p.kv.count, naive::kv_bytes(r, want.pages));
  out += differ("left", p.left.count, want.left);
  out += differ("left_reason", static_cast<int>(p.reason), static_cast<int>(want.reason));
  out += differ("notes", p.note_count, want.note_count);
  for (int i = 0; i < p.note_count && i < want.note_count; ++i) {
    out += p.notes[i] == want.notes[i] ? "" : "note " + std::to_string(i) + " differs; ";
  }
  return out;
}

}  // namespace

TEST_CASE("solve answers what a linear scan answers") {
  dice draw{2024};
  drawer make{draw, allot_test::size::small};
  allot_test::spoiler harm{draw};
  allot_test::tally seen;
  drawn d;
  allot::table_storage storage;
  allot::table_view table;
  std::int64_t wrong = 0;
  while (seen.total < 500'000) {
    make.request(d);
    d.request.budget = make.state_budget(make.budget(d.request));
    if (draw.chance(30)) {
      harm.spoil(d, static_cast<allot_test::flaw>(draw.in(0, allot_test::flaws - 1)));
    }
    allot::outcome const got = allot::solve(d.request, storage, table);
    std::string const problem = difference(got, naive::solve(d.request), d.request);
    seen.add(got);
    if (problem.empty()) { continue; }
    if (++wrong <= 5) { MESSAGE(problem << allot_test::show(d.request)); }
  }
  CHECK(wrong == 0);
  REQUIRE(seen.total >= 500'000);
  MESSAGE(seen.text());
  seen.every_outcome_is_common();
}
