// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/attention/prefill.hpp"
#include "kernels/attention/warp_rows.hpp"

#include <allot/attention/instances.hpp>

namespace allot::kernels {
namespace detail {

constexpr int prefill_warps = 4;
constexpr int prefill_warp_rows = 4;
constexpr int prefill_tile_rows = prefill_warps * prefill_warp_rows;

/// First query row of a request, whatever the device's numbers say: one that there is.
__device__ inline std::int32_t query_start(prefill_call const& call, std::int32_t request) {
  std::int32_t const start = call.q_start[request];
  return start < 0 ? 0 : start < call.query_rows ? start : call.query_rows;
}

/// First tile of a request. Between two requests there are at least as many as the first one needs,
/// wherever in a tile it starts, and the grid is as large without knowing the starts.
__host__ __device__ constexpr std::int64_t first_tile(std::int32_t q_start, std::int32_t group,
                                                      std::int32_t request) {
  return std::int64_t{q_start} * group / prefill_tile_rows + request;
}

/// The request that a tile belongs to, or -1.
__device__ inline std::int32_t request_of(prefill_call const& call, std::int32_t group,
                                          std::int64_t tile) {
  std::int32_t low = 0;  // the requests before it start at the tile or earlier
  std::int32_t high = call.tables.requests;
  while (low < high) {
    std::int32_t const middle = low + (high - low) / 2;
    if (first_tile(query_start(call, middle), group, middle) <= tile) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low - 1;
}

/// A row is a query token and one of the query heads that share a KV head: token by token. A block
/// has a tile of them, of one request and one KV head, and each warp its own rows.
template <class Shape, class Element>
__global__ void __launch_bounds__(prefill_warps* warp_lanes, 1)
    prefill_kernel(__grid_constant__ prefill_call const call) {
  using v_share = lane_share<Element::value, Shape::v_head_dim>;
  constexpr int row_count = prefill_warp_rows;
  int const warp = static_cast<int>(threadIdx.x) / warp_lanes;
  int const lane = static_cast<int>(threadIdx.x) % warp_lanes;
  std::int32_t const group = call.query_heads / call.cache.heads;
  auto const kv_head = static_cast<std::int32_t>(blockIdx.y);

  std::int64_t const tile = blockIdx.x;
  std::int32_t const request = request_of(call, group, tile);
  if (request < 0) { return; }
  std::int32_t const start = query_start(call, request);
  std::int64_t const tokens = query_start(call, request + 1) - start;
  std::int64_t const first =
      (tile - first_tile(start, group, request)) * prefill_tile_rows + warp * row_count;
  if (first >= tokens * group) { return; }

  std::int32_t const kv_len = call.tables.kv_len[request];
  std::int32_t const reachable = reachable_len(kv_len, call.tables.columns, call.cache.page_tokens);
  // Not of the clamped length: a row's position is what the engine says it is.
  std::int64_t const before =
      std::int64_t{kv_len} - (std::int64_t{call.q_start[request + 1]} - call.q_start[request]);

  warp_rows<Shape, Element::value, row_count> mine;
  std::int64_t query_row[row_count];  // -1: there is none
  std::int32_t query_head[row_count];
  kv_range keys{INT32_MAX, 0};  // that any of the rows sees
  std::int64_t token = first / group;
  auto in_group = static_cast<std::int32_t>(first % group);
#pragma unroll
  for (int row = 0; row < row_count; ++row, ++in_group) {
    if (in_group == group) {
      in_group = 0;
      ++token;
    }
    query_row[row] = token < tokens ? start + token : -1;
    query_head[row] = kv_head * group + in_group;
    if (query_row[row] < 0) { continue; }
    std::int64_t const position = before + token;
    mine.seen[row] = visible_keys(static_cast<std::int32_t>(position < 0           ? -1
                                                            : position < INT32_MAX ? position
                                                                                   : INT32_MAX),
                                  reachable, call.options.window_tokens, call.causal);
    mine.load_q(
        row,
        call.q.data + query_row[row] * call.q.row_stride + query_head[row] * call.q.head_stride,
        call.q.dtype, lane);
    if (mine.seen[row].first >= mine.seen[row].end) { continue; }
    if (mine.seen[row].first < keys.first) { keys.first = mine.seen[row].first; }
    if (mine.seen[row].end > keys.end) { keys.end = mine.seen[row].end; }
  }

  kv_source const source{call.cache, call.tables.pages + request * call.tables.row_stride, kv_head};
  mine.attend(source, call.options, keys.first, keys.end, warp_lanes, lane);
  mine.end();

#pragma unroll
  for (int row = 0; row < row_count; ++row) {
    if (query_row[row] < 0) { continue; }
    std::int32_t const head = query_head[row];
    row_end const end =
        end_row(mine.max[row], mine.sum[row],
                call.options.sinks == nullptr ? nullptr : call.options.sinks + head);
    std::byte* const out =
        call.out.data + query_row[row] * call.out.row_stride + head * call.out.head_stride;
#pragma unroll
    for (int i = 0; i < v_share::elements; ++i) {
      store_half(out, call.out.dtype, v_share::index(lane, i),
                 mine.accumulator[row][i] * end.factor);
    }
    if (lane == 0 && call.lse != nullptr) {
      call.lse[query_row[row] * call.query_heads + head] = end.lse;
    }
  }
}

template <class Shape, class Element>
cudaError_t launch_prefill(prefill_call const& call, cudaStream_t stream) {
  std::int64_t const tiles =
      first_tile(call.query_rows, call.query_heads / call.cache.heads, call.tables.requests);
  if (tiles > INT32_MAX) { return cudaErrorInvalidConfiguration; }
  dim3 const grid{static_cast<unsigned>(tiles), static_cast<unsigned>(call.cache.heads)};
  prefill_kernel<Shape, Element><<<grid, prefill_warps * warp_lanes, 0, stream>>>(call);
  return cudaGetLastError();
}

template <class Element, class... Shapes>
cudaError_t prefill_of(type_list<Shapes...>, std::size_t shape, prefill_call const& call,
                       cudaStream_t stream) {
  constexpr decltype(&launch_prefill<head_shape<64>, Element>) launchers[] = {
      launch_prefill<Shapes, Element>...};
  return launchers[shape](call, stream);
}

}  // namespace detail

template <class Element>
cudaError_t prefill(std::size_t shape, prefill_call const& call, cudaStream_t stream) {
  return detail::prefill_of<Element>(attention_head_shapes{}, shape, call, stream);
}

}  // namespace allot::kernels
