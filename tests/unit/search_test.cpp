// SPDX-License-Identifier: Apache-2.0
#include "random.hpp"

#include <allot/solve/search.hpp>

#include <doctest/doctest.h>

#include <cstdint>

// `largest` and `smallest` against a linear scan, for every guess, up to both ends of the integers.

using allot_test::dice;

namespace {

constexpr std::int64_t most = INT64_MAX;

std::int64_t scan_largest(std::int64_t lo, std::int64_t hi, std::int64_t last_that_fits) {
  std::int64_t found = lo;
  for (std::int64_t v = lo; v < hi; ++v) {
    if (v + 1 <= last_that_fits) { found = v + 1; }
  }
  return found;
}

}  // namespace

TEST_CASE("largest agrees with a linear scan for every range, threshold and guess") {
  std::int64_t checks = 0;
  std::int64_t wrong = 0;
  std::int64_t outside = 0;
  for (std::int64_t lo = -3; lo <= 3; ++lo) {
    for (std::int64_t hi = lo; hi <= lo + 18; ++hi) {
      for (std::int64_t last = lo; last <= hi + 1; ++last) {
        std::int64_t const expected = scan_largest(lo, hi, last);
        for (std::int64_t guess = lo - 3; guess <= hi + 3; ++guess) {
          std::int64_t const got = allot::largest(lo, hi, guess, [&](std::int64_t v) {
            outside += v < lo || v > hi;
            return v <= last;
          });
          wrong += got != expected;
          ++checks;
        }
      }
    }
  }
  CHECK(wrong == 0);
  CHECK(outside == 0);  // never asks about a value it was not given
  REQUIRE(checks > 20'000);
}

TEST_CASE("smallest agrees with a linear scan for every range, threshold and guess") {
  std::int64_t checks = 0;
  std::int64_t wrong = 0;
  std::int64_t outside = 0;
  for (std::int64_t lo = -3; lo <= 3; ++lo) {
    for (std::int64_t hi = lo; hi <= lo + 18; ++hi) {
      for (std::int64_t first = lo - 1; first <= hi; ++first) {
        std::int64_t expected = hi;
        while (expected > lo && expected - 1 >= first) {
          --expected;
        }
        for (std::int64_t guess = lo - 3; guess <= hi + 3; ++guess) {
          std::int64_t const got = allot::smallest(lo, hi, guess, [&](std::int64_t v) {
            outside += v < lo || v > hi;
            return v >= first;
          });
          wrong += got != expected;
          ++checks;
        }
      }
    }
  }
  CHECK(wrong == 0);
  CHECK(outside == 0);
  REQUIRE(checks > 20'000);
}

TEST_CASE("largest finds thresholds anywhere in 63 bits, in few calls, with any guess") {
  dice draw{1};
  std::int64_t wrong = 0;
  std::int64_t worst = 0;
  std::int64_t checks = 0;
  while (checks < 200'000) {
    std::int64_t lo = draw.extreme();
    std::int64_t hi = draw.extreme();
    if (lo < 0 || hi < lo) { continue; }  // ranges of counts
    std::int64_t const last = draw.in(lo, hi);
    std::int64_t const guess = draw.chance(50) ? draw.extreme() : last;
    std::int64_t calls = 0;
    std::int64_t const got = allot::largest(lo, hi, guess, [&](std::int64_t v) {
      ++calls;
      return v <= last;
    });
    wrong += got != last;
    if (guess == last && calls > 2) { ++wrong; }
    worst = calls > worst ? calls : worst;
    ++checks;
  }
  CHECK(wrong == 0);
  CHECK(worst <= 2 * 64);
}

TEST_CASE("smallest finds thresholds anywhere in 63 bits") {
  dice draw{2};
  std::int64_t wrong = 0;
  std::int64_t checks = 0;
  while (checks < 200'000) {
    std::int64_t const lo = draw.extreme();
    std::int64_t const hi = draw.extreme();
    if (lo < 0 || hi < lo) { continue; }
    std::int64_t const first = draw.in(lo, hi);
    std::int64_t const guess = draw.chance(50) ? draw.extreme() : first;
    wrong += allot::smallest(lo, hi, guess, [&](std::int64_t v) { return v >= first; }) != first;
    ++checks;
  }
  CHECK(wrong == 0);
}

TEST_CASE("the ends of the range") {
  auto const all = [](std::int64_t) { return true; };
  CHECK(allot::largest(0, most, 0, all) == most);
  CHECK(allot::largest(0, most, most, all) == most);
  CHECK(allot::largest(most, most, 0, all) == most);
  CHECK(allot::largest(most - 1, most, -5, all) == most);
  CHECK(allot::largest(0, most, most, [](std::int64_t v) { return v == 0; }) == 0);
  CHECK(allot::largest(0, most, most - 1, [](std::int64_t v) { return v < most; }) == most - 1);
  CHECK(allot::largest(-1, most - 1, 7, [](std::int64_t v) { return v < 0; }) == -1);
  CHECK(allot::smallest(0, most, most, all) == 0);
  CHECK(allot::smallest(0, most, 0, [](std::int64_t v) { return v == most; }) == most);
  CHECK(allot::smallest(most, most, 0, all) == most);
}
