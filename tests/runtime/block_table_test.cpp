// SPDX-License-Identifier: Apache-2.0
#include "../unit/random.hpp"
#include "late_backend.hpp"

#include <allot/runtime/block_table.hpp>
#include <allot/runtime/counting_resource.hpp>
#include <allot/runtime/faulting_resource.hpp>
#include <allot/runtime/host_resources.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

// What a kernel finds: the pages of each row and padding behind them, at an address that stays, and
// never an id of a row that is gone.

using namespace allot::runtime;
using allot::paging;
using allot::tokens;
using allot_test::late_backend;

namespace {

using ids = std::vector<page_id>;

constexpr page_ids pool{{16, 1}, {100}};

/// A table of rows x columns, pages of 16 tokens, and the memory it lies in.
struct bench {
  host_resource heap;
  counting_resource device{heap};
  counting_resource host{heap};
  late_backend on;
  block_table table;

  explicit bench(std::int64_t rows = 4, std::int64_t columns = 5, page_ids const& of = pool,
                 allot::maybe<page_id> padding = {})
      : table{device, host, on, of, rows, {columns * of.policy.page_tokens}, padding} {
    on.forget();
  }

  ids device_row(std::int64_t row) const {
    std::int32_t const* const first = table.device_data() + row * table.columns();
    return {first, first + table.columns()};
  }
  std::vector<std::int32_t> device_lengths() const {
    return {table.device_kv_len(), table.device_kv_len() + table.requests()};
  }
};

/// All that can be seen of a table on the host; on a fault it must be as before.
struct snapshot {
  ids cells;
  std::vector<ids> rows;
  std::vector<tokens> lengths;

  explicit snapshot(block_table const& table)
      : cells(table.host_data(), table.host_data() + table.requests() * table.columns()) {
    for (std::int64_t row = 0; row < table.requests(); ++row) {
      rows.emplace_back(table.row(row).begin(), table.row(row).end());
      lengths.push_back(table.kv_len(row));
    }
  }
  friend bool operator==(snapshot const&, snapshot const&) = default;
};

std::string refusal(page_ids const& of, std::int64_t requests, std::int64_t longest) {
  host_resource heap;
  counting_resource counting{heap};
  late_backend on;
  try {
    block_table const table{counting, counting, on, of, requests, {longest}};
  } catch (std::invalid_argument const& why) {
    CHECK(counting.counts().allocate_calls == 0);
    return why.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("a new table is all padding, on the device too, and takes what it says") {
  bench b{3, 5};
  auto const bytes = (*block_table::bytes_for({16, 1}, 3, {80})).count;
  CHECK(bytes == (3 * 5 * 4 + 15) / 16 * 16 + 3 * 4);
  CHECK(b.device.counts().outstanding_bytes == bytes);
  CHECK(b.host.counts().outstanding_bytes == bytes);
  CHECK(b.device.counts().allocate_calls == 1);
  CHECK(b.on.idle());
  CHECK(b.table.columns() == 5);
  for (std::int64_t row = 0; row < 3; ++row) {
    CHECK(b.device_row(row) == ids(5, 0));
    CHECK(b.table.row(row).empty());
  }
  CHECK(b.device_lengths() == std::vector<std::int32_t>(3, 0));
  CHECK(b.table.upload() == 0);

  CHECK(bench{1, 2, {{16, 2}, {9}, sentinel_side::back}}.device_row(0) == ids(2, 9));
  CHECK(bench{1, 2, {{16, 0}, {9}}}.device_row(0) == ids(2, -1));
  CHECK(bench{1, 2, {{16, 2}, {9}}, 1}.device_row(0) == ids(2, 1));  // another sentinel
  CHECK(bench{1, 2, pool, no_page}.device_row(0) == ids(2, -1));
  for (page_id const wrong : {1, 77, 1'000'000, -2}) {  // a page that is handed out, or none
    CHECK_THROWS_WITH_AS((bench{1, 2, pool, wrong}),
                         doctest::Contains("it is a sentinel of the pool, or no_page"),
                         std::invalid_argument);
  }
  // Columns are the pages of the longest request, rounded up.
  host_resource heap;
  late_backend on;
  CHECK(block_table{heap, heap, on, pool, 1, {1}}.columns() == 1);
  CHECK(block_table{heap, heap, on, pool, 1, {17}}.columns() == 2);
  CHECK(block_table{heap, heap, on, pool, 1, {1600}}.columns() == 100);
}

TEST_CASE("a table that makes no sense is refused before it takes memory") {
  CHECK(refusal(pool, 4, 1601) ==
        "block_table: a request of 1601 tokens needs 101 pages, the pool has 100");
  CHECK(refusal(pool, 0, 16) == "block_table: 0 requests; 1 to 2147483647 can be rows");
  CHECK(refusal(pool, INT64_MAX, 16) ==
        "block_table: 9223372036854775807 requests; 1 to 2147483647 can be rows");
  CHECK(refusal(pool, 4, 0) == "block_table: the longest request is 0 tokens; it is at least 1");
  CHECK(refusal({{16, 1}, {-1}}, 4, 16) == "block_table: the pool's counts make no pool");
  CHECK(refusal({{64, 1}, {INT32_MAX - 1}}, 4, INT64_C(1) << 31) ==
        "block_table: 33554432 pages of 64 tokens hold more than the int32 of kv_len counts");
  CHECK(refusal({{1, 1}, {INT32_MAX - 1}}, INT32_MAX, INT32_MAX - 1) ==
        "block_table: 2147483647 rows of 2147483646 columns are 2^63 bytes or more");
}

TEST_CASE("a table that cannot be made leaves nothing behind") {
  int failed = 0;
  for (int call = 1;; ++call) {
    host_resource heap;
    counting_resource counting{heap};
    faulting_resource memory{counting, call};
    late_backend on;
    try {
      block_table const table{memory, memory, on, pool, 4, {80}};
    } catch (allocation_error const&) {
      CHECK(counting.counts().outstanding_allocations == 0);
      ++failed;
      continue;
    }
    break;
  }
  CHECK(failed == 2);

  host_resource heap;
  counting_resource counting{heap};
  late_backend on;
  on.fail_call(1);
  CHECK_THROWS_AS((block_table{counting, counting, on, pool, 4, {80}}), backend_error);
  CHECK(counting.counts().outstanding_allocations == 0);
}

TEST_CASE("rows as they grow, shrink, move and go") {
  bench b{3, 4};
  std::int32_t const* const table_at = b.table.device_data();
  std::int32_t const* const lengths_at = b.table.device_kv_len();
  auto const arrives = [&](ids const& first, ids const& second, ids const& third,
                           std::vector<std::int32_t> const& lengths) {
    b.table.upload();
    b.on.wait();
    CHECK(b.device_row(0) == first);
    CHECK(b.device_row(1) == second);
    CHECK(b.device_row(2) == third);
    CHECK(b.device_lengths() == lengths);
    CHECK(b.table.device_data() == table_at);
    CHECK(b.table.device_kv_len() == lengths_at);
  };

  CHECK(b.table.assign(0, ids{7, 8, 9}, {33}).value == tokens{48});
  CHECK(b.table.append(1, 20).value == tokens{16});
  CHECK(b.table.append(1, 21).value == tokens{32});
  CHECK(b.table.set_kv_len(1, {32}).value == tokens{32});
  arrives({7, 8, 9, 0}, {20, 21, 0, 0}, {0, 0, 0, 0}, {33, 32, 0});

  CHECK(b.table.replace(0, 1, 50));
  arrives({7, 50, 9, 0}, {20, 21, 0, 0}, {0, 0, 0, 0}, {33, 32, 0});

  CHECK(b.table.swap(0, 1).value == tokens{32});
  arrives({20, 21, 0, 0}, {7, 50, 9, 0}, {0, 0, 0, 0}, {32, 33, 0});
  CHECK(b.table.swap(2, 1).value == tokens{48});
  arrives({20, 21, 0, 0}, {0, 0, 0, 0}, {7, 50, 9, 0}, {32, 0, 33});

  CHECK(b.table.move(0, 2).value == tokens{32});  // over a longer row
  arrives({0, 0, 0, 0}, {0, 0, 0, 0}, {20, 21, 0, 0}, {0, 0, 32});

  CHECK(b.table.assign(2, ids{1, 2, 3, 4}, {64}));
  CHECK(b.table.assign(2, ids{5}));
  arrives({0, 0, 0, 0}, {0, 0, 0, 0}, {5, 0, 0, 0}, {0, 0, 0});

  CHECK(b.table.assign(2, ids{1, 2, 3, 4}, {64}));
  CHECK(b.table.assign(2, b.table.row(2).subspan(1, 2), {20}));  // a part of itself
  arrives({0, 0, 0, 0}, {0, 0, 0, 0}, {2, 3, 0, 0}, {0, 0, 20});

  CHECK(b.table.swap(2, 2).ok);
  CHECK(b.table.move(2, 2).ok);
  CHECK(b.table.upload() == 0);
  CHECK(b.table.clear(2).value == tokens{0});
  arrives({0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0});
}

TEST_CASE("faults name what is wrong, and nothing changes") {
  bench b{3, 4};
  REQUIRE(b.table.assign(1, ids{7, 8, 9}, {33}));
  REQUIRE(b.table.assign(2, ids{1, 2, 3, 4}, {64}));
  b.table.upload();
  b.on.wait();
  snapshot const before{b.table};
  auto const refused = [&](auto const& answer, table_fault const& why, char const* text) {
    CHECK_FALSE(answer.ok);
    CHECK(answer.error == why);
    CHECK(describe(why) == text);
    CHECK(snapshot{b.table} == before);
    CHECK(b.table.upload() == 0);
  };
  for (std::int64_t const row : {std::int64_t{-1}, std::int64_t{3}, INT64_MAX, INT64_MIN}) {
    table_fault const why{.code = table_error::bad_row, .row = row, .limit = 3};
    std::string const text = "row " + std::to_string(row) + " is not there: rows are 0 to 2";
    refused(b.table.assign(row, ids{1}), why, text.c_str());
    refused(b.table.append(row, 1), why, text.c_str());
    refused(b.table.replace(row, 0, 1), why, text.c_str());
    refused(b.table.set_kv_len(row, {0}), why, text.c_str());
    refused(b.table.clear(row), why, text.c_str());
    refused(b.table.swap(1, row), why, text.c_str());
    refused(b.table.swap(row, 1), why, text.c_str());
    refused(b.table.move(1, row), why, text.c_str());
    refused(b.table.move(row, 1), why, text.c_str());
  }
  for (std::int64_t const column : {std::int64_t{-1}, std::int64_t{3}, INT64_MAX}) {
    refused(b.table.replace(1, column, 5),
            {.code = table_error::bad_column, .row = 1, .column = column, .limit = 3},
            ("row 1 has no page in column " + std::to_string(column) + ", it has 3 pages").c_str());
  }
  for (page_id const page : {0, -1, 101, INT32_MAX, INT32_MIN}) {
    std::string const text = ": page " + std::to_string(page) + " is none that the pool hands out";
    table_fault why{.code = table_error::foreign_page, .row = 1, .column = 1, .page = page};
    refused(b.table.assign(1, ids{5, page, 6}), why, ("row 1, column 1" + text).c_str());
    refused(b.table.replace(1, 1, page), why, ("row 1, column 1" + text).c_str());
    why.column = 3;
    refused(b.table.append(1, page), why, ("row 1, column 3" + text).c_str());
  }
  refused(b.table.assign(1, ids{1, 2, 3, 4, 5}),
          {.code = table_error::row_full, .row = 1, .asked = 5, .limit = 4},
          "row 1 cannot have 5 pages, the table has 4 columns");
  refused(b.table.append(2, 5), {.code = table_error::row_full, .row = 2, .asked = 5, .limit = 4},
          "row 2 cannot have 5 pages, the table has 4 columns");
  refused(b.table.set_kv_len(1, {49}),
          {.code = table_error::beyond_capacity, .row = 1, .asked = 49, .limit = 48},
          "row 1 cannot reach 49 tokens, its pages hold 48");
  refused(b.table.set_kv_len(1, {-1}),
          {.code = table_error::beyond_capacity, .row = 1, .asked = -1, .limit = 48},
          "row 1 cannot reach -1 tokens, its pages hold 48");
  refused(b.table.assign(1, ids{5, 6}, {33}),
          {.code = table_error::beyond_capacity, .row = 1, .asked = 33, .limit = 32},
          "row 1 cannot reach 33 tokens, its pages hold 32");
}

TEST_CASE("only what has changed is uploaded, neighbours in one copy") {
  bench b{8, 3};
  auto const row_at = [&](std::int64_t row) { return b.table.device_data() + row * 3; };
  for (std::int64_t const row : {1, 2, 5, 7}) {
    REQUIRE(b.table.append(row, 9));
  }
  CHECK(b.table.upload() == 4 * 3 * 4);
  REQUIRE(b.on.calls().size() == 3);
  CHECK(b.on.calls()[0].to == row_at(1));
  CHECK(b.on.calls()[0].bytes == 2 * 3 * 4);
  CHECK(b.on.calls()[1].to == row_at(5));
  CHECK(b.on.calls()[2].to == row_at(7));
  CHECK(b.on.calls()[2].bytes == 3 * 4);
  b.on.wait();
  b.on.forget();

  REQUIRE(b.table.set_kv_len(2, {4}));
  REQUIRE(b.table.set_kv_len(5, {16}));
  REQUIRE(b.table.set_kv_len(7, {0}));  // as it is
  CHECK(b.table.upload() == 4 * 4);
  REQUIRE(b.on.calls().size() == 1);
  CHECK(b.on.calls()[0].to == b.table.device_kv_len() + 2);
  b.on.wait();
  CHECK(b.device_lengths() == std::vector<std::int32_t>{0, 0, 4, 0, 0, 16, 0, 0});
  CHECK(b.table.upload() == 0);
}

TEST_CASE("an upload that fails is still to be done") {
  for (int call = 1; call <= 3; ++call) {
    bench b{8, 3};
    REQUIRE(b.table.assign(1, ids{9}, {5}));
    REQUIRE(b.table.append(5, 9));
    b.on.fail_call(call);
    CHECK_THROWS_AS(b.table.upload(), backend_error);
    b.on.wait();
    CHECK(b.table.upload() == 2 * 3 * 4 + 4);
    b.on.wait();
    CHECK(b.device_row(1) == ids{9, 0, 0});
    CHECK(b.device_row(5) == ids{9, 0, 0});
    CHECK(b.device_lengths()[1] == 5);
  }
}

TEST_CASE("random operations: the device always has the rows and the padding of the model") {
  struct model_row {
    ids pages;
    std::int64_t length = 0;
  };
  allot_test::dice dice{3};
  std::int64_t steps = 0;
  std::int64_t seen[2][7] = {};  // [refused, done][operation]
  for (std::int64_t const columns : {1, 2, 7}) {
    for (std::int64_t const rows : {1, 3, 9}) {
      page_ids const small{{4, 1}, {20}, columns == 2 ? sentinel_side::back : sentinel_side::front};
      bench b{rows, columns, small};
      std::vector<model_row> model(static_cast<std::size_t>(rows));
      auto const any_page = [&] { return static_cast<page_id>(dice.in(-1, 22)); };
      auto const good_page = [&](page_id page) { return small.hands_out(page); };
      for (int step = 0; step < 30'000; ++step) {
        std::int64_t const row = dice.in(-1, rows);
        std::int64_t const other = dice.in(-1, rows);
        bool const there = 0 <= row && row < rows;
        model_row none;
        model_row& at = there ? model[static_cast<std::size_t>(row)] : none;
        auto const count = static_cast<std::int64_t>(at.pages.size());
        auto const which = dice.in(0, 6);
        bool good = there;
        bool answer = false;
        switch (which) {
          case 0: {
            ids pages(static_cast<std::size_t>(dice.in(0, columns + 1)));
            std::ranges::generate(pages, [&] {
              return dice.chance(5) ? any_page() : static_cast<page_id>(dice.in(1, 19));
            });
            std::int64_t const holds = static_cast<std::int64_t>(pages.size()) * 4;
            std::int64_t const length = dice.chance(5) ? dice.in(-2, holds + 2) : dice.in(0, holds);
            answer = b.table.assign(row, pages, {length}).ok;
            good = good && holds <= columns * 4 && length >= 0 && length <= holds &&
                   std::ranges::all_of(pages, good_page);
            if (good) { at = {pages, length}; }
            break;
          }
          case 1: {
            page_id const page = any_page();
            answer = b.table.append(row, page).ok;
            good = good && count < columns && good_page(page);
            if (good) { at.pages.push_back(page); }
            break;
          }
          case 2: {
            page_id const page = any_page();
            std::int64_t const column = dice.in(-1, columns);
            answer = b.table.replace(row, column, page).ok;
            good = good && 0 <= column && column < count && good_page(page);
            if (good) { at.pages[static_cast<std::size_t>(column)] = page; }
            break;
          }
          case 3: {
            std::int64_t const length = dice.in(-1, count * 4 + 1);
            answer = b.table.set_kv_len(row, {length}).ok;
            good = good && 0 <= length && length <= count * 4;
            if (good) { at.length = length; }
            break;
          }
          case 4:
            answer = b.table.clear(row).ok;
            if (good) { at = {}; }
            break;
          case 5:
            answer = b.table.swap(row, other).ok;
            good = good && 0 <= other && other < rows;
            if (good) { std::swap(at, model[static_cast<std::size_t>(other)]); }
            break;
          default:
            answer = b.table.move(row, other).ok;
            good = good && 0 <= other && other < rows;
            if (good && row != other) {
              model[static_cast<std::size_t>(other)] = at;
              at = {};
            }
        }
        REQUIRE(answer == good);
        ++seen[good ? 1 : 0][which];
        ++steps;
        if (!dice.chance(30)) { continue; }

        std::int64_t const bytes = b.table.upload();
        REQUIRE(bytes % 4 == 0);
        b.on.wait();
        b.on.forget();
        bool same = true;
        for (std::int64_t r = 0; r < rows; ++r) {
          model_row const& expected = model[static_cast<std::size_t>(r)];
          ids cells = expected.pages;
          cells.resize(static_cast<std::size_t>(columns), small.padding());
          same = same && b.device_row(r) == cells &&
                 b.device_lengths()[static_cast<std::size_t>(r)] == expected.length &&
                 std::equal(expected.pages.begin(), expected.pages.end(), b.table.row(r).begin(),
                            b.table.row(r).end());
        }
        REQUIRE(same);
      }
    }
  }
  CHECK(steps == 270'000);
  for (auto const& of_outcome : seen) {
    for (std::int64_t const times : of_outcome) {
      CHECK(times >= 1000);
    }
  }
}
