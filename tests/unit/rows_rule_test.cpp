// SPDX-License-Identifier: Apache-2.0
#include "random.hpp"

#include <allot/family/make_table.hpp>
#include <allot/solve/solve.hpp>

#include <doctest/doctest.h>

#include <cstdint>

// Rows as data: windows and compressed tiers, which have no family yet, written as extents must
// give the numbers a production engine published; any rule is monotone and is what its formula
// says.

using allot::extent;
using allot::rounding;
using allot::rows_of;
using allot_test::dice;

namespace {

constexpr std::int64_t page = 128;                   // tokens; also the window
constexpr std::int64_t kv = 1024;                    // bytes of a token's row
constexpr std::int64_t keys = 256;                   // bytes of a token's index key
constexpr std::int64_t state_4 = kv * 8 + keys * 8;  // two fp32 states of a row and of its key
constexpr std::int64_t state_128 = kv * 4;

/// A 43-layer model with compressed tiers, as an engine would write its own family: 21 layers keep
/// every 4th token and an index, 20 every 128th, all a window.
struct tiers {
  static constexpr std::int32_t max_extents = 7;

  std::int64_t max_running = 1;
  bool prefix_cached = true;
  double window_ratio = 0.2;
  std::int64_t max_seq_tokens = 1 << 20;

  std::int64_t least_window_pages() const {
    std::int64_t const longest = allot::divide_up(max_seq_tokens, page);
    return (longest < 8 ? longest : 8) + 2 * (max_running + 1) +
           (prefix_cached ? 3 * max_running : 0) + 1;
  }
  allot::paging paging() const { return {page, 1}; }
  allot::lowered lower(allot::lowering const&, extent* out) const {
    std::int64_t const scratch = max_running + 1;
    extent const all[max_extents] = {
        {"token map", 8 * page, {.plus = 1}},  // rows: physical pages
        {"window",
         43 * page * kv,
         {.of = rows_of::extent,
          .extent_index = 0,
          .mul = page,
          .ratio = window_ratio,
          .ratio_rounding = rounding::half_even,
          .per = page,
          .per_rounding = rounding::up,
          .at_least = least_window_pages(),
          .at_most_rows_of = 0}},
        {"every 4th",
         21 * (kv + keys),
         {.of = rows_of::extent, .extent_index = 0, .mul = page, .per = 4, .plus = scratch}},
        {"every 128th",
         20 * kv,
         {.of = rows_of::extent, .extent_index = 0, .mul = page, .per = 128, .plus = scratch}},
        {"ring of 4",
         21 * state_4,
         {.of = rows_of::extent, .extent_index = 1, .mul = 8, .plus = 1}},
        {"ring of 128",
         20 * state_128,
         {.of = rows_of::extent, .extent_index = 1, .mul = 128, .plus = 1}},
        {"map tail", 8, {.mul = 0, .at_least = 1}},
    };
    for (int i = 0; i < max_extents; ++i) {
      out[i] = all[i];
    }
    return {.pool = {.name = "tiers",
                     .family = "tiers",
                     .page_tokens = page,
                     .sentinel = 1,
                     .extents = max_extents}};
  }
};

struct priced {
  std::int64_t window_pages;
  std::int64_t bytes;
};

priced price(tiers const& t, std::int64_t usable_pages) {
  auto const table = allot::make_table(t);
  allot::table_view const v = table;
  return {allot::rows(v.extents.data, 1, {.anchor_pages = usable_pages}).value,
          allot::kv_bytes(v, usable_pages).value};
}

}  // namespace

TEST_CASE("compressed tiers come to the published bytes") {
  struct {
    tiers model;
    std::int64_t physical;
    priced expected;
  } const table[] = {
      {{4, true, .2}, 1173, {235, 5'227'637'000}},    // 150,016 tokens
      {{4, true, .2}, 2500, {500, 11'125'781'768}},   // 319,872 tokens
      {{1, true, .05}, 3986, {200, 7'083'139'592}},   // cases tiers-1
      {{50, true, .12}, 2561, {308, 7'756'044'040}},  // cases tiers-2
      {{50, true, .02}, 2561, {261, 6'917'461'768}},  // the floor: 8 + 2 * 51 + 3 * 50 + 1
  };
  for (auto const& row : table) {
    CAPTURE(row.physical);
    priced const got = price(row.model, row.physical - 1);
    CHECK(got.window_pages == row.expected.window_pages);
    CHECK(got.bytes == row.expected.bytes);
  }
  CHECK(tiers{50, true, .02}.least_window_pages() == 261);
}

TEST_CASE(
    "a stepwise pool is inverted exactly: the budget of n pages buys n, one byte less n - 1") {
  auto const table = allot::make_table(tiers{4, true, .2});
  dice draw{1};
  int checks = 0;
  for (; checks < 2000; ++checks) {
    std::int64_t const n = draw.in(30, 200'000);
    std::int64_t const cost = allot::kv_bytes(table, n).value;
    allot::demand const small{.min_tokens = {page}};
    auto const exact = allot::solve(table, allot::bytes{cost}, small);
    auto const short_of = allot::solve(table, allot::bytes{cost - 1}, small);
    REQUIRE(exact);
    REQUIRE(short_of);
    CHECK(exact->pages.count == n);
    CHECK(exact->left.count == 0);
    CHECK(short_of->pages.count == n - 1);
  }
  REQUIRE(checks == 2000);
}

TEST_CASE("a sliding window takes the larger of its share and its floor, and its maps follow") {
  // 25 layers of 8 heads of 256 beside a full pool of 20480 B a token
  extent const pool[] = {
      {"full", 20480, {.plus = 1}},
      {"window",
       204800,
       {.of = rows_of::extent,
        .extent_index = 0,
        .mul = 1,
        .ratio = .2,
        .at_least = 8776,
        .plus = 1}},
      {"map", 8, {.of = rows_of::extent, .extent_index = 0, .mul = 1, .plus = 1 + 1}},
      {"free list", 4, {.of = rows_of::extent, .extent_index = 1, .plus = -1}},
  };
  std::int64_t const tokens[] = {8192, 43'880, 100'000, 200'000};
  std::int64_t const window[] = {8777, 8777, 20'001, 40'001};
  for (int i = 0; i < 4; ++i) {
    CAPTURE(tokens[i]);
    allot::counts const at{.anchor_pages = tokens[i]};
    CHECK(allot::rows(pool, 1, at).value == window[i]);
    CHECK(allot::rows(pool, 2, at).value == tokens[i] + 1 + 1 + 1);
    CHECK(allot::rows(pool, 3, at).value == window[i] - 1);
  }
  // The share passes the floor where trunc(.2 * (n + 1)) does.
  CHECK(allot::rows(pool, 1, {.anchor_pages = 43'883}).value == 8777);
  CHECK(allot::rows(pool, 1, {.anchor_pages = 43'884}).value == 8778);
}

TEST_CASE("a second page size follows the anchor's tokens, a page table ends with the model") {
  extent const pool[] = {
      {"anchor", 64, {.plus = 1}},
      {"draft", 16, {.mul = 64, .per = 16, .per_rounding = rounding::up, .plus = 1}},
      {"page table", 640, {.mul = 64, .per = 32, .per_rounding = rounding::up, .at_most = 4096}},
  };
  CHECK(allot::rows(pool, 1, {.anchor_pages = 10}).value == 41);
  CHECK(allot::rows(pool, 2, {.anchor_pages = 10}).value == 20);
  CHECK(allot::rows(pool, 2, {.anchor_pages = 1'000'000}).value == 4096);
}

TEST_CASE("granularity makes the last step free: 36 arrays of 400 B a token in 2 MiB granules") {
  extent const pool[] = {{"rows", 400, {}, 36}};
  auto const each = [&](std::int64_t tokens) {
    return allot::array_bytes(pool, 0, {.anchor_pages = tokens}, 2 << 20).value;
  };
  CHECK(each(262'144) == std::int64_t{100} << 20);
  CHECK(each(258'048) == std::int64_t{100} << 20);
  CHECK(each(253'952) == std::int64_t{98} << 20);
  CHECK(36 * (each(258'048) - each(253'952)) == std::int64_t{72} << 20);
}

TEST_CASE("what joins a page block is derived from the rule") {
  auto const per_page = [](allot::rows_rule const& rule, std::int64_t sentinels = 1) {
    return allot::rows_per_page(extent{"extent", 1, rule}, sentinels);
  };
  CHECK(per_page({.plus = 1}) == 1);
  CHECK(per_page({.plus = 0}) == 0);  // no row for the sentinel page
  CHECK(per_page({}, 0) == 1);
  CHECK(per_page({.plus = 3}, 3) == 1);
  CHECK(per_page({.mul = 128, .per = 4, .plus = 32}) == 32);
  CHECK(per_page({.mul = 128, .per = 4, .plus = 33}) == 0);  // a scratch row beside the pages
  CHECK(per_page({.mul = 4, .plus = 1}) == 0);               // one sentinel of four rows' pages
  CHECK(per_page({.of = rows_of::anchor_physical, .mul = 128, .per = 4}) == 32);
  CHECK(per_page({.of = rows_of::anchor_physical, .plus = 1}) == 0);
  CHECK(per_page({.mul = 6, .per = 4}) == 0);
  CHECK(per_page({.mul = 128, .ratio = .2}) == 0);
  CHECK(per_page({.at_least = 9}) == 0);
  CHECK(per_page({.at_most = 4096}) == 0);
  CHECK(per_page({.at_most_rows_of = 0}) == 0);
  CHECK(per_page({.of = rows_of::expert_slots}) == 0);
  CHECK(per_page({.mul = 0, .at_least = 1}) == 0);
}
