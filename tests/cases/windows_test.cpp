// SPDX-License-Identifier: Apache-2.0
#include "published.hpp"

#include <allot/family/sliding_window.hpp>
#include <allot/plan/admission.hpp>

#include <doctest/doctest.h>

// A window pool holds what its requests need or its share, the larger, and does not bound how long
// a request may be.

using allot_test::published;

namespace {

/// The window of the reports: 25 layers of 8 heads of 256, 204,800 B a token.
allot::sliding_window window_of(std::int64_t window, std::int64_t running, double ratio) {
  allot::sliding_window w{.layers = 25,
                          .kv_heads = 8,
                          .head_dim = 256,
                          .window_tokens = window,
                          .max_running = running};
  w.ratio = ratio;
  return w;
}

}  // namespace

TEST_CASE("window-1: a share too small for a window and a page is raised to the floor") {
  CHECK(published{"window-1"}.kind() == "window");
  for (std::int64_t page = 1; page <= 512; page *= 2) {
    for (std::int64_t window = 16; window <= 4096; window += 240) {
      for (std::int64_t running = 1; running <= 5; ++running) {
        auto const table =
            allot::make_table(allot::raw_pages{.page_bytes = {page * 1000}, .page_tokens = page},
                              window_of(window, running, .1));
        auto const out = allot::solve(table, allot::bytes{INT64_MAX / 4},
                                      {.pinned_tokens = allot::tokens{4096}});
        REQUIRE(out);
        allot::pool_share const share = allot::share_of(table, *out, 1);
        std::int64_t const round = (window + 16 + page - 1) / page * page;
        std::int64_t const floor = running * (round + window + 128 + 2 * page);
        std::int64_t const ratio_share = (4096 + page) / 10;
        CHECK(share.usable == (floor > ratio_share ? floor : ratio_share));
        CHECK(share.usable >= window + page);
      }
    }
  }
}

TEST_CASE("window-2: the longest input is bounded by the full pool, not by the window's") {
  published const fault{"window-2"};
  allot::sliding_window w = window_of(1024, 1, .1);
  w.ratio = {};
  w.pinned_tokens = allot::tokens{18'432};
  auto const table =
      allot::make_table(allot::raw_pages{.page_bytes = {64'000}, .page_tokens = 64}, w);
  auto const out =
      allot::solve(table, allot::bytes{INT64_MAX / 4}, {.pinned_tokens = allot::tokens{186'368}});
  REQUIRE(out);
  CHECK(allot::share_of(table, *out, 1).usable == 18'432);
  std::int64_t const input = fault.number("/expect/max_input_at_least");
  allot::table_view const view = table;
  CHECK(allot::can_serve(view.anchor, out->pages, {input}, {0}));
  CHECK(allot::can_serve(view.anchor, out->pages, {186'368}, {0}));
  CHECK_FALSE(allot::can_serve(view.anchor, out->pages, {186'369}, {0}));
}

TEST_CASE("window-3: the larger of share and floor, charged once, as it is allocated") {
  published const fault{"window-3"};
  allot::sliding_window const w = window_of(1024, 4, .2);
  REQUIRE(w.token_bytes().value == 204'800);
  REQUIRE(w.floor_rows(1).value == 8776);
  auto const table = allot::make_table(allot::raw_pages{.page_bytes = {20'480}}, w);
  auto check = [&](std::int64_t tokens) {
    auto const out =
        allot::solve(table, allot::bytes{INT64_MAX / 4}, {.pinned_tokens = allot::tokens{tokens}});
    REQUIRE(out);
    auto const share = static_cast<std::int64_t>(.2 * static_cast<double>(tokens + 1));
    std::int64_t const rows = (share > 8776 ? share : 8776) + 1;
    std::int64_t const bytes =
        (tokens + 1) * 20'480 + rows * 204'800 + (tokens + 1 + 1 + 1) * 8 + (rows - 1) * 4;
    CHECK(allot::share_of(table, *out, 1).physical == rows);
    CHECK(out->kv.count == bytes);
    std::int64_t carved = 0;
    allot::lay_out(table, *out, [&](std::int32_t, allot::placement const& place) {
      carved += place.rows * place.row_bytes * place.copies;
    });
    CHECK(carved == bytes);
    // The report's planner added share and floor.
    std::int64_t const old_sum = share + 8776 + 1;
    CHECK((old_sum - rows) * 204'800 == (share > 8776 ? 8776 : share) * 204'800);
  };
  for (std::int64_t const tokens : fault.numbers("/given")) {
    check(tokens);
  }
  for (std::int64_t tokens = 43'860; tokens < 43'900; ++tokens) {
    check(tokens);
  }
}

TEST_CASE("negative-1 with the window it came from: a running request less frees its rows") {
  published fault{"negative-1"};
  std::int64_t const floor_bytes = fault.request().charges[0].bytes.count;
  CHECK(window_of(1024, 4, .2).floor_rows(1).value * 204'800 == floor_bytes);
  CHECK((8776 - window_of(1024, 3, .2).floor_rows(1).value) * 204'800 == 449'331'200);
  CHECK(fault.text("/expect/text_names").find("449331200") != std::string::npos);
}
