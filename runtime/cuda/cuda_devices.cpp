// SPDX-License-Identifier: Apache-2.0
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

}  // namespace allot::runtime
