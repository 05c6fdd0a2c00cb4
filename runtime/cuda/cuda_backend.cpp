// SPDX-License-Identifier: Apache-2.0
#include "cuda_attention.hpp"
#include "cuda_call.hpp"
#include "kernels/find_other.hpp"
#include "runtime/src/bytes_given.hpp"

#include <allot/runtime/allocation_error.hpp>
#include <allot/runtime/cuda_backend.hpp>

namespace allot::runtime {

using detail::check;
using detail::current_device;

namespace {

constexpr unsigned long long none = ~0ULL;  ///< what memset leaves in `found_`

}  // namespace

cuda_backend::cuda_backend(CUstream_st* stream, int device) : stream_{stream}, device_{device} {
  detail::require_device("cuda_backend", device);
  current_device const guard{device_};
  attention_ = std::make_unique<detail::cuda_attention>(stream_, device_);
  void* memory = nullptr;
  detail::check_allocation("cudaMalloc", cudaMalloc(&memory, sizeof *found_), sizeof *found_,
                           detail::free_bytes_of_current_device);
  found_ = static_cast<unsigned long long*>(memory);
}

cuda_backend::~cuda_backend() {
  current_device const guard{device_};
  detail::ignore(cudaFree(found_));
}

void cuda_backend::fill(void* memory, std::byte value, std::int64_t bytes) {
  detail::refuse_negative_range("fill", bytes);
  if (bytes == 0) { return; }
  current_device const guard{device_};
  check("cudaMemsetAsync", cudaMemsetAsync(memory, std::to_integer<int>(value),
                                           static_cast<std::size_t>(bytes), stream_));
}

void cuda_backend::copy(void* to, void const* from, std::int64_t bytes) {
  detail::refuse_negative_range("copy", bytes);
  if (bytes == 0) { return; }
  current_device const guard{device_};
  // The driver knows whose a pointer is: pinned memory is the backend's too.
  check("cudaMemcpyAsync",
        cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault, stream_));
}

void cuda_backend::upload(void* to, void const* host, std::int64_t bytes) {
  copy(to, host, bytes);
}

void cuda_backend::download(void* host, void const* from, std::int64_t bytes) {
  copy(host, from, bytes);
}

std::int64_t cuda_backend::find_other(void const* memory, std::byte value, std::int64_t bytes) {
  detail::refuse_negative_range("find_other", bytes);
  if (bytes == 0) {
    wait();
    return -1;
  }
  current_device const guard{device_};
  check("cudaMemsetAsync", cudaMemsetAsync(found_, 0xFF, sizeof *found_, stream_));
  check("find_other",
        kernels::find_other(memory, std::to_integer<std::uint8_t>(value), bytes, found_, stream_));
  unsigned long long first = none;
  check("cudaMemcpyAsync",
        cudaMemcpyAsync(&first, found_, sizeof first, cudaMemcpyDefault, stream_));
  wait();
  return first == none ? -1 : static_cast<std::int64_t>(first);
}

void cuda_backend::wait() {
  current_device const guard{device_};
  check("cudaStreamSynchronize", cudaStreamSynchronize(stream_));
}

}  // namespace allot::runtime
