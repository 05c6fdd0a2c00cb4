// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/attention/workspace.hpp"

#include <allot/attention/calls.hpp>

#include <cuda_runtime_api.h>

namespace allot::kernels {

/// Cuts a decode step: fills `parts` and `first_piece` of the workspace. One warp; capturable in a
/// graph.
///
/// \returns  what the launch said
/// \cost     O(requests + parts), one after the other
cudaError_t split(decode_call const& call, decode_workspace const& at, cudaStream_t stream);

}  // namespace allot::kernels
