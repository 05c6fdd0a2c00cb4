// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/runtime/memory_resource.hpp>

#include <cstdint>
#include <string>

struct CUstream_st;  ///< what CUDA's cudaStream_t points to

namespace allot::runtime {

// The three of CUDA. Each knows its device, and leaves the current device of the thread as it was.
// An allocation that fails leaves no error behind in CUDA. `deallocate` reports nothing: put a
// counting_resource above to notice what was never allocated.

/// Memory of a GPU by cudaMalloc and cudaFree, as thread-safe as they are.
///
/// \cost  `deallocate` waits until the device is idle
class device_resource final : public memory_resource {
 public:
  /// \errors  backend_error when there is no such device, or no CUDA in the library
  explicit device_resource(int device = 0);

  /// \errors  allocation_error; backend_error of a device that has failed before
  void* allocate(std::int64_t bytes) override;
  void deallocate(void* memory, std::int64_t bytes) noexcept override;
  memory_space space() const noexcept override { return memory_space::device; }
  std::int64_t alignment() const noexcept override { return usual_alignment_bytes; }
  std::int64_t free_bytes() const noexcept override;  ///< cudaMemGetInfo: of all processes
  std::string name() const override;                  ///< "cudaMalloc on device 0"

  int device() const noexcept { return device_; }

 private:
  int device_;
};

/// Memory of a GPU by cudaMallocAsync and cudaFreeAsync, from the device's own pool.
///
/// Memory may be used by what is put on the stream after `allocate`, and by what was put there
/// before `deallocate`; another stream, or the host, must be ordered behind by an event or a wait.
/// What is given back stays in the pool until the stream is waited for, and serves the next
/// `allocate` without a wait.
class stream_ordered_resource final : public memory_resource {
 public:
  /// \param stream  of that device, and the caller's: it outlives this and everything allocated
  /// \errors        backend_error when there is no such device, or no CUDA in the library
  explicit stream_ordered_resource(CUstream_st* stream, int device = 0);

  /// \errors  allocation_error; backend_error of a device that has failed before
  void* allocate(std::int64_t bytes) override;
  void deallocate(void* memory, std::int64_t bytes) noexcept override;
  memory_space space() const noexcept override { return memory_space::device; }
  std::int64_t alignment() const noexcept override { return usual_alignment_bytes; }

  /// cudaMemGetInfo: of all processes, and without what the pool holds back for its next
  /// allocations.
  std::int64_t free_bytes() const noexcept override;
  std::string name() const override;  ///< "cudaMallocAsync on device 0"

  CUstream_st* stream() const noexcept { return stream_; }
  int device() const noexcept { return device_; }

 private:
  CUstream_st* stream_;
  int device_;
};

/// Host memory that every GPU reads and writes through the link, at the same address as the CPU,
/// and that asynchronous copies need: cudaHostAlloc and cudaFreeHost, as thread-safe as they are.
///
/// \cost  slow to allocate (the system pins every page): once, at the start
class pinned_resource final : public memory_resource {
 public:
  /// \errors  backend_error when there is no device, or no CUDA in the library
  pinned_resource();

  /// \errors  allocation_error; backend_error of a device that has failed before
  void* allocate(std::int64_t bytes) override;
  void deallocate(void* memory, std::int64_t bytes) noexcept override;
  memory_space space() const noexcept override { return memory_space::pinned_host; }
  std::int64_t alignment() const noexcept override { return usual_alignment_bytes; }
  std::int64_t free_bytes() const noexcept override { return allocation_error::unknown; }
  std::string name() const override { return "cudaHostAlloc"; }
};

}  // namespace allot::runtime
