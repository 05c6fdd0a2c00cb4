// SPDX-License-Identifier: Apache-2.0
// Common part of the decoders: modifier check and dispatch.
#include "checks.hpp"
#include "decode.hpp"

#include <iterator>
#include <set>
#include <sstream>

namespace ptxemu {
namespace {

// Everything the handlers either implement or may safely ignore. An unknown modifier makes the
// instruction unsupported: guessing would give wrong results silently.
char const kKnownModifiers[] =
    "global shared shared::cta shared::cluster local const param param::entry param::func "
    "volatile relaxed acquire release acq_rel weak sc cta gpu sys gl cluster nc to wide lo "
    "hi ls hs rn rz rm rp rna rni rzi rmi rpi ftz sat satfinite relu approx full add min max "
    "and or xor exch cas inc dec sync aligned warp arrive red popc all any ballot uni down "
    "up bfly idx eq ne lt le gt ge equ neu ltu leu gtu geu num nan NaN cc l r clamp wrap "
    "shiftamt row col m8n8 x1 x2 x4 trans async ca cg cs lu cv wb wt commit_group wait_group "
    "wait_all L1::no_allocate L1::evict_last L1::evict_first L1::evict_normal "
    "L1::evict_unchanged L2::cache_hint L2::64B L2::128B L2::256B L2 L1 proxy alias noftz "
    "finite infinite number notanumber normal subnormal v2 v4 v8 match wait "
    "launch_dependents fractional L2::evict_last L2::evict_first L2::evict_normal";

void check_modifiers(vector<string> const& parts) {
  static std::set<string> const known = [] {
    std::istringstream words(kKnownModifiers);
    return std::set<string>(std::istream_iterator<string>(words), {});
  }();
  for (size_t k = 1; k < parts.size(); k++) {
    if (!known.count(parts[k]) && !kTypeNames.count(parts[k]) && parts[k].rfind("m16n8k", 0) != 0) {
      throw Error("modifier ." + parts[k]);
    }
  }
}

}  // namespace

void require_modifiers(Decoder const& d, std::initializer_list<char const*> known) {
  for (size_t k = 1; k < d.parts.size(); k++) {
    bool ok = kTypeNames.count(d.parts[k]) != 0;
    for (char const* m : known)
      ok |= d.parts[k] == m;
    if (!ok) throw Error("modifier ." + d.parts[k]);
  }
}

bool Decoder::has(char const* modifier) const {
  return std::find(parts.begin() + 1, parts.end(), modifier) != parts.end();
}

void Decoder::dst(size_t k) {
  for (int r : ops.at(k).regs) {
    if (ins.num_dst == 8) throw Error("too many destinations");
    ins.dst[ins.num_dst++] = r < 0 ? parser.sink_reg() : r;
  }
  if (ops[k].pred_dst >= 0) ins.dst[ins.num_dst++] = ops[k].pred_dst;
}

void Decoder::src(size_t k) {
  for (int r : ops.at(k).regs) {
    if (ins.num_src == 16) throw Error("too many operands");
    ins.src[ins.num_src++] = r < 0 ? parser.const_reg(0) : r;
  }
}

void Decoder::rest(size_t k) {
  for (; k < ops.size(); k++)
    src(k);
}

void Decoder::address(size_t k) {
  ins.src[ins.num_src++] = ops.at(k).regs[0];
  ins.offset = ops[k].offset;
}

Space Decoder::space() const {
  if (has("global")) return Space::Global;
  if (has("shared") || has("shared::cta") || has("shared::cluster")) return Space::Shared;
  if (has("local")) return Space::Local;
  if (has("const")) return Space::Const;
  if (has("param") || has("param::entry") || has("param::func")) return Space::Param;
  return Space::Generic;
}

int Decoder::rounding() const {
  for (auto& p : parts) {
    if (p == "rn" || p == "rni") return RN;
    if (p == "rz" || p == "rzi") return RZ;
    if (p == "rm" || p == "rmi") return RM;
    if (p == "rp" || p == "rpi") return RP;
    if (p == "rna") return RNA;
  }
  return -1;
}

void Decoder::set(Handler h) {
  if (!h) throw Error("type");
  ins.handler = h;
}

void Decoder::set_rounded(Handler h) {
  set(h);
  ins.post_round = (ins.ftz || ins.sat) && ins.type == F32;
}

void Decoder::collective(int mask_reg, Handler h) {
  ins.kind = Kind::Collective;
  ins.mask_reg = mask_reg;
  set(h);
}

void no_operation(Warp&, Ins const&, u32) {}

void trap(Warp& w, Ins const&, u32 mask) {
  throw Error("trap: " + where(w, countr_zero(mask)));
}

void decode(Parser& parser, Ins& ins, vector<string> const& parts, vector<Operand>& ops) {
  Decoder d{parser, ins, parts, ops};
  for (size_t k = 1; k < parts.size(); k++) {
    auto it = kTypeNames.find(parts[k]);
    if (it != kTypeNames.end()) d.types.push_back(it->second);
  }
  if (d.types.size() > 0) ins.type = d.types[0];
  if (d.types.size() > 1) ins.type2 = d.types[1];
  ins.ftz = d.has("ftz");
  ins.sat = d.has("sat");
  if (decode_hopper(d)) return;  // checks its own modifiers
  check_modifiers(parts);
  if (decode_memory(d) || decode_control(d) || decode_collective(d) || decode_mma(d) ||
      decode_convert(d) || decode_integer(d) || decode_float(d)) {
    return;
  }
  throw Error("opcode " + d.op);
}

}  // namespace ptxemu
