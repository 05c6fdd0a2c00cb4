// SPDX-License-Identifier: Apache-2.0
// Hopper synchronisation: mbarrier, and the instructions that are hints or plain moves here.
//
// A phase of an mbarrier completes when all arrivals and all transaction bytes are in. Waiting
// threads learn, through the vector clocks, everything that the arriving threads had seen.
#include "checks.hpp"
#include "decode.hpp"

namespace ptxemu {
namespace {

// A failed wait first only returns false; copies land after every warp had the chance to poll once.
// Code that does not loop on the result then reads bytes that are still pending.
constexpr u32 kMaxArrivals = (1u << 20) - 1;

u32 shared_address(Warp const& w, Ins const& i, int l) {
  u64 a = w.regs[i.src[0]][l];
  u64 const base = u64(w.block->smem.data());
  if (i.space == Space::Generic) a -= base;  // a generic address of shared memory
  return u32(a + i.offset);
}

// Checks the access to the barrier object. Arriving and waiting are atomic; init and inval are
// ordinary writes that need ordering.
MBarrier& find_barrier(Warp& w, Ins const& i, int l, u32& address) {
  address = shared_address(w, i, l);
  if (address % 8) throw Error("misaligned mbarrier: " + where(w, l), kMisaligned);
  auto it = w.block->mbarriers.find(address);
  if (it == w.block->mbarriers.end()) {
    throw Error("mbarrier is not initialised: " + where(w, l));
  }
  check_shared(w, l, address, 8, true, true);
  return it->second;
}

void complete_phase_if_due(Block& b, MBarrier& m) {
  if (m.pending || m.tx_bytes) return;
  m.phase++;
  m.pending = m.expected;
  m.polls = 0;
  join_clocks(m.released, m.arrived);
  std::fill(m.arrived.begin(), m.arrived.end(), 0);
  b.sync_events++;
}

void initialise(Warp& w, Ins const& i, u32 mask) {
  for_lanes(mask, [&](int l) {
    u32 a = shared_address(w, i, l), count = w.get<u32>(i.src[1], l);
    if (a % 8) throw Error("misaligned mbarrier: " + where(w, l), kMisaligned);
    if (!count || count > kMaxArrivals) throw Error("mbarrier count: " + where(w, l));
    check_shared(w, l, a, 8, true, false);
    MBarrier m;
    m.expected = m.pending = count;
    m.arrived.assign(w.seen.size(), 0);
    m.released.assign(w.seen.size(), 0);
    w.block->mbarriers[a] = std::move(m);
  });
}

void invalidate(Warp& w, Ins const& i, u32 mask) {
  for_lanes(mask, [&](int l) {
    u32 a;
    find_barrier(w, i, l, a);
    check_shared(w, l, a, 8, true, false);
    w.block->mbarriers.erase(a);
  });
}

// Phase and missing arrivals, as returned by arrive.
u64 state_of(MBarrier const& m) {
  return m.phase << 32 | m.pending;
}

// a: bit 0 arrive, bit 1 expect_tx, bit 2 drop, bit 3 complete_tx. src: address, then the
// transaction bytes and/or the arrival count.
enum { kArrive = 1, kExpect = 2, kDrop = 4, kCompleteTx = 8 };

void arrive(Warp& w, Ins const& i, u32 mask) {
  for_lanes(mask, [&](int l) {
    u32 a;
    MBarrier& m = find_barrier(w, i, l, a);
    u32 const operand = i.num_src > 1 ? w.get<u32>(i.src[1], l) : 1;
    if (i.num_dst) w.regs[i.dst[0]][l] = state_of(m);
    if (i.a & kExpect) m.tx_bytes += operand;
    if (i.a & kCompleteTx) m.tx_bytes -= operand;
    if (i.a & kArrive) {
      u32 const count = i.a & kExpect ? 1 : operand;
      if (count > m.pending) throw Error("mbarrier: more arrivals than expected: " + where(w, l));
      m.pending -= count;
      if (i.a & kDrop) m.expected -= count;
      join_clocks(m.arrived, w.seen);
      w.seen[w.id]++;
      w.block->sync_events++;
    }
    complete_phase_if_due(*w.block, m);
  });
}

// a: the second operand is a parity, not a state.
void wait(Warp& w, Ins const& i, u32 mask) {
  u32 polled = ~0u;
  for_lanes(mask, [&](int l) {
    u32 a;
    MBarrier& m = find_barrier(w, i, l, a);
    u64 const operand = w.regs[i.src[1]][l];
    auto done = [&] { return i.a ? (m.phase & 1) != (operand & 1) : m.phase != operand >> 32; };
    bool complete = done();
    if (complete) {
      join_clocks(w.seen, m.released);
      w.warp_epoch++;
    } else {
      if (a != polled && ++m.polls > w.block->num_warps) land_bulk_loads(*w.block, a);
      polled = a;
      w.yield = w.mbarrier_wait = true;
    }
    w.regs[i.dst[0]][l] = complete;
  });
}

void pending_count(Warp& w, Ins const& i, u32 mask) {
  for_lanes(mask, [&](int l) { w.regs[i.dst[0]][l] = u32(w.regs[i.src[0]][l]); });
}

// cp.async.mbarrier.arrive: the lane's cp.async copies land now and count as one arrival (without
// .noinc the arrival is added to the expected ones first, so nothing changes).
void arrive_after_copies(Warp& w, Ins const& i, u32 mask) {
  for_lanes(mask, [&](int l) {
    u32 a;
    MBarrier& m = find_barrier(w, i, l, a);
    for (auto& group : w.copies[l]) {
      for (PendingCopy& p : group) {
        memset(&w.block->shared_state[p.dst], kValid, p.bytes);
        check_shared(w, l, p.dst, p.bytes, true, false);
        memcpy(&w.block->smem[p.dst], p.data, p.bytes);
      }
    }
    w.copies[l].clear();
    join_clocks(m.arrived, w.seen);
    w.seen[w.id]++;
    w.block->sync_events++;
    if (!i.a) return;
    if (!m.pending) throw Error("mbarrier: more arrivals than expected: " + where(w, l));
    m.pending--;
    complete_phase_if_due(*w.block, m);
  });
}

void copy_register(Warp& w, Ins const& i, u32 mask) {
  for_lanes(mask, [&](int l) { w.regs[i.dst[0]][l] = w.regs[i.src[0]][l]; });
}

void decode_mbarrier(Decoder& d) {
  require_modifiers(
      d, {"init", "inval", "arrive", "arrive_drop", "expect_tx", "complete_tx", "test_wait",
          "try_wait", "parity", "pending_count", "noComplete", "shared", "shared::cta",
          "shared::cluster", "release", "acquire", "relaxed", "cta", "cluster"});
  Ins& i = d.ins;
  i.space = d.space();
  if (d.has("init") || d.has("inval")) {
    d.address(0);
    d.rest(1);
    d.set(d.has("init") ? initialise : invalidate);
  } else if (d.has("test_wait") || d.has("try_wait")) {
    d.dst(0);
    d.address(1);
    d.src(2);
    i.a = d.has("parity");
    d.set(wait);
  } else if (d.has("pending_count")) {
    d.dst(0);
    d.src(1);
    d.set(pending_count);
  } else {
    if (d.has("arrive") || d.has("arrive_drop")) i.a |= kArrive;
    if (d.has("arrive_drop")) i.a |= kDrop;
    if (d.has("expect_tx")) i.a |= kExpect;
    if (d.has("complete_tx")) i.a |= kCompleteTx;
    size_t k = 0;
    if (i.a & kArrive) d.dst(k++);
    d.address(k);
    d.rest(k + 1);
    d.set(arrive);
  }
}

}  // namespace

void complete_transaction(Block& b, u32 mbarrier, u64 bytes, Clocks const& issuer) {
  auto it = b.mbarriers.find(mbarrier);
  if (it == b.mbarriers.end())
    throw Error("bulk copy completes on an mbarrier that does not exist");
  MBarrier& m = it->second;
  m.tx_bytes -= s64(bytes);
  join_clocks(m.arrived, issuer);
  m.arrived.back() = max(m.arrived.back(), b.async_clock);
  complete_phase_if_due(b, m);
  b.sync_events++;
}

bool decode_hopper(Decoder& d) {
  Ins& i = d.ins;
  string const& op = d.op;
  if (op == "mbarrier") {
    decode_mbarrier(d);
  } else if (op == "cp" && d.has("mbarrier")) {
    require_modifiers(d, {"async", "mbarrier", "arrive", "noinc", "shared", "shared::cta"});
    i.space = d.space();
    i.a = d.has("noinc");
    d.address(0);
    d.set(arrive_after_copies);
  } else if (op == "cp" && d.has("bulk")) {
    return decode_bulk_copy(d);
  } else if (op == "wgmma") {
    return decode_wgmma(d);
  } else if (op == "setmaxnreg" || op == "fence" || (op == "prefetch" && d.has("tensormap"))) {
    i.handler = no_operation;  // all fences: memory is sequentially consistent here
  } else if (op == "mapa" || op == "getctarank") {
    d.dst(0);  // the cluster is this block
    if (op == "mapa") {
      d.src(1);
    } else {
      i.src[i.num_src++] = d.parser.const_reg(0);
    }
    d.set(copy_register);
  } else {
    return false;
  }
  return true;
}

}  // namespace ptxemu
