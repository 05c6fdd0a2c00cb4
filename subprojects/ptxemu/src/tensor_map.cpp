// SPDX-License-Identifier: Apache-2.0
// cuTensorMapEncodeTiled: validates a tile description as documented and stores it.
#include "tensor_map.hpp"

namespace ptxemu {
namespace {

constexpr int kSuccess = 0, kInvalidValue = 1;  // CUresult

// Bytes per CUtensorMapDataType: u8 u16 u32 s32 u64 s64 f16 f32 f64 bf16 f32_ftz tf32 tf32_ftz.
constexpr u8 kElementBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};

}  // namespace

int encode_tiled_tensor_map(void* map, int data_type, u32 rank, void* base, u64 const* dims,
                            u64 const* strides, u32 const* box, u32 const* element_strides,
                            int interleave, int swizzle, int, int oob_fill) {
  if (!map || u64(map) % 64 || !base || u64(base) % 16 || rank < 1 || rank > 5)
    return kInvalidValue;
  if (data_type < 0 || data_type > 12 || interleave != 0 || swizzle < 0 || swizzle > 3) {
    return kInvalidValue;
  }
  TensorMap m{};
  m.magic = kTensorMapMagic;
  m.rank = u8(rank);
  m.data_type = u8(data_type);
  m.element_bytes = kElementBytes[data_type];
  m.swizzle = u8(swizzle);
  m.base = u64(base);
  m.nan_fill = oob_fill != 0;
  m.strides[0] = m.element_bytes;
  for (u32 k = 0; k < rank; k++) {
    if (!dims[k] || dims[k] > (1ull << 32) || !box[k] || box[k] > 256) return kInvalidValue;
    if (element_strides[k] != 1) return kInvalidValue;  // traversal strides are not emulated
    if (k && (strides[k - 1] % 16 || strides[k - 1] >= (1ull << 40))) return kInvalidValue;
    if (k) m.strides[k] = strides[k - 1];
    m.dims[k] = u32(min<u64>(dims[k], 0xffffffffu));
    m.box[k] = u16(box[k]);
    m.element_strides[k] = 1;
  }
  u32 const inner = box[0] * m.element_bytes;
  if (inner % 16) return kInvalidValue;
  if (swizzle && inner > (16u << swizzle)) return kInvalidValue;  // 32, 64 or 128 bytes
  memset(map, 0, 128);
  memcpy(map, &m, sizeof m);
  return kSuccess;
}

}  // namespace ptxemu
