// SPDX-License-Identifier: Apache-2.0
// wgmma.mma_async with f32 accumulators. Every warp of the warpgroup computes its own 16 rows when
// it issues the instruction. The accumulators count as in flight until wgmma.wait_group.
#include "checks.hpp"
#include "decode.hpp"
#include "mma.hpp"

namespace ptxemu {
namespace {

// Shared memory matrix descriptor: 14-bit fields in units of 16 bytes, and the swizzle mode.
struct Descriptor {
  u32 start, leading, stride;
  int swizzle;  // number of address bits that are XORed: 0 none, 3 for 128 bytes
};

Descriptor decode_descriptor(u64 v, string const& location) {
  static int const kSwizzleBits[] = {0, 3, 2, 1};
  if ((v >> 49) & 7) throw Error("wgmma descriptor with a base offset: " + location);
  return {u32(v & 0x3fff) << 4, u32((v >> 16) & 0x3fff) << 4, u32((v >> 32) & 0x3fff) << 4,
          kSwizzleBits[v >> 62]};
}

// Reads 16 bytes (a row of a core matrix) at a logical offset from the descriptor's start.
void read_chunk(Warp& w, Descriptor const& d, u32 offset, u8* out) {
  u32 a = d.start + offset;
  a ^= ((a >> 7) & ((1u << d.swizzle) - 1)) << 4;
  check_shared(w, 0, a, 16, false, false);
  memcpy(out, &w.block->smem[a], 16);
}

// Fills m[row][k] for `rows` rows beginning at `first`, K elements of `type` each (32 bytes).
// K-major: 8 rows of 16 bytes (no swizzle) or of the swizzle width form an atom; `stride` leads to
// the next 8 rows, `leading` (no swizzle only) to the next 16 bytes in K.
void read_k_major(Warp& w, Descriptor const& d, Type type, int first, int rows, double (*m)[32]) {
  int const per_chunk = 4 * elements_per_register(type);
  u32 const row_bytes = d.swizzle ? 16u << d.swizzle : 16;
  for (int r = 0; r < rows; r++) {
    u32 const row = u32(first + r), base = row / 8 * d.stride + row % 8 * row_bytes;
    for (int chunk = 0; chunk < 2; chunk++) {
      u32 words[4];
      u8 bytes[16];
      read_chunk(w, d, base + chunk * (d.swizzle ? 16 : d.leading), bytes);
      memcpy(words, bytes, 16);
      for (int k = 0; k < per_chunk; k++) {
        int const e = elements_per_register(type);
        m[r][chunk * per_chunk + k] = packed_element(words[k / e], k % e, type);
      }
    }
  }
}

// MN-major (transposed), 16-bit types only: 8 values of K, each a run of the swizzle width (or of
// 16 bytes) along M/N, form an atom. Without swizzle `leading` goes to the next 8 values of K and
// `stride` to the next 8 rows; with swizzle `stride` goes along K and `leading` along M/N.
void read_mn_major(Warp& w, Descriptor const& d, Type type, int first, int rows, double (*m)[32]) {
  u32 const run = d.swizzle ? 8u << d.swizzle : 8;  // elements
  for (int k = 0; k < 16; k++) {
    for (int r = 0; r < rows; r += 8) {
      u32 const row = u32(first + r);
      u32 offset = d.swizzle
                       ? row / run * d.leading + row % run * 2 + k / 8 * d.stride + k % 8 * run * 2
                       : row / 8 * d.stride + k / 8 * d.leading + k % 8 * 16;
      u16 values[8];
      u8 bytes[16];
      read_chunk(w, d, offset, bytes);
      memcpy(values, bytes, 16);
      for (int j = 0; j < 8 && r + j < rows; j++)
        m[r + j][k] = packed_element(values[j], 0, type);
    }
  }
}

// list: D registers. src: A registers or descriptor, B descriptor, scale-d predicate.
// a: bit 0 A in registers, bits 1/2 A/B transposed, bits 3/4 A/B negated; b: N.
enum { kRegisters = 1, kTransA = 2, kTransB = 4, kNegateA = 8, kNegateB = 16 };

void mma_async(Warp& w, Ins const& i, u32 mask) {
  if (mask != kFullMask) throw Error("wgmma with inactive lanes: " + where(w, countr_zero(mask)));
  static thread_local double A[16][32], B[256][32];
  int const N = i.b, e = elements_per_register(i.type), K = 8 * e;
  int const first_row = w.id % 4 * 16;
  int next = 0;
  if (i.a & kRegisters) {
    for (int l = 0; l < kWarpSize; l++) {
      int const g = l >> 2, t = l & 3;
      for (int r = 0; r < 4; r++) {
        for (int j = 0; j < e; j++) {
          A[g + 8 * (r & 1)][e * t + 4 * e * (r >> 1) + j] =
              packed_element(w.get<u32>(i.src[r], l), j, i.type);
        }
      }
    }
    next = 4;
  } else {
    Descriptor d = decode_descriptor(w.regs[i.src[next++]][0], where(w, 0));
    (i.a & kTransA ? read_mn_major : read_k_major)(w, d, i.type, first_row, 16, A);
  }
  Descriptor d = decode_descriptor(w.regs[i.src[next++]][0], where(w, 0));
  (i.a & kTransB ? read_mn_major : read_k_major)(w, d, i.type2, 0, N, B);
  bool const accumulate = w.regs[i.src[next]][0] & 1;
  double const sign = ((i.a & kNegateA) != 0) != ((i.a & kNegateB) != 0) ? -1 : 1;
  // Lane l holds rows l/4 and l/4+8, and in every group of 8 columns the pair 2*(l%4), +1.
  for (int l = 0; l < kWarpSize; l++) {
    for (int q = 0; q < N / 2; q++) {
      int const row = (l >> 2) + 8 * ((q >> 1) & 1), col = 8 * (q >> 2) + 2 * (l & 3) + (q & 1);
      double sum = 0;
      for (int k = 0; k < K; k++)
        sum += A[row][k] * B[col][k];
      float old = accumulate ? w.get<float>(i.list[q], l) : 0;
      w.set<float>(i.list[q], l, float(old + sign * sum));
    }
  }
  if (w.reg_in_flight.empty()) w.reg_in_flight.resize(w.block->module->num_regs + 1);
  for (int r : i.list)
    w.reg_in_flight[r]++;
  w.wgmma_open.insert(w.wgmma_open.end(), i.list.begin(), i.list.end());
  w.wgmma_in_flight = true;
}

void commit(Warp& w, Ins const&, u32) {
  w.wgmma_groups.push_back(std::move(w.wgmma_open));
  w.wgmma_open.clear();
}

// a = number of newest groups that may stay in flight.
void wait_group(Warp& w, Ins const& i, u32) {
  while (w.wgmma_groups.size() > size_t(i.a)) {
    for (int r : w.wgmma_groups.front())
      w.reg_in_flight[r]--;
    w.wgmma_groups.pop_front();
  }
  w.wgmma_in_flight = !w.wgmma_open.empty();
  for (auto& g : w.wgmma_groups)
    w.wgmma_in_flight |= !g.empty();
}

}  // namespace

bool decode_wgmma(Decoder& d) {
  Ins& i = d.ins;
  int const all = d.parser.const_reg(kFullMask);
  if (d.has("fence")) {
    i.handler = no_operation;
    return true;
  }
  if (d.has("commit_group")) {
    d.collective(all, commit);
    return true;
  }
  if (d.has("wait_group")) {
    i.a = d.parser.const_value(d.ops.at(0).regs[0]);
    d.collective(all, wait_group);
    return true;
  }
  string shape;
  for (auto& p : d.parts) {
    if (p.rfind("m64n", 0) == 0) shape = p;
  }
  if (!d.has("mma_async") || shape.empty() || d.types.size() != 3) throw Error("wgmma form");
  require_modifiers(d, {"mma_async", "sync", "aligned", shape.c_str()});
  i.b = atoi(shape.c_str() + 4);
  i.type = d.types[1];
  i.type2 = d.types[2];
  bool const narrow = i.type == E4M3 || i.type == E5M2, half = i.type == F16 || i.type == BF16;
  if (d.types[0] != F32 || (!narrow && !half && i.type != TF32)) throw Error("wgmma types");
  if (atoi(shape.c_str() + shape.find('k') + 1) != 8 * elements_per_register(i.type)) {
    throw Error("wgmma shape");
  }
  i.list = d.ops.at(0).regs;
  if (int(i.list.size()) != i.b / 2) throw Error("wgmma accumulator registers");
  bool const registers = d.ops.at(1).regs.size() == 4;
  if (registers) i.a |= kRegisters;
  d.src(1);
  d.src(2);
  d.src(3);
  auto immediate = [&](size_t k) {
    return k < d.ops.size() ? d.parser.const_value(d.ops[k].regs[0]) : 0;
  };
  if (immediate(4) == -1) i.a |= kNegateA;
  if (immediate(5) == -1) i.a |= kNegateB;
  if (half) {  // only these have the transpose operands; A in registers has none for A
    if (!registers && immediate(6)) i.a |= kTransA;
    if (immediate(registers ? 6 : 7)) i.a |= kTransB;
  }
  d.collective(all, mma_async);
  return true;
}

}  // namespace ptxemu
