// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/attention/calls.hpp>

#include <cuda_runtime_api.h>

namespace allot::kernels {

/// Makes dense tables of compressed ones; `faults` becomes the number of rows that made no sense.
/// Capturable in a graph.
///
/// \returns  what the launch said
cudaError_t expand_csr(csr_call const& call, cudaStream_t stream);

}  // namespace allot::kernels
