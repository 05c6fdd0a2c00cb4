// SPDX-License-Identifier: Apache-2.0
#include "parts.hpp"

#include <string>

namespace allot::model {
namespace {

/// fp8 weights whose scales cover 128 x 128 blocks; other block sizes have other row bytes.
bool has_128_blocks(config_view const& config, nlohmann::json const& object,
                    std::string const& path) {
  auto const blocks = object.find("weight_block_size");
  if (blocks == object.end() || blocks->is_null()) { return false; }
  if (!blocks->is_array() || blocks->size() != 2) {
    config.fail({&*blocks, path + ".weight_block_size"},
                "expected two integers, such as [128, 128]");
  }
  return (*blocks)[0] == 128 && (*blocks)[1] == 128;
}

std::string text_of(config_view const& config, nlohmann::json const& object,
                    std::string const& path, char const* name) {
  auto const at = object.find(name);
  if (at == object.end() || at->is_null()) { return {}; }
  if (!at->is_string()) { config.fail({&*at, path + "." + name}, "expected a string"); }
  return at->get<std::string>();
}

/// modelopt lists the algorithm of every quantised layer when they differ.
std::string expert_algorithm(nlohmann::json const& object) {
  auto const layers = object.find("quantized_layers");
  if (layers == object.end() || !layers->is_object()) { return {}; }
  for (auto const& [name, entry] : layers->items()) {
    if (name.find("experts") == std::string::npos || name.find("shared") != std::string::npos) {
      continue;
    }
    if (entry.is_object() && entry.contains("quant_algo") && entry["quant_algo"].is_string()) {
      return entry["quant_algo"].get<std::string>();
    }
  }
  return {};
}

}  // namespace

quantization read_quantization(config_view const& config) {
  quantization out;
  auto const field = config.find_anywhere("quantization_config");
  if (!field) { return out; }
  auto const& object = *field.value;
  if (!object.is_object()) { config.fail(field, "expected an object with quant_method"); }
  out.method = text_of(config, object, field.path, "quant_method");
  out.algorithm = text_of(config, object, field.path, "quant_algo");
  out.field = field.path + (out.algorithm.empty() ? ".quant_method" : ".quant_algo");
  if (out.method.empty() && out.algorithm.empty()) {
    config.fail(field, "names no quant_method; expected one, such as \"fp8\" or \"mxfp4\"");
  }
  if (out.method == "fp8" && has_128_blocks(config, object, field.path)) {
    out.expert_format = "fp8_block128";
  } else if (out.method == "mxfp4") {
    out.expert_format = "mxfp4";
  } else if (out.algorithm == "NVFP4" ||
             (out.algorithm == "MIXED_PRECISION" && expert_algorithm(object) == "NVFP4")) {
    out.expert_format = "nvfp4";
  }
  return out;
}

}  // namespace allot::model
