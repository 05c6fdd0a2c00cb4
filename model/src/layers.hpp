// SPDX-License-Identifier: Apache-2.0
// Which layers attend, recur, or hold experts: lists, intervals and steps turned into counts.
#pragma once

#include "architecture.hpp"
#include "config_view.hpp"

namespace allot::model {

struct attention_layers {
  std::int64_t full = 0;    ///< layers that keep a row for every token
  std::int64_t linear = 0;  ///< layers that keep a state for each request
};

/// \returns the layers of each kind, from `layer_types` or `full_attention_interval`
/// \errors throws `config_error` for any other kind of layer, or a list of another length
[[nodiscard]] attention_layers count_attention_layers(config_view const& config,
                                                      model_geometry const& out);

/// \returns the number of layers with experts, from `mlp_layer_types`, `moe_layer_freq`,
///          `first_k_dense_replace`, `decoder_sparse_step`, `mlp_only_layers` or
///          `interleave_moe_layer_step`
/// \errors throws `config_error` when they do not fit the number of layers
[[nodiscard]] std::int64_t count_moe_layers(config_view const& config, std::int64_t layers);

/// \returns the value of a list field, which must have one entry a layer
[[nodiscard]] config_view::found find_layer_list(config_view const& config, std::string_view name,
                                                 std::int64_t layers);

}  // namespace allot::model
