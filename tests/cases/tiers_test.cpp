// SPDX-License-Identifier: Apache-2.0
#include "published.hpp"

#include <allot/family/compressed_tiers.hpp>

#include <doctest/doctest.h>

#include <cmath>

// Compressed tiers are priced by their exact stepwise pool, not by a straight line near it.

using allot_test::published;

namespace {

/// 43 layers: two without compression, then 4 and 128 by turns, and a last 4.
constexpr struct pattern {
  std::int64_t ratios[43] = {};
  constexpr pattern() {
    for (int i = 2; i < 43; ++i) {
      ratios[i] = i % 2 == 0 ? 4 : 128;
    }
  }
} layers;

allot::compressed_tiers tiers_of(std::int64_t running, double ratio) {
  allot::compressed_tiers t{.head_dim = 512,
                            .index_head_dim = 128,
                            .compress_ratios = layers.ratios,
                            .max_running = running,
                            .max_seq_tokens = 1 << 20,
                            .prefix_cached = true};
  t.window_ratio = ratio;
  return t;
}

struct pool_size {
  std::int64_t window_pages;
  std::int64_t bytes;
};

/// The formula of the reference, written out.
pool_size formula(std::int64_t running, double ratio, std::int64_t pages) {
  std::int64_t const page = 128;
  std::int64_t const head_dim = 512;
  std::int64_t const index_dim = 128;
  std::int64_t const kv = 2 * head_dim;
  std::int64_t const idx = 2 * index_dim;
  std::int64_t const floor = 8 + 2 * (running + 1) + 3 * running + 1;
  double const share = std::nearbyint(ratio * static_cast<double>(pages * page));
  std::int64_t w = (static_cast<std::int64_t>(share) + page - 1) / page;
  w = w < floor ? floor : w;
  w = w > pages ? pages : w;
  std::int64_t const q = running + 1;
  std::int64_t bytes = 43 * w * page * kv + 8 * (pages * page + 1);
  bytes += 21 * ((pages * page / 4 + q) * kv + (w * 8 + 1) * (head_dim * 2 * 2 * 4));
  bytes += 20 * ((pages * page / 128 + q) * kv + (w * 128 + 1) * (head_dim * 2 * 4));
  bytes += 21 * ((pages * page / 4 + q) * idx + (w * 8 + 1) * (index_dim * 4 * 4));
  return {w, bytes};
}

/// A plan of exactly these physical pages.
pool_size planned(allot::compressed_tiers const& t, std::int64_t pages) {
  auto const table = allot::make_table(t);
  auto const out = allot::solve(table, allot::bytes{INT64_MAX / 4},
                                {.pinned_pages = allot::usable_pages{pages - 1}});
  REQUIRE(out);
  allot::table_view const view = table;
  // What is carved is what was priced: 43 windows, each an array of its own.
  auto const map = allot::lay_out(view, *out, [](std::int32_t, allot::placement const&) {});
  CHECK(map.carved == out->kv);
  return {allot::rows(view.extents.data, 1, out->at()).value, out->kv.count};
}

}  // namespace

TEST_CASE("tiers-1: the exact pool, where the straight line was 284,421,120 bytes too low") {
  CHECK(published{"tiers-1"}.kind() == "tiers");
  CHECK(published{"tiers-1"}.text("/expect") ==
        "exact(3986 physical) = 7083139592 with 200 window pages");
  pool_size const got = planned(tiers_of(1, .05), 3986);
  CHECK(got.bytes == 7'083'139'592);
  CHECK(got.window_pages == 200);
}

TEST_CASE("tiers-2: what the window leaves a prefill chunk") {
  published const fault{"tiers-2"};
  auto const bytes = fault.numbers("/expect/pool_bytes");
  auto const large = tiers_of(50, .12);
  auto const small = tiers_of(50, .02);
  CHECK(planned(large, 2561).bytes == bytes[0]);
  CHECK(planned(small, 2561).bytes == bytes[1]);
  CHECK(planned(large, 2561).window_pages == 308);
  CHECK(planned(small, 2561).window_pages == 261);
  CHECK(large.prefill_chunk_tokens(308) == 3456);
  CHECK(small.prefill_chunk_tokens(261) == 384);
  // Never below one page, however many requests run.
  for (std::int64_t running = 1; running <= 300; ++running) {
    auto const each = tiers_of(running, .02);
    CHECK(each.prefill_chunk_tokens(each.floor_pages().value) >= 128);
  }
}

TEST_CASE(
    "around them: every step of the pool, for shares where the clamp, the floor or the share "
    "decides") {
  int floors = 0;
  int clamps = 0;
  int shares = 0;
  for (double const ratio : {.02, .05, .12, .2, .5, 1.0}) {
    for (std::int64_t const running : {1, 4, 50}) {
      auto const t = tiers_of(running, ratio);
      for (std::int64_t pages = 2; pages < 4000; pages += 13) {
        pool_size const want = formula(running, ratio, pages);
        pool_size const got = planned(t, pages);
        CHECK(got.window_pages == want.window_pages);
        CHECK(got.bytes == want.bytes);
        bool const at_floor = want.window_pages == t.floor_pages().value;
        ++(want.window_pages == pages ? clamps : at_floor ? floors : shares);
      }
    }
  }
  CHECK(floors > 300);
  CHECK(clamps > 300);
  CHECK(shares > 300);
}

TEST_CASE("the published chunks and pools of four running requests") {
  auto const t = tiers_of(4, .2);
  CHECK(planned(t, 1173).bytes == 5'227'637'000);
  CHECK(planned(t, 2500).bytes == 11'125'781'768);
  CHECK(t.prefill_chunk_tokens(235) == 13'440);
  CHECK(t.prefill_chunk_tokens(500) == 30'464);
}
