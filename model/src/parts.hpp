// SPDX-License-Identifier: Apache-2.0
// The parts of a geometry, each read from its own fields. All throw `config_error`.
#pragma once

#include "architecture.hpp"
#include "config_view.hpp"

namespace allot::model {

/// Layers, heads and head dimensions; the MLA, indexer and gated-delta parts where the model has
/// them.
void read_attention(config_view const& config, architecture const& known, model_geometry& out);

/// The experts, or the width of the dense MLP of a model without any.
void read_mlp(config_view const& config, architecture const& known, model_geometry& out);

/// How weights are stored, and the expert row format that follows from it.
[[nodiscard]] quantization read_quantization(config_view const& config);

/// \param field  a field that names an element type, such as "bfloat16"
/// \returns the short name of the element type ("bf16"), or nothing when the field is absent
[[nodiscard]] std::optional<std::string> read_dtype(config_view const& config,
                                                    std::string_view field);

}  // namespace allot::model
