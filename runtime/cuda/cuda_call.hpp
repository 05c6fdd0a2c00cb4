// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace allot::runtime::detail {

/// Throws backend_error when `result`, what `call` returned, is one; CUDA then has no error
/// pending.
void check(char const* call, cudaError_t result);

/// The same of an allocation: allocation_error when it was the memory that lacked.
///
/// \param free_bytes  tells, once there is no error pending, what is left; null where nobody can
void check_allocation(char const* call, cudaError_t result, std::int64_t asked_bytes,
                      std::int64_t (*free_bytes)() noexcept);

/// Forgets an error that nobody can be told of, so that the next call does not report it.
void ignore(cudaError_t result) noexcept;

/// Free bytes of the current device, of all processes, or allocation_error::unknown.
std::int64_t free_bytes_of_current_device() noexcept;

/// Throws backend_error unless there is such a device.
///
/// \param what  that wants it, for the message
void require_device(char const* what, int device);

/// Makes `device` the thread's current one for as long as it lives. Devices have been looked for
/// before, so that what fails here would fail in the next call as well, and is reported there.
class current_device {
 public:
  explicit current_device(int device) noexcept;
  current_device(current_device const&) = delete;
  current_device& operator=(current_device const&) = delete;
  ~current_device();

 private:
  int before_;
  bool changed_;
};

}  // namespace allot::runtime::detail
