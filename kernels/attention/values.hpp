// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/attention/warp.hpp"

#include <allot/policy/element.hpp>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstddef>
#include <cstdint>

/// Elements in memory, and as the fp32 that is computed with.
namespace allot::kernels {

/// Bytes of an element of a row: fp32, fp16, bf16 or fp8.
__host__ __device__ constexpr int bytes_of(element e) {
  return e == element::fp32 ? 4 : e == element::fp8 ? 1 : 2;
}

/// \param row  fp16 or bf16 elements
__device__ inline float load_half(std::byte const* row, element dtype, std::int64_t index) {
  std::uint16_t const bits = reinterpret_cast<std::uint16_t const*>(row)[index];
  return dtype == element::fp16 ? __half2float(__ushort_as_half(bits))
                                : __bfloat162float(__ushort_as_bfloat16(bits));
}

/// Rounds to the nearest.
__device__ inline void store_half(std::byte* row, element dtype, std::int64_t index, float value) {
  reinterpret_cast<std::uint16_t*>(row)[index] =
      dtype == element::fp16 ? __half_as_ushort(__float2half_rn(value))
                             : __bfloat16_as_ushort(__float2bfloat16_rn(value));
}

/// The bits of an e4m3: to the nearest, 448 at most, and NaN stays NaN.
__device__ inline std::uint8_t fp8_of(float value) {
  return __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3);
}

/// Two neighbouring elements, the first one in the low bits.
template <element Element>
__device__ float2 two_values(std::uint32_t bits) {
  if constexpr (Element == element::bf16) {
    return {__uint_as_float(bits << 16), __uint_as_float(bits & 0xFFFF0000U)};
  } else if constexpr (Element == element::fp16) {
    __half2_raw const raw{static_cast<unsigned short>(bits),
                          static_cast<unsigned short>(bits >> 16)};
    return __half22float2(raw);
  } else {
#if __CUDA_ARCH__ >= 890
    auto const pair = static_cast<__nv_fp8x2_storage_t>(bits);
    return __half22float2(__nv_cvt_fp8x2_to_halfraw2(pair, __NV_E4M3));
#else
    // Moved into the fields of an fp16 it is the value times 2^-8, subnormals too. CUDA's own
    // conversion loops here.
    auto const value = [](std::uint32_t byte) {
      auto const moved = static_cast<unsigned short>((byte & 0x80U) << 8 | (byte & 0x7FU) << 7);
      return (byte & 0x7FU) == 0x7FU ? __uint_as_float(0x7FFFFFFFU)
                                     : __half2float(__ushort_as_half(moved)) * 256.0F;
    };
    return {value(bits & 0xFFU), value(bits >> 8 & 0xFFU)};
#endif
  }
}

/// The elements of a row that one lane works on: runs of `run` elements, each as wide a load as
/// divides the lane's share, the runs of the 32 lanes one behind the other.
template <element Element, int Dim>
struct lane_share {
  static_assert(Dim % warp_lanes == 0);

  static constexpr int elements = Dim / warp_lanes;
  static constexpr int widest = 16 / bytes_of(Element);
  static constexpr int run = (elements & -elements) < widest ? (elements & -elements) : widest;
  static constexpr int runs = elements / run;
  static constexpr int run_bytes = run * bytes_of(Element);
  static constexpr int run_words = (run_bytes + 3) / 4;

  /// Where in the row the lane's element `i` is.
  static __device__ int index(int lane, int i) {
    return (i / run * warp_lanes + lane) * run + i % run;
  }

  /// The lane's elements as they are in memory; zeros to begin with.
  struct packed {
    std::uint32_t words[runs][run_words] = {};

    /// \param row  on a multiple of 16 bytes
    __device__ void load(std::byte const* row, int lane) {
      std::byte const* const first = row + lane * run_bytes;
#pragma unroll
      for (int i = 0; i < runs; ++i) {
        load_run(first + i * warp_lanes * run_bytes, words[i]);
      }
    }

    __device__ void unpack(float (&values)[elements]) const {
#pragma unroll
      for (int i = 0; i < elements; i += run == 1 ? 1 : 2) {
        int const byte = i % run * bytes_of(Element);
        float2 const two = two_values<Element>(words[i / run][byte / 4] >> (byte % 4 * 8));
        values[i] = two.x;
        if constexpr (run > 1) { values[i + 1] = two.y; }
      }
    }

   private:
    static __device__ void load_run(std::byte const* at, std::uint32_t (&into)[run_words]) {
      if constexpr (run_bytes == 16) {
        uint4 const all = *reinterpret_cast<uint4 const*>(at);
        into[0] = all.x;
        into[1] = all.y;
        into[2] = all.z;
        into[3] = all.w;
      } else if constexpr (run_bytes == 8) {
        uint2 const both = *reinterpret_cast<uint2 const*>(at);
        into[0] = both.x;
        into[1] = both.y;
      } else if constexpr (run_bytes == 4) {
        into[0] = *reinterpret_cast<std::uint32_t const*>(at);
      } else if constexpr (run_bytes == 2) {
        into[0] = *reinterpret_cast<std::uint16_t const*>(at);
      } else {
        into[0] = *reinterpret_cast<std::uint8_t const*>(at);
      }
    }
  };
};

}  // namespace allot::kernels
