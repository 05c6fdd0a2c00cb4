// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/attention/calls.hpp>

#include <cuda_runtime_api.h>

namespace allot::kernels {

/// Joins attention over disjoint parts of the KV. `out` and `lse` may be those of a part, with its
/// dtype and strides. Capturable in a graph.
///
/// \requires  rows > 0
/// \returns   what the launch said
cudaError_t merge(merge_call const& call, cudaStream_t stream);

}  // namespace allot::kernels
