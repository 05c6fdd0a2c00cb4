// SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(__AVX__)
#include <immintrin.h>
#endif

#include <cstdint>

/// Vectors of fp32 as wide as the level has registers, and what scores need of them. In the unnamed
/// namespace, as in convert.hpp.
namespace allot::runtime::host {
namespace {

#if defined(__AVX512F__)
constexpr int lanes = 16;
#elif defined(__AVX__)
constexpr int lanes = 8;
#else
constexpr int lanes = 4;
#endif

typedef float floats __attribute__((vector_size(lanes * 4)));
typedef std::uint64_t pairs __attribute__((vector_size(lanes * 4)));
typedef std::uint32_t words __attribute__((vector_size(lanes * 4)));

floats load(float const* p) {
  floats x;
  __builtin_memcpy(&x, p, sizeof x);
  return x;
}

void store(float* p, floats x) {
  __builtin_memcpy(p, &x, sizeof x);
}

floats every(float x) {
  return x - floats{};
}  // not x + 0, which is not x where x is -0

floats larger(floats a, floats b) {
  return a > b ? a : b;
}

template <int... I>
struct indices {};
template <int Count, int... I>
struct count_up : count_up<Count - 1, Count - 1, I...> {};
template <int... I>
struct count_up<0, I...> {
  using type = indices<I...>;
};
using lane_indices = typename count_up<lanes>::type;

/// Count floats, over and over: a load that the processor repeats by itself. g++ 12 does not see
/// that in a shuffle of what was loaded, hence the intrinsics.
template <int Count>
floats repeat(float const* p) {
  if constexpr (Count == 1) {
    return every(*p);
  } else if constexpr (Count == lanes) {
    return load(p);
  } else if constexpr (Count == 2) {
    std::uint64_t two;
    __builtin_memcpy(&two, p, sizeof two);
    return (floats)(pairs{} + two);
  } else {
#if defined(__AVX512F__)
    return Count == 4 ? (floats)_mm512_maskz_broadcast_f32x4(0xFFFF, _mm_loadu_ps(p))
                      : (floats)_mm512_maskz_broadcast_f32x8(0xFFFF, _mm256_loadu_ps(p));
#elif defined(__AVX__)
    return (floats)_mm256_broadcast_ps(reinterpret_cast<__m128 const*>(p));
#endif
  }
}

template <int... I>
floats add_neighbours(floats a, floats b, indices<I...>) {
  return __builtin_shufflevector(a, b, (2 * I)...) + __builtin_shufflevector(a, b, (2 * I + 1)...);
}

/// Of Count vectors, the sums of Count neighbours each, those of the first vector first.
template <int Count>
floats add_up(floats const* x) {
  if constexpr (Count == 1) {
    return x[0];
  } else {
    return add_neighbours(add_up<Count / 2>(x), add_up<Count / 2>(x + Count / 2), lane_indices{});
  }
}

/// e^x to about one unit in the last place for x <= 88; exactly 0 below -87.3, and of -inf; NaN of
/// NaN.
floats exponential(floats x) {
  // x = n ln 2 + r, |r| <= ln 2 / 2: n is in the last bits of a float that has no fraction.
  floats const magic = every(0x1.8p23F);
  floats const shifted = x * 0x1.715476p+0F + magic;
  floats const n = shifted - magic;
  floats const r = (x - n * 0x1.62e400p-1F) - n * 0x1.7f7d1cp-20F;
  // Cephes, expf
  floats p = r * 1.9875691500E-4F + 1.3981999507E-3F;
  p = p * r + 8.3334519073E-3F;
  p = p * r + 4.1665795894E-2F;
  p = p * r + 1.6666665459E-1F;
  p = p * r + 5.0000001201E-1F;
  p = p * (r * r) + r + 1.0F;
  auto const power = (floats)(((words)shifted + 127U) << 23U);  // 2^n
  floats const y = p * power;
  return x < -87.3F ? floats{} : y;
}

/// tanh to a few units in the last place.
floats hyperbolic_tangent(floats x) {
  // Cephes, tanhf
  floats const square = x * x;
  floats p = square * -5.70498872745E-3F + 2.06390887954E-2F;
  p = p * square - 5.37397155531E-2F;
  p = p * square + 1.33314422036E-1F;
  p = p * square - 3.33332819422E-1F;
  floats const near = p * square * x + x;
  floats const magnitude = x < 0.0F ? -x : x;
  floats const bounded = magnitude > 20.0F ? every(20.0F) : magnitude;
  floats const away = 1.0F - 2.0F / (exponential(bounded + bounded) + 1.0F);
  floats const far = x < 0.0F ? -away : away;
  return magnitude < 0.625F ? near : far;
}

}  // namespace
}  // namespace allot::runtime::host
