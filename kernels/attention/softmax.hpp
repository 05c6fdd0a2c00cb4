// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/attention/warp.hpp"

#include <cmath>

/// Softmax in pieces: a piece has the largest score it met, `max`, and Σ exp(score - max), its
/// `sum`, which is 0 where it attended to nothing; `max` is then -inf.
namespace allot::kernels {

constexpr float nothing = -INFINITY;

/// What sums that were taken relative to `from` are multiplied with to be relative to `to`.
/// -inf - -inf would be NaN.
__device__ inline float rescale(float from, float to) {
  return from == to ? 1.0F : expf(from - to);
}

/// How a row ends: `out = accumulator * factor`, and the natural log of its sum of exponentials.
struct row_end {
  float factor;
  float lse;
};

/// \param sink  takes its share and gives nothing, unless nothing was attended to; null: none
__device__ inline row_end end_row(float max, float sum, float const* sink) {
  if (sum == 0) { return {0, nothing}; }
  if (sink == nullptr) { return {1.0F / sum, max + logf(sum)}; }
  float const top = fmaxf(max, *sink);
  float const factor = rescale(max, top);
  float const all = sum * factor + expf(*sink - top);
  return {factor / all, top + logf(all)};
}

}  // namespace allot::kernels
