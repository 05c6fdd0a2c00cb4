// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/combine.hpp"
#include "kernels/attention/softmax.hpp"
#include "kernels/attention/values.hpp"

namespace allot::kernels {
namespace {

constexpr int block_threads = 128;

/// A block has a request and a query head. Each thread adds up for itself what all need to know:
/// the pieces are few.
__global__ void __launch_bounds__(block_threads, 1)
    combine_kernel(__grid_constant__ decode_call const call,
                   __grid_constant__ decode_workspace const at) {
  std::int64_t const request = blockIdx.x;
  std::int64_t const head = blockIdx.y;
  int const dim = call.cache.v_head_dim;
  std::int32_t const first = at.first_piece[request];
  std::int32_t const end = at.first_piece[request + 1];
  auto const row_of = [&](std::int64_t piece) { return piece * call.query_heads + head; };

  float max = nothing;
  for (std::int32_t piece = first; piece < end; ++piece) {
    max = fmaxf(max, at.maxima[row_of(piece)]);
  }
  float sum = 0;
  for (std::int32_t piece = first; piece < end; ++piece) {
    sum += at.sums[row_of(piece)] * rescale(at.maxima[row_of(piece)], max);
  }
  row_end const row =
      end_row(max, sum, call.options.sinks == nullptr ? nullptr : call.options.sinks + head);

  std::byte* const out =
      call.out.data + request * call.out.row_stride + head * call.out.head_stride;
  for (int i = static_cast<int>(threadIdx.x); i < dim; i += block_threads) {
    float value = 0;
    for (std::int32_t piece = first; piece < end; ++piece) {
      value += at.accumulators[row_of(piece) * dim + i] * rescale(at.maxima[row_of(piece)], max);
    }
    store_half(out, call.out.dtype, i, value * row.factor);
  }
  if (threadIdx.x == 0 && call.lse != nullptr) {
    call.lse[request * call.query_heads + head] = row.lse;
  }
}

}  // namespace

cudaError_t combine(decode_call const& call, decode_workspace const& at, cudaStream_t stream) {
  dim3 const grid{static_cast<unsigned>(call.tables.requests),
                  static_cast<unsigned>(call.query_heads)};
  combine_kernel<<<grid, block_threads, 0, stream>>>(call, at);
  return cudaGetLastError();
}

}  // namespace allot::kernels
