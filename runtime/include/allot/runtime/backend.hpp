// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/runtime/memory_resource.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::runtime {

class attention_operators;

/// Where work on memory is done: the CPU, or a stream of a GPU. Calls are issued in order and may
/// return before they are done; `wait` returns when all are.
///
/// Pointers are the backend's own memory, pinned host memory, or (only where it says so) any host
/// memory. Bytes are >= 0; 0 does nothing, and the pointers may then be null. Not thread-safe: one
/// backend a thread.
///
/// \errors  backend_error, of every call; what fails on the device later is an error of `wait`
class backend {
 public:
  backend() = default;
  backend(backend const&) = delete;
  backend& operator=(backend const&) = delete;
  virtual ~backend() = default;

  virtual char const* name() const noexcept = 0;  ///< "host", "cuda"

  /// Whether it works on memory of that space.
  virtual bool reaches(memory_space space) const noexcept = 0;

  /// Sets `bytes` bytes to `value`.
  virtual void fill(void* memory, std::byte value, std::int64_t bytes) = 0;

  /// Copies within the backend's memory. The ranges do not overlap.
  virtual void copy(void* to, void const* from, std::int64_t bytes) = 0;

  /// Copies from host memory, which must stay as it is until `wait`.
  virtual void upload(void* to, void const* host, std::int64_t bytes) = 0;

  /// Copies to host memory, which may be read after `wait`.
  virtual void download(void* host, void const* from, std::int64_t bytes) = 0;

  /// Index of the first byte that is not `value`, or -1 when all are. Waits.
  virtual std::int64_t find_other(void const* memory, std::byte value, std::int64_t bytes) = 0;

  /// Returns when everything issued so far is done.
  virtual void wait() = 0;

  /// The kernels of attention that work on its memory, in order with the calls above; null where
  /// there are none. They live as long as the backend.
  virtual attention_operators* attention() noexcept { return nullptr; }
};

/// Refuses a backend that cannot work on what `memory` gives out.
///
/// \param who  for the message: "block_table"
/// \errors     std::invalid_argument
void require_reach(char const* who, backend const& on, memory_resource const& memory);

}  // namespace allot::runtime
