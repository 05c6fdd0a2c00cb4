// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/attention/workspace.hpp"

#include <allot/attention/calls.hpp>

#include <cuda_runtime_api.h>

namespace allot::kernels {

/// Joins the pieces of each request in a fixed order, adds the sinks once, and writes `out` and
/// `lse`. Capturable in a graph.
///
/// \requires  requests > 0
/// \returns   what the launch said
cudaError_t combine(decode_call const& call, decode_workspace const& at, cudaStream_t stream);

}  // namespace allot::kernels
