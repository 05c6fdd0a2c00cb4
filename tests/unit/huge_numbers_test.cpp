// SPDX-License-Identifier: Apache-2.0
#include "drawn.hpp"
#include "show.hpp"
#include "tally.hpp"

#include <allot/laws.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

// Huge numbers anywhere: the answer is `overflow`, another true refusal, or a plan whose bytes are
// right in 128 bits. Nothing wraps (law L9; run under UBSan, which stops at the first signed wrap).

using allot_test::dice;
using allot_test::drawn;

namespace {

void index_numbers(allot::maybe<allot::index_slab>& index, std::vector<std::int64_t*>& out) {
  if (index) { out.insert(out.end(), {&index->head_dim, &index->layers}); }
}

/// Every integer of a request.
std::vector<std::int64_t*> numbers(drawn& d) {
  std::vector<std::int64_t*> out;
  allot::request& r = d.request;
  for (std::int64_t i = 0; i < r.kv.size; ++i) {
    allot::kv_family& f = d.kv[i];
    switch (f.kind) {
      case allot::kv_kind::raw:
        out.insert(out.end(), {&f.raw.page_bytes.count, &f.raw.page_tokens, &f.raw.sentinel_pages});
        break;
      case allot::kv_kind::gqa:
        out.insert(out.end(), {&f.gqa.layers, &f.gqa.kv_heads, &f.gqa.head_dim, &f.gqa.tp,
                               &f.gqa.scale_bytes, &f.gqa.page_tokens, &f.gqa.sentinel_pages});
        index_numbers(f.gqa.index, out);
        break;
      case allot::kv_kind::mla:
        out.insert(out.end(),
                   {&f.mla.layers, &f.mla.latent_dim, &f.mla.page_tokens, &f.mla.sentinel_pages});
        index_numbers(f.mla.index, out);
        break;
      case allot::kv_kind::sliding_window:
      case allot::kv_kind::compressed_tiers: break;  // not drawn
    }
  }
  for (std::int64_t i = 0; i < r.charges.size; ++i) {
    out.push_back(&d.charges[i].bytes.count);
  }
  if (r.state) {
    allot::recurrent_state& s = *r.state;
    out.insert(out.end(), {&s.layers, &s.conv_kernel, &s.tp, &s.max_running, &s.sentinel_slots});
    for (std::int64_t* const dim :
         {&s.key_heads, &s.value_heads, &s.key_head_dim, &s.value_head_dim, &s.heads, &s.head_dim,
          &s.groups, &s.inner_dim, &s.state_dim}) {
      if (*dim != 0) { out.push_back(dim); }  // of the kind
    }
    if (s.pinned_slots) { out.push_back(&s.pinned_slots->count); }
  }
  if (r.experts) {
    allot::expert_bank& e = *r.experts;
    out.insert(out.end(), {&e.slot_bytes.count, &e.per_layer, &e.layers});
    if (e.max_slots) { out.push_back(&e.max_slots->count); }
    if (e.pinned_slots) { out.push_back(&e.pinned_slots->count); }
  }
  allot::demand& w = r.demand;
  out.insert(out.end(), {&w.min_tokens.count, &w.min_usable_pages.count, &r.granularity});
  if (w.target_tokens) { out.push_back(&w.target_tokens->count); }
  if (w.max_tokens) { out.push_back(&w.max_tokens->count); }
  if (w.pinned_pages) { out.push_back(&w.pinned_pages->count); }
  if (w.pinned_tokens) { out.push_back(&w.pinned_tokens->count); }
  if (r.budget.absolute) { out.push_back(&r.budget.absolute->count); }
  if (r.budget.baseline) {
    out.insert(out.end(), {&r.budget.baseline->count, &r.budget.resident.count});
  }
  return out;
}

/// A plan in 128 bits: its bytes are true, and neither a page nor a slot more would be.
bool plan_is_true(allot::request const& r, allot::plan const& p) {
  using naive::wide;
  wide const taken = naive::fixed_bytes(r) + naive::expert_bytes(r, p.slots.count) +
                     naive::kv_bytes(r, p.pages.count);
  wide const budget = naive::net_budget(r.budget);
  bool const bytes = p.kv.count == naive::kv_bytes(r, p.pages.count) &&
                     p.experts.count == naive::expert_bytes(r, p.slots.count) &&
                     p.fixed.count == naive::fixed_bytes(r) && taken <= budget &&
                     p.left.count == budget - taken;
  wide const page_tokens = r.kv[0].paging().page_tokens;
  wide const next = wide{p.pages.count} + 1;
  bool const pinned = r.demand.pinned_pages || r.demand.pinned_tokens;
  bool const capped = r.demand.max_tokens && next * page_tokens > r.demand.max_tokens->count;
  bool const countable =
      next * page_tokens < naive::limit && next + r.kv[0].paging().sentinel_pages < naive::limit;
  wide const page = naive::kv_bytes(r, next) - p.kv.count;
  return bytes && p.usable_tokens.count == p.pages.count * page_tokens &&
         (pinned || capped || !countable || page > p.left.count ||
          naive::kv_bytes(r, next) >= naive::limit);
}

bool is_true(allot::request const& r, allot::outcome const& out) {
  naive::verdict const want = naive::refuse(r);
  if (want.error != out.error.error) { return false; }
  if (out) { return plan_is_true(r, *out); }
  return !out.error.priced || (out.error.needed.count == want.needed &&
                               out.error.shortfall.count == want.needed - want.budget);
}

}  // namespace

TEST_CASE("huge numbers anywhere overflow or are planned right, and nothing wraps") {
  dice draw{11};
  allot_test::drawer real{draw, allot_test::size::real};
  allot_test::drawer small{draw, allot_test::size::small};
  allot_test::tally seen;
  drawn d;
  allot::table_storage storage;
  allot::table_view table;
  std::int64_t wrong = 0;
  while (seen.total < 300'000) {
    allot_test::drawer& make = draw.chance(50) ? real : small;
    make.request(d);
    d.request.budget = make.state_budget(make.budget(d.request));
    std::vector<std::int64_t*> const fields = numbers(d);
    for (std::int64_t times = draw.in(1, 3); times > 0; --times) {
      std::int64_t const value = draw.extreme();
      *fields[static_cast<std::size_t>(draw.in(0, static_cast<std::int64_t>(fields.size()) - 1))] =
          value < 0 && draw.chance(90) ? value & INT64_MAX : value;
    }
    if (draw.chance(30)) { d.request.budget = allot::bytes{INT64_MAX >> draw.in(0, 20)}; }
    allot::outcome const out = allot::solve(d.request, storage, table);
    seen.add(out);
    allot::problem const p{table, d.request.budget, d.request.demand, d.request.objective};
    bool const lawful = allot::laws::hold(p, out);
    if (lawful && is_true(d.request, out)) { continue; }
    if (++wrong <= 5) {
      std::string const what = lawful ? "untrue: " : "unlawful: ";
      MESSAGE(what << allot_test::show(d.request));
    }
  }
  CHECK(wrong == 0);
  REQUIRE(seen.total >= 300'000);
  MESSAGE(seen.text());
  CHECK(seen.errors[static_cast<int>(allot::solve_error::none)] > seen.total / 10);
  CHECK(seen.errors[static_cast<int>(allot::solve_error::overflow)] > seen.total / 10);
}

TEST_CASE("a plan that fills 63 bits keeps the laws") {
  std::int64_t const most = INT64_MAX;
  for (std::int64_t const sentinel : {0, 1, 2}) {
    auto const pages = allot::make_table(allot::raw_pages{{1}, 1, sentinel});
    allot::demand const none{.min_tokens = {0}, .min_usable_pages = {0}};
    auto const all = allot::solve(pages, allot::bytes{most}, none);
    REQUIRE(all);
    CHECK(all->pages.count == most - sentinel);
    CHECK(all->left.count == 0);
    CHECK(allot::laws::hold({pages, allot::bytes{most}, none, {}}, all));

    auto const experts =
        allot::make_table(allot::raw_pages{{1}, 1, sentinel},
                          allot::expert_bank{{1}, most, 1, {}, {}, allot::prefill_buffer::off});
    auto const slots = allot::solve(experts, allot::bytes{most}, none);
    CHECK(slots.ok == (sentinel == 0));  // every byte is a slot, or the sentinel does not fit
    CHECK(allot::laws::hold({experts, allot::bytes{most}, none, {}}, slots));
  }
}
