// SPDX-License-Identifier: Apache-2.0
// PTX scalar types, state spaces and special registers, with their spelling in PTX text.
#pragma once

#include "common.hpp"

namespace ptxemu {

enum Type : u8 {
  TypeNone,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  B8,
  B16,
  B32,
  B64,
  B128,
  F16,
  F16X2,
  BF16,
  BF16X2,
  F32,
  F64,
  PRED,
  E4M3,
  E5M2,
  E4M3X2,
  E5M2X2,
  TF32
};

inline map<string, Type> const kTypeNames = {
    {"u8", U8},     {"u16", U16},       {"u32", U32},       {"u64", U64},       {"s8", S8},
    {"s16", S16},   {"s32", S32},       {"s64", S64},       {"b8", B8},         {"b16", B16},
    {"b32", B32},   {"b64", B64},       {"b128", B128},     {"f16", F16},       {"f16x2", F16X2},
    {"bf16", BF16}, {"bf16x2", BF16X2}, {"f32", F32},       {"f64", F64},       {"pred", PRED},
    {"e4m3", E4M3}, {"e5m2", E5M2},     {"e4m3x2", E4M3X2}, {"e5m2x2", E5M2X2}, {"tf32", TF32}};

inline int type_size(Type t) {
  switch (t) {
    case U8:
    case S8:
    case B8:
    case PRED: return 1;
    case U16:
    case S16:
    case B16:
    case F16:
    case BF16:
    case E4M3X2:
    case E5M2X2: return 2;
    case U64:
    case S64:
    case B64:
    case F64: return 8;
    case B128: return 16;
    default: return 4;
  }
}

inline bool is_signed(Type t) {
  return t >= S8 && t <= S64;
}
inline bool is_float(Type t) {
  return t >= F16 && t <= F64;
}

// FuncParam is the .param space of a device function call (per lane), Param that of a kernel.
enum class Space : u8 { Generic, Global, Shared, Local, Const, Param, FuncParam };

enum SpecialReg {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  LaneId,
  WarpId,
  NWarpId,
  LaneMaskEq,
  LaneMaskLt,
  LaneMaskLe,
  LaneMaskGt,
  LaneMaskGe,
  SmId,
  NSmId,
  Clock,
  GlobalTimer,
  DynSmemSize,
  TotalSmemSize,
  Zero,
  One,
  DynSmemBase,
  ReservedSmem0,
  ReservedSmem1,
  EnvReg1,
  EnvReg2
};

// Clusters are not emulated: every block is a cluster of one.
inline map<string, int> const kSpecialRegNames = {{"%tid.x", TidX},
                                                  {"%tid.y", TidY},
                                                  {"%tid.z", TidZ},
                                                  {"%ntid.x", NtidX},
                                                  {"%ntid.y", NtidY},
                                                  {"%ntid.z", NtidZ},
                                                  {"%ctaid.x", CtaidX},
                                                  {"%ctaid.y", CtaidY},
                                                  {"%ctaid.z", CtaidZ},
                                                  {"%nctaid.x", NctaidX},
                                                  {"%nctaid.y", NctaidY},
                                                  {"%nctaid.z", NctaidZ},
                                                  {"%laneid", LaneId},
                                                  {"%warpid", WarpId},
                                                  {"%nwarpid", NWarpId},
                                                  {"%lanemask_eq", LaneMaskEq},
                                                  {"%lanemask_lt", LaneMaskLt},
                                                  {"%lanemask_le", LaneMaskLe},
                                                  {"%lanemask_gt", LaneMaskGt},
                                                  {"%lanemask_ge", LaneMaskGe},
                                                  {"%smid", SmId},
                                                  {"%nsmid", NSmId},
                                                  {"%clusterid.x", CtaidX},
                                                  {"%clusterid.y", CtaidY},
                                                  {"%clusterid.z", CtaidZ},
                                                  {"%nclusterid.x", NctaidX},
                                                  {"%nclusterid.y", NctaidY},
                                                  {"%nclusterid.z", NctaidZ},
                                                  {"%nsmid", NSmId},
                                                  {"%clock", Clock},
                                                  {"%clock64", Clock},
                                                  {"%globaltimer", GlobalTimer},
                                                  {"%globaltimer_lo", GlobalTimer},
                                                  {"%dynamic_smem_size", DynSmemSize},
                                                  {"%total_smem_size", TotalSmemSize},
                                                  {"%gridid", Zero},
                                                  {"%reserved_smem_offset_0", ReservedSmem0},
                                                  {"%reserved_smem_offset_1", ReservedSmem1},
                                                  {"%envreg1", EnvReg1},
                                                  {"%envreg2", EnvReg2},
                                                  {"%cluster_ctaid.x", Zero},
                                                  {"%cluster_ctaid.y", Zero},
                                                  {"%cluster_ctaid.z", Zero},
                                                  {"%cluster_ctarank", Zero},
                                                  {"%cluster_nctaid.x", One},
                                                  {"%cluster_nctaid.y", One},
                                                  {"%cluster_nctaid.z", One},
                                                  {"%cluster_nctarank", One},
                                                  {"%is_explicit_cluster", Zero}};

}  // namespace ptxemu
