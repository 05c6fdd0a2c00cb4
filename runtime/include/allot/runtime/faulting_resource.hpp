// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/runtime/memory_resource.hpp>

#include <cstdint>
#include <string>

namespace allot::runtime {

/// Fails one call on purpose, so that a test can sweep the failure over every allocation there is.
class faulting_resource final : public memory_resource {
 public:
  /// \param failing_call  1 is the first; 0 fails none
  faulting_resource(memory_resource& upstream, std::int64_t failing_call)
      : upstream_{&upstream}, failing_call_{failing_call} {}

  /// \errors  allocation_error at the chosen call, or the upstream's
  void* allocate(std::int64_t bytes) override;
  void deallocate(void* memory, std::int64_t bytes) noexcept override {
    upstream_->deallocate(memory, bytes);
  }
  memory_space space() const noexcept override { return upstream_->space(); }
  std::int64_t alignment() const noexcept override { return upstream_->alignment(); }
  std::int64_t free_bytes() const noexcept override { return upstream_->free_bytes(); }

  /// "faulting_resource(call 3)"
  std::string name() const override;

  std::int64_t calls() const noexcept {
    return calls_;
  }  ///< of `allocate`, the failed one among them
  bool has_failed() const noexcept { return failing_call_ > 0 && calls_ >= failing_call_; }

 private:
  memory_resource* upstream_;
  std::int64_t failing_call_;
  std::int64_t calls_ = 0;
};

}  // namespace allot::runtime
