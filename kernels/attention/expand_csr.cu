// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/expand_csr.hpp"
#include "kernels/attention/warp.hpp"

namespace allot::kernels {
namespace {

constexpr int warps = 4;

/// A warp has a request.
__global__ void __launch_bounds__(warps* warp_lanes, 1)
    expand_csr_kernel(__grid_constant__ csr_call const call) {
  int const lane = static_cast<int>(threadIdx.x) % warp_lanes;
  std::int64_t const request = std::int64_t{blockIdx.x} * warps + threadIdx.x / warp_lanes;
  if (request >= call.requests) { return; }

  std::int32_t const start = call.starts[request];
  std::int32_t const end = call.starts[request + 1];
  bool fault = start < 0 || end < start || end > call.id_count || end - start > call.columns;
  std::int32_t last = 0;
  if (!fault && end > start) {
    last = call.last_page_len[request];
    fault = last < 1 || last > call.page_tokens;
  }
  std::int32_t const pages = fault ? 0 : end - start;

  std::int32_t* const row = call.pages + request * call.row_stride;
  for (std::int32_t column = lane; column < call.columns; column += warp_lanes) {
    row[column] = column < pages ? call.ids[start + column] : call.padding;
  }
  if (lane == 0) {
    call.kv_len[request] = pages == 0 ? 0 : (pages - 1) * call.page_tokens + last;
    if (fault) { atomicAdd(call.faults, 1); }
  }
}

}  // namespace

cudaError_t expand_csr(csr_call const& call, cudaStream_t stream) {
  cudaError_t const cleared = cudaMemsetAsync(call.faults, 0, sizeof *call.faults, stream);
  if (cleared != cudaSuccess || call.requests == 0) { return cleared; }
  auto const blocks = static_cast<unsigned>((std::int64_t{call.requests} + warps - 1) / warps);
  expand_csr_kernel<<<blocks, warps * warp_lanes, 0, stream>>>(call);
  return cudaGetLastError();
}

}  // namespace allot::kernels
