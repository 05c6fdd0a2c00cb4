// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/keys.hpp"
#include "kernels/attention/split.hpp"
#include "kernels/attention/warp.hpp"

namespace allot::kernels {
namespace {

/// All lanes walk the same loop. Each of them knows the blocks of one in 32 requests, which are
/// read together, and the first one writes.
__global__ void __launch_bounds__(warp_lanes, 1)
    split_kernel(__grid_constant__ decode_call const call,
                 __grid_constant__ decode_workspace const at) {
  int const lane = static_cast<int>(threadIdx.x);
  std::int32_t mine = 0;
  split_batch(
      call.split,
      [&](std::int32_t request) {
        if (request % warp_lanes == 0) {
          std::int32_t const other = request + lane;
          mine = other < call.tables.requests ? visible_blocks(decode_keys(call, other)) : 0;
        }
        return __shfl_sync(all_lanes, mine, request % warp_lanes);
      },
      [&](std::int32_t part, split_part const& cut) {
        if (lane == 0) { at.parts[part] = cut; }
      },
      [&](std::int32_t request, std::int32_t pieces) {
        if (lane == 0) { at.first_piece[request] = pieces; }
      });
}

}  // namespace

cudaError_t split(decode_call const& call, decode_workspace const& at, cudaStream_t stream) {
  split_kernel<<<1, warp_lanes, 0, stream>>>(call, at);
  return cudaGetLastError();
}

}  // namespace allot::kernels
