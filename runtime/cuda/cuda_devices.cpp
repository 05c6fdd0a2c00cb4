// SPDX-License-Identifier: Apache-2.0
#include "cuda_call.hpp"

#include <allot/runtime/cuda_devices.hpp>

#include <cuda_runtime_api.h>

namespace allot::runtime {

bool built_with_cuda() noexcept {
  return true;
}

int cuda_device_count() noexcept {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) { return count; }
  static_cast<void>(cudaGetLastError());  // no driver is an answer, and not the next call's error
  return 0;
}

std::string cuda_device_name(int device) {
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, device) == cudaSuccess) { return properties.name; }
  static_cast<void>(cudaGetLastError());
  return {};
}

cuda_device_facts cuda_device(int device) {
  cudaDeviceProp properties{};
  cudaError_t const result = cudaGetDeviceProperties(&properties, device);
  detail::ignore(result);
  if (result != cudaSuccess) { return {}; }
  detail::current_device const guard{device};
  return {.name = properties.name,
          .compute_capability = 10 * properties.major + properties.minor,
          .processors = properties.multiProcessorCount,
          .total_bytes = static_cast<std::int64_t>(properties.totalGlobalMem),
          .free_bytes = detail::free_bytes_of_current_device()};
}

std::string why_no_cuda_device() {
  int count = 0;
  cudaError_t const result = cudaGetDeviceCount(&count);
  detail::ignore(result);
  if (result != cudaSuccess) { return cudaGetErrorString(result); }
  return count == 0 ? "there is none" : "";
}

}  // namespace allot::runtime
