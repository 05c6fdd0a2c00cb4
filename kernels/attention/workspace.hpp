// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/attention/split_kv.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::kernels {

/// The workspace of a decode step as its kernels address it: see `split_workspace`.
struct decode_workspace {
  float* accumulators;        ///< [pieces, query_heads, v_head_dim] unnormalised
  float* maxima;              ///< [pieces, query_heads]
  float* sums;                ///< [pieces, query_heads]
  split_part* parts;          ///< [parts]
  std::int32_t* first_piece;  ///< [requests + 1] of each request; the last one: all
};

inline decode_workspace decode_workspace_at(std::byte* start, split_workspace const& at) {
  return {reinterpret_cast<float*>(start), reinterpret_cast<float*>(start + at.maxima),
          reinterpret_cast<float*>(start + at.sums),
          reinterpret_cast<split_part*>(start + at.parts),
          reinterpret_cast<std::int32_t*>(start + at.first_piece)};
}

}  // namespace allot::kernels
