// SPDX-License-Identifier: Apache-2.0
#include "card.hpp"

#include <allot/runtime/cuda_backend.hpp>
#include <allot/runtime/cuda_devices.hpp>
#include <allot/runtime/cuda_resources.hpp>

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <string>

namespace attention_test {
namespace {

/// Told before the first call: the pools of many GiB take only what is written. A GPU does not
/// listen.
int const emulated_memory = setenv("PTXEMU_MEM", "64G", 0);

cudaStream_t own_stream() {
  cudaStream_t out = nullptr;
  if (emulated_memory != 0 ||
      cudaStreamCreateWithFlags(&out, cudaStreamNonBlocking) != cudaSuccess) {
    std::abort();
  }
  return out;
}

}  // namespace

card& the_card() {
  // Never destroyed: the runtime may be gone by then.
  static auto& device = *new rt::device_resource;
  static auto& pinned = *new rt::pinned_resource;
  static auto& work = *new rt::cuda_backend{own_stream()};
  static auto const& attend = *new rt::attention{work};
  bool const emulated = rt::cuda_device_name(0).find("ptxemu") != std::string::npos;
  static card it{device, device, pinned, work, attend, emulated, true};
  return it;
}

}  // namespace attention_test
