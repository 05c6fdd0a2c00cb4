// SPDX-License-Identifier: Apache-2.0
// In place of cuda/ where the library is built without CUDA: the same functions, which say so.
#include <allot/runtime/cuda_devices.hpp>

namespace allot::runtime {

bool built_with_cuda() noexcept {
  return false;
}
int cuda_device_count() noexcept {
  return 0;
}
std::string cuda_device_name(int) {
  return {};
}

}  // namespace allot::runtime
