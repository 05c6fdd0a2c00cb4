// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/attention/workspace.hpp"

#include <allot/attention/calls.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>

namespace allot::kernels {

/// Attention of each part to its pieces of the KV: fills the workspace's accumulators, maxima and
/// sums of every piece and query head. The cut is in the workspace; `combine` comes after it.
/// Capturable in a graph: the grid is parts x heads.
///
/// \param Element  element_type of the cache
/// \param shape    of the cache, an index of attention_head_shapes
/// \requires       no count of 0; the scale is given
/// \returns        what the launch said
template <class Element>
cudaError_t decode(std::size_t shape, decode_call const& call, decode_workspace const& at,
                   cudaStream_t stream);

}  // namespace allot::kernels
