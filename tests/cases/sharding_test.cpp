// SPDX-License-Identifier: Apache-2.0
#include "published.hpp"

#include <doctest/doctest.h>

// KV heads over tensor-parallel ranks: an equal share, a replica, or a refusal.

using allot_test::published;

namespace {

/// Local heads by what a token takes on one rank; 0 when refused for the split.
std::int64_t local_heads_of(std::int64_t heads, std::int64_t tp) {
  auto const table = allot::make_table(allot::gqa{.layers = 1,
                                                  .kv_heads = heads,
                                                  .head_dim = 1,
                                                  .dtype = allot::element::int8,
                                                  .tp = tp,
                                                  .sentinel_pages = 0});
  auto const out = allot::solve(table, allot::bytes{1 << 20}, {.min_tokens = {1}});
  if (!out) {
    CHECK(out.error.error == allot::solve_error::kv_head_split);
    CHECK(out.error.binding == allot::request_path{"kv", 0, "tp"});
    CHECK(out.error.value == tp);
    return 0;
  }
  return out->kv.count / out->pages.count / 2;
}

}  // namespace

TEST_CASE("tp-1: the table of the report") {
  published const fault{"tp-1"};
  CHECK(fault.kind() == "sharding");
  int refused = 0;
  for (int i = 0; i < 8; ++i) {
    auto const given = fault.numbers("/given/" + std::to_string(i));
    CAPTURE(given[0]);
    CAPTURE(given[1]);
    std::int64_t const local = local_heads_of(given[0], given[1]);
    std::string const expected = "/expect/" + std::to_string(i);
    if (local == 0) {
      CHECK(fault.text(expected) == "kv_head_split");
      ++refused;
    } else {
      CHECK(local == fault.number(expected));
    }
  }
  CHECK(refused == 2);
}

TEST_CASE("around it: every pair; ranks together hold every head, none hold a part") {
  int split = 0;
  int replicated = 0;
  int refused = 0;
  for (std::int64_t heads = 1; heads <= 40; ++heads) {
    for (std::int64_t tp = 1; tp <= 40; ++tp) {
      std::int64_t const local = local_heads_of(heads, tp);
      if (heads % tp == 0) {
        CHECK(local * tp == heads);
        ++split;
      } else if (tp % heads == 0) {
        CHECK(local == 1);
        ++replicated;
      } else {
        CHECK(local == 0);
        ++refused;
      }
    }
  }
  CHECK(split > 100);
  CHECK(replicated > 100);
  CHECK(refused > 1000);
}

TEST_CASE(
    "a latent row and index keys are replicated, not sharded; state heads split like KV heads") {
  for (std::int64_t const tp : {1, 2, 4, 8}) {
    allot::gqa const sparse{.layers = 1,
                            .kv_heads = 8,
                            .head_dim = 2,
                            .tp = tp,
                            .index = allot::index_slab{.head_dim = 4, .layers = 1},
                            .sentinel_pages = 0};
    auto const table = allot::make_table(sparse);
    CHECK(allot::kv_bytes(table, 10).value == 10 * (8 / tp * 8 + 8));
    allot::recurrent_state const state{.layers = 3,
                                       .key_heads = 8,
                                       .value_heads = 16,
                                       .key_head_dim = 4,
                                       .value_head_dim = 2,
                                       .conv_kernel = 4,
                                       .tp = tp};
    CHECK(state.conv_bytes().value == 1728 / tp);
    CHECK(state.recurrent_bytes().value == 1536 / tp);
  }
}
