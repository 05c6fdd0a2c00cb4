// SPDX-License-Identifier: Apache-2.0
// The bytes that follow from published geometries, each worked out by hand in the comment beside
// it.
#include "published.hpp"

#include <allot/model/deployment.hpp>
#include <allot/model/read.hpp>

#include <doctest/doctest.h>

#include <functional>

using namespace allot;
using namespace allot::model;
using namespace allot::model_test;

namespace {

model_pools pools_of(char const* file, deployment const& how = {}) {
  return describe(read_model(path_of(file)), how);
}

bool has(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

/// What `describe` throws: "setting value: right".
std::string failure_of_describing(char const* file, deployment const& how,
                                  std::function<void(model_geometry&)> const& change = {}) {
  auto geometry = read_model(path_of(file));
  if (change) { change(geometry); }
  try {
    (void)describe(geometry, how);
  } catch (deployment_error const& error) {
    return error.setting() + " " + error.value() + ": " + error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("bytes of a token, a state and an expert") {
  struct row {
    char const* file;
    std::int64_t kv;      // bytes per token
    std::int64_t state;   // bytes per slot
    std::int64_t expert;  // bytes per slot
  };
  row const rows[] = {
      // 36 layers * 8 heads * (128 + 128) * 2
      {"Qwen--Qwen3-8B.json", 147'456, 0, 0},
      // 48 * 4 * 256 * 2; 3 * 2048 * 768 * 2
      {"Qwen--Qwen3-30B-A3B.json", 98'304, 0, 9'437'184},
      // 61 * (512 + 64) * 2; 3 * 7168 * 2048 + 2 * (32 * 56 + 56 * 16)
      {"deepseek-ai--DeepSeek-V3.json", 70'272, 0, 44'045'568},
      // and 61 index keys of 128 * 2
      {"deepseek-ai--DeepSeek-V3.2.json", 70'272 + 15'616, 0, 44'045'568},
      // 78 * 576 * 2 and index keys in the 21 layers that select for themselves
      {"zai-org--GLM-5.2.json", 89'856 + 21 * 256, 0, 75'497'472},
      // 10 * 2 * 512 * 2; 30 * ((2*16*128 + 32*128) * 3 * 2 + 32 * 128 * 128 * 4)
      {"Qwen--Qwen3.5-35B-A3B.json", 20'480, 64'389'120, 6'291'456},
      {"nvidia--Qwen3.6-35B-A3B-NVFP4.json", 20'480, 64'389'120, 1'775'616},
      // 16 * 4 * 512 * 2; 48 * ((2*16*128 + 48*128) * 3 * 2 + 48 * 128 * 128 * 4)
      {"Qwen--Qwen3.5-27B.json", 65'536, 153'944'064, 0},
  };
  for (auto const& one : rows) {
    CAPTURE(one.file);
    auto const got = pools_of(one.file);
    CHECK(got.kv_bytes_per_token == one.kv);
    CHECK(got.state_bytes_per_slot == one.state);
    CHECK((got.experts ? got.experts->slot_bytes.count : 0) == one.expert);
    CHECK(got.state.has_value() == (one.state != 0));
  }
}

TEST_CASE("every planned model is described") {
  int described = 0;
  for (auto const& entry : published()) {
    if (!is_planned(entry["facts"]["family"].get<std::string>())) { continue; }
    CAPTURE(entry["id"]);
    auto const got = pools_of(entry["file"].get<std::string>().c_str());
    CHECK(got.kv_bytes_per_token > 0);
    CHECK(got.experts.has_value() == entry["facts"].contains("moe"));
    ++described;
  }
  CHECK(described == 25);
}

TEST_CASE("settings change what they name") {
  deployment how;
  how.kv_dtype = element::fp8;
  how.page_tokens = 64;
  auto const fp8 = pools_of("Qwen--Qwen3-8B.json", how);
  CHECK(fp8.kv_bytes_per_token == 147'456 / 2);
  CHECK(std::get<gqa>(fp8.kv).page_tokens == 64);

  how = {};
  how.tp = 2;
  auto const halves = pools_of("Qwen--Qwen3-30B-A3B.json", how);
  CHECK(halves.kv_bytes_per_token == 98'304 / 2);
  CHECK(halves.experts->slot_bytes.count == 9'437'184 / 2);
  CHECK(pools_of("deepseek-ai--DeepSeek-V3.json", how).kv_bytes_per_token == 70'272);  // replicated
  CHECK(pools_of("Qwen--Qwen3.5-35B-A3B.json", how).state_bytes_per_slot == 64'389'120 / 2);

  how = {};
  how.experts_stored = expert_format::q4_0;
  CHECK(pools_of("Qwen--Qwen3-30B-A3B.json", how).experts->slot_bytes.count ==
        3 * 2048 * 768 / 32 * 18);

  how = {};
  how.prediction_layers = true;
  CHECK(pools_of("Qwen--Qwen3.5-27B.json", how).kv_bytes_per_token == 65'536 / 16 * 17);
  CHECK(pools_of("deepseek-ai--DeepSeek-V3.2.json", how).kv_bytes_per_token ==
        62 * (576 + 128) * 2);
  auto const none = pools_of("Qwen--Qwen3-8B.json", how);
  CHECK(none.kv_bytes_per_token == 147'456);
  REQUIRE(none.notes.size() == 1);
  CHECK(has(none.notes[0], "no prediction layers"));
}

TEST_CASE("what is assumed is said") {
  auto const mixed = pools_of("nvidia--Qwen3.6-35B-A3B-NVFP4.json");
  REQUIRE(mixed.notes.size() == 1);
  CHECK(has(mixed.notes[0], "MIXED_PRECISION"));
  CHECK(has(mixed.notes[0], "--expert-format"));
  auto const bare = pools_of("zai-org--GLM-4.7-FP8.json");
  CHECK(bare.notes.size() == 3);  // no model_type, no dtype for KV, none for experts
  deployment told;
  told.kv_dtype = element::bf16;
  told.experts_stored = expert_format::fp8_block128;
  CHECK(pools_of("zai-org--GLM-4.7-FP8.json", told).notes.size() == 1);
}

TEST_CASE("a setting this model cannot have is named with what would be right") {
  deployment how;
  how.tp = 5;
  auto const uneven = failure_of_describing("Qwen--Qwen3-30B-A3B.json", how);
  CHECK(has(uneven, "tp 5: does not divide the width of an expert, 768"));
  how = {};
  how.experts_stored = expert_format::q4_k;
  how.tp = 2;
  auto const blocks = failure_of_describing("Qwen--Qwen3-30B-A3B.json", how);
  CHECK(has(blocks, "expert-format q4_k: stores blocks of 256 elements"));
  CHECK(has(blocks, "384 of one rank"));
  auto const awq = failure_of_describing("Qwen--Qwen3-30B-A3B.json", {}, [](model_geometry& g) {
    g.quant = {"awq", "", "", "quantization_config.quant_method"};
  });
  CHECK(has(awq, "expert-format : missing, and quantization_config.quant_method = \"awq\""));
  CHECK(has(awq, "nvfp4"));
  auto const wide = failure_of_describing("Qwen--Qwen3-8B.json", {}, [](model_geometry& g) {
    g.head_dim = std::int64_t{1} << 53;
    g.layers = g.full_attention_layers = 65536;
  });
  CHECK(has(wide, "2^63 bytes"));
}

TEST_CASE("heads that ranks do not split are left to solve") {
  deployment how;
  how.tp = 3;
  CHECK(pools_of("Qwen--Qwen3-8B.json", how).kv_bytes_per_token == 0);
}
