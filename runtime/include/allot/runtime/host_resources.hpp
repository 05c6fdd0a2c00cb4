// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/runtime/memory_resource.hpp>

#include <cstdint>
#include <string>

namespace allot::runtime {

/// The heap of the process: what AddressSanitizer and LeakSanitizer watch. Thread-safe.
class host_resource final : public memory_resource {
 public:
  /// \errors  allocation_error of `operator new`
  void* allocate(std::int64_t bytes) override;
  void deallocate(void* memory, std::int64_t bytes) noexcept override;
  memory_space space() const noexcept override { return memory_space::host; }
  std::int64_t alignment() const noexcept override { return usual_alignment_bytes; }
  std::int64_t free_bytes() const noexcept override { return allocation_error::unknown; }
  std::string name() const override { return "operator new"; }
};

/// Address space of the process, without the memory behind it: a page of the system takes memory
/// when it is first written, and reads as zeros before. So a plan of 80 GiB can be carved, checked
/// and its corners written on a machine of 8. Writing more than the machine has kills the process.
/// Thread-safe.
///
/// POSIX `mmap`; where the system keeps no promises it cannot hold (Linux: vm.overcommit_memory=2),
/// the memory must be there after all. Elsewhere `allocate` refuses.
///
/// \cost  two calls of the system an allocation; bytes are rounded up to pages of the system
class reserved_host_resource final : public memory_resource {
 public:
  /// \errors  allocation_error of `mmap`
  void* allocate(std::int64_t bytes) override;
  void deallocate(void* memory, std::int64_t bytes) noexcept override;
  memory_space space() const noexcept override { return memory_space::host; }
  std::int64_t alignment() const noexcept override { return usual_alignment_bytes; }
  std::int64_t free_bytes() const noexcept override { return allocation_error::unknown; }
  std::string name() const override { return "mmap"; }
};

/// A block that the caller has and keeps: a tensor's memory, a pool of the engine. Allocations
/// follow each other from its start. When the newest is given back its bytes are free again; those
/// of others only when all are. The memory is never touched.
class external_resource final : public memory_resource {
 public:
  /// \param memory           start of the block; what lies before its first aligned byte is not
  /// used
  /// \param block_bytes      >= 0
  /// \param space            who can follow the pointer: what the caller knows
  /// \param alignment_bytes  of every allocation, a power of two
  /// \errors                 std::invalid_argument
  external_resource(void* memory, std::int64_t block_bytes, memory_space space,
                    std::int64_t alignment_bytes = usual_alignment_bytes);

  /// \errors  allocation_error when the rest of the block is too short
  void* allocate(std::int64_t bytes) override;
  void deallocate(void* memory, std::int64_t bytes) noexcept override;
  memory_space space() const noexcept override { return space_; }
  std::int64_t alignment() const noexcept override { return alignment_bytes_; }

  /// The largest allocation that would succeed now.
  std::int64_t free_bytes() const noexcept override;
  std::string name() const override;

 private:
  std::int64_t next() const noexcept;  ///< offset the next allocation would begin at

  std::byte* block_;
  std::int64_t block_bytes_;
  std::int64_t alignment_bytes_;
  std::int64_t skipped_bytes_ = 0;  ///< before the first aligned byte
  std::int64_t used_bytes_ = 0;     ///< from the start of the block
  std::int64_t allocations_ = 0;    ///< not yet given back
  memory_space space_;
};

}  // namespace allot::runtime
