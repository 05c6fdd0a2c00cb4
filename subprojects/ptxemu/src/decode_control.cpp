// SPDX-License-Identifier: Apache-2.0
// Barriers, exits, fences, and instructions that are only hints here.
#include "checks.hpp"
#include "decode.hpp"

namespace ptxemu {
namespace {

void warp_barrier(Warp& w, Ins const&, u32) {
  w.warp_epoch++;
}

// Gives the other warps a turn: a spin loop makes no progress by itself.
void sleep(Warp& w, Ins const&, u32) {
  w.yield = true;
}

void zero_result(Warp& w, Ins const& i, u32 mask) {
  for_lanes(mask, [&](int l) { w.regs[i.dst[0]][l] = 0; });
}

// Ins::a: 0 sync, 1 arrive, 2 red; b: 0 popc, 1 and, 2 or; c: negated predicate.
// src: barrier number, [thread count], [predicate].
void decode_barrier(Decoder& d) {
  Ins& i = d.ins;
  if (d.has("warp")) {
    d.collective(d.ops.at(0).regs[0], warp_barrier);
    return;
  }
  if (d.has("cluster")) {  // a cluster is one block: arrive does nothing, wait is a block barrier
    i.handler = no_operation;
    if (d.has("wait")) {
      i.kind = Kind::Barrier;
      i.src[i.num_src++] = d.parser.const_reg(15);
    }
    return;
  }
  i.kind = Kind::Barrier;
  i.handler = no_operation;
  i.a = d.has("arrive") ? 1 : d.has("red") ? 2 : 0;
  size_t k = 0;
  if (i.a == 2) {
    d.dst(k++);
    i.b = d.has("popc") ? 0 : d.has("and") ? 1 : 2;
  }
  d.rest(k);
  if (i.a == 2 && d.ops.back().negated) i.c = 1;
  if (!i.num_src) i.src[i.num_src++] = d.parser.const_reg(0);
}

bool is_hint(string const& op) {
  static char const* const kHints[] = {"membar",         "fence",   "prefetch", "prefetchu",
                                       "griddepcontrol", "pmevent", "discard",  "applypriority"};
  for (char const* h : kHints) {
    if (op == h) return true;
  }
  return false;
}

}  // namespace

bool decode_control(Decoder& d) {
  Ins& i = d.ins;
  string const& op = d.op;
  if (op == "bar" || op == "barrier") {
    decode_barrier(d);
  } else if (is_hint(op)) {
    i.handler = no_operation;  // memory is sequentially consistent here
  } else if (op == "nanosleep") {
    i.handler = sleep;
  } else if (op == "createpolicy") {
    d.dst(0);
    d.set(zero_result);
  } else if (op == "exit") {
    i.kind = Kind::Exit;
    i.handler = no_operation;
  } else if (op == "ret") {
    i.kind = d.parser.in_entry() ? Kind::Exit : Kind::Return;
    i.handler = no_operation;
  } else if (op == "trap" || op == "brkpt") {
    i.handler = trap;
  } else {
    return false;
  }
  return true;
}

}  // namespace ptxemu
