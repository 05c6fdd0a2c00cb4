// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/attention/softmax.hpp"
#include "kernels/attention/values.hpp"
#include "kernels/attention/warp.hpp"

#include <allot/attention/calls.hpp>
#include <allot/attention/visible.hpp>

#include <cstdint>

namespace allot::kernels {

/// Of which KV head of which request keys are read.
struct kv_source {
  kv_cache const& cache;
  std::int32_t const* pages;  ///< the request's row of the table
  std::int32_t head;
};

/// Query rows that one warp attends with, each lane on its share of every row's elements. All of
/// them read the same keys, so that a key is loaded once for `Rows` of them.
template <class Shape, element Element, int Rows>
struct warp_rows {
  using k_share = lane_share<Element, Shape::head_dim>;
  using v_share = lane_share<Element, Shape::v_head_dim>;

  /// Loads in flight; rows of 576 leave registers for two.
  static constexpr int keys_at_once = k_share::elements > 8 ? 2 : 4;

  float q[Rows][k_share::elements] = {};
  kv_range seen[Rows] = {};                         ///< keys of each row
  float accumulator[Rows][v_share::elements] = {};  ///< Σ exp(score - max) * v
  float max[Rows];                                  ///< the same in every lane
  float sum[Rows] = {};                             ///< of the lane's keys alone, until `end`

  __device__ warp_rows() {
#pragma unroll
    for (int row = 0; row < Rows; ++row) {
      max[row] = nothing;
    }
  }

  __device__ void load_q(int row, std::byte const* from, element dtype, int lane) {
#pragma unroll
    for (int i = 0; i < k_share::elements; ++i) {
      q[row][i] = load_half(from, dtype, k_share::index(lane, i));
    }
  }

  /// Attends to the tiles of 32 keys that begin at `first`, `first + step`, ..., all before `end`.
  /// A key that no page holds counts for no row, and nothing of it is read.
  __device__ void attend(kv_source const& source, attention_options const& options,
                         std::int64_t first, std::int64_t end, std::int64_t step, int lane) {
    for (std::int64_t tile = first; tile < end; tile += step) {
      key_place const key = place_of(source, tile + lane, end);
      unsigned const there = __ballot_sync(all_lanes, key.there);
      if (there == 0) { continue; }
      float weight[Rows];
      score_keys(source, key, there, lane, weight);
      weigh_keys(key, options, weight);
      add_values(source, key, there, lane, weight);
    }
  }

  __device__ void end() {
#pragma unroll
    for (int row = 0; row < Rows; ++row) {
      sum[row] = warp_sum(sum[row]);
    }
  }

 private:
  /// One key of a tile, as its lane knows it.
  struct key_place {
    bool there = false;
    std::int32_t token = 0;
    std::int64_t k_at = 0;  ///< bytes from the head's row in page 0
    std::int64_t v_at = 0;
    float k_scale = 0;
    float v_scale = 0;
  };

  static __device__ key_place place_of(kv_source const& source, std::int64_t position,
                                       std::int64_t end) {
    kv_cache const& cache = source.cache;
    key_place key;
    if (position >= end) { return key; }
    key.token = static_cast<std::int32_t>(position);
    std::int32_t const column = key.token / cache.page_tokens;
    std::int32_t const page = source.pages[column];
    if (!cache.holds(page)) { return key; }
    key.there = true;
    std::int64_t const page_at = cache.page_offset(page);
    std::int64_t const slot = key.token - column * cache.page_tokens;
    key.k_at = page_at + slot * cache.k.token_stride;
    key.v_at = page_at + slot * cache.v.token_stride;
    key.k_scale = cache.k_scale;
    key.v_scale = cache.v_scale;
    if constexpr (Element == element::fp8) {
      auto const scale_at = [&](kv_plane const& plane) {
        return *reinterpret_cast<float const*>(plane.data + page_at + slot * plane.token_stride +
                                               source.head * plane.head_stride);
      };
      if (cache.k_scales.data != nullptr) { key.k_scale = scale_at(cache.k_scales); }
      if (cache.v_scales.data != nullptr) { key.v_scale = scale_at(cache.v_scales); }
    }
    return key;
  }

  /// `score[row]` of a lane becomes q · k of its key. Keys that are not there are zeros.
  __device__ void score_keys(kv_source const& source, key_place const& key, unsigned there,
                             int lane, float (&score)[Rows]) const {
    std::byte const* const base = source.cache.k.data + source.head * source.cache.k.head_stride;
#pragma unroll
    for (int row = 0; row < Rows; ++row) {
      score[row] = 0;
    }
#pragma unroll 1
    for (int at = 0; at < warp_lanes; at += keys_at_once) {
      unsigned const here = there >> at & ((1U << keys_at_once) - 1);
      if (here == 0) { continue; }
      typename k_share::packed rows[keys_at_once];
#pragma unroll
      for (int i = 0; i < keys_at_once; ++i) {
        std::int64_t const row_at = __shfl_sync(all_lanes, key.k_at, at + i);
        if ((here >> i & 1) != 0) { rows[i].load(base + row_at, lane); }
      }
      float dots[Rows][keys_at_once];
#pragma unroll
      for (int i = 0; i < keys_at_once; ++i) {
        float k[k_share::elements];
        rows[i].unpack(k);
#pragma unroll
        for (int row = 0; row < Rows; ++row) {
          float dot = 0;
#pragma unroll
          for (int e = 0; e < k_share::elements; ++e) {
            dot += q[row][e] * k[e];
          }
          dots[row][i] = dot;
        }
      }
#pragma unroll
      for (int row = 0; row < Rows; ++row) {
        float const dot = warp_sum_each(dots[row], lane);
        if (lane / keys_at_once == at / keys_at_once) { score[row] = dot; }
      }
    }
  }

  /// Makes the lane's scores weights: scale, soft-cap, mask, exp. What was added up before is
  /// rescaled where a row has met a larger score. A NaN stays one.
  __device__ void weigh_keys(key_place const& key, attention_options const& options,
                             float (&score)[Rows]) {
#pragma unroll
    for (int row = 0; row < Rows; ++row) {
      float s = score[row] * (options.scale * key.k_scale);
      if (options.soft_cap > 0) { s = options.soft_cap * tanhf(s / options.soft_cap); }
      bool const visible = key.there && seen[row].first <= key.token && key.token < seen[row].end;
      s = visible ? s : nothing;

      float const top = fmaxf(max[row], warp_max(s));
      float const factor = rescale(max[row], top);
      float const weight = s == nothing ? 0.0F : expf(s - top);
      max[row] = top;
      sum[row] = sum[row] * factor + weight;
#pragma unroll
      for (int e = 0; e < v_share::elements; ++e) {
        accumulator[row][e] *= factor;
      }
      score[row] = weight * key.v_scale;
    }
  }

  /// Adds the values of a tile. A weight of 0 adds nothing even to NaN: the row does not see it.
  __device__ void add_values(kv_source const& source, key_place const& key, unsigned there,
                             int lane, float const (&weight)[Rows]) {
    std::byte const* const base = source.cache.v.data + source.head * source.cache.v.head_stride;
#pragma unroll 1
    for (int at = 0; at < warp_lanes; at += keys_at_once) {
      unsigned const here = there >> at & ((1U << keys_at_once) - 1);
      if (here == 0) { continue; }
      typename v_share::packed rows[keys_at_once];
#pragma unroll
      for (int i = 0; i < keys_at_once; ++i) {
        std::int64_t const row_at = __shfl_sync(all_lanes, key.v_at, at + i);
        if ((here >> i & 1) != 0) { rows[i].load(base + row_at, lane); }
      }
#pragma unroll
      for (int i = 0; i < keys_at_once; ++i) {
        float v[v_share::elements];
        rows[i].unpack(v);
#pragma unroll
        for (int row = 0; row < Rows; ++row) {
          float const w = __shfl_sync(all_lanes, weight[row], at + i);
          if (w == 0) { continue; }
#pragma unroll
          for (int e = 0; e < v_share::elements; ++e) {
            accumulator[row][e] += w * v[e];
          }
        }
      }
    }
  }
};

}  // namespace allot::kernels
