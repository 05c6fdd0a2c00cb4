// SPDX-License-Identifier: Apache-2.0
// mma.sync m16n8k*, ldmatrix and stmatrix. Sums are formed in double and rounded once, so results
// are closer to exact than the tensor cores' own.
#include "checks.hpp"
#include "decode.hpp"
#include "mma.hpp"

namespace ptxemu {
namespace {

enum Accumulator { kFloat, kHalf, kInt };

// a = K, b = Accumulator, type/type2 = element types of A and B. Lane l holds rows g = l/4 and g+8
// of A and D, and column g of B; t = l%4 selects the elements within the row.
void mma(Warp& w, Ins const& i, u32 mask) {
  if (mask != kFullMask)
    throw Error("mma.sync with inactive lanes: " + where(w, countr_zero(mask)));
  int const K = i.a;
  int const e = elements_per_register(i.type);
  int const na = 16 * K / (32 * e), nb = 8 * K / (32 * e);
  static thread_local double A[16][64], B[64][8], D[16][8];
  for (int l = 0; l < kWarpSize; l++) {
    int const g = l >> 2, t = l & 3;
    for (int r = 0; r < na; r++) {
      for (int j = 0; j < e; j++) {
        A[g + 8 * (r & 1)][e * t + 4 * e * (r >> 1) + j] =
            packed_element(w.get<u32>(i.src[r], l), j, i.type);
      }
    }
    for (int r = 0; r < nb; r++) {
      for (int j = 0; j < e; j++) {
        B[e * t + 4 * e * r + j][g] = packed_element(w.get<u32>(i.src[na + r], l), j, i.type2);
      }
    }
  }
  for (int r = 0; r < 16; r++) {
    for (int c = 0; c < 8; c++) {
      double sum = 0;
      for (int k = 0; k < K; k++)
        sum += A[r][k] * B[k][c];
      D[r][c] = sum;
    }
  }
  int const* acc = &i.src[na + nb];
  for (int l = 0; l < kWarpSize; l++) {
    int const g = l >> 2, t = l & 3;
    if (i.b == kHalf) {
      for (int q = 0; q < 2; q++) {
        u32 c = w.get<u32>(acc[q], l);
        u32 lo = double_to_half(half_to_float(c) + D[g + 8 * q][2 * t]);
        u32 hi = double_to_half(half_to_float(c >> 16) + D[g + 8 * q][2 * t + 1]);
        w.regs[i.dst[q]][l] = lo | (hi << 16);
      }
      continue;
    }
    for (int q = 0; q < 4; q++) {
      double v = D[g + 8 * (q >> 1)][2 * t + (q & 1)];
      if (i.b == kInt) {
        w.regs[i.dst[q]][l] = u32(s32(w.get<s32>(acc[q], l) + s64(v)));
      } else {
        w.set<float>(i.dst[q], l, float(w.get<float>(acc[q], l) + v));
      }
    }
  }
}

// a = number of 8x8 matrices, b = .trans; lane 8*m+r gives the address of row r of matrix m.
u8* row_address(Warp& w, Ins const& i, int lane, bool store) {
  u64 a = w.regs[i.src[0]][lane] + i.offset;
  return resolve_address(w, i, i.space, i.space == Space::Shared ? u32(a) : a, 16, lane, store);
}

void load_matrix(Warp& w, Ins const& i, u32 mask) {
  u16 m[4][8][8];
  for (int k = 0; k < i.a; k++) {
    for (int r = 0; r < 8; r++)
      memcpy(m[k][r], row_address(w, i, k * 8 + r, false), 16);
  }
  for_lanes(mask, [&](int l) {
    int const r = l >> 2, c = 2 * (l & 3);
    for (int k = 0; k < i.a; k++) {
      u32 lo = i.b ? m[k][c][r] : m[k][r][c], hi = i.b ? m[k][c + 1][r] : m[k][r][c + 1];
      w.regs[i.dst[k]][l] = lo | (hi << 16);
    }
  });
}

void store_matrix(Warp& w, Ins const& i, u32) {
  for (int k = 0; k < i.a; k++) {
    for (int r = 0; r < 8; r++) {
      u16 row[8];
      for (int c = 0; c < 8; c++) {
        int const lane = i.b ? c * 4 + r / 2 : r * 4 + c / 2;
        row[c] = u16(w.get<u32>(i.src[1 + k], lane) >> (16 * ((i.b ? r : c) & 1)));
      }
      memcpy(row_address(w, i, k * 8 + r, true), row, 16);
    }
  }
}

void decode_mma_sync(Decoder& d) {
  Ins& i = d.ins;
  if (d.types.size() < 4) throw Error("mma types");
  string shape;
  for (auto& p : d.parts) {
    if (p.rfind("m16n8k", 0) == 0) shape = p;
  }
  if (shape.empty() || !d.has("sync")) throw Error("mma shape");
  i.a = atoi(shape.c_str() + 6);
  i.b = d.types[0] == F16 ? kHalf : d.types[0] == S32 ? kInt : kFloat;
  i.type = d.types[1];
  i.type2 = d.types[2];
  if (d.has("satfinite") && i.b == kInt) throw Error("mma.satfinite");
  d.dst(0);
  d.rest(1);
  d.collective(d.parser.const_reg(kFullMask), mma);
}

}  // namespace

bool decode_mma(Decoder& d) {
  Ins& i = d.ins;
  if (d.op == "mma") {
    decode_mma_sync(d);
    return true;
  }
  if (d.op != "ldmatrix" && d.op != "stmatrix") return false;
  i.space = d.space();
  i.a = d.has("x4") ? 4 : d.has("x2") ? 2 : 1;
  i.b = d.has("trans");
  if (d.op == "ldmatrix") {
    d.dst(0);
    d.address(1);
    d.collective(d.parser.const_reg(kFullMask), load_matrix);
  } else {
    d.address(0);
    d.src(1);
    d.collective(d.parser.const_reg(kFullMask), store_matrix);
  }
  return true;
}

}  // namespace ptxemu
