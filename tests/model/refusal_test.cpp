// SPDX-License-Identifier: Apache-2.0
// What cannot be planned is refused by the name of the field, its value, and what would be needed.
#include "published.hpp"

#include <allot/model/config_error.hpp>
#include <allot/model/read.hpp>

#include <doctest/doctest.h>

#include <map>

using nlohmann::json;
using namespace allot::model_test;

namespace {

bool has(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

/// Reads a published configuration after one change.
std::string failure_with(std::string const& file, std::string const& pointer, json const& value) {
  auto config = config_of(file);
  config[json::json_pointer{pointer}] = value;
  return failure_of(config.dump());
}

std::string failure_without(std::string const& file, std::string const& pointer) {
  auto const at = json::json_pointer{pointer};
  auto config = config_of(file);
  config.at(at.parent_pointer()).erase(at.back());
  return failure_of(config.dump());
}

constexpr char dense[] = "Qwen--Qwen3-8B.json";
constexpr char moe[] = "Qwen--Qwen3-30B-A3B.json";
constexpr char latent[] = "deepseek-ai--DeepSeek-V3.2.json";
constexpr char hybrid[] = "Qwen--Qwen3.5-35B-A3B.json";

}  // namespace

TEST_CASE("each published model of another kind is refused by its own field") {
  std::map<std::string, std::string> const wanted{
      {"deepseek-ai/DeepSeek-V4-Flash", "compress_ratios"},
      {"openai/gpt-oss-120b", "layer_types[0] = \"sliding_attention\""},
      {"MiniMaxAI/MiniMax-M3", "sparse_attention_config"},
      {"google/gemma-4-26B-A4B", "text_config.global_head_dim = 512"},
      {"moonshotai/Kimi-K3", "text_config.linear_attn_config"},
      {"XiaomiMiMo/MiMo-V2-Flash", "hybrid_layer_pattern"},
      {"nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "hybrid_override_pattern"},
      {"nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16", "layers_block_type"},
      {"nvidia/Nemotron-H-56B-Base-8K", "hybrid_override_pattern"},
      {"Qwen/Qwen3.8-Flash-Next", "indexer_head_dim = 128"},
      {"google/gemma-3-27b", "sliding_window_pattern = 6"},
      {"ai21labs/Jamba-v0.1", "attn_layer_period = 8"},
  };
  std::size_t refused = 0;
  for (auto const& entry : published()) {
    if (is_planned(entry["facts"]["family"].get<std::string>())) { continue; }
    auto const id = entry["id"].get<std::string>();
    CAPTURE(id);
    REQUIRE(wanted.count(id) == 1);
    auto const file = entry["file"].get<std::string>();
    std::string said;
    try {
      (void)allot::model::read_model(path_of(file));
    } catch (allot::model::config_error const& error) { said = error.what(); }
    CAPTURE(said);
    CHECK(has(said, file));
    CHECK(has(said, wanted.at(id)));
    CHECK(has(said, "need"));
    ++refused;
  }
  CHECK(refused == wanted.size());
}

TEST_CASE("an unknown architecture is refused by its name") {
  auto const type = failure_with(dense, "/model_type", "qwen9");
  CHECK(has(type, "config.json: model_type = \"qwen9\": "));
  CHECK(has(type, "allot solve"));
  auto config = config_of(dense);
  config.erase("model_type");
  config["architectures"] = {"NewForCausalLM"};
  CHECK(has(failure_of(config.dump()), "architectures = [\"NewForCausalLM\"]"));
}

TEST_CASE("windows are refused only when they are in effect") {
  CHECK(failure_with(dense, "/sliding_window", 4096) == "");  // use_sliding_window is false
  auto config = config_of(dense);
  config["sliding_window"] = 4096;
  config["use_sliding_window"] = true;
  CHECK(failure_of(config.dump()) == "");  // max_window_layers: every layer stays full
  config["max_window_layers"] = 18;
  CHECK(has(failure_of(config.dump()), "sliding_window = 4096"));
  CHECK(has(failure_with("mistralai--Mixtral-8x7B-v0.1.json", "/sliding_window", 4096),
            "sliding_window = 4096"));
  CHECK(failure_with("mistralai--Mixtral-8x7B-v0.1.json", "/sliding_window", 32768) == "");
  CHECK(failure_with("mistralai--Mixtral-8x7B-v0.1.json", "/sliding_window", nullptr) == "");
  CHECK(has(failure_with(dense, "/attention_chunk_size", 8192), "attention_chunk_size = 8192"));
  auto const llama4 =
      allot::model::read_model(path_of("meta-llama--Llama-4-Scout-17B-16E-Instruct.json"));
  REQUIRE(llama4.notes.size() == 1);
  CHECK(has(llama4.notes[0], "attention_chunk_size 8192"));
}

TEST_CASE("a field that is missing is named with what it is needed for") {
  CHECK(
      has(failure_without(dense, "/num_hidden_layers"), "config.json: num_hidden_layers: missing"));
  CHECK(has(failure_without(dense, "/num_key_value_heads"), "num_key_value_heads: missing"));
  CHECK(has(failure_without(dense, "/head_dim"), "head_dim: missing"));
  CHECK(has(failure_without(latent, "/kv_lora_rank"), "kv_lora_rank: missing"));
  CHECK(has(failure_without(latent, "/index_topk"), "index_topk: missing"));
  CHECK(has(failure_without(moe, "/moe_intermediate_size"), "moe_intermediate_size: missing"));
  CHECK(has(failure_without(hybrid, "/text_config/linear_conv_kernel_dim"),
            "text_config.linear_conv_kernel_dim: missing"));
  CHECK(has(failure_without("Qwen--Qwen3-Next-80B-A3B-Thinking.json", "/linear_num_value_heads"),
            "linear_num_value_heads: missing"));
}

TEST_CASE("head_dim is derived only where the library implies it") {
  CHECK(allot::model::read_model(path_of("meta-llama--Meta-Llama-3.1-70B.json")).head_dim == 128);
  CHECK(allot::model::read_model(path_of("mistralai--Mistral-Small-24B.json")).head_dim == 128);
  CHECK(has(failure_with("meta-llama--Meta-Llama-3.1-8B.json", "/hidden_size", 4100),
            "hidden_size 4100 is not a multiple of num_attention_heads 32"));
}

TEST_CASE("contradictions are refused with both sides") {
  CHECK(has(failure_with(moe, "/num_local_experts", 64),
            "num_experts = 128: contradicts "
            "num_local_experts = 64"));
  CHECK(has(failure_with(hybrid, "/text_config/full_attention_interval", 5),
            "text_config.full_attention_interval = 5: contradicts text_config.layer_types"));
  CHECK(has(failure_with(hybrid, "/text_config/layer_types", json::array({"full_attention"})),
            "has 1 entries; expected 40"));
  CHECK(has(failure_with(hybrid, "/text_config/layer_types/7", "mamba"),
            "text_config.layer_types[7] = \"mamba\""));
  CHECK(has(failure_with(dense, "/num_key_value_heads", 5),
            "expected a divisor of "
            "num_attention_heads = 32"));
  CHECK(has(failure_with(moe, "/num_experts_per_tok", 129), "129 experts a token"));
  CHECK(has(failure_with(latent, "/first_k_dense_replace", 62), "expected at most"));
  CHECK(has(failure_with("zai-org--GLM-5.2.json", "/mlp_layer_types/0", "sparse"),
            "mlp_layer_types[0] = \"sparse\": contradicts first_k_dense_replace = 3"));
  CHECK(has(failure_with("zai-org--GLM-5.2.json", "/mlp_layer_types/9", "dense"),
            "mlp_layer_types[9] = \"dense\": contradicts first_k_dense_replace = 3"));
  CHECK(has(failure_with(moe, "/dtype", "float16"), "contradicts dtype"));
}

TEST_CASE("expert layers follow every published way to say them") {
  auto const layers_with = [](std::string const& field, json const& value) {
    auto config = config_of(moe);
    config[field] = value;
    return allot::model::read_config(config.dump(), "config.json").moe->layers;
  };
  CHECK(layers_with("decoder_sparse_step", 2) == 24);
  CHECK(layers_with("mlp_only_layers", {0, 5, 47}) == 45);
  CHECK(layers_with("first_k_dense_replace", 3) == 45);
  CHECK(layers_with("moe_layer_freq", 2) == 24);
  CHECK(layers_with("moe_layer_freq", json(std::vector<int>(48, 1))) == 48);
  CHECK(layers_with("interleave_moe_layer_step", 4) == 12);
  auto kinds = std::vector<std::string>(48, "sparse");
  kinds[3] = "dense";
  CHECK(layers_with("mlp_layer_types", kinds) == 47);
}

TEST_CASE("quantisation gives an expert format or says which field does not") {
  auto const format_of = [](json const& quantization) {
    auto config = config_of(moe);
    config["quantization_config"] = quantization;
    return allot::model::read_config(config.dump(), "config.json").quant;
  };
  CHECK(format_of({{"quant_method", "mxfp4"}}).expert_format == "mxfp4");
  CHECK(format_of({{"quant_method", "modelopt"}, {"quant_algo", "NVFP4"}}).expert_format ==
        "nvfp4");
  CHECK(format_of({{"quant_method", "fp8"}, {"weight_block_size", {64, 64}}}).expert_format == "");
  CHECK(format_of({{"quant_method", "awq"}}).field == "quantization_config.quant_method");
  json const mixed{{"quant_method", "modelopt"},
                   {"quant_algo", "MIXED_PRECISION"},
                   {"quantized_layers",
                    {{"model.layers.0.self_attn.q_proj", {{"quant_algo", "FP8"}}},
                     {"model.layers.0.mlp.experts.0.up_proj", {{"quant_algo", "NVFP4"}}}}}};
  CHECK(format_of(mixed).expert_format == "nvfp4");
  CHECK(has(failure_with(moe, "/quantization_config", json{{"quant_method", 3}}),
            "quantization_config.quant_method = 3: expected a string"));
}
