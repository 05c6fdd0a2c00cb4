// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "vectors.hpp"

#include <allot/policy/element.hpp>

#include <cstdint>

/// Elements of rows to fp32 and back, a vector at a time and without a branch. In the unnamed
/// namespace, as in vectors.hpp.
namespace allot::runtime::host {
namespace {

typedef std::int32_t ints __attribute__((vector_size(lanes * 4)));  // compared faster than unsigned
typedef std::uint16_t halves __attribute__((vector_size(lanes * 2)));
typedef std::uint8_t bytes __attribute__((vector_size(lanes)));

constexpr ints all(std::int32_t x) {
  return ints{} + x;
}

/// Elements as integers. g++ 12 makes several instructions of it, or one for each; and of the
/// intrinsics without a mask it says that they use what is uninitialised.
ints widen(halves x) {
#if defined(__AVX512F__)
  return (ints)_mm512_maskz_cvtepu16_epi32(0xFFFF, (__m256i)x);
#elif defined(__AVX2__)
  return (ints)_mm256_cvtepu16_epi32((__m128i)x);
#else
  return __builtin_convertvector(x, ints);
#endif
}
ints widen(bytes x) {
#if defined(__AVX512F__)
  return (ints)_mm512_maskz_cvtepu8_epi32(0xFFFF, (__m128i)x);
#elif defined(__AVX2__)
  return (ints)_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(__builtin_bit_cast(long long, x)));
#else
  return __builtin_convertvector(x, ints);
#endif
}

/// An element type: `bits` is what a row has of it, `load` and `store` are given `lanes` of them.
template <element Element>
struct stored;

template <>
struct stored<element::fp32> {
  using bits = floats;
  static floats load(floats x) { return x; }
  static floats store(floats x) { return x; }
};

template <>
struct stored<element::bf16> {
  using bits = halves;
  static floats load(halves x) { return (floats)(widen(x) << 16); }
  static halves store(floats x) {
    auto const b = (words)x;
    words const rounded = (b + 0x7FFFU + (b >> 16 & 1U)) >> 16;
    words const nan = b >> 16 | 0x40U;
    ints const is_nan = x != x;
    return __builtin_convertvector(is_nan ? nan : rounded, halves);
  }
};

template <>
struct stored<element::fp16> {
  using bits = halves;
  static floats load(halves x) {
#if defined(__AVX512F__)
    return (floats)_mm512_maskz_cvtph_ps(0xFFFF, (__m256i)x);
#elif defined(__F16C__)
    return (floats)_mm256_cvtph_ps((__m128i)x);
#else
    ints const b = widen(x);
    ints const magnitude = b & 0x7FFF;
    // The exponents of fp16 are those of fp32 less 112; a subnormal is what its bits are above the
    // smallest normal number, and infinity and NaN have all bits of the exponent set.
    ints const normal = (magnitude << 13) + (112 << 23);
    auto const once = (floats)normal;
    auto const subnormal = (ints)(once + once - 0x1p-14F);
    ints const special = normal + (112 << 23);
    ints const finite = magnitude < 0x0400 ? subnormal : normal;
    ints const any = magnitude >= 0x7C00 ? special : finite;
    return (floats)(any | (b & 0x8000) << 16);
#endif
  }
  static halves store(floats x) {
    auto const b = (ints)x;
    ints const magnitude = b & 0x7FFF'FFFF;
    // Where the last bit of an fp16 subnormal is the last bit of a float near 0.5, adding 0.5
    // rounds; a normal number is rounded by a carry into the bits that stay.
    ints const subnormal = (ints)((floats)magnitude + 0.5F) - (ints)every(0.5F);
    ints const normal = (magnitude - (112 << 23) + 0x0FFF + (magnitude >> 13 & 1)) >> 13;
    ints const finite = magnitude < 0x3880'0000 ? subnormal : normal;
    ints const bounded = magnitude >= 0x477F'F000 ? all(0x7C00) : finite;
    ints const nan = 0x7E00 | (magnitude >> 13 & 0x03FF);
    ints const any = magnitude > 0x7F80'0000 ? nan : bounded;
    return __builtin_convertvector(any | (b >> 16 & 0x8000), halves);
  }
};

/// e4m3 without infinities: all bits of exponent and mantissa set are NaN.
template <>
struct stored<element::fp8> {
  using bits = bytes;
  static floats load(bytes x) {
    ints const b = widen(x);
    ints const magnitude = b & 0x7F;
    ints const normal = (magnitude << 20) + (120 << 23);
    auto const once = (floats)normal;
    auto const subnormal = (ints)(once + once - 0x1p-6F);
    ints const number = magnitude < 0x08 ? subnormal : normal;
    ints const any = magnitude == 0x7F ? all(0x7FC0'0000) : number;
    return (floats)(any | (b & 0x80) << 24);
  }
  static bytes store(floats x) {
    auto const b = (ints)x;
    ints const magnitude = b & 0x7FFF'FFFF;
    // The last bit of an e4m3 subnormal, 2^-9, is that of a float near 2^14.
    ints const subnormal = (ints)((floats)magnitude + 0x1p14F) - (ints)every(0x1p14F);
    ints const normal = (magnitude - (120 << 23) + 0x7'FFFF + (magnitude >> 20 & 1)) >> 20;
    ints const finite = magnitude < 0x3C80'0000 ? subnormal : normal;
    ints const bounded = magnitude >= 0x43E0'0000 ? all(0x7E) : finite;  // 448
    ints const any = magnitude > 0x7F80'0000 ? all(0x7F) : bounded;
    return __builtin_convertvector(any | (b >> 24 & 0x80), bytes);
  }
};

template <element Element>
constexpr std::int64_t bytes_of = sizeof(typename stored<Element>::bits) / lanes;

/// `lanes` elements of a row, from element `at` on.
template <element Element>
floats load_elements(void const* row, std::int64_t at) {
  typename stored<Element>::bits x;
  __builtin_memcpy(&x, static_cast<char const*>(row) + at * bytes_of<Element>, sizeof x);
  return stored<Element>::load(x);
}

/// Two vectors of elements of a row to fp32.
template <element Element>
void load_two(float* out, void const* row, std::int64_t at) {
  store(out, load_elements<Element>(row, at));
  store(out + lanes, load_elements<Element>(row, at + lanes));
}

#if defined(__F16C__)
/// e4m3 is fp16 with three bits less of mantissa and one of exponent, 2^8 too large, which
/// conversion by the processor makes half the work of.
template <>
inline void load_two<element::fp8>(float* out, void const* row, std::int64_t at) {
  typedef std::int16_t shorts __attribute__((vector_size(lanes * 4)));
#if defined(__AVX512F__)
  __m256i x;
  __builtin_memcpy(&x, static_cast<char const*>(row) + at, sizeof x);
  auto const b = (shorts)_mm512_maskz_cvtepu8_epi16(0xFFFF'FFFF, x);
#else
  __m128i x;
  __builtin_memcpy(&x, static_cast<char const*>(row) + at, sizeof x);
  auto const b = (shorts)_mm256_cvtepu8_epi16(x);
#endif
  shorts const magnitude = (b & 0x7F) << 7;
  shorts const number = magnitude == 0x7F << 7 ? shorts{} + 0x7E00 : magnitude;
  auto const all = number | (b & 0x80) << 8;
  halves two[2];
  __builtin_memcpy(two, &all, sizeof all);
  store(out, stored<element::fp16>::load(two[0]) * 0x1p8F);
  store(out + lanes, stored<element::fp16>::load(two[1]) * 0x1p8F);
}
#endif

template <element Element>
void store_elements(void* row, std::int64_t at, floats x) {
  auto const bits = stored<Element>::store(x);
  __builtin_memcpy(static_cast<char*>(row) + at * bytes_of<Element>, &bits, sizeof bits);
}

/// Some elements at the end of a row, fewer than `lanes`; the others are 0.
template <element Element>
floats load_some(void const* row, std::int64_t at, std::int64_t count) {
  typename stored<Element>::bits x{};
  __builtin_memcpy(&x, static_cast<char const*>(row) + at * bytes_of<Element>,
                   static_cast<std::size_t>(count * bytes_of<Element>));
  return stored<Element>::load(x);
}

template <element Element>
void store_some(void* row, std::int64_t at, std::int64_t count, floats x) {
  auto const bits = stored<Element>::store(x);
  __builtin_memcpy(static_cast<char*>(row) + at * bytes_of<Element>, &bits,
                   static_cast<std::size_t>(count * bytes_of<Element>));
}

}  // namespace
}  // namespace allot::runtime::host
