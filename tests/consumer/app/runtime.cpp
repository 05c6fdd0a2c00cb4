// SPDX-License-Identifier: Apache-2.0
// What an engine does: takes memory from a card of 1 MiB, and hears what is short.
#include <allot/runtime/allocation_error.hpp>
#include <allot/runtime/cuda_devices.hpp>
#include <allot/runtime/host_resources.hpp>
#include <allot/runtime/limited_resource.hpp>

#include <cstdio>

int main() {
  allot::runtime::host_resource heap;
  allot::runtime::limited_resource card{heap, 1 << 20};
  allot::runtime::buffer const pages{card, 1 << 19};
  bool refused = false;
  try {
    allot::runtime::buffer const slots{card, (1 << 19) + 1};
  } catch (allot::runtime::allocation_error const& error) {
    refused = error.free_bytes() == 1 << 19;
    std::printf("%s\n", error.what());
  }
  std::printf("%s CUDA, %d devices\n", allot::runtime::built_with_cuda() ? "with" : "without",
              allot::runtime::cuda_device_count());
  return refused ? 0 : 1;
}
