// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
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

/// A GPU, as plans want to know it.
struct cuda_device_facts {
  std::string name;                     ///< as above; empty when there is no such device
  std::int32_t compute_capability = 0;  ///< 90: of 9.0
  std::int32_t processors = 0;          ///< SMs
  std::int64_t total_bytes = 0;
  std::int64_t free_bytes = -1;  ///< that no process has taken; -1 when the device does not say
};

/// \param device  in [0, cuda_device_count())
/// \cost          the first call for a device takes some of its memory, and keeps it (a context)
cuda_device_facts cuda_device(int device);

/// Why `cuda_device_count()` is 0, in CUDA's words or ours; empty when it is not.
std::string why_no_cuda_device();

}  // namespace allot::runtime
