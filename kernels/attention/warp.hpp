// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

namespace allot::kernels {

constexpr int warp_lanes = 32;
constexpr unsigned all_lanes = 0xFFFFFFFFU;

/// The same value in every lane: the order of additions does not depend on the lane.
__device__ inline float warp_sum(float value) {
#pragma unroll
  for (int step = 1; step < warp_lanes; step *= 2) {
    value += __shfl_xor_sync(all_lanes, value, step);
  }
  return value;
}

/// NaN is left out, as fmaxf does.
__device__ inline float warp_max(float value) {
#pragma unroll
  for (int step = 1; step < warp_lanes; step *= 2) {
    value = fmaxf(value, __shfl_xor_sync(all_lanes, value, step));
  }
  return value;
}

/// Sums of `Count` values over the warp: lane `i` has that of `values[i % Count]`. Each step halves
/// how many values a lane holds, so that it takes about one shuffle a value instead of five.
template <int Count>
__device__ float warp_sum_each(float (&values)[Count], int lane) {
#pragma unroll
  for (int step = 1; step < Count; step *= 2) {
    bool const upper = (lane & step) != 0;
#pragma unroll
    for (int i = 0; i < Count / (2 * step); ++i) {
      float const keep = upper ? values[2 * i + 1] : values[2 * i];
      float const give = upper ? values[2 * i] : values[2 * i + 1];
      values[i] = keep + __shfl_xor_sync(all_lanes, give, step);
    }
  }
  float sum = values[0];
#pragma unroll
  for (int step = Count; step < warp_lanes; step *= 2) {
    sum += __shfl_xor_sync(all_lanes, sum, step);
  }
  return sum;
}

}  // namespace allot::kernels
