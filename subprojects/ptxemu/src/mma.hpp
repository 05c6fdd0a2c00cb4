// SPDX-License-Identifier: Apache-2.0
// Element access shared by mma.sync and wgmma.
#pragma once

#include "ptx_types.hpp"
#include "small_floats.hpp"

namespace ptxemu {

// Element j of a 32-bit register that holds packed elements of type t.
inline double packed_element(u32 v, int j, Type t) {
  switch (t) {
    case F16: return half_to_float(u16(v >> (16 * j)));
    case BF16: return bf16_to_float(u16(v >> (16 * j)));
    case TF32:
    case F32: return bit_cast<float>(v & ~0x1fffu);
    case E4M3: return fp8_to_float(u8(v >> (8 * j)), true);
    case E5M2: return fp8_to_float(u8(v >> (8 * j)), false);
    case S8: return s8(v >> (8 * j));
    case U8: return u8(v >> (8 * j));
    default: throw Error("mma element type");
  }
}

inline int elements_per_register(Type t) {
  return t == F16 || t == BF16 ? 2 : t == TF32 ? 1 : 4;
}

}  // namespace ptxemu
