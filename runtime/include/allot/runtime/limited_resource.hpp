// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/runtime/memory_resource.hpp>

#include <cstdint>
#include <string>

namespace allot::runtime {

/// A card of any size on any machine: refuses what would bring the bytes outstanding above a limit.
/// Bytes are counted as asked for, without what the upstream rounds them up by.
class limited_resource final : public memory_resource {
 public:
  /// \param limit_bytes  >= 0, of all allocations together
  /// \errors             std::invalid_argument
  limited_resource(memory_resource& upstream, std::int64_t limit_bytes);

  /// \errors  allocation_error past the limit, or the upstream's
  void* allocate(std::int64_t bytes) override;
  void deallocate(void* memory, std::int64_t bytes) noexcept override;
  memory_space space() const noexcept override { return upstream_->space(); }
  std::int64_t alignment() const noexcept override { return upstream_->alignment(); }

  /// What the limit leaves, or the upstream if that has less.
  std::int64_t free_bytes() const noexcept override;

  /// "limited_resource(12884901888 bytes)"
  std::string name() const override;

  std::int64_t limit_bytes() const noexcept { return limit_bytes_; }
  std::int64_t outstanding_bytes() const noexcept { return outstanding_bytes_; }

 private:
  memory_resource* upstream_;
  std::int64_t limit_bytes_;
  std::int64_t outstanding_bytes_ = 0;
};

}  // namespace allot::runtime
