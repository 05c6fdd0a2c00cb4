// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace allot {

namespace unsatisfied {
void no_value();  ///< of a refused result; never defined: it stops a constant evaluation
}

/// A value or the reason there is none, for literal types. `std::expected` is C++23; aliasing it
/// would give C++20 and C++23 callers different types.
template <class T, class E>
struct [[nodiscard]] result {
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

  /// \requires  there is a value: asking a refusal for it stops the build or, at run time, the
  /// program
  constexpr T const& operator*() const {
    if (!ok) { stop(); }
    return value;
  }
  constexpr T const* operator->() const { return &**this; }

 private:
  static constexpr void stop() {
    if (__builtin_is_constant_evaluated()) { unsatisfied::no_value(); }
    __builtin_trap();
  }
};

}  // namespace allot
