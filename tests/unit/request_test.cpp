// SPDX-License-Identifier: Apache-2.0
#include "drawn.hpp"
#include "flaws.hpp"
#include "show.hpp"
#include "tally.hpp"

#include <allot/plan/layout.hpp>
#include <allot/solve/request.hpp>

#include <doctest/doctest.h>

#include <cstdint>

// The closed request, chosen at run time, and the table of types, fixed at compile time, are one
// library: the same answers, the same layout, whatever storage is used again.

using allot_test::dice;
using allot_test::drawer;
using allot_test::drawn;

namespace {

bool same(allot::plan const& a, allot::plan const& b) {
  bool notes = a.note_count == b.note_count;
  for (int i = 0; notes && i < a.note_count; ++i) {
    notes = a.notes[i] == b.notes[i];
  }
  return notes && a.slots == b.slots && a.prefill_buffer == b.prefill_buffer &&
         a.pages == b.pages && a.physical == b.physical && a.usable_tokens == b.usable_tokens &&
         a.state == b.state && a.budget == b.budget && a.fixed == b.fixed &&
         a.experts == b.experts && a.kv == b.kv && a.left == b.left && a.reason == b.reason;
}

bool same(allot::refusal const& a, allot::refusal const& b) {
  bool repairs = a.repair_count == b.repair_count;
  for (int i = 0; repairs && i < a.repair_count; ++i) {
    repairs = a.repairs[i] == b.repairs[i];
  }
  return repairs && a.error == b.error && a.binding == b.binding && a.value == b.value &&
         a.expected == b.expected && a.low == b.low && a.high == b.high && a.priced == b.priced &&
         a.needed == b.needed && a.budget == b.budget && a.shortfall == b.shortfall;
}

bool same(allot::outcome const& a, allot::outcome const& b) {
  return a.ok == b.ok && (a ? same(*a, *b) : same(a.error, b.error));
}

/// Every extent of the two tables lies in the same place.
bool same_layout(allot::table_view const& a, allot::table_view const& b, allot::plan const& p) {
  allot::placement places[16];
  std::int32_t count = 0;
  auto const map = allot::lay_out(a, p, [&](std::int32_t index, allot::placement const& x) {
    places[index] = x;
    ++count;
  });
  bool equal = true;
  auto const other = allot::lay_out(b, p, [&](std::int32_t index, allot::placement const& x) {
    allot::placement const& y = places[index];
    equal = equal && x.offset == y.offset && x.rows == y.rows && x.row_bytes == y.row_bytes &&
            x.copy_stride == y.copy_stride && x.end() == y.end();
    --count;
  });
  return equal && count == 0 && map.carved == other.carved;
}

/// The families of a request as they were typed: a raw anchor, a GQA and an MLA pool, a state and
/// an expert bank.
struct typed_request {
  allot::kv_family kv[3];
  allot::charge charges[2] = {{"workspace", {11}}, {"draft model", {7}}};
  allot::request request;

  typed_request(dice& draw, drawer& make) {
    drawn d;
    do {
      make.request(d);
    } while (!d.request.state || !d.request.experts);
    kv[0] = allot::raw_pages{{draw.in(1, 40)}, draw.in(1, 5), draw.in(0, 2)};
    kv[1] = allot::gqa{.layers = draw.in(1, 3),
                       .kv_heads = 6,
                       .head_dim = draw.in(1, 5),
                       .tp = draw.in(1, 7),
                       .page_tokens = draw.in(1, 4)};
    kv[2] = allot::mla{.layers = draw.in(1, 3),
                       .latent_dim = draw.in(1, 9),
                       .index = allot::index_slab{draw.in(1, 4), 2},
                       .page_tokens = draw.in(1, 4)};
    request = d.request;
    request.kv = kv;
    request.charges = charges;
    request.budget = allot::bytes{draw.in(0, 13'000)};
    if (request.arrangement == allot::arrangement::page_major && draw.chance(90)) {
      kv[0].raw.page_bytes = {16};
      kv[1].set_page_tokens(16);
      kv[2].set_page_tokens(16 * draw.in(1, 2));
    }
  }

  template <allot::arrangement Arranged>
  auto table_of() const {
    return allot::make_table<Arranged>(kv[0].raw, kv[1].gqa, kv[2].mla, *request.state,
                                       *request.experts, charges[0], charges[1])
        .with_granularity(request.granularity);
  }
  auto table() const {
    switch (request.arrangement) {
      case allot::arrangement::page_major: return table_of<allot::arrangement::page_major>();
      case allot::arrangement::layer_major: return table_of<allot::arrangement::layer_major>();
      case allot::arrangement::flat: break;
    }
    return table_of<allot::arrangement::flat>();
  }
};

}  // namespace

TEST_CASE("a request chosen at run time answers what the typed table answers") {
  dice draw{5};
  drawer make{draw, allot_test::size::small};
  allot::table_storage storage;
  allot::table_view lowered;
  std::int64_t wrong = 0;
  std::int64_t plans = 0;
  int checks = 0;
  for (; checks < 50'000; ++checks) {
    typed_request const t{draw, make};
    allot::request const& r = t.request;
    auto const table = t.table();
    allot::outcome const typed = allot::solve(table, r.budget, r.demand, r.objective);
    allot::outcome closed = allot::solve(r, storage, lowered);
    // Only the request can look for other ranks and pages.
    if (closed.error.error == allot::solve_error::kv_head_split ||
        closed.error.error == allot::solve_error::misaligned_stride) {
      closed.error.repair_count = 0;
    }
    wrong += !same(typed, closed);
    plans += typed.ok;
    if (typed) { wrong += !same_layout(table, lowered, *typed); }
  }
  CHECK(wrong == 0);
  CHECK(plans > checks / 4);
  CHECK(plans < checks * 3 / 4);
}

TEST_CASE("storage that is used again gives the answers of new storage, in any order of sizes") {
  dice draw{6};
  drawer make{draw, allot_test::size::small};
  allot_test::spoiler harm{draw};
  allot::table_storage reused;
  allot::table_view table;
  drawn d;
  std::int64_t wrong = 0;
  for (int i = 0; i < 50'000; ++i) {
    make.request(d);
    d.request.budget = make.state_budget(make.budget(d.request));
    if (draw.chance(20)) {
      harm.spoil(d, static_cast<allot_test::flaw>(draw.in(0, allot_test::flaws - 1)));
    }
    bool const equal = same(allot::solve(d.request, reused, table), allot::solve(d.request));
    if (!equal && ++wrong <= 3) { MESSAGE(allot_test::show(d.request)); }
    wrong += table.kv_pools != d.request.kv.size;
    wrong += table.state.given != d.request.state.given;
    wrong += table.experts.given != d.request.experts.given;
  }
  CHECK(wrong == 0);
}

TEST_CASE("a request of many pools: every one is priced and none is forgotten") {
  allot::kv_family many[100];
  for (std::int64_t i = 0; i < 100; ++i) {
    many[i] = allot::raw_pages{{i + 1}, 1, 0};
  }
  allot::request r;
  r.kv = many;
  r.demand.min_tokens = {1};
  r.budget = allot::bytes{15'149};  // 1 + 2 + … + 100 a token
  allot::table_storage storage;
  allot::table_view table;
  allot::outcome const two = allot::solve(r, storage, table);
  REQUIRE(two);
  CHECK(two->pages.count == 2);
  CHECK(allot::share_of(table, *two, 99).bytes.count == 200);
  r.budget = allot::bytes{15'150};
  CHECK(allot::solve(r)->pages.count == 3);
}

TEST_CASE("heads that do not split name the nearest ranks that do") {
  struct {
    std::int64_t heads, tp;
    std::int64_t below, above;  ///< 0: none
  } const table[] = {{8, 3, 2, 4}, {6, 4, 3, 6},  {8, 12, 8, 16},
                     {1, 1, 0, 0}, {5, 7, 5, 10}, {40, 64, 40, 80}};
  for (auto const& row : table) {
    CAPTURE(row.heads);
    CAPTURE(row.tp);
    allot::kv_family const kv[] = {
        allot::gqa{.layers = 1, .kv_heads = row.heads, .head_dim = 1, .tp = row.tp}};
    allot::request r;
    r.kv = kv;
    r.budget = allot::bytes{1 << 30};
    allot::outcome const out = allot::solve(r);
    CHECK(out.ok == (row.below == 0));
    if (out) { continue; }
    CHECK(out.error.error == allot::solve_error::kv_head_split);
    CHECK(out.error.binding == allot::request_path{"kv", 0, "tp"});
    REQUIRE(out.error.repair_count == 2);
    CHECK(out.error.repairs[0] == allot::repair{allot::setting::tp, false, 0, row.below});
    CHECK(out.error.repairs[1] == allot::repair{allot::setting::tp, false, 0, row.above});
  }
}

TEST_CASE("no pool at all is a bad request, not a crash") {
  allot::request r;
  r.budget = allot::bytes{100};
  allot::outcome const out = allot::solve(r);
  CHECK(out.error.error == allot::solve_error::bad_input);
  CHECK(out.error.binding == allot::request_path{"kv"});
}
