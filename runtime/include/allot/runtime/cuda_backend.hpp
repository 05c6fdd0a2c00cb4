// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/runtime/backend.hpp>

#include <memory>

struct CUstream_st;  ///< what CUDA's cudaStream_t points to

namespace allot::runtime {

/// A stream of a GPU. Its memory is that of the device, and pinned host memory. `upload` and
/// `download` take any host memory; only pinned memory is copied while the host goes on.
///
/// Takes 8 bytes of the device for as long as it lives. Leaves the thread's current device as it
/// was.
class cuda_backend final : public backend {
 public:
  /// \param stream  of that device, and the caller's: it outlives this; null is the default stream
  /// \errors        backend_error when there is no such device, or no CUDA in the library;
  ///                allocation_error
  explicit cuda_backend(CUstream_st* stream = nullptr, int device = 0);
  ~cuda_backend() override;

  char const* name() const noexcept override { return "cuda"; }
  bool reaches(memory_space space) const noexcept override { return space != memory_space::host; }
  void fill(void* memory, std::byte value, std::int64_t bytes) override;
  void copy(void* to, void const* from, std::int64_t bytes) override;
  void upload(void* to, void const* host, std::int64_t bytes) override;
  void download(void* host, void const* from, std::int64_t bytes) override;
  std::int64_t find_other(void const* memory, std::byte value, std::int64_t bytes) override;
  void wait() override;
  attention_operators* attention() noexcept override { return attention_.get(); }

  CUstream_st* stream() const noexcept { return stream_; }
  int device() const noexcept { return device_; }

 private:
  CUstream_st* stream_;
  [[maybe_unused]] unsigned long long* found_ = nullptr;  ///< device memory, [1] first other byte
  int device_;
  std::unique_ptr<attention_operators> attention_;
};

}  // namespace allot::runtime
