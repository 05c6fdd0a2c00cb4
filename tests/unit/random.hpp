// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// Random numbers for the tests: the same on every platform, seeded by the test that draws them.
namespace allot_test {

/// SplitMix64 (Steele, Lea, Flood 2014): one multiply-xorshift a number, any seed will do.
class dice {
 public:
  constexpr explicit dice(std::uint64_t seed) : state_{seed} {}

  constexpr std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  /// Uniform in [low, high].
  constexpr std::int64_t in(std::int64_t low, std::int64_t high) {
    auto const span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    std::uint64_t const step = span == UINT64_MAX ? next() : next() % (span + 1);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + step);
  }

  /// True `percent` times in a hundred.
  constexpr bool chance(int percent) { return in(0, 99) < percent; }

  template <class T, std::size_t N>
  constexpr T one_of(T const (&choices)[N]) {
    return choices[next() % N];
  }

  /// Any 64-bit pattern, mostly near the places where arithmetic breaks: 0, powers of two, the
  /// ends.
  constexpr std::int64_t extreme() {
    auto const near = static_cast<std::uint64_t>(in(-3, 3));
    switch (next() % 6) {
      case 0: return static_cast<std::int64_t>(near);
      case 1: return static_cast<std::int64_t>((std::uint64_t{1} << (next() % 64)) + near);
      case 2: return static_cast<std::int64_t>(0 - (std::uint64_t{1} << (next() % 64)) + near);
      case 3: return static_cast<std::int64_t>(static_cast<std::uint64_t>(INT64_MAX) - next() % 4);
      case 4: return static_cast<std::int64_t>(static_cast<std::uint64_t>(INT64_MIN) + next() % 4);
      default: return static_cast<std::int64_t>(next() >> (next() % 64));
    }
  }

 private:
  std::uint64_t state_;
};

}  // namespace allot_test
