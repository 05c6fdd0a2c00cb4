// SPDX-License-Identifier: Apache-2.0
// Which published architectures this reader knows, and what their library implies when a field is
// left out. An unknown name is refused: guessing a layout would price the wrong memory.
#pragma once

#include "config_view.hpp"

#include <allot/model/geometry.hpp>

#include <string_view>

namespace allot::model {

struct architecture {
  std::string_view model_type;  ///< of the text model
  std::string_view class_name;  ///< as `architectures[0]` spells it, empty when none is known
  attention_kind attention;
  bool head_dim_implied = false;        ///< a missing head_dim means hidden_size / heads
  bool kv_heads_implied = false;        ///< a missing num_key_value_heads means num_attention_heads
  bool expert_is_intermediate = false;  ///< `intermediate_size` is the width of an expert
  bool shared_window_field = false;     ///< `sliding_window` counts only with `use_sliding_window`
  bool chunked_attention = false;       ///< `attention_chunk_size` may be planned as full attention
};

/// Finds the architecture of a configuration and fills `model_type` and `architectures`.
/// A file with neither name is read by its fields, with a note.
/// \errors throws `config_error` for a name that is not known
[[nodiscard]] architecture find_architecture(config_view const& config, model_geometry& out);

}  // namespace allot::model
