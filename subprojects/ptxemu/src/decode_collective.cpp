// SPDX-License-Identifier: Apache-2.0
// Warp collectives: the scheduler calls their handlers once all lanes of the member mask arrived.
#include "checks.hpp"
#include "decode.hpp"

namespace ptxemu {
namespace {

enum ShuffleMode { kUp, kDown, kButterfly, kIndex };

// a = ShuffleMode; src: value, lane operand, clamp operand (segment mask << 8 | clamp).
void shuffle(Warp& w, Ins const& i, u32 mask) {
  u64 source[kWarpSize];
  for (int l = 0; l < kWarpSize; l++)
    source[l] = w.regs[i.src[0]][l];
  for_lanes(mask, [&](int l) {
    int b = w.get<u32>(i.src[1], l) & 31, c = w.get<u32>(i.src[2], l);
    int segment = (c >> 8) & 31, clamp = c & 31;
    int max_lane = (l & segment) | (clamp & ~segment), min_lane = l & segment;
    int j;
    bool in_range;
    switch (i.a) {
      case kUp:
        j = l - b;
        in_range = j >= max_lane;
        break;
      case kDown:
        j = l + b;
        in_range = j <= max_lane;
        break;
      case kButterfly:
        j = l ^ b;
        in_range = j <= max_lane;
        break;
      default: j = min_lane | (b & ~segment); in_range = j <= max_lane;
    }
    if (!in_range) j = l;
    if (in_range && !(mask >> j & 1)) {
      report("SHFL-INACTIVE", "source lane " + to_string(j) + " " + where(w, l));
    }
    w.regs[i.dst[0]][l] = u32(source[j]);
    if (i.num_dst > 1) w.regs[i.dst[1]][l] = in_range;
  });
}

enum VoteMode { kBallot, kAny, kAll, kUni };

// a = VoteMode, c = negated predicate.
void vote(Warp& w, Ins const& i, u32 mask) {
  u32 v = 0;
  for_lanes(mask, [&](int l) {
    if ((w.regs[i.src[0]][l] & 1) != u64(i.c)) v |= 1u << l;
  });
  u64 r = i.a == kBallot ? v : i.a == kAny ? v != 0 : i.a == kAll ? v == mask : v == mask || v == 0;
  for_lanes(mask, [&](int l) { w.regs[i.dst[0]][l] = r; });
}

// a = match.all
void match(Warp& w, Ins const& i, u32 mask) {
  u64 value[kWarpSize];
  for (int l = 0; l < kWarpSize; l++) {
    u64 v = w.regs[i.src[0]][l];
    value[l] = type_size(i.type) == 8 ? v : u32(v);
  }
  for_lanes(mask, [&](int l) {
    u32 same = 0;
    for (int k = 0; k < kWarpSize; k++) {
      if ((mask >> k & 1) && value[k] == value[l]) same |= 1u << k;
    }
    w.regs[i.dst[0]][l] = !i.a || same == mask ? same : 0;
    if (i.a && i.num_dst > 1) w.regs[i.dst[1]][l] = same == mask;
  });
}

enum ReduceOp { kAdd, kMinimum, kMaximum, kAnd, kOr, kXor };

void reduce(Warp& w, Ins const& i, u32 mask) {
  bool first = true;
  s64 r = 0;
  for_lanes(mask, [&](int l) {
    s64 v = i.type == S32 ? s64(w.get<s32>(i.src[0], l)) : s64(w.get<u32>(i.src[0], l));
    if (first) {
      r = v;
      first = false;
      return;
    }
    switch (i.a) {
      case kAdd: r += v; break;
      case kMinimum: r = min(r, v); break;
      case kMaximum: r = max(r, v); break;
      case kAnd: r &= v; break;
      case kOr: r |= v; break;
      case kXor: r ^= v; break;
    }
  });
  for_lanes(mask, [&](int l) { w.regs[i.dst[0]][l] = u32(r); });
}

void elect(Warp& w, Ins const& i, u32 mask) {
  int leader = countr_zero(mask);
  for_lanes(mask, [&](int l) {
    w.regs[i.dst[0]][l] = leader;
    if (i.num_dst > 1) w.regs[i.dst[1]][l] = l == leader;
  });
}

void active_mask(Warp& w, Ins const& i, u32 mask) {
  for_lanes(mask, [&](int l) { w.regs[i.dst[0]][l] = mask; });
}

}  // namespace

bool decode_collective(Decoder& d) {
  Ins& i = d.ins;
  string const& op = d.op;
  if (op == "activemask") {
    d.dst(0);
    d.set(active_mask);
    return true;
  }
  if (op != "shfl" && op != "vote" && op != "match" && op != "redux" && op != "elect") return false;
  if (!d.has("sync")) throw Error("without .sync");
  d.dst(0);
  if (op == "shfl") {
    d.src(1);
    d.src(2);
    d.src(3);
    i.a = d.has("up") ? kUp : d.has("down") ? kDown : d.has("bfly") ? kButterfly : kIndex;
    d.collective(d.ops.at(4).regs[0], shuffle);
  } else if (op == "elect") {
    d.collective(d.ops.at(1).regs[0], elect);
  } else {
    d.src(1);
    int const mask_reg = d.ops.at(2).regs[0];
    if (op == "vote") {
      i.c = d.ops[1].negated;
      i.a = d.has("ballot") ? kBallot : d.has("any") ? kAny : d.has("all") ? kAll : kUni;
      d.collective(mask_reg, vote);
    } else if (op == "match") {
      i.a = d.has("all");
      d.collective(mask_reg, match);
    } else {
      if (is_float(i.type)) throw Error("redux on floats");
      i.a = d.has("add")   ? kAdd
            : d.has("min") ? kMinimum
            : d.has("max") ? kMaximum
            : d.has("and") ? kAnd
            : d.has("or")  ? kOr
                           : kXor;
      d.collective(mask_reg, reduce);
    }
  }
  return true;
}

}  // namespace ptxemu
