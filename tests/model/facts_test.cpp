// SPDX-License-Identifier: Apache-2.0
// Every fact of the index, for every model this version plans.
#include "published.hpp"

#include <allot/model/read.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <optional>

using allot::model::attention_kind;
using allot::model::model_geometry;
using nlohmann::json;
using namespace allot::model_test;

namespace {

json number(std::optional<std::int64_t> const& value) {
  return value ? json(*value) : json();
}

json moe_facts(model_geometry const& got) {
  auto const& moe = *got.moe;
  json out{{"experts", moe.experts},
           {"top_k", moe.top_k},
           {"intermediate", moe.intermediate},
           {"moe_layers", moe.layers},
           {"dense_layers", moe.dense_layers}};
  if (moe.shared_experts) { out["shared_experts"] = *moe.shared_experts; }
  if (moe.shared_intermediate) { out["shared_intermediate"] = *moe.shared_intermediate; }
  return out;
}

json linear_facts(model_geometry const& got) {
  auto const& net = *got.gated_delta;
  json out{{"kind", "gated_delta_net"},
           {"linear_layers", net.layers},
           {"full_layers", got.full_attention_layers},
           {"conv_kernel", net.conv_kernel},
           {"key_heads", net.key_heads},
           {"key_head_dim", net.key_head_dim},
           {"value_heads", net.value_heads},
           {"value_head_dim", net.value_head_dim}};
  out["state_dtype"] =
      net.state_dtype ? json(*net.state_dtype == "fp32" ? "float32" : "?") : json();
  return out;
}

json mla_facts(model_geometry const& got) {
  auto const& mla = *got.mla;
  return {{"kv_lora_rank", mla.kv_lora_rank},
          {"q_lora_rank", number(mla.q_lora_rank)},
          {"qk_nope", mla.qk_nope_head_dim},
          {"qk_rope", mla.qk_rope_head_dim},
          {"v_head_dim", mla.v_head_dim}};
}

json indexer_facts(model_geometry const& got) {
  auto const& index = *got.indexer;
  json out{{"n_heads", index.heads}, {"head_dim", index.head_dim}, {"topk", index.top_k}};
  if (index.shared_layers > 0) {
    out["full_layers"] = index.layers;
    out["shared_layers"] = index.shared_layers;
  }
  return out;
}

std::string family(model_geometry const& got) {
  if (got.attention == attention_kind::gated_delta) { return "linear_hybrid"; }
  if (got.attention == attention_kind::gqa) { return "gqa"; }
  return got.indexer ? "mla_dsa" : "mla";
}

/// The index's facts, said by the reader.
std::map<std::string, std::function<json(model_geometry const&)>> const& readers() {
  static std::map<std::string, std::function<json(model_geometry const&)>> const all{
      {"layers", [](auto const& g) { return json(g.layers); }},
      {"hidden", [](auto const& g) { return json(g.hidden); }},
      {"heads", [](auto const& g) { return json(g.heads); }},
      {"kv_heads", [](auto const& g) { return json(g.kv_heads); }},
      {"head_dim", [](auto const& g) { return number(g.head_dim); }},
      {"v_head_dim", [](auto const& g) { return number(g.v_head_dim); }},
      {"vocab", [](auto const& g) { return number(g.vocab); }},
      {"max_positions", [](auto const& g) { return number(g.max_positions); }},
      {"tied_embeddings",
       [](auto const& g) { return g.tied_embeddings ? json(*g.tied_embeddings) : json(); }},
      {"dense_intermediate", [](auto const& g) { return number(g.dense_intermediate); }},
      {"moe", moe_facts},
      {"linear", linear_facts},
      {"mla", mla_facts},
      {"indexer", indexer_facts},
      {"mtp_layers", [](auto const& g) { return json(g.mtp_layers); }},
      {"family", [](auto const& g) { return json(family(g)); }},
  };
  return all;
}

/// Where the index says more than the stored subset of the file, or less.
bool excused(std::string const& id, std::string const& fact, json const& got, json const& want,
             model_geometry const& model) {
  // The library's default when the file does not say.
  if (fact == "tied_embeddings") { return got.is_null() && want == false; }
  if (fact != "dense_intermediate") { return false; }
  // Read from the whole file; the subset has no intermediate_size.
  if (id == "tencent/Hunyuan-A13B-Instruct") { return got.is_null(); }
  // The file states a width that none of its layers uses.
  return want.is_null() && model.moe && model.moe->dense_layers == 0;
}

}  // namespace

TEST_CASE("every fact of the index is read from every planned model") {
  int models = 0;
  int facts = 0;
  for (auto const& entry : published()) {
    auto const id = entry["id"].get<std::string>();
    if (!is_planned(entry["facts"]["family"].get<std::string>())) { continue; }
    CAPTURE(id);
    auto const got = allot::model::read_model(path_of(entry["file"].get<std::string>()));
    CHECK(got.id == id);
    for (auto const& [fact, want] : entry["facts"].items()) {
      CAPTURE(fact);
      REQUIRE(readers().count(fact) == 1);
      auto const value = readers().at(fact)(got);
      if (!excused(id, fact, value, want, got)) { CHECK(value == want); }
      ++facts;
    }
    // A part the index does not mention is a part the model does not have.
    CHECK(got.moe.has_value() == entry["facts"].contains("moe"));
    CHECK(got.mla.has_value() == entry["facts"].contains("mla"));
    CHECK(got.indexer.has_value() == entry["facts"].contains("indexer"));
    CHECK(got.gated_delta.has_value() == entry["facts"].contains("linear"));
    if (!entry["facts"].contains("mtp_layers")) { CHECK(got.mtp_layers == 0); }
    ++models;
  }
  CHECK(models == 25);
  CHECK(facts >= 25 * 10);
}

TEST_CASE("element types and expert formats") {
  struct row {
    char const* file;
    char const* dtype;          // nullptr: not stated
    char const* expert_format;  // "": none follows
  };
  row const rows[] = {
      {"Qwen--Qwen3-0.6B.json", "bf16", ""},
      {"Qwen--Qwen3.5-35B-A3B.json", "bf16", ""},
      {"deepseek-ai--DeepSeek-V3.json", "bf16", "fp8_block128"},
      {"moonshotai--Kimi-K2-Instruct.json", "bf16", "fp8_block128"},
      {"MiniMaxAI--MiniMax-M2.5.json", nullptr, "fp8_block128"},
      {"nvidia--Qwen3.6-35B-A3B-NVFP4.json", "bf16", ""},  // MIXED_PRECISION does not say which
      {"zai-org--GLM-4.7-FP8.json", nullptr, ""},
  };
  for (auto const& one : rows) {
    CAPTURE(one.file);
    auto const got = allot::model::read_model(path_of(one.file));
    CHECK(got.dtype == (one.dtype ? std::optional<std::string>{one.dtype} : std::nullopt));
    CHECK(got.quant.expert_format == one.expert_format);
  }
}

TEST_CASE("identifiers come from the name of the file or folder") {
  using allot::model::model_id;
  CHECK(model_id("a/Qwen--Qwen3-8B.json") == "Qwen/Qwen3-8B");
  CHECK(model_id("a/Qwen--Qwen3-8B/config.json") == "Qwen/Qwen3-8B");
  CHECK(model_id("a/Qwen--Qwen3-8B/") == "Qwen/Qwen3-8B");
  CHECK(model_id("Qwen3-8B/config.json") == "Qwen3-8B");
  CHECK(model_id("hub/models--Qwen--Qwen3-8B/snapshots/0123abc/config.json") == "Qwen/Qwen3-8B");
  CHECK(model_id("hub/models--Qwen--Qwen3-8B/snapshots/0123abc") == "Qwen/Qwen3-8B");
  CHECK(model_id("-") == "stdin");
}
