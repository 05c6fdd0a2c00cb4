// SPDX-License-Identifier: Apache-2.0
#include "architecture.hpp"

#include <string>

namespace allot::model {
namespace {

using enum attention_kind;

// model_type, class, attention, head_dim implied, kv heads implied, intermediate_size is the
// expert's, window only with use_sliding_window, chunked attention
constexpr architecture known[] = {
    {"llama", "LlamaForCausalLM", gqa, true, true},
    {"mistral", "MistralForCausalLM", gqa, true},
    {"mixtral", "MixtralForCausalLM", gqa, true, false, true},
    {"phi3", "Phi3ForCausalLM", gqa, true, true},
    {"phimoe", "PhiMoEForCausalLM", gqa, true, false, true},
    {"olmo2", "Olmo2ForCausalLM", gqa, true, true},
    {"olmoe", "OlmoeForCausalLM", gqa, true, true, true},
    {"qwen2", "Qwen2ForCausalLM", gqa, true, false, false, true},
    {"qwen2_moe", "Qwen2MoeForCausalLM", gqa, true, false, false, true},
    {"qwen3", "Qwen3ForCausalLM", gqa, false, false, false, true},
    {"qwen3_moe", "Qwen3MoeForCausalLM", gqa, false, false, false, true},
    {"qwen3_vl_text", "", gqa, false, false, false, true},
    {"qwen3_vl_moe_text", "", gqa, false, false, false, true},
    {"glm4_moe", "Glm4MoeForCausalLM", gqa},
    {"minimax_m2", "MiniMaxM2ForCausalLM", gqa, false, false, true},
    {"hunyuan_v1_moe", "HunYuanMoEV1ForCausalLM", gqa, true},
    {"llama4_text", "Llama4ForCausalLM", gqa, true, false, true, false, true},
    {"llama4", "Llama4ForConditionalGeneration", gqa, true, false, true, false, true},
    {"deepseek_v2", "DeepseekV2ForCausalLM", mla},
    {"deepseek_v3", "DeepseekV3ForCausalLM", mla},
    {"kimi_k2", "", mla},
    {"deepseek_v32", "DeepseekV32ForCausalLM", mla},
    {"glm_moe_dsa", "GlmMoeDsaForCausalLM", mla},
    {"qwen3_next", "Qwen3NextForCausalLM", gated_delta},
    {"qwen3_5_text", "Qwen3_5ForCausalLM", gated_delta},
    {"qwen3_5", "Qwen3_5ForConditionalGeneration", gated_delta},
    {"qwen3_5_moe_text", "Qwen3_5MoeForCausalLM", gated_delta},
    {"qwen3_5_moe", "Qwen3_5MoeForConditionalGeneration", gated_delta},
};

constexpr std::string_view readable =
    "this architecture is not known to this version, which reads grouped-query (Llama, Mistral, "
    "Mixtral, Qwen2/3, GLM-4.x, MiniMax-M2, Phi, Hunyuan-A13B), MLA (DeepSeek V2/V3/V3.2, Kimi "
    "K2, GLM-5) and gated-delta (Qwen3-Next, Qwen3.5, Qwen3.6) models; pages of a known size can "
    "be "
    "described to `allot solve` as a raw pool";

/// A subset of a configuration without names: decided by the fields that only one kind has.
architecture by_fields(config_view const& config, model_geometry& out) {
  architecture guess{"", "", gqa, true, false, false, true};
  std::string_view why = "grouped-query attention in every layer";
  if (config.find("kv_lora_rank")) {
    guess.attention = mla;
    why = "MLA (it has kv_lora_rank)";
  } else if (config.find("linear_num_key_heads")) {
    guess.attention = gated_delta;
    why = "a gated-delta hybrid (it has linear_num_key_heads)";
  }
  guess.expert_is_intermediate = !config.find("moe_intermediate_size");
  out.notes.push_back("the file names no model_type; read by its fields as " + std::string{why});
  return guess;
}

}  // namespace

architecture find_architecture(config_view const& config, model_geometry& out) {
  auto const type = config.find_anywhere("model_type");
  if (auto const name = config.text("model_type")) { out.model_type = *name; }
  auto const classes = config.find_anywhere("architectures");
  if (classes) {
    if (!classes.value->is_array()) { config.fail(classes, "expected a list of class names"); }
    for (auto const& one : *classes.value) {
      if (!one.is_string()) { config.fail(classes, "expected a list of class names"); }
      out.architectures.push_back(one.get<std::string>());
    }
  }
  if (type) {
    for (auto const& one : known) {
      if (one.model_type == out.model_type) { return one; }
    }
    config.fail(type, std::string{readable});
  }
  if (!out.architectures.empty()) {
    for (auto const& one : known) {
      if (!one.class_name.empty() && one.class_name == out.architectures.front()) { return one; }
    }
    config.fail(classes, std::string{readable});
  }
  return by_fields(config, out);
}

}  // namespace allot::model
