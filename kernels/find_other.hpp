// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace allot::kernels {

/// Lowers `*first` to the index of the first byte that is not `value`, and leaves it when there is
/// none: the caller sets it to the largest value (bytes of 0xFF) before.
///
/// Any address, any length, 0 included; nothing outside the range is read. Capturable in a graph.
///
/// \param memory  device memory, [bytes]
/// \param first   device memory, one value, aligned to 8
/// \returns       what the launch said
/// \cost          reads the range once
cudaError_t find_other(void const* memory, std::uint8_t value, std::int64_t bytes,
                       unsigned long long* first, cudaStream_t stream);

}  // namespace allot::kernels
