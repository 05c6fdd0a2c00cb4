// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/runtime/backend.hpp>

namespace allot::runtime {

/// The CPU: every call is done when it returns. Its memory is any host memory, pinned or not.
class host_backend final : public backend {
 public:
  char const* name() const noexcept override { return "host"; }
  bool reaches(memory_space space) const noexcept override { return space != memory_space::device; }
  void fill(void* memory, std::byte value, std::int64_t bytes) override;
  void copy(void* to, void const* from, std::int64_t bytes) override;
  void upload(void* to, void const* host, std::int64_t bytes) override { copy(to, host, bytes); }
  void download(void* host, void const* from, std::int64_t bytes) override {
    copy(host, from, bytes);
  }
  std::int64_t find_other(void const* memory, std::byte value, std::int64_t bytes) override;
  void wait() override {}
  attention_operators* attention() noexcept override;
};

}  // namespace allot::runtime
