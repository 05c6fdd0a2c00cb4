// SPDX-License-Identifier: Apache-2.0
#include "layers.hpp"

#include <set>
#include <string>
#include <vector>

namespace allot::model {
namespace {

config_view::found element(config_view::found const& list, std::size_t index) {
  return {&(*list.value)[index], list.path + "[" + std::to_string(index) + "]"};
}

/// `moe_layer_freq`: every f-th layer, or a list of 0 and 1.
void apply_frequency(config_view const& config, std::vector<bool>& has_experts) {
  auto const field = config.find("moe_layer_freq");
  if (!field) { return; }
  if (!field.value->is_array()) {
    auto const every = static_cast<std::size_t>(config.as_integer(field, 1));
    for (std::size_t i = 0; i < has_experts.size(); ++i) {
      if (i % every != 0) { has_experts[i] = false; }
    }
    return;
  }
  auto const list =
      find_layer_list(config, "moe_layer_freq", static_cast<std::int64_t>(has_experts.size()));
  for (std::size_t i = 0; i < has_experts.size(); ++i) {
    auto const one = element(list, i);
    auto const flag = config.as_integer(one, 0);
    if (flag > 1) { config.fail(one, "expected 0 (dense) or 1 (experts)"); }
    if (flag == 0) { has_experts[i] = false; }
  }
}

/// `mlp_only_layers`: indices of layers without experts.
void apply_exceptions(config_view const& config, std::vector<bool>& has_experts) {
  auto const field = config.find("mlp_only_layers");
  if (!field) { return; }
  if (!field.value->is_array()) { config.fail(field, "expected a list of layer indices"); }
  for (std::size_t i = 0; i < field.value->size(); ++i) {
    auto const one = element(field, i);
    auto const index = static_cast<std::size_t>(config.as_integer(one, 0));
    if (index >= has_experts.size()) {
      config.fail(one, "expected a layer index below " + std::to_string(has_experts.size()));
    }
    has_experts[index] = false;
  }
}

}  // namespace

config_view::found find_layer_list(config_view const& config, std::string_view name,
                                   std::int64_t layers) {
  auto const field = config.find(name);
  if (!field) { return field; }
  if (!field.value->is_array()) { config.fail(field, "expected a list with one entry a layer"); }
  if (static_cast<std::int64_t>(field.value->size()) != layers) {
    config.fail(field, "has " + std::to_string(field.value->size()) + " entries; expected " +
                           std::to_string(layers) + ", one a layer (num_hidden_layers)");
  }
  return field;
}

attention_layers count_attention_layers(config_view const& config, model_geometry const& out) {
  bool const hybrid = out.attention == attention_kind::gated_delta;
  auto const interval = hybrid ? config.integer({"full_attention_interval"}).value_or(0) : 0;
  auto const types = find_layer_list(config, "layer_types", out.layers);
  if (!types) {
    if (!hybrid) { return {out.layers, 0}; }
    if (interval == 0) {
      config.fail_missing("layer_types",
                          "missing, and so is full_attention_interval; one of them must say which "
                          "layers keep KV rows");
    }
    auto const full = out.layers / interval;
    return {full, out.layers - full};
  }
  attention_layers count;
  for (std::size_t i = 0; i < types.value->size(); ++i) {
    auto const one = element(types, i);
    auto const name = one.value->is_string() ? one.value->get<std::string>() : std::string{};
    if (name == "full_attention") {
      ++count.full;
    } else if (name == "linear_attention" && hybrid) {
      ++count.linear;
    } else {
      config.fail(one, hybrid ? "expected \"full_attention\" or \"linear_attention\""
                              : "expected \"full_attention\" in every layer of this architecture");
    }
  }
  if (interval != 0 && count.full != out.layers / interval) {
    config.fail(config.find("full_attention_interval"),
                "contradicts " + types.path + ", which has " + std::to_string(count.full) +
                    " full-attention layers of " + std::to_string(out.layers));
  }
  return count;
}

std::int64_t count_moe_layers(config_view const& config, std::int64_t layers) {
  std::vector<bool> has_experts(static_cast<std::size_t>(layers), true);
  auto const first = config.integer({"first_k_dense_replace"}, 0).value_or(0);
  if (first > layers) {
    config.fail(config.find("first_k_dense_replace"),
                "expected at most num_hidden_layers = " + std::to_string(layers));
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(first); ++i) {
    has_experts[i] = false;
  }
  apply_frequency(config, has_experts);
  apply_exceptions(config, has_experts);
  for (auto const name : {"decoder_sparse_step", "interleave_moe_layer_step"}) {
    auto const step = config.integer({name});
    if (!step) { continue; }
    for (std::size_t i = 0; i < has_experts.size(); ++i) {
      if ((i + 1) % static_cast<std::size_t>(*step) != 0) { has_experts[i] = false; }
    }
  }
  if (auto const kinds = find_layer_list(config, "mlp_layer_types", layers)) {
    for (std::size_t i = 0; i < has_experts.size(); ++i) {
      auto const one = element(kinds, i);
      bool const dense = *one.value == "dense";
      if (!dense && *one.value != "sparse") {
        config.fail(one, "expected \"dense\" or \"sparse\"");
      }
      if (dense == has_experts[i] && config.find("first_k_dense_replace")) {
        config.fail(one, "contradicts first_k_dense_replace = " + std::to_string(first));
      }
      has_experts[i] = !dense;
    }
  }
  std::int64_t count = 0;
  for (bool const one : has_experts) {
    count += one ? 1 : 0;
  }
  return count;
}

}  // namespace allot::model
