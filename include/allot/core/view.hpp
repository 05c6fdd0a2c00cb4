// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace allot {

/// Borrowed, read-only, contiguous: a pointer and how many. The caller keeps what it points to.
template <class T>
struct view {
  T const* data = nullptr;
  std::int64_t size = 0;  ///< elements

  constexpr view() = default;
  constexpr view(T const* first, std::int64_t count) : data{first}, size{count} {}
  template <std::size_t N>
  constexpr view(T const (&array)[N])  // NOLINT(google-explicit-constructor)
      : data{array}, size{static_cast<std::int64_t>(N)} {}

  constexpr T const& operator[](std::int64_t i) const { return data[i]; }
  constexpr T const* begin() const { return data; }
  constexpr T const* end() const { return data + size; }
};

/// Borrowed characters: names of pools, charges and fields. A literal converts by itself.
struct text {
  char const* data = "";
  std::int64_t size = 0;  ///< characters, no terminator

  constexpr text() = default;
  constexpr text(char const* first, std::int64_t count) : data{first}, size{count} {}
  template <std::size_t N>
  constexpr text(char const (&literal)[N])  // NOLINT(google-explicit-constructor)
      : data{literal}, size{static_cast<std::int64_t>(N) - 1} {}

  constexpr bool empty() const { return size == 0; }

  friend constexpr bool operator==(text a, text b) {
    if (a.size != b.size) { return false; }
    for (std::int64_t i = 0; i < a.size; ++i) {
      if (a.data[i] != b.data[i]) { return false; }
    }
    return true;
  }
};

}  // namespace allot
