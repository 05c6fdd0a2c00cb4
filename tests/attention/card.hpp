// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/runtime/attention.hpp>
#include <allot/runtime/backend.hpp>
#include <allot/runtime/memory_resource.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace attention_test {

namespace rt = allot::runtime;

/// What the operators are tried on. The tests are the same for each; which one it is, is chosen by
/// what is linked: host_card.cpp or cuda_card.cpp.
struct card {
  rt::memory_resource& memory;   ///< each allocation by itself, so that what goes past it is seen
  rt::memory_resource& sparse;   ///< of many GiB, where only what is written takes memory
  rt::memory_resource& staging;  ///< host memory that is copied from
  rt::backend& work;
  rt::attention const& attend;
  bool has_sparse;  ///< else allocations of many GiB take as much
  bool gpu;
};

card& the_card();

/// An array on the card, exactly as long as it says.
template <class T>
class on_card {
 public:
  on_card() = default;
  explicit on_card(std::vector<T> const& values)
      : memory_{the_card().memory, static_cast<std::int64_t>(values.size() * sizeof(T))} {
    write(values);
  }
  /// Memory that nobody has written to.
  static on_card unwritten(std::int64_t count) {
    on_card out;
    out.memory_ = rt::buffer{the_card().memory, count * static_cast<std::int64_t>(sizeof(T))};
    return out;
  }

  T* data() const { return reinterpret_cast<T*>(memory_.data()); }
  std::int64_t bytes() const { return memory_.bytes(); }

  /// What the array holds; the array stays where it is.
  void write(std::vector<T> const& values) const {
    the_card().work.upload(memory_.data(), values.data(), memory_.bytes());
    the_card().work.wait();
  }
  std::vector<T> read() const {
    std::vector<T> out(static_cast<std::size_t>(memory_.bytes()) / sizeof(T));
    the_card().work.download(out.data(), memory_.data(), memory_.bytes());
    the_card().work.wait();
    return out;
  }

 private:
  rt::buffer memory_;
};

/// Fewer shapes where every access is watched.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif
#else
inline constexpr bool sanitized = false;
#endif

}  // namespace attention_test
