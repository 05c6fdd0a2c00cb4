// SPDX-License-Identifier: Apache-2.0
// The reference engine's byte formulas of the families: pages and slots of published geometries.
#include "vectors.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

using namespace allot_test;

namespace {

constexpr std::int64_t plenty = std::int64_t{1} << 62;

/// Bytes of `pages` pages of a pool, sentinel not counted.
std::int64_t pool_bytes(document pool, std::int64_t pages) {
  pool["sentinel_pages"] = 0;
  document const answer = answer_to(document{
      {"budget", {{"bytes", plenty}}}, {"kv", only(pool)}, {"demand", {{"pages", pages}}}});
  INFO(answer.dump());
  REQUIRE(answer.at("ok") == true);
  return answer.at("bytes").at("kv");
}

void check_pages(document const& pool, document const& want) {
  INFO(pool.dump());
  std::int64_t const page = want.at("bytes_per_page");
  CHECK(pool_bytes(pool, 1) == page);
  CHECK(pool_bytes(pool, 17) == 17 * page);
}

char const* dtype(document const& in) {
  return in.value("dtype_bytes", 2) == 1 ? "fp8" : "bf16";
}

document index_of(document const& in) {
  return {{"head_dim", in.at("index_head_dim")}, {"layers", in.at("index_layers")}};
}

document state_answer(document const& in, bool prefix_cached, document const& slots) {
  document state = {{"layers", in.at("layers")},
                    {"key_heads", in.at("key_heads")},
                    {"value_heads", in.at("value_heads")},
                    {"key_head_dim", in.at("key_head_dim")},
                    {"value_head_dim", in.at("value_head_dim")},
                    {"conv_kernel", in.at("conv_kernel")},
                    {"tp", in.at("tp")},
                    {"dtype", "bf16"},
                    {"max_running", in.at("max_running")},
                    {"snapshot_ratio", in.at("snapshot_ratio")},
                    {"prefix_cached", prefix_cached}};
  if (!slots.is_null()) { state["slots"] = slots; }
  return answer_to(document{{"budget", {{"bytes", plenty}}},
                            {"kv", only({{"family", "raw"}, {"page_bytes", 1}})},
                            {"state", state},
                            {"demand", {{"pages", 1}}}});
}

}  // namespace

TEST_CASE("mha, mla, dsa and bsa: bytes of a page") {
  document const families = load("families.json");
  int compared = 0;
  for (document const& row : families.at("mha")) {
    document const& in = row[0];
    check_pages({{"family", "gqa"},
                 {"layers", in.at("layers")},
                 {"kv_heads", in.at("kv_heads")},
                 {"head_dim", in.at("head_dim")},
                 {"tp", in.at("tp")},
                 {"dtype", dtype(in)},
                 {"page_tokens", in.at("page_size")}},
                row[1]);
    ++compared;
  }
  for (document const& row :
       families.at("mla")) {  // its tp changes nothing: a latent is replicated
    document const& in = row[0];
    check_pages({{"family", "mla"},
                 {"layers", in.at("layers")},
                 {"latent_dim", in.at("latent_dim")},
                 {"dtype", dtype(in)},
                 {"page_tokens", in.at("page_size")}},
                row[1]);
    ++compared;
  }
  for (document const& row : families.at("dsa")) {
    document const& in = row[0];
    check_pages({{"family", "mla"},
                 {"layers", in.at("layers")},
                 {"latent_dim", in.at("latent_dim")},
                 {"dtype", dtype(in)},
                 {"index", index_of(in)},
                 {"page_tokens", in.at("page_size")}},
                row[1]);
    ++compared;
  }
  for (document const& row : families.at("bsa")) {
    document const& in = row[0];
    document pool = {{"family", "gqa"},
                     {"layers", in.at("layers")},
                     {"kv_heads", in.at("kv_heads")},
                     {"head_dim", in.at("head_dim")},
                     {"tp", in.at("tp")},
                     {"dtype", dtype(in)},
                     {"index", index_of(in)},
                     {"page_tokens", in.at("page_size")}};
    check_pages(pool, row[1]);
    pool["family"] = "block_sparse";
    check_pages(pool, row[1]);
    ++compared;
  }
  CHECK(compared == 160);
}

TEST_CASE("linear: bytes of a state slot, and how many there are") {
  int compared = 0;
  document const families = load("families.json");
  for (document const& row : families.at("linear")) {
    document const& in = row[0];
    document const& want = row[1];
    INFO(row.dump());
    auto const state_of = [](document const& answer) -> document const& {
      return answer.at("pools")[1];
    };
    std::int64_t const slot = want.at("bytes_per_slot");
    document const plain = state_answer(in, false, nullptr);
    CHECK(state_of(plain).at("physical") == want.at("slots_plain"));
    CHECK(plain.at("bytes").at("fixed") == slot * want.at("slots_plain").get<std::int64_t>());
    document const cached = state_answer(in, true, nullptr);
    CHECK(state_of(cached).at("physical") == want.at("slots_prefix_cached"));
    CHECK(cached.at("bytes").at("fixed") ==
          slot * want.at("slots_prefix_cached").get<std::int64_t>());
    // The fewest that run, pinned.
    std::int64_t const fewest = want.at("min_slots_prefix_cached");
    document const pinned = state_answer(in, true, fewest - 1);
    CHECK(state_of(pinned).at("physical") == fewest);
    CHECK(pinned.at("bytes").at("fixed") == slot * fewest);
    ++compared;
  }
  CHECK(compared == 40);
}
