// SPDX-License-Identifier: Apache-2.0
// Warp scheduler, block barriers, collectives and calls.
//
// Every lane has its own PC. The lanes at the lowest PC run first, which reconverges the code
// layouts that compilers produce; with PTXEMU_ORDER=rand<seed> a random group is chosen now and
// then. A collective waits until every live lane of its member mask has arrived.
#include "checks.hpp"
#include "decode.hpp"
#include "exec.hpp"
#include "small_floats.hpp"

#include <random>

namespace ptxemu {

Schedule g_schedule;
Statistics g_statistics;

namespace {

std::mt19937 g_random(1);

// Shared memory that the system keeps for itself; cooperative groups use it as scratch.
constexpr u64 kReservedBytes = 1024, kReservedRedZone = 128;

// Rounds in which all warps only waited for mbarriers before that is called a deadlock.
constexpr int kMaxBlockedRounds = 2000;

u64 max_steps() {
  static u64 const limit = env_bytes("PTXEMU_MAXSTEPS", 2000000000);
  return limit;
}

inline void advance(Warp& w, u32 lanes) {
  for_lanes(lanes, [&](int l) { w.pc[l]++; });
}

void apply_ftz_sat(Warp& w, Ins const& i, u32 lanes) {
  for_lanes(lanes, [&](int l) {
    float v = w.get<float>(i.dst[0], l);
    if (i.ftz) v = flush_denormal(v);
    if (i.sat) v = std::isnan(v) ? 0 : std::clamp(v, 0.0f, 1.0f);
    w.set(i.dst[0], l, v);
  });
}

// The random schedule picks the group of a random lane now and then.
u32 choose_pc(Warp const& w, u32 runnable) {
  if (g_schedule.order == WarpOrder::Random && (g_random() & 7) == 0) {
    for (int n = int(g_random() % popcount(runnable)); n--;)
      runnable &= runnable - 1;
    return w.pc[countr_zero(runnable)];
  }
  u32 pc = ~0u;
  for (u32 r = runnable; r; r &= r - 1)
    pc = min(pc, w.pc[countr_zero(r)]);
  return pc;
}

u32 lanes_at(Warp const& w, u32 pc, u32 lanes) {
  u32 group = 0;
  for (; lanes; lanes &= lanes - 1) {
    int l = countr_zero(lanes);
    if (w.pc[l] == pc) group |= 1u << l;
  }
  return group;
}

// Accumulators may not be read before wgmma.wait_group. Plain moves are let through: compilers may
// rename the registers of consecutive operations.
void check_accumulators(Warp const& w, Ins const& i, u32 lanes) {
  if (i.plain_move) return;
  for (int k = 0; k < i.num_src; k++) {
    if (!w.reg_in_flight[i.src[k]]) continue;
    report("WGMMA-EARLY",
           "accumulator used before wgmma.wait_group: " + where(w, countr_zero(lanes)));
    return;
  }
}

u32 lanes_that_exist(Block const& b, Warp const& w) {
  int n = b.num_threads - w.id * kWarpSize;
  return n < kWarpSize ? (1u << n) - 1 : kFullMask;
}

}  // namespace

void configure_schedule(bool interleaved) {
  char const* text = getenv("PTXEMU_ORDER");
  string order = text ? text : "fwd";
  g_schedule = Schedule();
  if (order.rfind("rev", 0) == 0) {
    g_schedule.order = WarpOrder::Reverse;
    g_schedule.reverse_blocks = order == "rev";  // "revw" reverses the warps only
  } else if (order.rfind("rand", 0) == 0) {
    g_schedule.order = WarpOrder::Random;
    g_random.seed(atoi(order.c_str() + 4));
  }
  if (interleaved) {
    g_schedule.quantum = g_schedule.order == WarpOrder::Random ? 1 + g_random() % 300 : 200;
  }
}

Machine::Machine(Module& module, Func& func, dim3 grid, dim3 block_dim, u64 dynamic_shared)
    : module_(module),
      func_(func),
      static_shared_(round_up(func.shared_bytes, module.dynamic_align)) {
  Block& b = block_;
  b.block_dim = block_dim;
  b.grid_dim = grid;
  b.module = &module;
  b.func = &func;
  b.dynamic_shared = dynamic_shared;
  b.num_threads = int(block_dim.x * block_dim.y * block_dim.z);
  b.num_warps = (b.num_threads + kWarpSize - 1) / kWarpSize;
  u64 shared_bytes = max<u64>(static_shared_ + dynamic_shared, 16);
  for (auto& [reg, which] : module.special_regs) {
    if (which != ReservedSmem0 && which != ReservedSmem1) continue;
    reserved_shared_ = round_up(shared_bytes, 128) + kReservedRedZone;
    shared_bytes = reserved_shared_ + kReservedBytes;
    break;
  }
  b.smem.resize(shared_bytes);
  b.shared_state.resize(b.smem.size());
  b.shared_shadow.resize(b.smem.size());
  for (Clocks& c : b.barrier_clocks)
    c.assign(b.num_warps + 1, 0);
  for (int k = 0; k < b.num_warps; k++) {
    auto w = std::make_unique<Warp>();
    w->block = &b;
    w->id = k;
    w->seen.assign(b.num_warps + 1, 0);
    w->storage.resize(u64(module.num_regs + 1) * kWarpSize);
    w->regs = reinterpret_cast<u64(*)[kWarpSize]>(w->storage.data());
    w->local.resize(kWarpSize);
    w->func_params.resize(kWarpSize);
    for (int l = 0; l < kWarpSize; l++) {
      w->local[l].resize(module.local_bytes);
      w->func_params[l].resize(module.func_param_bytes + 64);
    }
    for (auto& [reg, value] : module.constants) {
      for (int l = 0; l < kWarpSize; l++)
        w->regs[reg][l] = value;
    }
    warps_.push_back(std::move(w));
  }
  order_.resize(warps_.size());
}

void Machine::reset_memory() {
  Block& b = block_;
  memset(b.shared_state.data(), kUninit, b.shared_state.size());
  memset(b.smem.data(), 0xff, b.smem.size());
  auto red_zone = [&](u64 from, u64 to) {
    for (u64 k = from; k < min<u64>(to, b.shared_state.size()); k++)
      b.shared_state[k] = kRedZone;
  };
  for (auto& [offset, bytes] : func_.red_zones)
    red_zone(offset, offset + bytes);
  red_zone(func_.shared_bytes, static_shared_);
  if (reserved_shared_) {
    red_zone(static_shared_ + b.dynamic_shared, reserved_shared_);
    memset(&b.shared_state[reserved_shared_], kValid, kReservedBytes);
    memset(&b.smem[reserved_shared_], 0, kReservedBytes);
  }
  b.mbarriers.clear();
  b.bulk_loads.clear();
  memset(b.barrier_arrivals, 0, sizeof b.barrier_arrivals);
}

void Machine::set_special_registers(Warp& w, int l) {
  Block const& b = block_;
  u32 const t = w.id * kWarpSize + l;
  for (auto& [reg, which] : module_.special_regs) {
    u64 v = 0;
    switch (which) {
      case TidX: v = t % b.block_dim.x; break;
      case TidY: v = t / b.block_dim.x % b.block_dim.y; break;
      case TidZ: v = t / b.block_dim.x / b.block_dim.y; break;
      case NtidX: v = b.block_dim.x; break;
      case NtidY: v = b.block_dim.y; break;
      case NtidZ: v = b.block_dim.z; break;
      case CtaidX: v = b.block_idx.x; break;
      case CtaidY: v = b.block_idx.y; break;
      case CtaidZ: v = b.block_idx.z; break;
      case NctaidX: v = b.grid_dim.x; break;
      case NctaidY: v = b.grid_dim.y; break;
      case NctaidZ: v = b.grid_dim.z; break;
      case LaneId: v = l; break;
      case WarpId: v = w.id; break;
      case NWarpId: v = b.num_warps; break;
      case LaneMaskEq: v = 1u << l; break;
      case LaneMaskLt: v = (1u << l) - 1; break;
      case LaneMaskLe: v = u32((2ull << l) - 1); break;
      case LaneMaskGt: v = ~u32((2ull << l) - 1); break;
      case LaneMaskGe: v = ~((1u << l) - 1); break;
      case NSmId: v = max(env_int("PTXEMU_SMS", 4), 1); break;
      case SmId: v = b.linear_idx % max(env_int("PTXEMU_SMS", 4), 1); break;
      case DynSmemSize: v = b.dynamic_shared; break;
      case TotalSmemSize: v = static_shared_ + b.dynamic_shared; break;
      case ReservedSmem0: v = reserved_shared_; break;
      case ReservedSmem1: v = reserved_shared_ + kReservedBytes / 2; break;
      case DynSmemBase: v = static_shared_; break;
      case EnvReg1: v = u32(b.grid_workspace >> 32); break;
      case EnvReg2: v = u32(b.grid_workspace); break;
      case One: v = 1; break;
    }
    w.regs[reg][l] = v;
  }
}

void Machine::begin(uint3 block_idx) {
  Block& b = block_;
  b.block_idx = block_idx;
  b.linear_idx = (block_idx.z * b.grid_dim.y + block_idx.y) * b.grid_dim.x + block_idx.x;
  b.epoch++;
  reset_memory();
  // Order everything of the previous block before this one; the shadows need no clearing then.
  Clocks all(b.num_warps + 1, 0);
  for (auto& w : warps_)
    join_clocks(all, w->seen);
  for (auto& wp : warps_) {
    Warp& w = *wp;
    w.seen = all;
    w.seen[w.id]++;
    w.parked = w.at_barrier = w.carry = 0;
    w.warp_epoch++;
    w.wgmma_open.clear();
    w.wgmma_groups.clear();
    std::fill(w.reg_in_flight.begin(), w.reg_in_flight.end(), 0);
    w.wgmma_in_flight = false;
    w.alive = lanes_that_exist(b, w);
    for (int l = 0; l < kWarpSize; l++) {
      w.stack[l].clear();
      w.copies[l].clear();
      w.bulk_stores[l].clear();
      w.pc[l] = func_.start;
      set_special_registers(w, l);
    }
  }
  for (size_t k = 0; k < order_.size(); k++)
    order_[k] = int(k);
  steps_ = 0;
  blocked_rounds_ = 0;
  busy_ = true;
}

// Runs one warp for at most a quantum; returns whether anything was executed.
bool Machine::run_warp(Warp& w) {
  bool progress = false;
  u32 waiting = 0;         // lanes that just failed to wait; the others go first
  bool converged = false;  // all live lanes are at the same instruction
  w.mbarrier_wait = w.only_polls = false;
  for (u64 q = 0; q < g_schedule.quantum; q++) {
    u32 runnable = w.alive & ~w.parked & ~w.at_barrier;
    if (!runnable) return progress;
    u32 candidates = runnable & ~waiting;
    if (!candidates) {
      w.only_polls = w.mbarrier_wait;
      return progress;
    }
    u32 const pc = converged ? w.pc[countr_zero(runnable)] : choose_pc(w, candidates);
    Ins const& i = module_.code[pc];
    w.current = &i;
    u32 group = runnable;
    if (!converged) {
      group = lanes_at(w, pc, w.alive & ~w.at_barrier);
      converged = group == w.alive && !w.parked && !waiting;
      // Parked lanes take part again when more lanes reach their collective.
      if (i.kind != Kind::Collective) group &= ~w.parked;
    }
    if (i.pred >= 0) {
      u32 enabled = 0;
      for (u32 r = group; r; r &= r - 1) {
        int l = countr_zero(r);
        if (((w.regs[i.pred][l] & 1) != 0) != i.pred_negated) enabled |= 1u << l;
      }
      advance(w, group & ~enabled);
      group = enabled;
      if (!group) {
        progress = true;
        continue;
      }
    }
    g_statistics.warp_instructions++;
    g_statistics.thread_instructions += popcount(group);
    steps_++;
    progress = true;
    if (w.wgmma_in_flight) check_accumulators(w, i, group);
    if (i.kind == Kind::Simple) {
      i.handler(w, i, group);
      if (i.post_round) apply_ftz_sat(w, i, group);
      advance(w, group);
      if (w.yield) {
        w.yield = converged = false;
        waiting |= group;
      }
    } else {
      bool const whole_warp = group == w.alive;
      step(w, i, group, pc);
      // A collective may have served only the lanes that share a member mask.
      converged &= whole_warp && !w.parked &&
                   (i.kind == Kind::Branch || i.kind == Kind::Call ||
                    (i.kind == Kind::Collective && lanes_at(w, pc + 1, w.alive) == w.alive));
    }
  }
  return progress;
}

void Machine::step(Warp& w, Ins const& i, u32 lanes, u32 pc) {
  switch (i.kind) {
    case Kind::Branch: for_lanes(lanes, [&](int l) { w.pc[l] = i.target; }); break;
    case Kind::BranchIndexed:
      for_lanes(lanes, [&](int l) {
        u32 k = w.get<u32>(i.src[0], l);
        if (k >= i.list.size()) throw Error("brx.idx out of range: " + where(w, l));
        w.pc[l] = i.list[k];
      });
      break;
    case Kind::Exit: w.alive &= ~lanes; break;
    case Kind::Return: ret(w, lanes); break;
    case Kind::Call: call(w, i, lanes, pc); break;
    case Kind::Barrier: barrier(w, i, lanes); break;
    case Kind::Collective: collective(w, i, lanes); break;
    case Kind::Simple: break;
  }
}

void Machine::collective(Warp& w, Ins const& i, u32 lanes) {
  // Lanes that name different masks form separate groups: take the first runnable lane's.
  u32 const fresh = lanes & ~w.parked;
  u32 const mask = w.get<u32>(i.mask_reg, countr_zero(fresh ? fresh : lanes));
  u32 group = 0;
  for (u32 r = lanes; r; r &= r - 1) {
    int l = countr_zero(r);
    if (w.get<u32>(i.mask_reg, l) == mask) group |= 1u << l;
  }
  if (group & ~mask) {
    throw Error("lane not in its own membermask: " + where(w, countr_zero(group & ~mask)));
  }
  if (mask & lanes_that_exist(block_, w) & ~w.alive) {
    report("SYNC-EXITED", "membermask names exited lanes: " + where(w, countr_zero(group)));
  }
  if (mask & w.alive & ~group) {
    w.parked |= group;
    return;
  }
  i.handler(w, i, group);
  w.parked &= ~group;
  advance(w, group);
}

void Machine::barrier(Warp& w, Ins const& i, u32 lanes) {
  u32 ids = 0;
  for_lanes(lanes, [&](int l) {
    int id = w.get<u32>(i.src[0], l) & 15;
    ids |= 1u << id;
    w.barrier_id[l] = id;
    if (i.a == 1) {  // arrive: counts, but does not wait
      block_.barrier_arrivals[id]++;
      join_clocks(block_.barrier_clocks[id], w.seen);
      w.pc[l]++;
    } else {
      w.at_barrier |= 1u << l;
    }
  });
  if (i.a == 1) w.seen[w.id]++;
  for (; ids; ids &= ids - 1)
    try_release(countr_zero(ids));
}

void Machine::release_barriers() {
  u32 ids = 0;
  for (auto& w : warps_) {
    for (u32 r = w->at_barrier; r; r &= r - 1)
      ids |= 1u << w->barrier_id[countr_zero(r)];
  }
  for (; ids; ids &= ids - 1)
    try_release(countr_zero(ids));
}

void Machine::try_release(int id) {
  Block& b = block_;
  u32 waiting = 0, alive = 0, need = 0;
  Ins const* first = nullptr;
  auto for_waiting = [&](auto&& body) {
    for (auto& w : warps_) {
      for (u32 r = w->at_barrier; r; r &= r - 1) {
        int l = countr_zero(r);
        if (w->barrier_id[l] == id) body(*w, l, module_.code[w->pc[l]]);
      }
    }
  };
  for (auto& w : warps_)
    alive += popcount(w->alive);
  for_waiting([&](Warp& w, int l, Ins const& i) {
    waiting++;
    if (!first) first = &i;
    if (i.num_src > (i.a == 2 ? 2 : 1)) need = w.get<u32>(i.src[1], l);  // explicit thread count
  });
  if (!waiting) return;
  if (!need) need = alive;
  bool const partial = need < alive;
  if (waiting + b.barrier_arrivals[id] < need) return;
  // bar.red combines a predicate: 0 popc, 1 and, 2 or.
  u32 combined = first->b == 1 ? 1 : 0;
  if (first->a == 2) {
    for_waiting([&](Warp& w, int l, Ins const& i) {
      bool p = (w.regs[i.src[i.num_src - 1]][l] & 1) != u64(i.c);
      switch (first->b) {
        case 0: combined += p; break;
        case 1: combined &= p; break;
        case 2: combined |= p; break;
      }
    });
  }
  if (!partial) b.epoch++;
  // Everything before the barrier happens before everything after it.
  Clocks joined = b.barrier_clocks[id];
  for_waiting([&](Warp& w, int, Ins const&) { join_clocks(joined, w.seen); });
  for (auto& w : warps_) {
    u32 released = 0;
    for (u32 r = w->at_barrier; r; r &= r - 1) {
      int l = countr_zero(r);
      if (w->barrier_id[l] == id) released |= 1u << l;
    }
    if (!released) continue;
    for_lanes(released, [&](int l) {
      // Threads may arrive from different instructions: each has its own registers.
      if (first->a == 2) w->regs[module_.code[w->pc[l]].dst[0]][l] = combined;
      w->pc[l]++;
    });
    w->at_barrier &= ~released;
    join_clocks(w->seen, joined);
    w->seen[w->id]++;
    w->warp_epoch++;
  }
  std::fill(b.barrier_clocks[id].begin(), b.barrier_clocks[id].end(), 0);
  b.barrier_arrivals[id] = 0;
}

// Parameters are copied between fixed per-lane slots, hence no recursion.
void Machine::call(Warp& w, Ins const& i, u32 lanes, u32 pc) {
  Func const* f = i.call->callee;
  if (!f) {
    call_builtin(w, i, lanes);
    advance(w, lanes);
    return;
  }
  for_lanes(lanes, [&](int l) {
    for (Frame const& frame : w.stack[l]) {
      if (frame.call->callee == f) throw Error("recursion is not supported: " + where(w, l));
    }
    u8* params = w.func_params[l].data();
    for (size_t k = 0; k < i.call->args.size(); k++) {
      memcpy(params + f->params[k].addr, params + i.call->args[k].first, i.call->args[k].second);
    }
    w.stack[l].push_back({int(pc) + 1, i.call});
    w.pc[l] = f->start;
  });
}

void Machine::ret(Warp& w, u32 lanes) {
  for_lanes(lanes, [&](int l) {
    Frame frame = w.stack[l].back();
    w.stack[l].pop_back();
    Func const* f = frame.call->callee;
    u8* params = w.func_params[l].data();
    if (frame.call->ret >= 0 && !f->rets.empty()) {
      memcpy(params + frame.call->ret, params + f->rets[0].addr, f->rets[0].size);
    }
    w.pc[l] = frame.return_pc;
  });
}

bool Machine::slice() {
  u64 const sync_before = block_.sync_events;
  if (g_schedule.order == WarpOrder::Random) std::shuffle(order_.begin(), order_.end(), g_random);
  bool progress = false;
  bool const reverse = g_schedule.order == WarpOrder::Reverse;
  for (size_t k = 0; k < order_.size(); k++) {
    progress |= run_warp(*warps_[order_[reverse ? order_.size() - 1 - k : k]]);
  }
  if (steps_ > max_steps()) {
    throw Error("step limit exceeded (endless loop, or waiting for another block): " +
                where(*warps_[0], 0));
  }
  auto waiting_lanes = [&] {
    u32 n = 0;
    for (auto& w : warps_)
      n += popcount(w->at_barrier);
    return n;
  };
  u32 const before = waiting_lanes();
  release_barriers();  // exited threads no longer count
  u32 const after = waiting_lanes();
  bool alive = false;
  for (auto& w : warps_)
    alive |= w->alive != 0;
  if (!alive) {
    finish_block_async(block_, warps_);
    busy_ = false;
    return true;
  }
  if (!progress && before == after) deadlock();
  // Warps that poll an mbarrier do execute instructions, so count rounds in which nothing else
  // happened.
  bool only_polling = block_.sync_events == sync_before && before == after;
  for (auto& w : warps_) {
    only_polling &= w->only_polls || !(w->alive & ~w->parked & ~w->at_barrier);
  }
  blocked_rounds_ = only_polling ? blocked_rounds_ + 1 : 0;
  if (blocked_rounds_ > kMaxBlockedRounds) deadlock();
  return false;
}

void Machine::deadlock() {
  string text = "deadlock: ";
  for (auto& w : warps_) {
    if (!w->alive) continue;
    int l = countr_zero(w->alive);
    w->current = &module_.code[w->pc[l]];
    char line[100];
    snprintf(line, sizeof line, "\n  warp %d alive %08x parked %08x atbar %08x ", w->id, w->alive,
             w->parked, w->at_barrier);
    text += line + where(*w, l);
  }
  for (auto& [addr, m] : block_.mbarriers) {
    text += "\n  mbarrier at shared offset " + to_string(addr) + ": phase " + to_string(m.phase) +
            ", " + to_string(m.pending) + " of " + to_string(m.expected) + " arrivals missing, " +
            to_string(m.tx_bytes) + " bytes outstanding";
  }
  throw Error(text);
}

}  // namespace ptxemu
