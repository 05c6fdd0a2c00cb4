// SPDX-License-Identifier: Apache-2.0
#include "published.hpp"

#include <doctest/doctest.h>

// Tokens to pages, down where they are bought and up where they are asked for; arrays to granules.

using allot_test::published;

TEST_CASE("round-1: what a budget of tokens buys is rounded down to whole pages") {
  published const fault{"round-1"};
  CHECK(fault.kind() == "rounding");
  std::int64_t const token = 1000;
  auto const table = allot::make_table(
      allot::raw_pages{.page_bytes = {64 * token}, .page_tokens = 64, .sentinel_pages = 0});
  auto const bought = allot::solve(table, allot::bytes{40'347 * token}, {.min_tokens = {0}});
  REQUIRE(bought);
  CHECK(bought->pages.count == fault.number("/expect/blocks"));
  auto const capped = allot::solve(table, allot::bytes{INT64_MAX / 2},
                                   {.min_tokens = {0}, .max_tokens = allot::tokens{40'347}});
  REQUIRE(capped);
  CHECK(capped->pages.count == fault.number("/expect/blocks"));
  CHECK(capped->note_count == 0);
  CHECK(capped->reason == allot::left_reason::max_tokens);

  for (std::int64_t tokens = 64; tokens < 2000; ++tokens) {
    auto const out = allot::solve(table, allot::bytes{tokens * token}, {.min_tokens = {0}});
    REQUIRE(out);
    CHECK(out->pages.count == tokens / 64);
    CHECK(out->usable_tokens.count <= tokens);
  }
}

TEST_CASE("round-3: a small wish is one page, not the value that means none") {
  CHECK(published{"round-3"}.kind() == "rounding");
  for (std::int64_t page = 1; page <= 64; ++page) {
    auto const table = allot::make_table(
        allot::raw_pages{.page_bytes = {1}, .page_tokens = page, .sentinel_pages = 0});
    for (std::int64_t tokens = 1; tokens <= 70; ++tokens) {
      std::int64_t const pages = (tokens + page - 1) / page;
      auto const exact = allot::solve(table, allot::bytes{pages}, {.min_tokens = {tokens}});
      REQUIRE(exact);
      CHECK(exact->pages.count == pages);
      CHECK_FALSE(allot::solve(table, allot::bytes{pages - 1}, {.min_tokens = {tokens}}));
    }
  }
  // Eight tokens pinned in pages of 16: no such pool; what is near is named, and is never 0.
  auto const table = allot::make_table(allot::raw_pages{.page_bytes = {1}, .page_tokens = 16});
  auto const pinned = allot::solve(table, allot::bytes{100}, {.pinned_tokens = allot::tokens{8}});
  CHECK(pinned.error.error == allot::solve_error::not_a_page_multiple);
  CHECK(pinned.error.low == 16);
  CHECK(pinned.error.high == 16);
}

TEST_CASE("round-2: arrays grow by granules, so some tokens are free and one step is not") {
  CHECK(published{"round-2"}.kind() == "granularity");
  // 36 buffers of 400 B a token: as 36 pools of one layer, each array by itself.
  std::int64_t const mib = 1 << 20;
  allot::kv_family buffers[36];
  for (auto& b : buffers) {
    b = allot::raw_pages{.page_bytes = {400}, .sentinel_pages = 0};
  }
  allot::request r;
  r.kv = buffers;
  r.granularity = 2 * mib;
  r.demand.min_tokens = {0};
  r.budget = allot::bytes{3600 * mib};
  allot::outcome const out = allot::solve(r);
  REQUIRE(out);
  CHECK(out->pages.count == 100 * mib / 400);  // 262,144: exactly full
  CHECK(out->pages.count == 262'144);
  r.budget = allot::bytes{3600 * mib - 1};
  allot::outcome const less = allot::solve(r);
  REQUIRE(less);
  CHECK(less->kv.count == 3528 * mib);
  CHECK(out->kv.count - less->kv.count == 72 * mib);
  CHECK(less->pages.count == 98 * mib / 400);
  // 4096 tokens fewer take the same bytes.
  r.demand.pinned_tokens = allot::tokens{258'048};
  r.budget = allot::bytes{3600 * mib};
  CHECK(allot::solve(r)->kv.count == 3600 * mib);
  r.demand.pinned_tokens = allot::tokens{253'952};
  CHECK(allot::solve(r)->kv.count == 3528 * mib);
}

TEST_CASE("round-2 around: every array of every pool starts and ends on a granule") {
  allot::kv_family const kv[] = {allot::gqa{.layers = 3,
                                            .kv_heads = 2,
                                            .head_dim = 10,
                                            .index = allot::index_slab{.head_dim = 5, .layers = 3},
                                            .page_tokens = 4},
                                 allot::mla{.layers = 2, .latent_dim = 7, .page_tokens = 3}};
  for (std::int64_t granule = 1; granule <= 600; granule += 7) {
    allot::request r;
    r.kv = kv;
    r.granularity = granule;
    r.state = allot::recurrent_state{.layers = 1,
                                     .key_heads = 1,
                                     .value_heads = 1,
                                     .key_head_dim = 3,
                                     .value_head_dim = 3,
                                     .conv_kernel = 3};
    r.experts = allot::expert_bank{.slot_bytes = {41}, .per_layer = 2, .layers = 4};
    r.demand.min_tokens = {20};
    r.budget = allot::bytes{20'000};
    allot::table_storage storage;
    allot::table_view table;
    allot::outcome const out = allot::solve(r, storage, table);
    REQUIRE(out);
    std::int64_t end = 0;
    allot::arena_map const map =
        allot::lay_out(table, *out, [&](std::int32_t, allot::placement const& place) {
          CHECK(place.offset == end);
          CHECK(place.offset % granule == 0);
          CHECK(place.copy_stride % granule == 0);
          CHECK(place.copy_stride - place.rows * place.row_bytes < granule);
          end = place.end();
        });
    CHECK(map.carved.count == end);
    CHECK(end == out->kv.count + out->experts.count + out->fixed.count);
  }
}
