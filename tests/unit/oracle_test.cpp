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

std::string differ(char const* what, naive::wide got, naive::wide want) {
  if (got == want) { return {}; }
  return std::string{what} + ": solve " + std::to_string(static_cast<std::int64_t>(got)) +
         ", naive " + std::to_string(static_cast<std::int64_t>(want)) + "; ";
}

/// What a refusal's `binding` stands for must be the largest of what is needed.
std::string differing_binding(allot::refusal const& got, naive::verdict const& v,
                              allot::request const& r) {
  bool const all = got.error != allot::solve_error::fixed_exceeds_budget;
  naive::wide const charges = naive::charges(r);
  naive::wide const state = naive::state_bytes(r);
  naive::wide const kv = all ? naive::kv_bytes(r, v.n_first) : naive::wide{0};
  naive::wide const experts = all ? v.needed - charges - state - kv : naive::wide{0};
  naive::wide largest = charges;
  for (naive::wide const term : {state, kv, experts}) {
    largest = term > largest ? term : largest;
  }

  allot::request_path const& at = got.binding;
  if (v.budget < 0) { return at == allot::request_path{"budget"} ? "" : "binding is no budget; "; }
  naive::wide named = -1;
  if (at == allot::request_path{"charges"}) { named = charges; }
  if (at == allot::request_path{"state"}) { named = state; }
  if (at.section == "kv" || at.section == "demand") { named = kv; }
  if (at.section == "experts") { named = experts; }
  bool const pin_named = (at.section != "demand" || v.pages_pinned) &&
                         (at.section != "kv" || !v.pages_pinned) &&
                         (at.section != "experts" || at.field.empty() != v.slots_pinned);
  return pin_named ? differ("binding", named, largest) : "binding is no pin, or should be; ";
}

std::string differing_refusal(allot::refusal const& got, naive::verdict const& v,
                              allot::request const& r) {
  if (got.priced) {
    return differ("needed", got.needed.count, v.needed) +
           differ("budget", got.budget.count, v.budget) +
           differ("shortfall", got.shortfall.count, v.needed - v.budget) +
           differing_binding(got, v, r);
  }
  switch (got.error) {
    case allot::solve_error::not_a_page_multiple: {
      std::int64_t const asked = r.demand.pinned_tokens->count;
      naive::wide const above = naive::up(asked, v.page_tokens) * v.page_tokens;
      naive::wide const below = above - v.page_tokens;
      return differ("asked", got.value, asked) + differ("above", got.high, above) +
             differ("below", got.low, below > 0 ? below : above);
    }
    case allot::solve_error::slots_out_of_range:
      return differ("asked", got.value, r.experts->pinned_slots->count) +
             differ("lo", got.low, v.lo) + differ("hi", got.high, v.hi);
    case allot::solve_error::slot_cap_below_minimum:
      return differ("lo", got.low, v.lo) + differ("hi", got.high, v.hi);
    default: return {};
  }
}

/// The first difference between the two answers; empty when there is none.
std::string difference(allot::outcome const& got, naive::answer const& want,
                       allot::request const& r) {
  std::string out =
      differ("error", static_cast<int>(got.error.error), static_cast<int>(want.refused.error));
  if (!out.empty()) { return out; }
  if (!got) { return differing_refusal(got.error, want.refused, r); }
  allot::plan const& p = *got;
  naive::wide const sentinel = r.kv[0].paging().sentinel_pages;
  out += differ("slots", p.slots.count, want.slots);
  out += differ("prefill_buffer", p.prefill_buffer, want.prefill_buffer);
  out += differ("usable_pages", p.pages.count, want.pages);
  out += differ("physical_pages", p.physical.count, want.pages + sentinel);
  out += differ("usable_tokens", p.usable_tokens.count,
                naive::wide{want.pages} * want.refused.page_tokens);
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
