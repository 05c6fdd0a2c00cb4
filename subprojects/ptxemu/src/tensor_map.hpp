// SPDX-License-Identifier: Apache-2.0
// Contents of a CUtensorMap as cuTensorMapEncodeTiled fills it here. The real 128 bytes are opaque,
// so any layout will do.
#pragma once

#include "common.hpp"

namespace ptxemu {

inline constexpr u32 kTensorMapMagic = 0x58545450;

struct TensorMap {
  u32 magic;
  u8 rank, element_bytes, swizzle, data_type;
  u64 base;
  u64 strides[5];  // bytes; strides[0] is the element size
  u32 dims[5];
  u16 box[5];
  u8 element_strides[5];
  u8 nan_fill;
};
static_assert(sizeof(TensorMap) <= 128);

enum TensorSwizzle : u8 { kSwizzleNone, kSwizzle32, kSwizzle64, kSwizzle128 };

// Signature of cuTensorMapEncodeTiled with the enums as int; returns a CUresult.
int encode_tiled_tensor_map(void* map, int data_type, u32 rank, void* base, u64 const* dims,
                            u64 const* strides, u32 const* box, u32 const* element_strides,
                            int interleave, int swizzle, int l2_promotion, int oob_fill);

}  // namespace ptxemu
