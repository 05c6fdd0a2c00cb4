// SPDX-License-Identifier: Apache-2.0
// Sliding windows and compressed tiers as JSON: their fields, and what each refuses.
#include "rich_request.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace allot_test;

namespace {

document windowed() {
  return document::parse(R"({"id":7,"budget":{"bytes":4294967296},
    "kv":[{"family":"gqa","layers":4,"kv_heads":8,"head_dim":128,"dtype":"bf16","page_tokens":16},
          {"family":"sliding_window","layers":12,"kv_heads":8,"head_dim":64,"v_head_dim":32,
           "dtype":"fp8","tp":2,"window_tokens":512,"max_running":4,"ratio":0.00001,
           "retain_gap":40,"eviction_interval":64,"sentinel_rows":2,"map_bytes":4}]})");
}

document tiered() {
  return document::parse(R"({"id":7,"budget":{"bytes":4294967296},
    "kv":[{"family":"compressed_tiers","head_dim":512,"index_head_dim":128,
           "compress_ratios":[0,4,128,4],"window_tokens":128,"page_tokens":128,
           "window_ratio":0.0001,"max_running":2,"max_seq_tokens":65536,"prefix_cached":true,
           "sentinel_pages":2}]})");
}

/// The fault of a request with one raw value, as "binding: text".
std::string fault_of(document const& request, char const* path, char const* raw) {
  document const answer = document::parse(answer_text(with_raw(request, path, raw)));
  if (answer.at("ok") == true) { return "none"; }
  CHECK(answer.at("id") == 7);
  CHECK(answer.at("error") == "bad_input");
  return answer.at("binding").get<std::string>() + ": " + answer.at("text").get<std::string>();
}

std::string without(document request, char const* path) {
  document const repair{{"set", path}, {"to", nullptr}};
  return answer_text(apply(request, repair).dump());
}

}  // namespace

TEST_CASE("windows: every field counts, and the defaults are those of the contract") {
  document const rich = windowed();
  document const answer = answer_to(rich);
  REQUIRE(answer.at("ok") == true);
  CHECK(answer.at("pools").at(1).at("unit") == "tokens");
  for (char const* const path :
       {"kv[1].v_head_dim", "kv[1].tp", "kv[1].retain_gap", "kv[1].eviction_interval",
        "kv[1].sentinel_rows", "kv[1].map_bytes"}) {
    INFO(path);
    CHECK(without(rich, path) != answer.dump());
  }
  document stated = rich;
  for (auto const& [path, value] : {std::pair{"kv[1].retain_gap", 16},
                                    {"kv[1].tp", 1},
                                    {"kv[1].eviction_interval", 128},
                                    {"kv[1].sentinel_rows", 1},
                                    {"kv[1].map_bytes", 8},
                                    {"kv[1].v_head_dim", 64}}) {
    document plain = rich;
    at_path(plain, path) = value;
    INFO(path);
    CHECK(answer_to(plain) == document::parse(without(rich, path)));
  }
}

TEST_CASE("windows: what they refuse") {
  document const rich = windowed();
  CHECK(fault_of(rich, "kv[1].ratio", "1.5") ==
        "kv[1].ratio: kv[1].ratio is 1.5; it must be a number above 0 and at most 1");
  CHECK(fault_of(rich, "kv[1].pinned_tokens", "4096") ==
        "kv[1].pinned_tokens: kv[1].ratio and kv[1].pinned_tokens are given together; give one of "
        "them");
  CHECK(fault_of(rich, "kv[1].ratio", "null") ==
        "kv[1].ratio: kv[1].ratio is missing (sliding_window needs it); it must be a number above "
        "0 and at most 1, or pinned_tokens");
  CHECK(fault_of(rich, "kv[1].prefix_cached", "false") ==
        "kv[1].prefill_chunk_tokens: kv[1].prefill_chunk_tokens is missing (sliding_window without "
        "a prefix cache needs it); it must be an integer of at least 1");
  CHECK(fault_of(rich, "kv[1].page_tokens", "16")
            .starts_with("kv[1].page_tokens: kv[1].page_tokens is not a field of sliding_window, "
                         "which has family, "));
  CHECK(fault_of(rich, "kv[1].max_running", "0") ==
        "kv[1].max_running: kv[1].max_running is 0; it must be an integer of at least 1");
  for (char const* const path : {"kv[1].layers", "kv[1].kv_heads", "kv[1].head_dim", "kv[1].dtype",
                                 "kv[1].window_tokens", "kv[1].max_running"}) {
    CHECK(fault_of(rich, path, "null").starts_with(std::string{path} + ": "));
  }
  document alone = rich;
  alone["kv"].erase(0);
  CHECK(fault_of(alone, "id", "7") ==
        "kv[0].family: kv[0].family is sliding_window; it must be a family with pages of its own: "
        "a sliding window follows kv[0]");
}

TEST_CASE("windows: heads that do not split have other ranks that do") {
  document request = windowed();
  request["kv"][1]["tp"] = 3;
  document const answer = answer_to(request);
  CHECK(answer.at("error") == "kv_head_split");
  CHECK(answer.at("text") ==
        "kv[1].tp is 3, which neither divides nor is a multiple of the 8 kv_heads");
  CHECK(answer.at("repairs").dump() == R"([{"set":"kv[1].tp","to":2},{"set":"kv[1].tp","to":4}])");
  for (document const& repair : answer.at("repairs")) {
    CHECK(answer_to(apply(request, repair)).at("ok") == true);
  }
}

TEST_CASE("tiers: every field counts") {
  document const rich = tiered();
  document const answer = answer_to(rich);
  REQUIRE(answer.at("ok") == true);
  CHECK(answer.at("pools").at(0).at("window_pages") > 0);
  CHECK(without(rich, "kv[0].page_tokens") == answer.dump());  // it can only be the window's
  CHECK(without(rich, "kv[0].sentinel_pages") != answer.dump());
  for (auto const& [path, value] : {std::pair{"kv[0].head_dim", 256},
                                    {"kv[0].index_head_dim", 64},
                                    {"kv[0].max_running", 3},
                                    {"kv[0].max_seq_tokens", 128},
                                    {"kv[0].compress_ratios[1]", 128}}) {
    document other = rich;
    at_path(other, path) = value;
    INFO(path);
    CHECK(answer_to(other) != answer);
  }
  document pinned = rich;
  pinned["kv"][0].erase("window_ratio");
  pinned["kv"][0]["pinned_pages"] = 3000;
  CHECK(answer_to(pinned).at("pools").at(0).at("window_pages") == 3001);
}

TEST_CASE("tiers: what they refuse") {
  document const rich = tiered();
  char const* const ratios = "kv[0].compress_ratios";
  CHECK(
      fault_of(rich, ratios, "[]") ==
      "kv[0].compress_ratios: kv[0].compress_ratios is []; it must be 0, 4 or 128 for each layer");
  CHECK(fault_of(rich, ratios, "[0,4,5]") ==
        "kv[0].compress_ratios: kv[0].compress_ratios is 5; it must be 0, 4 or 128 for each layer");
  for (char const* const item :
       {"-4", "4.0", "\"4\"", "true", "9223372036854775808", "null", "[4]", "{}"}) {
    std::string const list = std::string{"[0,"} + item + ",4]";
    CHECK(fault_of(rich, ratios, list.c_str()).starts_with("kv[0].compress_ratios[1]: "));
  }
  for (char const* const raw : {"4", "\"4\"", "{}", "true"}) {
    CHECK(fault_of(rich, ratios, raw).starts_with("kv[0].compress_ratios: "));
  }
  CHECK(fault_of(rich, "kv[0].page_tokens", "64") ==
        "kv[0].page_tokens: kv[0].page_tokens is 64; it must be window_tokens, or absent");
  CHECK(fault_of(rich, "kv[0].pinned_pages", "64") ==
        "kv[0].pinned_pages: kv[0].window_ratio and kv[0].pinned_pages are given together; give "
        "one of them");
  CHECK(fault_of(rich, "kv[0].window_ratio", "null") ==
        "kv[0].window_ratio: kv[0].window_ratio is missing (compressed_tiers needs it); it must be "
        "a number above 0 and at most 1, or pinned_pages");
  CHECK(fault_of(rich, "kv[0].prefix_cached", "null").starts_with("kv[0].prefix_cached: "));
  document second = rich;
  second["kv"].push_back(rich.at("kv").at(0));
  CHECK(fault_of(second, "id", "7") ==
        "kv[1].family: kv[1].family is compressed_tiers; it must be compressed_tiers as kv[0]: it "
        "is an anchor");
  // A list where no tiers are is refused, and the lists of the tiers stay theirs.
  document foreign = rich;
  foreign["kv"].push_back(document::parse(
      R"({"family":"raw","page_bytes":64,"page_tokens":128,"compress_ratios":[4,4,4,4,4]})"));
  CHECK(fault_of(foreign, "id", "7").starts_with("kv[1].compress_ratios: "));
  CHECK(answer_to(foreign).at("repairs").dump() ==
        R"([{"set":"kv[1].compress_ratios","to":null}])");
}
