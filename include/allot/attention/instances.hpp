// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/policy/element.hpp>

#include <cstdint>

namespace allot {

/// Row lengths that kernels are compiled for.
template <std::int32_t HeadDim, std::int32_t VHeadDim = HeadDim>
struct head_shape {
  static constexpr std::int32_t head_dim = HeadDim;     ///< elements of a K row
  static constexpr std::int32_t v_head_dim = VHeadDim;  ///< elements of a V row
};

/// An element type as a type.
template <element Element>
struct element_type {
  static constexpr element value = Element;
};

template <class... Ts>
struct type_list {};

/// Every combination of the two has decode and prefill kernels, on the host and on a device; the
/// number of query heads a KV head, tokens of a page, strides, windows and so on are run-time
/// values. 192/128 is DeepSeek's prefill, 576/512 its latent rows.
using attention_head_shapes =
    type_list<head_shape<64>, head_shape<96>, head_shape<128>, head_shape<192>, head_shape<256>,
              head_shape<192, 128>, head_shape<576, 512>>;
using attention_elements =
    type_list<element_type<element::fp16>, element_type<element::bf16>, element_type<element::fp8>>;

}  // namespace allot
