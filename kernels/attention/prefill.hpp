// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/attention/calls.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>

namespace allot::kernels {

/// Attention of several query tokens a request. Capturable in a graph: the grid follows from the
/// rows there is room for, and blocks find their request on the device.
///
/// \param Element  element_type of the cache
/// \param shape    of the cache, an index of attention_head_shapes
/// \requires       no count of 0; the scale is given
/// \returns        what the launch said
template <class Element>
cudaError_t prefill(std::size_t shape, prefill_call const& call, cudaStream_t stream);

}  // namespace allot::kernels
