// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace allot {

/// A signed 64-bit integer that cannot wrap: an operation that would leaves `overflowed` set, and
/// everything computed from an overflowed number is overflowed too.
///
/// It orders like "not a number": no comparison with an overflowed value holds, so a total that
/// overflowed never `<=` a budget.
///
/// \source  docs/contract.md, law L9. 128-bit products because `__builtin_mul_overflow` is not a
/// constant
///          expression in nvcc 13's front end.
struct checked {
  std::int64_t value = 0;   ///< meaningless when `overflowed`
  bool overflowed = false;  ///< sticky

  constexpr checked() = default;
  constexpr checked(std::int64_t v) : value{v} {}  // NOLINT(google-explicit-constructor)

  static constexpr checked overflow() {
    checked c;
    c.overflowed = true;
    return c;
  }

  constexpr bool ok() const { return !overflowed; }
};

namespace detail {

__extension__ typedef __int128
    wide;  // NOLINT(modernize-use-using): `using` would warn under -Wpedantic

constexpr checked narrow(wide w) {
  auto const v = static_cast<std::int64_t>(w);
  return v == w ? checked{v} : checked::overflow();
}

}  // namespace detail

constexpr checked operator+(checked a, checked b) {
  if (a.overflowed || b.overflowed) { return checked::overflow(); }
  return detail::narrow(detail::wide{a.value} + b.value);
}

constexpr checked operator-(checked a, checked b) {
  if (a.overflowed || b.overflowed) { return checked::overflow(); }
  return detail::narrow(detail::wide{a.value} - b.value);
}

constexpr checked operator*(checked a, checked b) {
  if (a.overflowed || b.overflowed) { return checked::overflow(); }
  return detail::narrow(detail::wide{a.value} * b.value);
}

constexpr bool operator==(checked a, checked b) {
  return a.ok() && b.ok() && a.value == b.value;
}
constexpr bool operator<(checked a, checked b) {
  return a.ok() && b.ok() && a.value < b.value;
}
constexpr bool operator<=(checked a, checked b) {
  return a.ok() && b.ok() && a.value <= b.value;
}
constexpr bool operator>(checked a, checked b) {
  return b < a;
}
constexpr bool operator>=(checked a, checked b) {
  return b <= a;
}

}  // namespace allot
