// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace allot::runtime {

/// Whether the library holds its CUDA half. Without it everything that needs CUDA is still declared
/// and links, and throws backend_error when it is made.
bool built_with_cuda() noexcept;

/// GPUs that can be used now: 0 without a driver, without a GPU, or in a library without CUDA.
///
/// \cost  the first call of a process starts the driver (up to a second)
int cuda_device_count() noexcept;

/// As the driver calls it, "NVIDIA H200"; empty when there is no such device.
///
/// \param device  in [0, cuda_device_count())
std::string cuda_device_name(int device);

}  // namespace allot::runtime
