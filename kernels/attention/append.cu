// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/append.hpp"
#include "kernels/attention/values.hpp"
#include "kernels/attention/warp.hpp"

namespace allot::kernels {
namespace {

constexpr int warps = 4;
constexpr std::int64_t most_blocks = 65'536;
constexpr int at_once = 8;  ///< elements of a lane: 16 bytes of fp16 and bf16
constexpr float largest_fp8 = 448;

/// Whether rows can be loaded 16 bytes at a time; those of a tensor that was cut may not.
__device__ bool is_aligned(void const* address) {
  return reinterpret_cast<std::uintptr_t>(address) % 16 == 0;
}

__device__ uint4 load_bits(std::byte const* row, int first) {
  std::byte const* const at = row + first * 2;
  if (is_aligned(row)) { return *reinterpret_cast<uint4 const*>(at); }
  auto const* const halves = reinterpret_cast<std::uint16_t const*>(at);
  auto const two = [&](int i) {
    return std::uint32_t{halves[i]} | std::uint32_t{halves[i + 1]} << 16;
  };
  return {two(0), two(2), two(4), two(6)};
}

__device__ void unpack(uint4 bits, element dtype, float (&values)[at_once]) {
  std::uint32_t const words[] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float2 const two = dtype == element::fp16 ? two_values<element::fp16>(words[i])
                                              : two_values<element::bf16>(words[i]);
    values[2 * i] = two.x;
    values[2 * i + 1] = two.y;
  }
}

/// The scale that makes the largest finite element 448.
__device__ float scale_of(std::byte const* from, element dtype, int dim, int lane) {
  float largest = 0;
  for (int first = lane * at_once; first < dim; first += warp_lanes * at_once) {
    float values[at_once];
    unpack(load_bits(from, first), dtype, values);
#pragma unroll
    for (float const value : values) {
      if (isfinite(value)) { largest = fmaxf(largest, fabsf(value)); }
    }
  }
  float const scale = warp_max(largest) / largest_fp8;
  return scale > 0 ? scale : 1;  // of the smallest bf16 it is 0, too
}

/// One row, by one warp.
__device__ void write_row(std::byte const* from, element from_dtype, std::byte* to,
                          element to_dtype, int dim, float scale, int lane) {
  for (int first = lane * at_once; first < dim; first += warp_lanes * at_once) {
    uint4 const bits = load_bits(from, first);
    std::byte* const at = to + std::int64_t{first} * bytes_of(to_dtype);
    if (from_dtype == to_dtype) {
      *reinterpret_cast<uint4*>(at) = bits;
      continue;
    }
    float values[at_once];
    unpack(bits, from_dtype, values);
    if (to_dtype == element::fp8) {
      std::uint32_t words[2] = {};
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        words[i / 4] |= std::uint32_t{fp8_of(values[i] / scale)} << (i % 4 * 8);
      }
      *reinterpret_cast<uint2*>(at) = {words[0], words[1]};
    } else {
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        store_half(at, to_dtype, i, values[i]);
      }
    }
  }
}

/// A warp takes a row: of a token, of K or V, of a head.
__global__ void __launch_bounds__(warps* warp_lanes, 1)
    append_kernel(__grid_constant__ append_call const call, std::int64_t rows) {
  kv_cache const& cache = call.cache;
  int const lane = static_cast<int>(threadIdx.x) % warp_lanes;
  int const kinds = cache.v_is_k() ? 1 : 2;
  std::int64_t const stride = std::int64_t{gridDim.x} * warps;
  for (std::int64_t i = std::int64_t{blockIdx.x} * warps + threadIdx.x / warp_lanes; i < rows;
       i += stride) {
    auto const head = static_cast<std::int32_t>(i % cache.heads);
    bool const is_v = i / cache.heads % kinds != 0;
    std::int64_t const token = i / cache.heads / kinds;

    std::int64_t const slot = call.slots[token];
    if (slot < 0) { continue; }
    std::int64_t const page = slot / cache.page_tokens;
    if (!cache.holds(page)) { continue; }
    std::int64_t const in_page = slot % cache.page_tokens;
    std::int64_t const page_at = cache.page_offset(static_cast<std::int32_t>(page));
    auto const row_in = [&](kv_plane const& plane) {
      return plane.data + page_at + in_page * plane.token_stride + head * plane.head_stride;
    };

    head_rows<std::byte const> const& rows_from = is_v ? call.v : call.k;
    kv_plane const& scales = is_v ? cache.v_scales : cache.k_scales;
    std::byte const* const from =
        rows_from.data + token * rows_from.row_stride + head * rows_from.head_stride;
    int const dim = is_v ? cache.v_head_dim : cache.head_dim;

    float scale = is_v ? cache.v_scale : cache.k_scale;
    if (cache.dtype == element::fp8 && scales.data != nullptr) {
      scale = scale_of(from, rows_from.dtype, dim, lane);
      if (lane == 0) { *reinterpret_cast<float*>(row_in(scales)) = scale; }
    }
    write_row(from, rows_from.dtype, row_in(is_v ? cache.v : cache.k), cache.dtype, dim, scale,
              lane);
  }
}

}  // namespace

cudaError_t append(append_call const& call, cudaStream_t stream) {
  std::int64_t const rows =
      std::int64_t{call.tokens} * call.cache.heads * (call.cache.v_is_k() ? 1 : 2);
  std::int64_t const wanted = (rows + warps - 1) / warps;
  auto const blocks = static_cast<unsigned>(wanted < most_blocks ? wanted : most_blocks);
  append_kernel<<<blocks, warps * warp_lanes, 0, stream>>>(call, rows);
  return cudaGetLastError();
}

}  // namespace allot::kernels
