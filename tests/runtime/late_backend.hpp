// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/runtime/allocation_error.hpp>
#include <allot/runtime/backend.hpp>

#include <cstring>
#include <functional>
#include <vector>

/// Test doubles of a backend on the host.
namespace allot_test {

/// Does nothing before `wait`: what a GPU may do, so that memory which must stay until then is seen
/// to. Fails one call on purpose; what was issued before it is done at the next `wait`.
class late_backend final : public allot::runtime::backend {
 public:
  struct call {
    void* to = nullptr;
    std::int64_t bytes = 0;
  };

  char const* name() const noexcept override { return "late"; }
  bool reaches(allot::runtime::memory_space) const noexcept override { return true; }
  void fill(void* memory, std::byte value, std::int64_t bytes) override {
    issue(memory, bytes, [=] { std::memset(memory, static_cast<int>(value), size(bytes)); });
  }
  void copy(void* to, void const* from, std::int64_t bytes) override {
    issue(to, bytes, [=] { std::memcpy(to, from, size(bytes)); });
  }
  void upload(void* to, void const* host, std::int64_t bytes) override { copy(to, host, bytes); }
  void download(void* host, void const* from, std::int64_t bytes) override {
    copy(host, from, bytes);
  }
  std::int64_t find_other(void const* memory, std::byte value, std::int64_t bytes) override {
    wait();
    auto const* const first = static_cast<std::byte const*>(memory);
    for (std::int64_t i = 0; i < bytes; ++i) {
      if (first[i] != value) { return i; }
    }
    return -1;
  }
  void wait() override {
    for (auto const& work : issued_) {
      work();
    }
    issued_.clear();
  }

  /// Calls since the last `forget`, the failed one left out.
  std::vector<call> const& calls() const { return calls_; }
  void forget() { calls_.clear(); }
  bool idle() const { return issued_.empty(); }

  /// 1: the next call fails; 0: none does.
  void fail_call(int from_now) { until_failure_ = from_now; }

 private:
  static std::size_t size(std::int64_t bytes) { return static_cast<std::size_t>(bytes); }
  void issue(void* to, std::int64_t bytes, std::function<void()> work) {
    if (until_failure_ > 0 && --until_failure_ == 0) {
      throw allot::runtime::backend_error{"late_backend", "told to fail"};
    }
    calls_.push_back({to, bytes});
    issued_.push_back(std::move(work));
  }

  std::vector<call> calls_;
  std::vector<std::function<void()>> issued_;
  int until_failure_ = 0;
};

}  // namespace allot_test
