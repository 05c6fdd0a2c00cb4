// SPDX-License-Identifier: Apache-2.0
#include "cuda_call.hpp"
#include "runtime/src/bytes_given.hpp"

#include <allot/runtime/cuda_resources.hpp>

namespace allot::runtime {

using detail::current_device;

device_resource::device_resource(int device) : device_{device} {
  detail::require_device("device_resource", device);
}

void* device_resource::allocate(std::int64_t bytes) {
  detail::refuse_negative_allocation("cudaMalloc", bytes);
  if (bytes == 0) { return nullptr; }
  current_device const guard{device_};
  void* memory = nullptr;
  detail::check_allocation("cudaMalloc", cudaMalloc(&memory, static_cast<std::size_t>(bytes)),
                           bytes, detail::free_bytes_of_current_device);
  return memory;
}

void device_resource::deallocate(void* memory, std::int64_t) noexcept {
  if (memory == nullptr) { return; }
  current_device const guard{device_};
  detail::ignore(cudaFree(memory));
}

std::int64_t device_resource::free_bytes() const noexcept {
  current_device const guard{device_};
  return detail::free_bytes_of_current_device();
}

std::string device_resource::name() const {
  return "cudaMalloc on device " + std::to_string(device_);
}

stream_ordered_resource::stream_ordered_resource(CUstream_st* stream, int device)
    : stream_{stream}, device_{device} {
  detail::require_device("stream_ordered_resource", device);
}

void* stream_ordered_resource::allocate(std::int64_t bytes) {
  detail::refuse_negative_allocation("cudaMallocAsync", bytes);
  if (bytes == 0) { return nullptr; }
  current_device const guard{device_};
  void* memory = nullptr;
  detail::check_allocation("cudaMallocAsync",
                           cudaMallocAsync(&memory, static_cast<std::size_t>(bytes), stream_),
                           bytes, detail::free_bytes_of_current_device);
  return memory;
}

void stream_ordered_resource::deallocate(void* memory, std::int64_t) noexcept {
  if (memory == nullptr) { return; }
  current_device const guard{device_};
  detail::ignore(cudaFreeAsync(memory, stream_));
}

std::int64_t stream_ordered_resource::free_bytes() const noexcept {
  current_device const guard{device_};
  return detail::free_bytes_of_current_device();
}

std::string stream_ordered_resource::name() const {
  return "cudaMallocAsync on device " + std::to_string(device_);
}

pinned_resource::pinned_resource() {
  detail::require_device("pinned_resource", 0);
}

void* pinned_resource::allocate(std::int64_t bytes) {
  detail::refuse_negative_allocation("cudaHostAlloc", bytes);
  if (bytes == 0) { return nullptr; }
  void* memory = nullptr;
  detail::check_allocation("cudaHostAlloc",
                           cudaHostAlloc(&memory, static_cast<std::size_t>(bytes),
                                         cudaHostAllocPortable | cudaHostAllocMapped),
                           bytes, nullptr);
  return memory;
}

void pinned_resource::deallocate(void* memory, std::int64_t) noexcept {
  if (memory != nullptr) { detail::ignore(cudaFreeHost(memory)); }
}

}  // namespace allot::runtime
