// SPDX-License-Identifier: Apache-2.0
// The facts of a published model that a memory plan needs: counts and dimensions, no bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace allot::model {

/// How the layers that keep something per token or per request attend.
enum class attention_kind : std::uint8_t {
  gqa,          ///< every layer keeps K and V heads for every token
  mla,          ///< every layer keeps one latent row for every token
  gated_delta,  ///< some layers keep K and V heads, the others a fixed state for each request
};

/// Multi-head latent attention.
struct mla_dims {
  std::int64_t kv_lora_rank = 0;            ///< elements of the compressed KV part of a row
  std::optional<std::int64_t> q_lora_rank;  ///< elements, queries only: no memory per token
  std::int64_t qk_nope_head_dim = 0;        ///< elements of a head without position
  std::int64_t qk_rope_head_dim = 0;        ///< elements of the shared rotary part of a row
  std::int64_t v_head_dim = 0;              ///< elements of a value head

  /// \returns the elements one token keeps in one layer
  [[nodiscard]] std::int64_t latent_dim() const { return kv_lora_rank + qk_rope_head_dim; }
};

/// Keys that a sparse indexer keeps beside the rows of the attention it selects for.
struct indexer_dims {
  std::int64_t heads = 0;          ///< query heads of the indexer: no memory per token
  std::int64_t head_dim = 0;       ///< elements of one index key
  std::int64_t top_k = 0;          ///< tokens selected
  std::int64_t layers = 0;         ///< layers that keep index keys
  std::int64_t shared_layers = 0;  ///< layers that reuse the selection of another layer
};

/// Gated delta net: the recurrent layers of a hybrid.
struct gated_delta_dims {
  std::int64_t layers = 0;                 ///< recurrent layers
  std::int64_t key_heads = 0;              ///< heads
  std::int64_t value_heads = 0;            ///< heads
  std::int64_t key_head_dim = 0;           ///< elements of a key head
  std::int64_t value_head_dim = 0;         ///< elements of a value head
  std::int64_t conv_kernel = 0;            ///< taps; the state keeps one less
  std::optional<std::string> state_dtype;  ///< "fp32", "bf16" …; absent: the file does not say
};

/// The mixture-of-experts layers.
struct moe_dims {
  std::int64_t experts = 0;                         ///< routed experts of one layer
  std::int64_t top_k = 0;                           ///< experts one token uses
  std::int64_t intermediate = 0;                    ///< inner width of one expert
  std::int64_t layers = 0;                          ///< layers with experts
  std::int64_t dense_layers = 0;                    ///< layers with a dense MLP instead
  std::optional<std::int64_t> shared_experts;       ///< experts every token uses: dense weights
  std::optional<std::int64_t> shared_intermediate;  ///< inner width of the shared part
};

/// What the file says about how weights are stored.
struct quantization {
  std::string method;         ///< `quant_method`, empty when the weights are not quantised
  std::string algorithm;      ///< `quant_algo` (modelopt), else empty
  std::string expert_format;  ///< name of the expert row format it implies, empty: not known
  std::string field;          ///< path of the field that says so, for messages
};

struct model_geometry {
  std::string id;                          ///< "Qwen/Qwen3-8B", from the name of the file or folder
  std::string model_type;                  ///< as published; empty when the file has none
  std::vector<std::string> architectures;  ///< as published
  attention_kind attention = attention_kind::gqa;

  std::int64_t layers = 0;                 ///< layers of the main model, prediction layers excluded
  std::int64_t full_attention_layers = 0;  ///< layers that keep a row for every token
  std::int64_t hidden = 0;                 ///< elements
  std::int64_t heads = 0;                  ///< query heads
  std::int64_t kv_heads = 0;               ///< KV heads (as published; MLA keeps no heads)
  std::optional<std::int64_t> head_dim;    ///< elements of a K head; absent for MLA
  std::optional<std::int64_t> v_head_dim;  ///< elements of a V head when the file states it
  std::optional<std::int64_t> dense_intermediate;  ///< inner width of a dense MLP layer
  std::optional<std::int64_t> vocab;               ///< entries
  std::optional<std::int64_t> max_positions;       ///< tokens
  std::optional<bool> tied_embeddings;             ///< absent: the file does not say
  std::optional<std::string> dtype;                ///< "bf16", "fp16", "fp32"; absent: not stated
  std::int64_t mtp_layers = 0;  ///< multi-token prediction layers behind the model

  std::optional<mla_dims> mla;
  std::optional<indexer_dims> indexer;
  std::optional<gated_delta_dims> gated_delta;
  std::optional<moe_dims> moe;
  quantization quant;

  std::vector<std::string> notes;  ///< what the reader assumed, a sentence each
};

}  // namespace allot::model
