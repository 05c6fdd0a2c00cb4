// SPDX-License-Identifier: Apache-2.0
#include "apply.hpp"
#include "drawn.hpp"
#include "flaws.hpp"
#include "show.hpp"
#include "tally.hpp"

#include <allot/laws.hpp>
#include <allot/plan/admission.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>

// Every law, over a million solves of tables of published sizes, each budget where something is
// decided.

using allot_test::dice;
using allot_test::drawer;
using allot_test::drawn;

namespace {

/// Solves requests, holds each answer against the laws, and keeps count.
class sweep {
 public:
  allot::outcome solve(drawn const& d) {
    allot::outcome const out = allot::solve(d.request, storage_, table_);
    seen.add(out);
    bool const kept = out ? keeps_the_laws(d.request, out) : refuses_truly(d, out);
    if (!kept && ++broken <= 5) { MESSAGE("a law is broken: " << allot_test::show(d.request)); }
    return out;
  }

  bool monotone(drawn const& d, allot::outcome const& smaller, allot::outcome const& larger) {
    ++pairs;
    planned_pairs += smaller && larger;
    bool const holds =
        allot::laws::is_monotone(d.request.demand, d.request.objective, smaller, larger);
    if (!holds && ++broken <= 5) { MESSAGE("not monotone: " << allot_test::show(d.request)); }
    return holds;
  }

  allot_test::tally seen;
  std::int64_t broken = 0;
  std::int64_t pairs = 0;
  std::int64_t planned_pairs = 0;

 private:
  allot::problem problem(allot::request const& r) const {
    return {table_, r.budget, r.demand, r.objective};
  }

  bool keeps_the_laws(allot::request const& r, allot::outcome const& out) const {
    // What the arena takes, priced once more without a table; and what it can serve.
    allot::plan const& p = *out;
    naive::wide const priced = naive::kv_bytes(r, p.pages.count) + naive::state_bytes(r) +
                               naive::expert_bytes(r, p.slots.count);
    allot::arena_map const map =
        allot::lay_out(table_, p, [](std::int32_t, allot::placement const&) {});
    allot::paging const anchor = table_.anchor;
    return allot::laws::hold(problem(r), out) && map.carved.count == priced &&
           allot::can_serve(anchor, p.pages, p.usable_tokens, {0}) &&
           !allot::can_serve(anchor, p.pages, p.usable_tokens, {1}) &&
           allot::laws::floor_is_reachable(anchor, r.demand.min_tokens);
  }

  bool refuses_truly(drawn const& d, allot::outcome const& out) {
    if (!allot::laws::hold(problem(d.request), out)) { return false; }
    for (int i = 0; i < out.error.repair_count; ++i) {
      allot_test::copy(d, repaired_);
      allot_test::apply(repaired_, out.error.repairs[i]);
      if (!allot::solve(repaired_.request, storage_, table_)) { return false; }
    }
    return true;
  }

  allot::table_storage storage_;
  allot::table_view table_;
  drawn repaired_;
};

}  // namespace

TEST_CASE("every law holds over a million solves") {
  dice draw{7};
  drawer make{draw, allot_test::size::real};
  allot_test::spoiler harm{draw};
  drawn d;
  sweep all;
  while (all.seen.total < 1'000'000) {
    make.request(d);
    if (draw.chance(60)) {
      d.request.budget = make.state_budget(make.budget(d.request));
      harm.spoil(d, static_cast<allot_test::flaw>(draw.in(0, allot_test::flaws - 1)));
      static_cast<void>(all.solve(d));
      continue;
    }
    std::int64_t budgets[4];
    for (std::int64_t& b : budgets) {
      b = make.budget(d.request);
    }
    std::sort(budgets, budgets + 4);
    allot::outcome before;
    for (int k = 0; k < 4; ++k) {
      d.request.budget = allot::bytes{budgets[k]};
      allot::outcome const out = all.solve(d);
      if (k > 0) { all.monotone(d, before, out); }
      before = out;
    }
    d.request.budget = make.state_budget(budgets[3]);
    static_cast<void>(all.solve(d));
  }
  CHECK(all.broken == 0);
  REQUIRE(all.seen.total >= 1'000'000);
  REQUIRE(all.pairs >= 400'000);
  CHECK(all.planned_pairs > all.pairs / 4);
  MESSAGE(all.seen.text());
  all.seen.every_outcome_is_common();
}

TEST_CASE("a floor of t tokens is the fewest pages that hold them, for any page") {
  dice draw{8};
  std::int64_t checks = 0;
  std::int64_t broken = 0;
  while (checks < 300'000) {
    allot::paging const policy{draw.chance(50) ? draw.in(1, 4096) : draw.extreme(), draw.in(0, 3)};
    allot::tokens const t{draw.chance(50) ? draw.in(0, 1 << 20) : draw.extreme()};
    if (policy.page_tokens < 1 || t.count < 0) { continue; }
    ++checks;
    broken += !allot::laws::floor_is_reachable(policy, t);
    // The way back: physical pages lose the sentinels, and only those.
    allot::usable_pages const pages = policy.pages_for(t);
    auto const physical = policy.physical(pages);
    if (physical) { broken += policy.usable(*physical) != pages; }
    broken += policy.usable({draw.in(0, policy.sentinel_pages)}).count != 0;
  }
  CHECK(broken == 0);
}
