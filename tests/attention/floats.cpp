// SPDX-License-Identifier: Apache-2.0
#include "floats.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>

namespace attention_test {
namespace {

/// sign, exponent, fraction: the value is 1.fraction * 2^(exponent - bias), or where the exponent
/// is 0, 0.fraction * 2^(1 - bias).
struct format {
  int fraction_bits;
  int exponent_bits;
  bool has_infinity;  ///< else only an exponent and a fraction of ones is no number

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  code sign() const { return code{1} << (fraction_bits + exponent_bits); }
  code fraction() const { return (code{1} << fraction_bits) - 1; }
  code exponent() const { return (sign() - 1) ^ fraction(); }
  double most() const {
    return has_infinity ? std::ldexp(2.0 - std::ldexp(1.0, -fraction_bits), bias()) : 448.0;
  }
};

format format_of(element e) {
  switch (e) {
    case element::fp32: return {23, 8, true};
    case element::fp16: return {10, 5, true};
    case element::bf16: return {7, 8, true};
    case element::fp8: return {3, 4, false};
    case element::int8:
    case element::fp4: break;
  }
  throw std::logic_error("no format of rows");
}

std::vector<float> all_numbers(element e) {
  std::vector<float> out(std::size_t{1} << allot::bits_of(e));
  for (code c = 0; c < out.size(); ++c) {
    out[c] = static_cast<float>(number_of(e, c));
  }
  return out;
}

}  // namespace

bool is_nan(element e, code bits) {
  format const f = format_of(e);
  if (!f.has_infinity) { return (bits & ~f.sign()) == (f.exponent() | f.fraction()); }
  return (bits & f.exponent()) == f.exponent() && (bits & f.fraction()) != 0;
}

double number_of(element e, code bits) {
  format const f = format_of(e);
  double const sign = (bits & f.sign()) != 0 ? -1.0 : 1.0;
  if (is_nan(e, bits)) { return std::numeric_limits<double>::quiet_NaN(); }
  if (f.has_infinity && (bits & f.exponent()) == f.exponent()) {
    return sign * std::numeric_limits<double>::infinity();
  }
  auto const exponent = static_cast<int>((bits & f.exponent()) >> f.fraction_bits);
  double const fraction = std::ldexp(static_cast<double>(bits & f.fraction()), -f.fraction_bits);
  if (exponent == 0) { return sign * std::ldexp(fraction, 1 - f.bias()); }
  return sign * std::ldexp(1.0 + fraction, exponent - f.bias());
}

code nearest_code(element e, double value) {
  format const f = format_of(e);
  if (std::isnan(value)) { return f.exponent() | f.fraction(); }
  code const sign = std::signbit(value) ? f.sign() : 0;
  double const size = std::fabs(value);
  code const infinity = f.has_infinity ? f.exponent() : f.exponent() | (f.fraction() - 1);
  if (std::isinf(size)) { return sign | infinity; }
  int const least = 1 - f.bias();  // exponent of the smallest normal number
  int const exponent = size == 0 ? least : std::max(std::ilogb(size), least);
  double const step = std::ldexp(1.0, exponent - f.fraction_bits);
  double const rounded = std::nearbyint(size / step) * step;  // both are exact; ties go to even
  if (rounded > f.most()) { return sign | infinity; }
  if (rounded < std::ldexp(1.0, least)) { return sign | static_cast<code>(rounded / step); }
  int const top = std::ilogb(rounded);
  auto const significand = static_cast<code>(std::ldexp(rounded, f.fraction_bits - top));
  return sign | static_cast<code>(top + f.bias()) << f.fraction_bits | (significand & f.fraction());
}

float const* numbers(element e) {
  static std::vector<float> const fp16 = all_numbers(element::fp16);
  static std::vector<float> const bf16 = all_numbers(element::bf16);
  static std::vector<float> const fp8 = all_numbers(element::fp8);
  return (e == element::fp16 ? fp16 : e == element::bf16 ? bf16 : fp8).data();
}

std::vector<float> load_row(std::byte const* from, element e, std::int64_t dim) {
  std::vector<float> out(static_cast<std::size_t>(dim));
  if (e == element::fp32) {
    std::memcpy(out.data(), from, out.size() * sizeof(float));
    return out;
  }
  float const* const all = numbers(e);
  auto const take = [&](auto bits) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      std::memcpy(&bits, from + i * sizeof bits, sizeof bits);
      out[i] = all[bits];
    }
  };
  e == element::fp8 ? take(std::uint8_t{}) : take(std::uint16_t{});
  return out;
}

void store_row(std::byte* to, element e, std::vector<code> const& row) {
  auto const put = [&](auto bits) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      bits = static_cast<decltype(bits)>(row[i]);
      std::memcpy(to + i * sizeof bits, &bits, sizeof bits);
    }
  };
  if (e == element::fp32) {
    put(std::uint32_t{});
  } else {
    e == element::fp8 ? put(std::uint8_t{}) : put(std::uint16_t{});
  }
}

}  // namespace attention_test
