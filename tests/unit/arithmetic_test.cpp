// SPDX-License-Identifier: Apache-2.0
#include "random.hpp"

#include <allot/core/rounding.hpp>
#include <allot/core/units.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>

// Checked arithmetic against 128-bit integers, where 64 bits end (law L9).

using allot::checked;
using allot_test::dice;

namespace {

__extension__ typedef __int128 wide;  // NOLINT(modernize-use-using)

bool fits(wide exact) {
  return exact >= INT64_MIN && exact <= INT64_MAX;
}

/// What a checked operation must give for an exact result.
bool is(checked got, wide exact) {
  return fits(exact) ? got.ok() && got.value == static_cast<std::int64_t>(exact) : got.overflowed;
}

}  // namespace

TEST_CASE("sums, differences and products are exact or overflowed, never wrapped") {
  dice draw{1};
  int checks = 0;
  int overflows = 0;
  int wrong = 0;
  for (; checks < 500'000; ++checks) {
    std::int64_t const a = draw.extreme();
    std::int64_t const b = draw.extreme();
    wrong += !is(checked{a} + b, wide{a} + b);
    wrong += !is(checked{a} - b, wide{a} - b);
    wrong += !is(checked{a} * b, wide{a} * b);
    overflows += !fits(wide{a} * b);
  }
  CHECK(wrong == 0);
  CHECK(overflows > checks / 5);
  CHECK(overflows < checks * 4 / 5);
}

TEST_CASE(
    "everything computed from an overflowed number is overflowed, and compares with nothing") {
  dice draw{2};
  checked const lost = checked::overflow();
  int wrong = 0;
  for (int i = 0; i < 10'000; ++i) {
    checked const x = draw.extreme();
    wrong += !(x + lost).overflowed + !(lost + x).overflowed + !(x - lost).overflowed;
    wrong += !(lost - x).overflowed + !(x * lost).overflowed + !(lost * x).overflowed;
    wrong += !allot::round_up(lost, draw.in(1, INT64_MAX)).overflowed;
    wrong += !allot::scale(0.5, lost, allot::rounding::down).overflowed;
    wrong += (x == lost) + (x < lost) + (x <= lost) + (x > lost) + (x >= lost);
    wrong += (lost == x) + (lost < x) + (lost <= x) + (lost > x) + (lost >= x);
  }
  wrong += (lost == lost) + (lost <= lost) + (lost >= lost);
  CHECK(wrong == 0);
}

TEST_CASE("numbers that did not overflow compare like integers") {
  dice draw{3};
  int wrong = 0;
  int equal = 0;
  for (int i = 0; i < 200'000; ++i) {
    std::int64_t const a = draw.extreme();
    std::int64_t const b = draw.chance(20) ? a : draw.extreme();
    checked const x = a;
    checked const y = b;
    wrong += ((x == y) != (a == b)) + ((x < y) != (a < b)) + ((x <= y) != (a <= b));
    wrong += ((x > y) != (a > b)) + ((x >= y) != (a >= b));
    equal += a == b;
  }
  CHECK(wrong == 0);
  CHECK(equal > 20'000);
}

TEST_CASE("quantities of one unit carry the same arithmetic") {
  dice draw{4};
  int wrong = 0;
  int overflows = 0;
  for (int i = 0; i < 200'000; ++i) {
    std::int64_t const a = draw.extreme();
    std::int64_t const b = draw.extreme();
    std::int64_t const c = draw.extreme();
    allot::bytes const x{a};
    allot::bytes const y{b};
    wrong += !is((x + y).number, wide{a} + b) + !is((x - y).number, wide{a} - b);
    wrong += !is((x * b).number, wide{a} * b);
    // Sticky: an intermediate sum that does not fit is not forgiven.
    auto const sum = x + y + allot::bytes{c};
    auto const rest = x - y - allot::bytes{c};
    wrong += fits(wide{a} + b) ? !is(sum.number, wide{a} + b + c) : !sum.number.overflowed;
    wrong += fits(wide{a} - b) ? !is(rest.number, wide{a} - b - c) : !rest.number.overflowed;
    wrong +=
        static_cast<bool>(sum) && *sum != allot::bytes{static_cast<std::int64_t>(wide{a} + b + c)};
    wrong += !sum && (sum <= y || sum > y || sum == y);
    wrong += (x < y) != (a < b) || (x == y) != (a == b) || (x >= y) != (a >= b);
    overflows += !sum;
  }
  CHECK(wrong == 0);
  CHECK(overflows > 10'000);
}

TEST_CASE("rounding up and down meets its definition up to the last integer") {
  dice draw{5};
  int wrong = 0;
  int overflows = 0;
  int checks = 0;
  while (checks < 300'000) {
    std::int64_t const value = draw.extreme();
    std::int64_t const step = draw.extreme();
    if (value < 0 || step <= 0) { continue; }
    ++checks;
    wide const parts = (wide{value} + step - 1) / step;
    wrong += allot::divide_up(value, step) != static_cast<std::int64_t>(parts);
    wrong += !is(allot::round_up(value, step), parts * step);
    wrong += allot::round_down(value, step) != static_cast<std::int64_t>(wide{value} / step * step);
    overflows += !fits(parts * step);
  }
  CHECK(wrong == 0);
  CHECK(overflows > checks / 100);
}

TEST_CASE("scale is one double product, rounded once as stated") {
  dice draw{6};
  double const ratios[] = {0.0,  0.05, 0.1,  0.125, 0.2, 0.25, 0.29, 0.3, 0.5,  0.57,
                           0.85, 0.9,  0.99, 1.5,   2.5, 3.0,  1e-9, 1e6, 1e18, 4e18};
  int wrong = 0;
  int overflows = 0;
  int ties = 0;
  int checks = 0;
  while (checks < 300'000) {
    double const ratio = draw.one_of(ratios);
    std::int64_t const value = draw.chance(30) ? draw.in(0, 1000) : draw.extreme();
    if (value < 0) { continue; }
    ++checks;
    double const product = ratio * static_cast<double>(value);
    checked const down = allot::scale(ratio, value, allot::rounding::down);
    checked const up = allot::scale(ratio, value, allot::rounding::up);
    checked const even = allot::scale(ratio, value, allot::rounding::half_even);
    if (product >= 0x1p63) {
      ++overflows;
      wrong += !down.overflowed + !up.overflowed + !even.overflowed;
      continue;
    }
    // nearbyint in the default mode is half to even; the library must not depend on that mode.
    wrong += down.value != static_cast<std::int64_t>(std::floor(product));
    wrong += up.value != static_cast<std::int64_t>(std::ceil(product));
    wrong += even.value != static_cast<std::int64_t>(std::nearbyint(product));
    ties += product - std::floor(product) == 0.5;
  }
  CHECK(wrong == 0);
  CHECK(overflows > checks / 100);
  CHECK(ties > checks / 100);
}

TEST_CASE("the products that planners are known to get wrong") {
  using allot::rounding;
  CHECK(allot::scale(.57, 100, rounding::down).value == 56);
  CHECK(allot::scale(.29, 100, rounding::down).value == 28);
  CHECK(allot::scale(.9, 12'348'030'976, rounding::down).value == 11'113'227'878);
  CHECK(allot::scale(.85, 25'757'220'864, rounding::down).value == 21'893'637'734);
  CHECK(allot::scale(.5, 5, rounding::half_even).value == 2);
  CHECK(allot::scale(.5, 7, rounding::half_even).value == 4);
  CHECK(allot::scale(1.0, INT64_MAX, rounding::down).overflowed);  // the product is 2^63
  CHECK((checked{80} * 32768 * 8 * 128).value == 2'684'354'560);
}

TEST_CASE("byte literals are powers of two") {
  using namespace allot::literals;
  CHECK((1_KiB).count == 1024);
  CHECK((3_MiB).count == 3 * 1024 * 1024);
  CHECK((8_GiB).count == std::int64_t{8} * 1024 * 1024 * 1024);
  CHECK((8'589'934'591_GiB).count == INT64_MAX - ((std::int64_t{1} << 30) - 1));
}
