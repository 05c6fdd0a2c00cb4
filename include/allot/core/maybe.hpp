// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace allot {

/// A value that may be absent, for literal types: `std::optional` without its header's cost, and
/// with public members, so that what holds one can still be a template argument.
template <class T>
struct maybe {
  T value{};
  bool given = false;

  constexpr maybe() = default;
  constexpr maybe(T const& v) : value{v}, given{true} {}  // NOLINT(google-explicit-constructor)

  constexpr explicit operator bool() const { return given; }
  constexpr T const& operator*() const { return value; }
  constexpr T& operator*() { return value; }
  constexpr T const* operator->() const { return &value; }
  constexpr T* operator->() { return &value; }
  constexpr T value_or(T const& other) const { return given ? value : other; }
};

}  // namespace allot
