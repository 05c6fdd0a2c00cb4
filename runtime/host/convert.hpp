// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/policy/element.hpp>

#include <cstdint>

/// Elements of rows to fp32 and back, without a branch, so that loops over them become vectors.
/// In the unnamed namespace, for each level of the instruction set is to have its own.
namespace allot::runtime::host {
namespace {

template <class To, class From>
To bits_as(From from) {
  return __builtin_bit_cast(To, from);
}

template <element Element>
struct stored;

template <>
struct stored<element::fp32> {
  using bits [[gnu::may_alias]] = float;
  static float load(float x) { return x; }
  static float store(float x) { return x; }
};

template <>
struct stored<element::bf16> {
  using bits [[gnu::may_alias]] = std::uint16_t;
  static float load(std::uint16_t x) { return bits_as<float>(std::uint32_t{x} << 16U); }
  static std::uint16_t store(float x) {
    auto const b = bits_as<std::uint32_t>(x);
    std::uint32_t const rounded = (b + 0x7FFFU + (b >> 16U & 1U)) >> 16U;
    std::uint32_t const nan = b >> 16U | 0x40U;
    return static_cast<std::uint16_t>((b & 0x7FFF'FFFFU) > 0x7F80'0000U ? nan : rounded);
  }
};

template <>
struct stored<element::fp16> {
  using bits [[gnu::may_alias]] = std::uint16_t;
  static float load(std::uint16_t x) {
    std::uint32_t const magnitude = x & 0x7FFFU;
    // The exponents of fp16 are those of fp32 less 112; a subnormal is what its bits are above the
    // smallest normal number, and infinity and NaN have all bits of the exponent set.
    std::uint32_t const normal = (magnitude << 13U) + (112U << 23U);
    float const twice = bits_as<float>(normal);
    auto const subnormal = bits_as<std::uint32_t>(twice + twice - 0x1p-14F);
    std::uint32_t const special = normal + (112U << 23U);
    std::uint32_t const finite = magnitude < 0x0400U ? subnormal : normal;
    std::uint32_t const all = magnitude >= 0x7C00U ? special : finite;
    return bits_as<float>(all | (x & 0x8000U) << 16U);
  }
  static std::uint16_t store(float x) {
    auto const b = bits_as<std::uint32_t>(x);
    std::uint32_t const magnitude = b & 0x7FFF'FFFFU;
    // Where the last bit of an fp16 subnormal is the last bit of a float near 0.5, adding 0.5
    // rounds; a normal number is rounded by a carry into the bits that stay.
    std::uint32_t const subnormal =
        bits_as<std::uint32_t>(bits_as<float>(magnitude) + 0.5F) - bits_as<std::uint32_t>(0.5F);
    std::uint32_t const normal =
        (magnitude - (112U << 23U) + 0x0FFFU + (magnitude >> 13U & 1U)) >> 13U;
    std::uint32_t const finite = magnitude < 0x3880'0000U ? subnormal : normal;
    std::uint32_t const bounded = magnitude >= 0x477F'F000U ? 0x7C00U : finite;
    std::uint32_t const nan = 0x7E00U | (magnitude >> 13U & 0x03FFU);
    std::uint32_t const all = magnitude > 0x7F80'0000U ? nan : bounded;
    return static_cast<std::uint16_t>(all | (b >> 16U & 0x8000U));
  }
};

/// e4m3 without infinities: all bits of exponent and mantissa set are NaN.
template <>
struct stored<element::fp8> {
  using bits = std::uint8_t;
  static float load(std::uint8_t x) {
    std::uint32_t const magnitude = x & 0x7FU;
    std::uint32_t const normal = (magnitude << 20U) + (120U << 23U);
    float const twice = bits_as<float>(normal);
    auto const subnormal = bits_as<std::uint32_t>(twice + twice - 0x1p-6F);
    std::uint32_t const number = magnitude < 0x08U ? subnormal : normal;
    std::uint32_t const all = magnitude == 0x7FU ? 0x7FC0'0000U : number;
    return bits_as<float>(all | (x & 0x80U) << 24U);
  }
  static std::uint8_t store(float x) {
    auto const b = bits_as<std::uint32_t>(x);
    std::uint32_t const magnitude = b & 0x7FFF'FFFFU;
    // The last bit of an e4m3 subnormal, 2^-9, is that of a float near 2^14.
    std::uint32_t const subnormal = bits_as<std::uint32_t>(bits_as<float>(magnitude) + 0x1p14F) -
                                    bits_as<std::uint32_t>(0x1p14F);
    std::uint32_t const normal =
        (magnitude - (120U << 23U) + 0x7'FFFFU + (magnitude >> 20U & 1U)) >> 20U;
    std::uint32_t const finite = magnitude < 0x3C80'0000U ? subnormal : normal;
    std::uint32_t const bounded = magnitude >= 0x43E0'0000U ? 0x7EU : finite;  // 448
    std::uint32_t const all = magnitude > 0x7F80'0000U ? 0x7FU : bounded;
    return static_cast<std::uint8_t>(all | (b >> 24U & 0x80U));
  }
};

template <element Element>
typename stored<Element>::bits const* elements_of(void const* row) {
  return static_cast<typename stored<Element>::bits const*>(row);
}

template <element Element>
typename stored<Element>::bits* elements_of(void* row) {
  return static_cast<typename stored<Element>::bits*>(row);
}

}  // namespace
}  // namespace allot::runtime::host
