// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/core/checked.hpp>

#include <cstdint>

namespace allot {

/// How a step that leaves the integers comes back to them.
enum class rounding : std::uint8_t { down, up, half_even };

/// The largest count there is; as a bound it means "none".
inline constexpr std::int64_t unlimited = INT64_MAX;

/// \param dividend  >= 0
/// \param divisor   > 0
constexpr std::int64_t divide_up(std::int64_t dividend, std::int64_t divisor) {
  return dividend / divisor + (dividend % divisor != 0 ? 1 : 0);
}

/// \param value        >= 0
/// \param granularity  > 0
constexpr checked round_up(checked value, std::int64_t granularity) {
  if (value.overflowed || granularity == 1) { return value; }
  std::int64_t const rest = value.value % granularity;
  return rest == 0 ? value : value + (granularity - rest);
}

/// \param value        >= 0
/// \param granularity  > 0
constexpr std::int64_t round_down(std::int64_t value, std::int64_t granularity) {
  return value - value % granularity;
}

/// `ratio * value` as one IEEE double product, rounded once.
///
/// \param ratio  >= 0, finite
/// \param value  >= 0
/// \errors       overflowed when the product is 2^63 or more
constexpr checked scale(double ratio, checked value, rounding how) {
  if (value.overflowed) { return value; }
  double const product = ratio * static_cast<double>(value.value);
  if (!(product < 9223372036854775808.0)) { return checked::overflow(); }
  auto const whole = static_cast<std::int64_t>(product);
  double const rest = product - static_cast<double>(whole);
  if (how == rounding::up) { return checked{whole} + (rest > 0 ? 1 : 0); }
  if (how == rounding::half_even) {
    return checked{whole} + (rest > 0.5 || (rest == 0.5 && whole % 2 != 0) ? 1 : 0);
  }
  return whole;
}

}  // namespace allot
