// SPDX-License-Identifier: Apache-2.0
// Random pages and random cuts, held to the laws.
#include <allot/attention/laws.hpp>
#include <allot/attention/visible.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

using namespace allot;

namespace {

struct dice {
  std::mt19937_64 engine;
  std::int64_t roll(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>{low, high}(engine);
  }
};

}  // namespace

TEST_CASE("every block of a random batch is in one part") {
  dice d{std::mt19937_64{20'261'201}};
  int checked_cuts = 0, split_requests = 0, shared_parts = 0, empty_parts = 0, fixed = 0;
  std::vector<std::int32_t> blocks;
  for (int i = 0; i < 200'000; ++i) {
    split_kv s{.requests = d.roll(0, 40), .parts = d.roll(1, 70)};
    blocks.resize(static_cast<std::size_t>(s.requests));
    std::int64_t const longest = std::int64_t{1} << d.roll(0, 20);
    for (auto& b : blocks) {
      b = static_cast<std::int32_t>(d.roll(0, 3) == 0 ? 0 : d.roll(1, longest));
    }
    if (d.roll(0, 3) == 0 && s.requests > 0) {
      s.splits_per_request = d.roll(1, 20);
      s.parts = s.requests * s.splits_per_request;
      ++fixed;
    }
    std::int32_t const* const data = blocks.data();
    CAPTURE(s.requests);
    CAPTURE(s.parts);
    CAPTURE(s.splits_per_request);
    REQUIRE(laws::split_covers(s, data));
    bool split = false, shared = false, empty = false;
    split_batch(
        s, [&](std::int32_t r) { return data[r]; },
        [&](std::int32_t, split_part const& p) {
          split = split || p.first_piece > 0;
          shared = shared || p.last_request > p.first_request;
          empty = empty || p.last_request < p.first_request;
        },
        [](std::int32_t, std::int32_t) {});
    split_requests += split;
    shared_parts += shared;
    empty_parts += empty;
    ++checked_cuts;
  }
  REQUIRE(checked_cuts == 200'000);
  for (int const seen : {split_requests, shared_parts, empty_parts, fixed}) {
    CHECK(seen >= 2'000);
  }
}

TEST_CASE("pieces of a request do not depend on its neighbours when each has its own splits") {
  std::int32_t const alone[] = {100};
  std::int32_t const among[] = {7, 100, 3'000};
  std::vector<std::int32_t> cuts[2];
  split_batch(
      {.requests = 1, .parts = 6, .splits_per_request = 6},
      [&](std::int32_t r) { return alone[r]; },
      [&](std::int32_t, split_part const& p) { cuts[0].push_back(p.first_block); },
      [](std::int32_t, std::int32_t) {});
  split_batch(
      {.requests = 3, .parts = 18, .splits_per_request = 6},
      [&](std::int32_t r) { return among[r]; },
      [&](std::int32_t, split_part const& p) {
        if (p.first_request == 1 && p.last_request == 1) { cuts[1].push_back(p.first_block); }
      },
      [](std::int32_t, std::int32_t) {});
  CHECK(cuts[0] == cuts[1]);
  CHECK(cuts[0].size() == 6);
}

TEST_CASE("rows fill random pages") {
  dice d{std::mt19937_64{7}};
  std::vector<std::uint8_t> painted(1 << 16);
  int pages = 0, with_scales = 0, v_is_k = 0;
  element const dtypes[] = {element::fp16, element::bf16, element::fp8, element::fp32};
  for (int i = 0; i < 20'000; ++i) {
    gqa const f{.layers = d.roll(1, 9),
                .kv_heads = d.roll(1, 4) * 2,
                .head_dim = d.roll(1, 40),
                .v_head_dim =
                    d.roll(0, 2) == 0 ? maybe<std::int64_t>{d.roll(0, 30)} : maybe<std::int64_t>{},
                .dtype = dtypes[d.roll(0, 3)],
                .tp = d.roll(1, 2),
                .scale_bytes = d.roll(0, 1) * 4,
                .page_tokens = d.roll(1, 17)};
    kv_order const order = d.roll(0, 1) == 0 ? kv_order::token_major : kv_order::head_major;
    kv_page const page = kv_page_of(f, order);
    REQUIRE(laws::page_is_priced(f, page));
    if (page.bytes.value > static_cast<std::int64_t>(painted.size())) { continue; }
    REQUIRE(laws::rows_fill_the_page(page, painted.data()));
    ++pages;
    with_scales += f.scale_bytes > 0;
    v_is_k += page.v == page.k;
  }
  CHECK(pages >= 19'000);
  CHECK(with_scales >= 5'000);
  CHECK(v_is_k >= 200);
}

TEST_CASE("visible keys are those of the definition") {
  int seen = 0;
  for (std::int32_t len = 0; len <= 12; ++len) {
    for (std::int32_t position = -2; position <= 14; ++position) {
      for (std::int32_t window = 0; window <= 14; ++window) {
        for (bool const causal : {true, false}) {
          kv_range const range = visible_keys(position, len, window, causal);
          for (std::int32_t key = 0; key < 16; ++key) {
            bool const wanted = position >= 0 && key < len && (!causal || key <= position) &&
                                (window == 0 || key > position - window);
            REQUIRE((range.first <= key && key < range.end) == wanted);
            seen += wanted;
          }
          std::int32_t blocks = 0;
          for (std::int32_t b = 0; b < 4; ++b) {
            kv_range const cut = keys_of_blocks(range, b, b + 1);
            blocks += cut.first < cut.end;
          }
          REQUIRE(blocks == visible_blocks(range));
        }
      }
    }
  }
  CHECK(seen > 10'000);
}
