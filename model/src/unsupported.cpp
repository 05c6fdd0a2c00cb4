// SPDX-License-Identifier: Apache-2.0
#include "unsupported.hpp"

#include <string>

namespace allot::model {
namespace {

constexpr std::string_view window_needed =
    "this model keeps only a window of tokens in some layers; planning it needs the "
    "sliding_window family, which `allot plan` does not read from a configuration yet";
constexpr std::string_view mamba_needed =
    "this model has Mamba layers; planning it needs the mamba kinds of recurrent state, which "
    "`allot plan` does not read from a configuration yet";

struct marker {
  std::string_view field;
  std::string_view needed;
};

constexpr marker markers[] = {
    {"compress_ratios",
     "this model compresses its KV rows in tiers; planning it needs the compressed_tiers family, "
     "which `allot plan` does not read from a configuration yet"},
    {"hybrid_override_pattern", mamba_needed},
    {"layers_block_type", mamba_needed},
    {"attn_layer_period", mamba_needed},
    {"mamba_d_state", mamba_needed},
    {"ssm_state_size", mamba_needed},
    {"linear_attn_config",
     "this model has KDA layers; planning it needs the kda kind of recurrent state, which "
     "`allot plan` does not read from a configuration yet"},
    {"sliding_window_pattern", window_needed},
    {"hybrid_layer_pattern", window_needed},
    {"global_head_dim",
     "the full-attention layers have heads of their own size; planning it needs two KV families, "
     "which `allot plan` does not read from a configuration yet"},
    {"sparse_attention_config",
     "this model selects blocks with index keys of its own; planning it needs the block_sparse "
     "family, which `allot plan` does not read from a configuration yet"},
    {"indexer_head_dim",
     "this model keeps compressed index keys beside its full-attention rows; planning it needs an "
     "index with a compression ratio, which `allot plan` does not know yet"},
    {"cross_attention_layers",
     "layers attend to another input; planning it needs a second KV pool for that input"},
    {"is_encoder_decoder",
     "encoder-decoder models keep a second KV pool for the encoder; only decoders can be planned"},
    {"num_kv_shared_layers",
     "layers share the KV rows of others; planning it needs a KV family with shared layers"},
    {"routed_expert_hidden_size",
     "experts work on a narrower hidden size; planning it needs expert rows of that width"},
    {"moe_latent_size",
     "experts work on a narrower hidden size; planning it needs expert rows of that width"},
};

bool in_effect(nlohmann::json const& value) {
  if (value.is_boolean()) { return value.get<bool>(); }
  if (value.is_number()) { return value.get<double>() != 0.0; }
  return !value.empty();
}

}  // namespace

void refuse_unsupported(config_view const& config) {
  for (auto const& one : markers) {
    auto const field = config.find_anywhere(one.field);
    if (field && in_effect(*field.value)) { config.fail(field, std::string{one.needed}); }
  }
  auto const types = config.find("layer_types");
  if (!types || !types.value->is_array()) { return; }
  for (std::size_t i = 0; i < types.value->size(); ++i) {
    auto const& kind = (*types.value)[i];
    if (kind == "sliding_attention" || kind == "chunked_attention") {
      config.fail({&kind, types.path + "[" + std::to_string(i) + "]"}, std::string{window_needed});
    }
  }
}

void refuse_windows(config_view const& config, architecture const& known, model_geometry& out) {
  if (auto const chunk = config.integer({"attention_chunk_size"}, 0); chunk && *chunk > 0) {
    if (!known.chunked_attention) {
      config.fail(config.find("attention_chunk_size"), std::string{window_needed});
    }
    if (!out.max_positions || *chunk < *out.max_positions) {
      out.notes.push_back("attention_chunk_size " + std::to_string(*chunk) +
                          ": chunked layers are planned as full attention (never too little)");
    }
  }
  auto const window = config.integer({"sliding_window"}, 0);
  if (!window || *window == 0) { return; }
  if (config.find("layer_types")) {
    return;  // says it layer by layer; checked there
  }
  auto const used = config.flag("use_sliding_window");
  if (used ? !*used : known.shared_window_field) { return; }
  if (out.max_positions && *window >= *out.max_positions) { return; }
  auto const first = config.integer({"max_window_layers"}, 0);
  if (known.shared_window_field && first && *first >= out.layers) { return; }
  config.fail(config.find("sliding_window"), std::string{window_needed});
}

}  // namespace allot::model
