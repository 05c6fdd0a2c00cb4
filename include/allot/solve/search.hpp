// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace allot {

/// The largest v in [lo, hi] for which a monotone `fits` holds, given that it holds for lo.
/// Gallops from `guess`, then halves: two calls when the guess is the answer, and in general about
/// log2 of how far off it was, twice.
///
/// \requires  fits(lo), and fits(v) implies fits(v - 1) on (lo, hi]
template <class Fits>
constexpr std::int64_t largest(std::int64_t lo, std::int64_t hi, std::int64_t guess, Fits&& fits) {
  std::int64_t good = lo;  // fits
  std::int64_t bad = hi;   // does not, once the gallop is over
  if (guess > hi) { guess = hi; }
  auto const wider = [](std::int64_t step) { return step > INT64_MAX / 4 ? step : step * 4; };
  if (guess <= lo || fits(guess)) {
    if (guess > lo) { good = guess; }
    for (std::int64_t step = 1;; step = wider(step)) {
      std::int64_t const room = hi - good;
      if (room == 0) { return good; }
      bad = good + (step < room ? step : room);
      if (!fits(bad)) { break; }
      good = bad;
    }
  } else {
    bad = guess;
    for (std::int64_t step = 1; step < bad - lo; step = wider(step)) {
      std::int64_t const at = bad - step;
      if (fits(at)) {
        good = at;
        break;
      }
      bad = at;
    }
  }
  while (bad - good > 1) {
    std::int64_t const middle = good + (bad - good) / 2;
    if (fits(middle)) {
      good = middle;
    } else {
      bad = middle;
    }
  }
  return good;
}

/// The smallest v in [lo, hi] for which a monotone `fits` holds, given that it holds for hi.
///
/// \requires  fits(hi), fits(v) implies fits(v + 1) on [lo, hi), and hi - lo is representable
template <class Fits>
constexpr std::int64_t smallest(std::int64_t lo, std::int64_t hi, std::int64_t guess, Fits&& fits) {
  // Mirrored: the farthest below hi that still fits.
  std::int64_t const start = guess < lo ? lo : guess > hi ? hi : guess;
  return hi - largest(0, hi - lo, hi - start, [&](std::int64_t down) { return fits(hi - down); });
}

}  // namespace allot
