// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace allot {

/// A value or the reason there is none, for literal types. `std::expected` is C++23; aliasing it
/// would give C++20 and C++23 callers different types.
template <class T, class E>
struct result {
  T value{};
  E error{};
  bool ok = false;

  static constexpr result success(T const& v) {
    result r;
    r.value = v;
    r.ok = true;
    return r;
  }
  static constexpr result failure(E const& e) {
    result r;
    r.error = e;
    return r;
  }

  constexpr explicit operator bool() const { return ok; }
  constexpr T const& operator*() const { return value; }
  constexpr T const* operator->() const { return &value; }
};

}  // namespace allot
