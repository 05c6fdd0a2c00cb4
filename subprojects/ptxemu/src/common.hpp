// SPDX-License-Identifier: Apache-2.0
// Basic types, the error exception and environment helpers used everywhere.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace ptxemu {

using std::bit_cast;
using std::countr_zero;
using std::map;
using std::max;
using std::min;
using std::pair;
using std::popcount;
using std::string;
using std::to_string;
using std::unique_ptr;
using std::vector;

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using s8 = int8_t;
using s16 = int16_t;
using s32 = int32_t;
using s64 = int64_t;
using s128 = __int128;
using u128 = unsigned __int128;

inline constexpr int kWarpSize = 32;
inline constexpr u32 kFullMask = 0xffffffffu;

// Any condition that ends a kernel (illegal access, deadlock, trap) or a module load (bad PTX).
// `code` is the cudaError_t that later runtime calls return; 719 is cudaErrorLaunchFailure.
struct Error : std::runtime_error {
  explicit Error(std::string const& text, int error_code = 719)
      : std::runtime_error(text), code(error_code) {}
  int code;
};
inline constexpr int kIllegalAddress = 700, kAssert = 710, kMisaligned = 716;

inline int env_int(char const* name, int fallback) {
  char const* text = getenv(name);
  return text ? atoi(text) : fallback;
}

// Byte counts accept a K, M, G or T suffix (powers of 1024).
inline u64 env_bytes(char const* name, u64 fallback) {
  char const* text = getenv(name);
  if (!text) return fallback;
  char* end = nullptr;
  u64 value = strtoull(text, &end, 0);
  switch (*end) {
    case 't':
    case 'T': value <<= 10; [[fallthrough]];
    case 'g':
    case 'G': value <<= 10; [[fallthrough]];
    case 'm':
    case 'M': value <<= 10; [[fallthrough]];
    case 'k':
    case 'K': value <<= 10;
  }
  return value;
}

inline u64 round_up(u64 value, u64 step) {
  return (value + step - 1) / step * step;
}

}  // namespace ptxemu
