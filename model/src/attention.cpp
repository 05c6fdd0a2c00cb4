// SPDX-License-Identifier: Apache-2.0
#include "layers.hpp"
#include "parts.hpp"

#include <string>

namespace allot::model {
namespace {

void read_heads(config_view const& config, architecture const& known, model_geometry& out) {
  if (known.kv_heads_implied) {
    out.kv_heads = config.integer({"num_key_value_heads"}).value_or(out.heads);
  } else {
    out.kv_heads = config.require({"num_key_value_heads"}, "the KV rows");
  }
  if (out.heads % out.kv_heads != 0) {
    config.fail(config.find("num_key_value_heads"),
                "expected a divisor of num_attention_heads = " + std::to_string(out.heads));
  }
  out.head_dim = config.integer({"head_dim", "attention_head_dim"});
  if (!out.head_dim) {
    if (!known.head_dim_implied) {
      config.fail_missing("head_dim", "missing; needed for the KV rows (" + out.model_type +
                                          " configurations state it: hidden_size / "
                                          "num_attention_heads need not be it)");
    }
    if (out.hidden % out.heads != 0) {
      config.fail_missing("head_dim", "missing, and hidden_size " + std::to_string(out.hidden) +
                                          " is not a multiple of num_attention_heads " +
                                          std::to_string(out.heads));
    }
    out.head_dim = out.hidden / out.heads;
  }
  out.v_head_dim = config.integer({"v_head_dim"});
  if (config.flag("attention_k_eq_v").value_or(false)) { out.v_head_dim = 0; }
  if (auto const index = config.find("index_head_dim")) {
    config.fail(index,
                "an index beside grouped-query rows is not a layout this version reads from "
                "a configuration; describe it to `allot solve` (kv[].index)");
  }
}

void read_mla(config_view const& config, model_geometry& out) {
  out.kv_heads = config.integer({"num_key_value_heads"}).value_or(out.heads);
  mla_dims mla;
  mla.kv_lora_rank = config.require({"kv_lora_rank"}, "the latent rows");
  mla.q_lora_rank = config.integer({"q_lora_rank"});
  mla.qk_nope_head_dim = config.require({"qk_nope_head_dim"}, "the heads");
  mla.qk_rope_head_dim = config.require({"qk_rope_head_dim"}, "the latent rows");
  mla.v_head_dim = config.require({"v_head_dim"}, "the heads");
  out.v_head_dim = mla.v_head_dim;
  out.mla = mla;
}

/// The indexer of DeepSeek V3.2 and GLM-5: one key per token in each layer that selects for itself.
void read_indexer(config_view const& config, model_geometry& out) {
  if (!config.find("index_head_dim")) { return; }
  indexer_dims index;
  index.head_dim = config.require({"index_head_dim"}, "the index keys");
  index.heads = config.require({"index_n_heads"}, "the indexer");
  index.top_k = config.require({"index_topk"}, "the indexer");
  index.layers = out.full_attention_layers;
  if (auto const types = find_layer_list(config, "indexer_types", out.layers)) {
    index.layers = 0;
    for (std::size_t i = 0; i < types.value->size(); ++i) {
      auto const& kind = (*types.value)[i];
      if (kind == "full") {
        ++index.layers;
      } else if (kind == "shared") {
        ++index.shared_layers;
      } else {
        config.fail({&kind, types.path + "[" + std::to_string(i) + "]"},
                    "expected \"full\" or \"shared\"");
      }
    }
    if (index.layers == 0) {
      config.fail(types, "no layer has an indexer of its own (\"full\"); at least one must");
    }
  }
  out.indexer = index;
}

void read_gated_delta(config_view const& config, std::int64_t linear_layers, model_geometry& out) {
  gated_delta_dims dims;
  dims.layers = linear_layers;
  dims.key_heads = config.require({"linear_num_key_heads"}, "the recurrent state");
  dims.value_heads = config.require({"linear_num_value_heads"}, "the recurrent state");
  dims.key_head_dim = config.require({"linear_key_head_dim"}, "the recurrent state");
  dims.value_head_dim = config.require({"linear_value_head_dim"}, "the recurrent state");
  dims.conv_kernel = config.require({"linear_conv_kernel_dim"}, "the convolution state");
  dims.state_dtype = read_dtype(config, "mamba_ssm_dtype");
  out.gated_delta = dims;
}

}  // namespace

void read_attention(config_view const& config, architecture const& known, model_geometry& out) {
  constexpr std::int64_t most_layers = 65536;
  out.attention = known.attention;
  out.layers = config.require({"num_hidden_layers"}, "every pool");
  if (out.layers > most_layers) {
    config.fail(config.find("num_hidden_layers"),
                "expected at most " + std::to_string(most_layers) + " layers");
  }
  out.hidden = config.require({"hidden_size"}, "the size of weights and experts");
  out.heads = config.require({"num_attention_heads"}, "the attention");
  auto const count = count_attention_layers(config, out);
  out.full_attention_layers = count.full;
  if (out.attention == attention_kind::mla) {
    read_mla(config, out);
    read_indexer(config, out);
    return;
  }
  read_heads(config, known, out);
  if (out.full_attention_layers == 0) {
    config.fail_missing("layer_types", "no layer is full attention: there is no KV pool to plan");
  }
  if (count.linear > 0) { read_gated_delta(config, count.linear, out); }
}

}  // namespace allot::model
