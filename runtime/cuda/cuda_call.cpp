// SPDX-License-Identifier: Apache-2.0
#include "cuda_call.hpp"

#include <allot/runtime/allocation_error.hpp>

#include <string>

namespace allot::runtime::detail {
namespace {

std::string text_of(cudaError_t error) {
  return std::string{cudaGetErrorName(error)} + ": " + cudaGetErrorString(error);
}

}  // namespace

void check(char const* call, cudaError_t result) {
  if (result == cudaSuccess) { return; }
  ignore(result);
  throw backend_error{call, text_of(result)};
}

void check_allocation(char const* call, cudaError_t result, std::int64_t asked_bytes,
                      std::int64_t (*free_bytes)() noexcept) {
  if (result != cudaErrorMemoryAllocation) { return check(call, result); }
  ignore(result);
  std::int64_t const left = free_bytes == nullptr ? allocation_error::unknown : free_bytes();
  throw allocation_error{call, asked_bytes, left, text_of(result)};
}

void ignore(cudaError_t result) noexcept {
  if (result != cudaSuccess) { static_cast<void>(cudaGetLastError()); }
}

std::int64_t free_bytes_of_current_device() noexcept {
  std::size_t free = 0;
  std::size_t total = 0;
  cudaError_t const result = cudaMemGetInfo(&free, &total);
  ignore(result);
  return result == cudaSuccess ? static_cast<std::int64_t>(free) : allocation_error::unknown;
}

void require_device(char const* what, int device) {
  int count = 0;
  check("cudaGetDeviceCount", cudaGetDeviceCount(&count));
  if (device < 0 || device >= count) {
    throw backend_error{
        what, "there is no device " + std::to_string(device) + ", of " + std::to_string(count)};
  }
}

current_device::current_device(int device) noexcept : before_{device}, changed_{false} {
  ignore(cudaGetDevice(&before_));
  if (before_ != device) {
    cudaError_t const result = cudaSetDevice(device);
    ignore(result);
    changed_ = result == cudaSuccess;
  }
}

current_device::~current_device() {
  if (changed_) { ignore(cudaSetDevice(before_)); }
}

}  // namespace allot::runtime::detail
