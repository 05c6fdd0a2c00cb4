// SPDX-License-Identifier: Apache-2.0
#include "apply.hpp"
#include "drawn.hpp"
#include "flaws.hpp"
#include "tally.hpp"

#include <allot/describe.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

// Every refusal in words: the field, the value, what would be right; the bytes of those about
// bytes.

using allot::describe;

namespace {

bool names(std::string const& sentence, std::string const& part) {
  return sentence.find(part) != std::string::npos;
}

constexpr allot::gqa attention{.layers = 4, .kv_heads = 6, .head_dim = 64, .page_tokens = 16};

}  // namespace

TEST_CASE("sentences") {
  auto const said = [](auto const& table, allot::bytes budget, allot::demand const& d) {
    return describe(allot::solve(table, budget, d).error);
  };
  allot::gqa wrong = attention;
  wrong.head_dim = -1;
  CHECK(said(allot::make_table(wrong), {1 << 20}, {}) ==
        "kv[0].head_dim is -1; it must be an integer of at least 1");
  allot::gqa split = attention;
  split.tp = 4;
  CHECK(said(allot::make_table(split), {1 << 20}, {}) ==
        "kv[0].tp is 4; it must be a divisor or a multiple of kv_heads");
  CHECK(said(allot::make_table(attention), {1 << 20}, {.min_tokens = {1024}}) ==
        "the floors need 6389760 bytes, the budget is 1048576 bytes, 5341184 bytes short; the "
        "largest part is kv");
  CHECK(said(allot::make_table(attention), {1 << 20}, {.pinned_tokens = allot::tokens{17}}) ==
        "demand.tokens is 17, no whole number of pages; the nearest are 16 and 32");
  allot::mla const crooked{.layers = 1, .latent_dim = 9, .page_tokens = 3};
  CHECK(said(allot::make_table<allot::arrangement::page_major>(crooked), {1 << 20}, {}) ==
        "kv[0].page_tokens is 3; it must be such that the rows of a page are a multiple of 16 "
        "bytes: the nearest is 8");
  CHECK(describe(allot::repair{allot::setting::charge, false, 2, 77}) ==
        "set charges[2].bytes to 77");
  CHECK(describe(allot::repair{.set = allot::setting::pages, .removes = true}) ==
        "remove demand.pages");
  auto const refused = allot::can_serve({16, 1}, {4}, {60}, {5});
  REQUIRE_FALSE(refused);
  CHECK(describe(refused.error) == "needs 5 pages, the pool has 4");
}

TEST_CASE("every refusal names what binds, and its numbers") {
  allot_test::dice draw{12};
  allot_test::drawer make{draw, allot_test::size::small};
  allot_test::spoiler harm{draw};
  allot_test::tally seen;
  allot_test::drawn d;
  std::int64_t wrong = 0;
  while (seen.total < 20'000) {
    make.request(d);
    d.request.budget = make.state_budget(make.budget(d.request));
    if (draw.chance(70)) {
      harm.spoil(d, static_cast<allot_test::flaw>(draw.in(0, allot_test::flaws - 1)));
    }
    allot::outcome const out = allot::solve(d.request);
    if (out) { continue; }
    seen.add(out);
    allot::refusal const& r = out.error;
    std::string const sentence = describe(r);
    bool right = names(sentence, describe(r.binding));
    if (r.priced) {
      for (allot::bytes const b : {r.needed, r.budget, r.shortfall}) {
        right = right && names(sentence, std::to_string(b.count) + " bytes");
      }
    }
    for (int i = 0; i < r.repair_count; ++i) {
      std::string const change = describe(r.repairs[i]);
      right = right && (r.repairs[i].removes ? names(change, "remove ") : names(change, " "));
    }
    wrong += !right;
  }
  CHECK(wrong == 0);
  seen.each_is_common(seen.errors, allot_test::error_names, {"none"});
}
