// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/attention/calls.hpp>

#include <cuda_runtime_api.h>

namespace allot::kernels {

/// Writes K and V of new tokens into the cache, and the scales where it has some for each token and
/// head. Capturable in a graph.
///
/// \requires  tokens > 0; rows of the cache on multiples of 16 bytes, of a multiple of 8 elements
/// \returns   what the launch said
cudaError_t append(append_call const& call, cudaStream_t stream);

}  // namespace allot::kernels
