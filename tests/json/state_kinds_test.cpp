// SPDX-License-Identifier: Apache-2.0
// Kinds of recurrent state in requests: what published models keep for a request, by hand, and
// fields of another kind.
#include "rich_request.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

using namespace allot_test;

namespace {

document request_with(document state) {
  document request = document::parse(R"({"id":7,"budget":{"bytes":8589934592},
    "kv":[{"family":"gqa","layers":4,"kv_heads":8,"head_dim":128,"dtype":"bf16"}]})");
  request["state"] = std::move(state);
  return request;
}

/// Bytes of one state slot, of five: four requests and the sink.
std::int64_t slot_bytes(document const& state) {
  document const answer = answer_to(request_with(state));
  REQUIRE(answer.at("ok") == true);
  document const& pool = answer.at("pools").at(1);
  CHECK(pool.at("family") == "state");
  CHECK(pool.at("physical") == 5);
  std::int64_t const bytes = pool.at("bytes").get<std::int64_t>();
  CHECK(bytes % 5 == 0);
  return bytes / 5;
}

/// NVIDIA-Nemotron-3-Nano-30B-A3B.
document const nemotron = document::parse(
    R"({"kind":"mamba2","layers":23,"heads":64,"head_dim":64,"groups":8,"state_dim":128,
        "conv_kernel":4,"dtype":"bf16","max_running":4})");
/// Jamba-v0.1.
document const jamba = document::parse(
    R"({"kind":"mamba1","layers":28,"inner_dim":8192,"state_dim":16,"conv_kernel":4,
        "dtype":"bf16","max_running":4})");
/// Kimi-K3.
document const kimi = document::parse(
    R"({"kind":"kda","layers":69,"heads":96,"head_dim":128,"conv_kernel":4,"dtype":"bf16",
        "max_running":4})");

document changed(document state, char const* field, std::int64_t value) {
  state[field] = value;
  return state;
}

}  // namespace

TEST_CASE("published models, by hand") {
  // Channels of 64 heads of 64, and B and C of 8 groups of 128; three taps of bf16, fp32 matrices.
  CHECK(slot_bytes(nemotron) == 23 * ((64 * 64 + 2 * 8 * 128) * 3 * 2 + 64 * 64 * 128 * 4));
  CHECK(slot_bytes(nemotron) == 49'082'368);
  CHECK(slot_bytes(jamba) == 28 * (8192 * 3 * 2 + 8192 * 16 * 4));
  CHECK(slot_bytes(kimi) == std::int64_t{69} * (3 * 96 * 128 * 3 * 2 + 96 * 128 * 128 * 4));
}

TEST_CASE("ranks share heads, groups and channels, or replicate them") {
  CHECK(slot_bytes(changed(nemotron, "tp", 8)) ==
        23 * ((8 * 64 + 2 * 1 * 128) * 3 * 2 + 8 * 64 * 128 * 4));
  // Sixteen ranks, eight groups: each rank has one of them.
  CHECK(slot_bytes(changed(nemotron, "tp", 16)) ==
        23 * ((4 * 64 + 2 * 1 * 128) * 3 * 2 + 4 * 64 * 128 * 4));
  CHECK(slot_bytes(changed(jamba, "tp", 4)) == 28 * (2048 * 3 * 2 + 2048 * 16 * 4));
  CHECK(slot_bytes(changed(kimi, "tp", 3)) ==
        std::int64_t{69} * (3 * 32 * 128 * 3 * 2 + 32 * 128 * 128 * 4));

  document const refused = answer_to(request_with(changed(nemotron, "tp", 3)));
  CHECK(refused.at("error") == "kv_head_split");
  CHECK(refused.at("text") ==
        "state.tp is 3, which neither divides nor is a multiple of the 64 heads or the 8 groups");
  CHECK(answer_to(request_with(changed(kimi, "tp", 5))).at("text") ==
        "state.tp is 5, which neither divides nor is a multiple of the 96 heads");
  CHECK(answer_to(request_with(changed(jamba, "tp", 3))).at("text") ==
        "state.tp is 3, which neither divides nor is a multiple of the 8192 inner_dim");
}

TEST_CASE("every field of a kind is needed, and one of another kind is none of its") {
  struct kind {
    document state;
    std::vector<char const*> needed;
    std::vector<char const*> foreign;
  };
  kind const kinds[] = {
      {nemotron, {"heads", "head_dim", "groups", "state_dim"}, {"inner_dim", "key_heads"}},
      {jamba, {"inner_dim", "state_dim"}, {"heads", "groups", "value_head_dim"}},
      {kimi, {"heads", "head_dim"}, {"state_dim", "groups", "key_head_dim"}}};
  for (kind const& k : kinds) {
    std::string const name = k.state.at("kind").get<std::string>();
    CAPTURE(name);
    for (char const* const field : k.needed) {
      document state = k.state;
      state.erase(field);
      document const answer = answer_to(request_with(state));
      CHECK(answer.at("error") == "bad_input");
      CHECK(answer.at("binding") == std::string{"state."} + field);
      CHECK(answer.at("text").get<std::string>().find(name) != std::string::npos);
    }
    for (char const* const field : k.foreign) {
      document const answer = answer_to(request_with(changed(k.state, field, 4)));
      CHECK(answer.at("error") == "bad_input");
      CHECK(answer.at("binding") == std::string{"state."} + field);
      CHECK(answer.at("repairs") ==
            document::parse(R"([{"set":"state.)" + std::string{field} + R"(","to":null}])"));
    }
  }
}
