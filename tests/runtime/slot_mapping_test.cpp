// SPDX-License-Identifier: Apache-2.0
#include "../unit/random.hpp"

#include <allot/runtime/host_backend.hpp>
#include <allot/runtime/host_resources.hpp>
#include <allot/runtime/slot_mapping.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

// Where each new token goes, token by token, and -1 where none does.

using namespace allot::runtime;
using allot::tokens;

namespace {

using batch = std::vector<appended_tokens>;
using slots = std::vector<std::int64_t>;

struct bench {
  host_resource heap;
  host_backend on;
  block_table table;
  slot_mapping mapping{table};

  bench(page_ids const& pool, std::int64_t rows, std::int64_t columns)
      : table{heap, heap, on, pool, rows, {columns * pool.policy.page_tokens}} {}
};

using ids = std::vector<page_id>;

}  // namespace

TEST_CASE("tokens go behind those that are there, over the end of a page") {
  bench b{{{4, 1}, {50}}, 3, 3};
  REQUIRE(b.table.assign(0, ids{7, 9, 3}, {3}));
  REQUIRE(b.table.assign(2, ids{20}, {0}));
  slots out(12, -5);
  CHECK(b.mapping.fill(batch{{0, 6}, {2, 3}, {1, 0}}, out).value == tokens{9});
  CHECK(out == slots{31, 36, 37, 38, 39, 12, 80, 81, 82, -1, -1, -1});
  CHECK(b.table.kv_len(0) == tokens{3});  // reading only

  REQUIRE(b.table.set_kv_len(0, {9}));
  CHECK(b.mapping.fill(batch{{2, 4}, {0, 3}}, std::span{out}.first(7)).value == tokens{7});
  CHECK(out == slots{80, 81, 82, 83, 13, 14, 15, 81, 82, -1, -1, -1});

  CHECK(b.mapping.fill({}, out).value == tokens{0});
  CHECK(out == slots(12, -1));
  CHECK(b.mapping.fill({}, {}).ok);
}

TEST_CASE("slots beyond 2^31 are 64 bits from the first product on") {
  bench b{{{64, 1}, {INT32_MAX - 1}}, 1, 2};
  REQUIRE(b.table.assign(0, ids{INT32_MAX - 1, 40'000'000}, {63}));
  slots out(3);
  REQUIRE(b.mapping.fill(batch{{0, 3}}, out));
  CHECK(out == slots{INT64_C(2147483646) * 64 + 63, INT64_C(40'000'000) * 64,
                     INT64_C(40'000'000) * 64 + 1});
}

TEST_CASE("faults name the row, how far it would reach and what it holds; nothing is written") {
  bench b{{{4, 1}, {50}}, 3, 3};
  REQUIRE(b.table.assign(0, ids{7, 9}, {5}));
  REQUIRE(b.table.assign(1, ids{8}, {4}));
  slots out(6, -5);
  auto const refused = [&](batch const& of, table_fault const& why, char const* text) {
    auto const answer = b.mapping.fill(of, out);
    CHECK_FALSE(answer);
    CHECK(answer.error == why);
    CHECK(describe(answer.error) == text);
    CHECK(out == slots(6, -5));
  };
  table_fault past{.code = table_error::beyond_capacity, .row = 0, .asked = 9, .limit = 8};
  refused({{0, 4}}, past, "row 0 cannot reach 9 tokens, its pages hold 8");
  past.asked = INT64_MAX;
  refused({{0, INT64_MAX}}, past,
          "row 0 cannot reach 9223372036854775807 tokens, its pages hold 8");
  past.asked = -1;
  refused({{0, -1}}, past, "row 0 cannot reach -1 tokens, its pages hold 8");
  refused({{0, 1}, {1, 1}},
          {.code = table_error::beyond_capacity, .row = 1, .asked = 5, .limit = 4},
          "row 1 cannot reach 5 tokens, its pages hold 4");
  refused({{2, 1}}, {.code = table_error::beyond_capacity, .row = 2, .asked = 1, .limit = 0},
          "row 2 cannot reach 1 tokens, its pages hold 0");
  refused({{3, 1}}, {.code = table_error::bad_row, .row = 3, .limit = 3},
          "row 3 is not there: rows are 0 to 2");
  refused({{-1, 1}}, {.code = table_error::bad_row, .row = -1, .limit = 3},
          "row -1 is not there: rows are 0 to 2");
  refused({{0, 1}, {1, 0}, {0, 1}}, {.code = table_error::repeated_row, .row = 0},
          "row 0 comes twice in one batch");
  REQUIRE(b.table.assign(2, ids{1, 2}));
  refused({{0, 2}, {2, 5}}, {.code = table_error::batch_full, .row = 2, .asked = 7, .limit = 6},
          "row 2 brings the batch to 7 tokens, it has room for 6");
  // A refused batch does not count as one that had the row.
  CHECK(b.mapping.fill(batch{{0, 1}, {2, 5}}, out).value == tokens{6});
}

TEST_CASE("random batches agree with a token at a time") {
  allot_test::dice dice{5};
  std::int64_t mapped = 0;
  std::int64_t padded = 0;
  std::int64_t good_batches = 0;
  std::int64_t refused[7] = {};
  for (std::int64_t const page_tokens : {1, 2, 16, 100}) {
    page_ids const pool{{page_tokens, 1}, {50'000'000}};
    bench b{pool, 6, 5};
    for (int round = 0; round < 50'000; ++round) {
      std::int64_t const row = dice.in(0, 5);
      ids pages(static_cast<std::size_t>(dice.in(0, 5)));
      for (page_id& page : pages) {
        page = static_cast<page_id>(dice.in(1, 50'000'000));
      }
      auto const holds = static_cast<std::int64_t>(pages.size()) * page_tokens;
      REQUIRE(b.table.assign(row, pages, {dice.in(0, holds)}));

      batch of(static_cast<std::size_t>(dice.in(0, 4)));
      slots out(static_cast<std::size_t>(dice.in(0, 6 * page_tokens)), -5);
      slots expected;
      bool good = true;
      std::vector<bool> had(6, false);
      for (auto& [at, count] : of) {
        at = dice.chance(2) ? dice.in(-1, 6) : dice.in(0, 5);
        count = dice.chance(2) ? dice.in(-1, 6 * page_tokens) : 0;
        bool const there = 0 <= at && at < 6;
        std::int64_t const room = there ? b.table.capacity(at).count - b.table.kv_len(at).count : 0;
        if (count == 0) { count = dice.in(0, room); }
        good = good && there && !had[static_cast<std::size_t>(at)] && 0 <= count && count <= room;
        if (!good) { continue; }
        had[static_cast<std::size_t>(at)] = true;
        for (std::int64_t i = 0; i < count; ++i) {
          std::int64_t const position = b.table.kv_len(at).count + i;
          std::int64_t const page =
              b.table.row(at)[static_cast<std::size_t>(position / page_tokens)];
          expected.push_back(page * page_tokens + position % page_tokens);
        }
        good = expected.size() <= out.size();
      }
      auto const answer = b.mapping.fill(of, out);
      REQUIRE(answer.ok == good);
      if (!good) {
        REQUIRE(out == slots(out.size(), -5));
        ++refused[static_cast<int>(answer.error.code)];
        continue;
      }
      ++good_batches;
      REQUIRE(answer.value == tokens{static_cast<std::int64_t>(expected.size())});
      mapped += answer.value.count;
      padded += static_cast<std::int64_t>(out.size() - expected.size());
      expected.resize(out.size(), -1);
      REQUIRE(out == expected);
    }
  }
  CHECK(good_batches > 50'000);
  CHECK(mapped > 500'000);
  CHECK(padded > 500'000);
  for (auto const code : {table_error::bad_row, table_error::beyond_capacity,
                          table_error::repeated_row, table_error::batch_full}) {
    CAPTURE(static_cast<int>(code));
    CHECK(refused[static_cast<int>(code)] >= 1000);
  }
}
