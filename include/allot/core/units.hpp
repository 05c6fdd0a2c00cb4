// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/core/checked.hpp>

#include <compare>
#include <cstdint>

namespace allot {

/// Declared, never defined: reaching one of these during constant evaluation stops the build, and
/// its name is what g++, clang++ and nvcc print.
namespace unsatisfied {
void overflow();
}  // namespace unsatisfied

/// A count of one unit. Counts of different units share no operation: adding, comparing or
/// assigning across units does not compile.
///
/// \source  docs/contract.md, law L2. A plan that counts usable pages while the pool allocates
/// physical ones
///          is the fault this library exists for.
template <class Unit>
struct quantity {
  std::int64_t count = 0;

  // `==` is spelled out: nvcc with g++ 12 rejects the one implied by a defaulted `<=>`.
  friend constexpr bool operator==(quantity, quantity) = default;
  friend constexpr std::strong_ordering operator<=>(quantity, quantity) = default;
};

/// The sum, difference or multiple of quantities: a count, or `overflowed`. Ask before you take:
/// `if (total) { use(*total); }`. No comparison with an overflowed quantity holds.
template <class Unit>
struct checked_quantity {
  checked number;

  constexpr explicit operator bool() const { return number.ok(); }

  /// \requires  the number did not overflow; in a constant expression this stops the build with
  ///            `unsatisfied::overflow`, at run time the program
  constexpr quantity<Unit> operator*() const {
    if (number.overflowed) { unsatisfied_overflow(); }
    return {number.value};
  }

  friend constexpr bool operator<=(checked_quantity a, quantity<Unit> b) {
    return a.number <= checked{b.count};
  }
  friend constexpr bool operator>(checked_quantity a, quantity<Unit> b) {
    return a.number > checked{b.count};
  }
  friend constexpr bool operator==(checked_quantity a, quantity<Unit> b) {
    return a.number == checked{b.count};
  }

 private:
  static constexpr void unsatisfied_overflow() {
    if (__builtin_is_constant_evaluated()) { unsatisfied::overflow(); }
    __builtin_trap();
  }
};

template <class Unit>
constexpr checked_quantity<Unit> operator+(quantity<Unit> a, quantity<Unit> b) {
  return {checked{a.count} + b.count};
}
template <class Unit>
constexpr checked_quantity<Unit> operator+(checked_quantity<Unit> a, quantity<Unit> b) {
  return {a.number + b.count};
}
template <class Unit>
constexpr checked_quantity<Unit> operator-(quantity<Unit> a, quantity<Unit> b) {
  return {checked{a.count} - b.count};
}
template <class Unit>
constexpr checked_quantity<Unit> operator-(checked_quantity<Unit> a, quantity<Unit> b) {
  return {a.number - b.count};
}
template <class Unit>
constexpr checked_quantity<Unit> operator*(quantity<Unit> a, std::int64_t times) {
  return {checked{a.count} * times};
}

namespace unit {
struct byte;
struct token;
struct usable_page;
struct physical_page;
struct usable_state_slot;
struct physical_state_slot;
struct expert_slot;
}  // namespace unit

using bytes = quantity<unit::byte>;                    ///< signed: a budget may be negative
using tokens = quantity<unit::token>;                  ///< positions of the KV cache
using usable_pages = quantity<unit::usable_page>;      ///< pages a request can be given
using physical_pages = quantity<unit::physical_page>;  ///< pages allocated: usable + sentinel
using usable_state_slots = quantity<unit::usable_state_slot>;      ///< recurrent states to give
using physical_state_slots = quantity<unit::physical_state_slot>;  ///< usable + padding sinks
using expert_slots = quantity<unit::expert_slot>;  ///< experts resident in the GPU cache

// Inline, so that `using namespace allot` is enough, and because nvcc 13 loses a using-directive
// for literals behind a call into this namespace: `solve(make_table(…), 1_GiB)`.
inline namespace literals {
// A literal past the 64-bit range stops the build: these are consteval, and the multiplication
// below is not a constant expression when it overflows.
consteval bytes operator""_KiB(unsigned long long n) {
  return *(bytes{static_cast<std::int64_t>(n)} * (std::int64_t{1} << 10));
}
consteval bytes operator""_MiB(unsigned long long n) {
  return *(bytes{static_cast<std::int64_t>(n)} * (std::int64_t{1} << 20));
}
consteval bytes operator""_GiB(unsigned long long n) {
  return *(bytes{static_cast<std::int64_t>(n)} * (std::int64_t{1} << 30));
}
}  // namespace literals

}  // namespace allot
