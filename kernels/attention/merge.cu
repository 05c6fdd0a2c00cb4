// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/merge.hpp"
#include "kernels/attention/softmax.hpp"
#include "kernels/attention/values.hpp"

namespace allot::kernels {
namespace {

constexpr int warps = 4;
constexpr float ln_2 = 0.693147180559945309F;

__device__ float load_value(std::byte const* row, element dtype, std::int64_t index) {
  return dtype == element::fp32 ? reinterpret_cast<float const*>(row)[index]
                                : load_half(row, dtype, index);
}

__device__ void store_value(std::byte* row, element dtype, std::int64_t index, float value) {
  if (dtype == element::fp32) {
    reinterpret_cast<float*>(row)[index] = value;
  } else {
    store_half(row, dtype, index, value);
  }
}

/// What a row has of one part: 1 of the largest. +inf is how some say that there was nothing.
struct part_weights {
  merge_call const& call;
  std::int64_t row;  ///< of rows and heads

  __device__ float lse(std::int32_t part) const {
    float const given = call.part_lse[part * (std::int64_t{call.rows} * call.heads) + row];
    if (isinf(given)) { return nothing; }
    return call.part_base == lse_base::two ? given * ln_2 : given;
  }
};

/// A warp has a row and head. An element is read of all parts and written by the same lane, so that
/// the result may lie over a part.
__global__ void __launch_bounds__(warps* warp_lanes, 1)
    merge_kernel(__grid_constant__ merge_call const call) {
  int const lane = static_cast<int>(threadIdx.x) % warp_lanes;
  std::int64_t const index = std::int64_t{blockIdx.x} * warps + threadIdx.x / warp_lanes;
  if (index >= std::int64_t{call.rows} * call.heads) { return; }
  std::int64_t const row = index / call.heads;
  std::int64_t const head = index % call.heads;
  part_weights const parts{call, index};

  float max = nothing;
  for (std::int32_t part = 0; part < call.part_count; ++part) {
    max = fmaxf(max, parts.lse(part));
  }
  float sum = 0;
  for (std::int32_t part = 0; part < call.part_count; ++part) {
    float const lse = parts.lse(part);
    sum += lse == nothing ? 0.0F : expf(lse - max);
  }
  row_end const end = end_row(max, sum, call.sinks == nullptr ? nullptr : call.sinks + head);

  std::byte const* const from =
      call.parts.data + row * call.parts.row_stride + head * call.parts.head_stride;
  std::byte* const out = call.out.data + row * call.out.row_stride + head * call.out.head_stride;
  for (std::int32_t i = lane; i < call.dim; i += warp_lanes) {
    float value = 0;
    for (std::int32_t part = 0; part < call.part_count; ++part) {
      float const lse = parts.lse(part);
      if (lse == nothing) { continue; }  // its rows may hold anything
      value += expf(lse - max) * load_value(from + part * call.part_stride, call.parts.dtype, i);
    }
    store_value(out, call.out.dtype, i, value * end.factor);
  }
  __syncwarp();  // no lane reads the part's lse any more
  if (lane == 0 && call.lse != nullptr) { call.lse[index] = end.lse; }
}

}  // namespace

cudaError_t merge(merge_call const& call, cudaStream_t stream) {
  std::int64_t const blocks = (std::int64_t{call.rows} * call.heads + warps - 1) / warps;
  if (blocks > INT32_MAX) { return cudaErrorInvalidConfiguration; }
  merge_kernel<<<static_cast<unsigned>(blocks), warps * warp_lanes, 0, stream>>>(call);
  return cudaGetLastError();
}

}  // namespace allot::kernels
