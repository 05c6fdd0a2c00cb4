// SPDX-License-Identifier: Apache-2.0
#include "published.hpp"

#include <doctest/doctest.h>

// Bytes a token takes: element sizes, one latent row, index slabs, every layer, every head of its
// own model, and nothing twice.

using allot::element;
using allot_test::published;

namespace {

/// Bytes of `n` usable pages of the pools, sentinels left out.
template <class... Families>
std::int64_t bytes_of(std::int64_t n, Families... families) {
  auto const table = allot::make_table(families...);
  return allot::kv_bytes(table, n).value;
}

}  // namespace

TEST_CASE("quant-1: fp8 halves a token and doubles what fits") {
  published const fault{"quant-1"};
  CHECK(fault.kind() == "itemsize");
  allot::gqa pool{.layers = fault.number("/given/layers"),
                  .kv_heads = fault.number("/given/kv_heads"),
                  .head_dim = fault.number("/given/head_dim"),
                  .sentinel_pages = 0};
  CHECK(pool.token_bytes() == allot::checked{fault.number("/expect/bf16_bytes_per_token")});
  pool.dtype = element::fp8;
  CHECK(pool.token_bytes() == allot::checked{fault.number("/expect/fp8_bytes_per_token")});

  allot::demand const none{.min_tokens = {0}};
  for (std::int64_t heads = 1; heads <= 16; ++heads) {
    for (std::int64_t dim = 16; dim <= 256; dim += 16) {
      pool.kv_heads = heads;
      pool.head_dim = dim;
      std::int64_t tokens[3] = {};
      element const types[] = {element::bf16, element::fp8, element::fp4};
      for (int k = 0; k < 3; ++k) {
        pool.dtype = types[k];
        // A budget of whole fp4, fp8 and bf16 tokens.
        auto const out =
            allot::solve(allot::make_table(pool), allot::bytes{28 * heads * dim * 4000}, none);
        REQUIRE(out);
        tokens[k] = out->usable_tokens.count;
      }
      CHECK(tokens[0] == 1000);
      CHECK(tokens[1] == 2000);
      CHECK(tokens[2] == 4000);
    }
  }
}

TEST_CASE("quant-2: scales per token, head and K or V, and a 16-bit index beside fp8 rows") {
  published const fault{"quant-2"};
  allot::gqa pool{.layers = 12,
                  .kv_heads = 2,
                  .head_dim = 256,
                  .dtype = element::fp8,
                  .scale_bytes = 4,
                  .index = allot::index_slab{.head_dim = 32, .layers = 12},
                  .sentinel_pages = 0};
  CHECK(bytes_of(1, pool) == fault.number("/expect/bytes_per_token"));
  pool.page_tokens = 64;
  CHECK(bytes_of(1, pool) == fault.number("/expect/page64_bytes"));
  // Each part by itself.
  for (std::int64_t scale = 0; scale <= 8; ++scale) {
    pool.scale_bytes = scale;
    CHECK(bytes_of(1, pool) == 768 * (4 * (256 + scale) + 64));
    pool.v_head_dim = 0;  // V is K: one row, one scale
    CHECK(bytes_of(1, pool) == 768 * (2 * (256 + scale) + 64));
    pool.v_head_dim = {};
  }
}

TEST_CASE("mla-1: a latent row is one row, not K and V") {
  published const fault{"mla-1"};
  CHECK(fault.kind() == "geometry");
  allot::mla const pool{.layers = 27, .latent_dim = 576, .sentinel_pages = 0};
  CHECK(bytes_of(32'768, pool) == fault.number("/expect/bytes"));
  for (std::int64_t layers = 1; layers <= 80; ++layers) {
    for (std::int64_t dim = 64; dim <= 704; dim += 64) {
      allot::mla const each{.layers = layers, .latent_dim = dim, .sentinel_pages = 0};
      CHECK(bytes_of(1, each) == layers * dim * 2);
    }
  }
}

TEST_CASE("mla-2: the index slab is priced beside the latent rows") {
  published const fault{"mla-2"};
  CHECK(fault.kind() == "missing slab");
  allot::mla pool{.layers = 61,
                  .latent_dim = 656,
                  .dtype = element::fp8,
                  .index = allot::index_slab{.head_dim = 132, .layers = 61, .dtype = element::fp8},
                  .sentinel_pages = 0};
  std::int64_t const tokens = fault.number("/given/tokens");
  CHECK(bytes_of(tokens, pool) == fault.number("/expect/bytes"));
  // On fewer layers than the rows, and in every element.
  for (std::int64_t layers = 1; layers <= 61; layers += 5) {
    pool.index = allot::index_slab{128, layers, element::bf16};
    CHECK(bytes_of(1000, pool) == 1000 * (40'016 + layers * 256));
    pool.index = allot::index_slab{128, layers, element::fp4};
    CHECK(bytes_of(1000, pool) == 1000 * (40'016 + layers * 64));
  }
}

TEST_CASE("layers-1: a group of equal layers is priced once a layer") {
  CHECK(published{"layers-1"}.kind() == "missing tier");
  for (std::int64_t layers = 1; layers <= 96; ++layers) {
    allot::gqa const one{
        .layers = 1, .kv_heads = 8, .head_dim = 128, .page_tokens = 16, .sentinel_pages = 0};
    allot::gqa const all{
        .layers = layers, .kv_heads = 8, .head_dim = 128, .page_tokens = 16, .sentinel_pages = 0};
    CHECK(bytes_of(7, all) == layers * bytes_of(7, one));
  }
  CHECK(bytes_of(1, allot::gqa{.layers = 28,
                               .kv_heads = 8,
                               .head_dim = 128,
                               .page_tokens = 16,
                               .sentinel_pages = 0}) == 65'536 * 28);
}

TEST_CASE("draft-1: a draft model is priced with its own heads") {
  published const fault{"draft-1"};
  auto const heads = fault.numbers("/given/draft_kv_heads");
  auto const expected = fault.numbers("/expect");
  allot::gqa const target{.layers = 16, .kv_heads = 8, .head_dim = 128, .sentinel_pages = 0};
  REQUIRE(target.token_bytes() == allot::checked{65'536});
  for (std::size_t i = 0; i < heads.size(); ++i) {
    allot::gqa draft{.layers = 5, .kv_heads = heads[i], .head_dim = 128, .sentinel_pages = 0};
    CHECK(bytes_of(1, target, draft) == expected[i]);
    // A draft with larger pages rounds up to whole ones, by itself.
    draft.page_tokens = 16;
    for (std::int64_t tokens = 1; tokens <= 64; ++tokens) {
      std::int64_t const pages = (tokens + 15) / 16;
      CHECK(bytes_of(tokens, target, draft) ==
            tokens * 65'536 + pages * 16 * (expected[i] - 65'536));
    }
  }
}

TEST_CASE("draft-2: a prediction layer stores KV too") {
  published const fault{"draft-2"};
  allot::mla pool{.layers = 79, .latent_dim = 576, .sentinel_pages = 0};
  CHECK(bytes_of(202'752, pool) == fault.number("/expect/bytes"));
  pool.layers = 78;
  CHECK(bytes_of(202'752, pool) == fault.number("/expect/bytes") - 202'752 * std::int64_t{576} * 2);
}

TEST_CASE("tp-2: a block of a hybrid model is the sum of its groups, once, on one rank") {
  published const fault{"tp-2"};
  CHECK(fault.kind() == "double count");
  for (std::int64_t const tp : {1, 2, 4, 8}) {
    allot::gqa const full{.layers = 50,
                          .kv_heads = 8 * tp,
                          .head_dim = 128,
                          .tp = tp,
                          .page_tokens = 16,
                          .sentinel_pages = 0};
    allot::gqa const half{.layers = 10,
                          .kv_heads = 4 * tp,
                          .head_dim = 128,
                          .tp = tp,
                          .page_tokens = 16,
                          .sentinel_pages = 0};
    REQUIRE(bytes_of(1, full) == 50 * 65'536);
    CHECK(bytes_of(1, full, half) == fault.number("/expect/bytes_per_block"));
    CHECK(bytes_of(3, half, full) == 3 * fault.number("/expect/bytes_per_block"));
  }
}

TEST_CASE("overflow-1: element counts past 32 bits") {
  published const fault{"overflow-1"};
  CHECK(fault.kind() == "overflow");
  auto const expected = fault.numbers("/expect");
  allot::gqa const first{.layers = 80,
                         .kv_heads = 8,
                         .head_dim = 128,
                         .v_head_dim = 0,
                         .dtype = element::int8,
                         .page_tokens = 32'768,
                         .sentinel_pages = 0};
  allot::gqa const second{.layers = 9,
                          .kv_heads = 2,
                          .head_dim = 128,
                          .dtype = element::int8,
                          .page_tokens = 524'288,
                          .sentinel_pages = 0};
  CHECK(bytes_of(1, first) == expected[0]);
  CHECK(bytes_of(1, second) == expected[1]);
  // Every power of two of pages up to the last that 63 bits hold; the next is an error, not a
  // number.
  auto const table = allot::make_table(first);
  for (std::int64_t n = 1; n <= std::int64_t{1} << 31; n *= 2) {
    CHECK(allot::kv_bytes(table, n).value == n * expected[0]);
  }
  allot::demand const d{.pinned_pages = allot::usable_pages{std::int64_t{1} << 32}};
  auto const refused = allot::solve(table, allot::bytes{INT64_MAX}, d);
  CHECK(refused.error.error == allot::solve_error::overflow);
}
