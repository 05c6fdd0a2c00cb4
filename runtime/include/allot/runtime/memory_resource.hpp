// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/runtime/allocation_error.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace allot::runtime {

/// Who can follow a pointer of a resource.
enum class memory_space : std::uint8_t {
  host,         ///< the CPU
  pinned_host,  ///< the CPU, and the GPU through the link
  device,       ///< the GPU
};

/// Bytes that a resource aligns to unless it has a reason: what cudaMalloc promises, so that a plan
/// for the GPU can be tried on the host.
inline constexpr std::int64_t usual_alignment_bytes = 256;

/// Where bytes come from. Adaptors are resources that hold another one by reference: the caller
/// keeps both alive for as long as anything allocated from them.
///
/// Not copied, not thread-safe unless the class says so.
class memory_resource {
 public:
  memory_resource() = default;
  memory_resource(memory_resource const&) = delete;
  memory_resource& operator=(memory_resource const&) = delete;
  virtual ~memory_resource() = default;

  /// \param bytes  >= 0; 0 gives a pointer that may only be deallocated, and may be null
  /// \returns      memory aligned to `alignment()`, its contents undefined
  /// \errors       allocation_error when the memory cannot be had, backend_error when a device has
  ///               failed; then nothing has changed
  virtual void* allocate(std::int64_t bytes) = 0;

  /// Gives back what `allocate(bytes)` returned, with the same `bytes`.
  virtual void deallocate(void* memory, std::int64_t bytes) noexcept = 0;

  virtual memory_space space() const noexcept = 0;

  /// Bytes every allocation is aligned to: a power of two.
  virtual std::int64_t alignment() const noexcept = 0;

  /// Bytes that could still be had, or `allocation_error::unknown`.
  virtual std::int64_t free_bytes() const noexcept = 0;

  /// For messages: "cudaMalloc on device 0", "limited_resource(12884901888 bytes)".
  virtual std::string name() const = 0;
};

/// Owns one allocation and gives it back. Move-only.
class buffer {
 public:
  buffer() = default;

  /// \errors  allocation_error
  buffer(memory_resource& from, std::int64_t bytes)
      : from_{&from}, data_{static_cast<std::byte*>(from.allocate(bytes))}, bytes_{bytes} {}

  buffer(buffer&& other) noexcept
      : from_{std::exchange(other.from_, nullptr)},
        data_{std::exchange(other.data_, nullptr)},
        bytes_{std::exchange(other.bytes_, 0)} {}
  buffer& operator=(buffer&& other) noexcept {
    if (this != &other) {
      release();
      from_ = std::exchange(other.from_, nullptr);
      data_ = std::exchange(other.data_, nullptr);
      bytes_ = std::exchange(other.bytes_, 0);
    }
    return *this;
  }
  buffer(buffer const&) = delete;
  buffer& operator=(buffer const&) = delete;
  ~buffer() { release(); }

  std::byte* data() const noexcept { return data_; }
  std::int64_t bytes() const noexcept { return bytes_; }
  memory_resource* resource() const noexcept { return from_; }  ///< null when it owns nothing

 private:
  void release() noexcept {
    if (from_ != nullptr) { from_->deallocate(data_, bytes_); }
    from_ = nullptr;
    data_ = nullptr;
    bytes_ = 0;
  }

  memory_resource* from_ = nullptr;
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace allot::runtime
