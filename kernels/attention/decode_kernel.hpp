// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/attention/decode.hpp"
#include "kernels/attention/keys.hpp"
#include "kernels/attention/warp_rows.hpp"

#include <allot/attention/instances.hpp>

namespace allot::kernels {
namespace detail {

constexpr int decode_warps = 4;

/// A block has one part of the batch, one KV head, and `Rows` of the query heads that share it. Its
/// warps take turns at tiles of each piece, and join what they found in shared memory.
template <class Shape, class Element, int Rows>
__global__ void __launch_bounds__(decode_warps* warp_lanes, 1)
    decode_kernel(__grid_constant__ decode_call const call,
                  __grid_constant__ decode_workspace const at) {
  using v_share = lane_share<Element::value, Shape::v_head_dim>;
  constexpr int dim = Shape::v_head_dim;
  __shared__ float accumulators[decode_warps][Rows][dim];
  __shared__ float maxima[decode_warps][Rows];
  __shared__ float sums[decode_warps][Rows];

  int const warp = static_cast<int>(threadIdx.x) / warp_lanes;
  int const lane = static_cast<int>(threadIdx.x) % warp_lanes;
  std::int32_t const group = call.query_heads / call.cache.heads;
  std::int32_t const head_blocks = (group + Rows - 1) / Rows;
  auto const kv_head = static_cast<std::int32_t>(blockIdx.y) / head_blocks;
  std::int32_t const in_group = static_cast<std::int32_t>(blockIdx.y) % head_blocks * Rows;
  int const rows = group - in_group < Rows ? group - in_group : Rows;
  std::int32_t const first_head = kv_head * group + in_group;

  split_part const part = at.parts[blockIdx.x];
  for (std::int32_t request = part.first_request; request <= part.last_request; ++request) {
    kv_range const seen = decode_keys(call, request);
    bool const is_first = request == part.first_request;
    std::int32_t const from = is_first ? part.first_block : 0;
    std::int32_t const to = request == part.last_request ? part.end_block : visible_blocks(seen);
    if (from >= to) { continue; }
    kv_range const keys = keys_of_blocks(seen, from, to);

    warp_rows<Shape, Element::value, Rows> mine;
#pragma unroll
    for (int row = 0; row < Rows; ++row) {
      mine.seen[row] = keys;
      if (row < rows) {
        mine.load_q(
            row,
            call.q.data + request * call.q.row_stride + (first_head + row) * call.q.head_stride,
            call.q.dtype, lane);
      }
    }
    kv_source const source{call.cache, call.tables.pages + request * call.tables.row_stride,
                           kv_head};
    mine.attend(source, call.options, std::int64_t{keys.first} + warp * warp_lanes, keys.end,
                decode_warps * warp_lanes, lane);
    mine.end();

    __syncthreads();  // the piece before has been written
#pragma unroll
    for (int row = 0; row < Rows; ++row) {
#pragma unroll
      for (int i = 0; i < v_share::elements; ++i) {
        accumulators[warp][row][v_share::index(lane, i)] = mine.accumulator[row][i];
      }
      if (lane == 0) {
        maxima[warp][row] = mine.max[row];
        sums[warp][row] = mine.sum[row];
      }
    }
    __syncthreads();

    std::int64_t const piece = at.first_piece[request] + (is_first ? part.first_piece : 0);
    std::int64_t const out = piece * call.query_heads + first_head;
    for (int i = static_cast<int>(threadIdx.x); i < rows * dim; i += decode_warps * warp_lanes) {
      int const row = i / dim;
      float max = nothing;
      for (int w = 0; w < decode_warps; ++w) {
        max = fmaxf(max, maxima[w][row]);
      }
      float sum = 0;
      float value = 0;
      for (int w = 0; w < decode_warps; ++w) {
        float const factor = rescale(maxima[w][row], max);
        sum += sums[w][row] * factor;
        value += accumulators[w][row][i % dim] * factor;
      }
      at.accumulators[out * dim + i] = value;
      if (i % dim == 0) {
        at.maxima[out + row] = max;
        at.sums[out + row] = sum;
      }
    }
  }
}

template <class Shape, class Element>
cudaError_t launch_decode(decode_call const& call, decode_workspace const& at,
                          cudaStream_t stream) {
  auto const launch = [&](auto kernel, std::int32_t rows) {
    std::int32_t const group = call.query_heads / call.cache.heads;
    dim3 const grid{static_cast<unsigned>(call.split.parts),
                    static_cast<unsigned>(call.cache.heads * ((group + rows - 1) / rows))};
    kernel<<<grid, decode_warps * warp_lanes, 0, stream>>>(call, at);
    return cudaGetLastError();
  };
  return call.query_heads == call.cache.heads ? launch(decode_kernel<Shape, Element, 1>, 1)
                                              : launch(decode_kernel<Shape, Element, 4>, 4);
}

template <class Element, class... Shapes>
cudaError_t decode_of(type_list<Shapes...>, std::size_t shape, decode_call const& call,
                      decode_workspace const& at, cudaStream_t stream) {
  constexpr decltype(&launch_decode<head_shape<64>, Element>) launchers[] = {
      launch_decode<Shapes, Element>...};
  return launchers[shape](call, at, stream);
}

}  // namespace detail

template <class Element>
cudaError_t decode(std::size_t shape, decode_call const& call, decode_workspace const& at,
                   cudaStream_t stream) {
  return detail::decode_of<Element>(attention_head_shapes{}, shape, call, at, stream);
}

}  // namespace allot::kernels
