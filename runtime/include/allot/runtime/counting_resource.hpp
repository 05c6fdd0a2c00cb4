// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/runtime/memory_resource.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace allot::runtime {

/// What a counting_resource has seen. Calls that failed count only as such.
struct memory_counts {
  std::int64_t outstanding_bytes = 0;        ///< allocated and not given back
  std::int64_t outstanding_allocations = 0;  ///< those of 0 bytes are not counted
  std::int64_t peak_bytes = 0;               ///< the most that was outstanding
  std::int64_t allocate_calls = 0;           ///< those that succeeded
  std::int64_t failed_calls = 0;             ///< those that did not
  std::int64_t deallocate_calls = 0;         ///< misuses among them
  std::int64_t misuses = 0;                  ///< see `misuse`

  friend constexpr bool operator==(memory_counts const&, memory_counts const&) = default;
};

/// A `deallocate` that no `allocate` answers to.
struct misuse {
  void* memory = nullptr;
  std::int64_t given_bytes = 0;
  std::int64_t allocated_bytes = -1;  ///< -1: not from here, or given back already

  /// "deallocate(0x7f…, 64 bytes): 128 bytes were allocated there"
  std::string text() const;
};

/// One allocation that is outstanding.
struct allocated_block {
  void* memory = nullptr;
  std::int64_t bytes = 0;

  friend constexpr bool operator==(allocated_block const&, allocated_block const&) = default;
};

/// Counts what passes through it, knows every block that is outstanding, and notices when something
/// else is given back. A foreign pointer never reaches the upstream, a wrong size is put right, and
/// 0 bytes are a null pointer of its own.
///
/// \cost  a map on the heap: O(log allocations) a call
class counting_resource final : public memory_resource {
 public:
  explicit counting_resource(memory_resource& upstream) : upstream_{&upstream} {}

  /// \errors  the upstream's
  void* allocate(std::int64_t bytes) override;
  void deallocate(void* memory, std::int64_t bytes) noexcept override;
  memory_space space() const noexcept override { return upstream_->space(); }
  std::int64_t alignment() const noexcept override { return upstream_->alignment(); }
  std::int64_t free_bytes() const noexcept override { return upstream_->free_bytes(); }
  std::string name() const override { return "counting_resource(" + upstream_->name() + ")"; }

  memory_counts const& counts() const noexcept { return counts_; }

  /// The first misuse; one of no bytes allocated and none given when there was none.
  misuse const& first_misuse() const noexcept { return first_misuse_; }

  /// What is outstanding, in the order of addresses: at the end, the leaks.
  std::vector<allocated_block> outstanding() const;

  /// Measures the peak from now on.
  void restart_peak() noexcept { counts_.peak_bytes = counts_.outstanding_bytes; }

 private:
  memory_resource* upstream_;
  std::map<void*, std::int64_t> blocks_;  ///< bytes by address
  memory_counts counts_;
  misuse first_misuse_;
};

}  // namespace allot::runtime
