// SPDX-License-Identifier: Apache-2.0
// Conversions between double/float and the 16-bit and 8-bit formats (round to nearest even), plus
// value wrappers so that the arithmetic templates can treat f16 and bf16 like built-in types.
#pragma once

#include "common.hpp"

namespace ptxemu {

inline float bf16_to_float(u16 bits) {
  return bit_cast<float>(u32(bits) << 16);
}

inline u16 float_to_bf16(float f) {
  u32 u = bit_cast<u32>(f);
  if ((u & 0x7fffffff) > 0x7f800000) return 0x7fff;  // canonical NaN
  return u16((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}

// Rounds to odd: a later rounding to a narrower format then equals a single rounding from double.
inline float double_to_float_odd(double d) {
  float f = float(d);
  if (std::isnan(d) || std::isinf(d) || double(f) == d) return f;
  u32 u = bit_cast<u32>(f);
  if (std::isinf(f)) return bit_cast<float>((u & 0x80000000) | 0x7f7fffff);
  if (fabs(double(f)) > fabs(d)) u--;
  return bit_cast<float>(u | 1);
}

inline float half_to_float(u16 bits) {
  return float(bit_cast<_Float16>(bits));
}

inline u16 double_to_half(double d) {
  if (std::isnan(d)) return 0x7fff;
  return bit_cast<u16>(_Float16(d));
}

struct Half {
  u16 bits;
  Half() = default;
  Half(double d) : bits(double_to_half(d)) {}
  operator float() const { return half_to_float(bits); }
};

struct Bfloat {
  u16 bits;
  Bfloat() = default;
  Bfloat(double d) : bits(float_to_bf16(double_to_float_odd(d))) {}
  operator float() const { return bf16_to_float(bits); }
};

// Two packed 16-bit values in one 32-bit register.
template <class T>
struct Pair16 {
  T lo, hi;
};

// Saturates to the largest finite value, as every PTX conversion to fp8 does (.satfinite).
inline u8 double_to_fp8(double x, bool e4m3) {
  int const mantissa = e4m3 ? 3 : 2, bias = e4m3 ? 7 : 15;
  u8 const largest = e4m3 ? 0x7e : 0x7b;
  u8 sign = std::signbit(x) ? 0x80 : 0;
  if (std::isnan(x)) return 0x7f;
  double a = fabs(x);
  if (a >= (e4m3 ? 448 : 57344)) return sign | largest;
  if (a == 0) return sign;
  int exponent;
  frexp(a, &exponent);
  exponent = max(exponent - 1, 1 - bias);
  u64 k = u64(nearbyint(ldexp(a, mantissa - exponent)));
  if (k >= (2ull << mantissa)) {
    exponent++;
    k >>= 1;
  }
  u64 bits = k < (1ull << mantissa)
                 ? k
                 : (u64(exponent + bias) << mantissa) | (k & ((1ull << mantissa) - 1));
  return sign | u8(min<u64>(bits, largest));
}

inline float fp8_to_float(u8 v, bool e4m3) {
  int const mantissa = e4m3 ? 3 : 2, bias = e4m3 ? 7 : 15;
  int e = (v & 0x7f) >> mantissa, m = v & ((1 << mantissa) - 1);
  if (e4m3 && (v & 0x7f) == 0x7f) return NAN;
  if (!e4m3 && e == 31) return m ? NAN : (v & 0x80 ? -INFINITY : INFINITY);
  float r = e ? ldexpf(float((1 << mantissa) | m), e - bias - mantissa)
              : ldexpf(float(m), 1 - bias - mantissa);
  return v & 0x80 ? -r : r;
}

// Denormals become a zero of the same sign (.ftz).
inline float flush_denormal(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? copysignf(0, x) : x;
}

}  // namespace ptxemu
