// SPDX-License-Identifier: Apache-2.0
// State of a running thread block: warps, registers, shared memory and the bookkeeping that the
// checks need.
#pragma once

#include "ir.hpp"

#include <deque>
#include <vector_types.h>

namespace ptxemu {

// State of a byte of shared memory.
enum : u8 { kUninit = 0, kValid = 1, kRedZone = 2, kAsyncPending = 3 };

// Last accesses to one byte of shared memory. Ordering between warps is tracked with vector clocks
// (Warp::seen); within a warp with `warp_epoch`, which every __syncwarp advances.
struct SharedShadow {
  int writer = -1, reader = -1;  // thread index in the block
  u32 write_clock = 0, write_epoch = 0, read_clock = 0, read_epoch = 0;
  int read_row = -1;  // row of Block::read_rows when several warps read concurrently
  bool atomic_write = false;
};

// A cp.async that has been issued but not waited for.
struct PendingCopy {
  u32 dst;
  int bytes;
  u8 data[16];
};

struct Frame {
  int return_pc;
  Call* call;
};

// 1 KiB-aligned storage, so that swizzle patterns that depend on the address work as on hardware.
class SharedMemory {
 public:
  SharedMemory() = default;
  SharedMemory(SharedMemory const&) = delete;
  SharedMemory& operator=(SharedMemory const&) = delete;
  ~SharedMemory() { free(data_); }
  void resize(size_t n) {
    free(data_);
    size_ = n;
    data_ = static_cast<u8*>(aligned_alloc(1024, round_up(n + 64, 1024)));
  }
  u8* data() { return data_; }
  size_t size() const { return size_; }
  u8& operator[](size_t i) { return data_[i]; }

 private:
  u8* data_ = nullptr;
  size_t size_ = 0;
};

using Clocks = vector<u32>;  // one per warp, plus one for the asynchronous copy engine

inline void join_clocks(Clocks& into, Clocks const& from) {
  for (size_t k = 0; k < into.size(); k++)
    into[k] = max(into[k], from[k]);
}

// An mbarrier object. Its 64 bits in shared memory are opaque, so the state lives here.
struct MBarrier {
  u32 expected = 0, pending = 0;  // arrivals per phase, and still missing in this phase
  s64 tx_bytes = 0;               // outstanding transaction bytes
  u64 phase = 0;                  // number of completed phases
  int polls = 0;                  // failed waits in this phase
  Clocks arrived, released;       // happens-before of this phase and of the last completed one
};

// A contiguous part of a bulk copy; global 0 means zero fill (load) or nothing (store).
struct BulkPiece {
  u32 shared;
  u64 global;
  u32 bytes;
};

// A cp.async.bulk in flight.
struct BulkCopy {
  vector<BulkPiece> pieces;
  u64 bytes = 0;           // counted by the mbarrier
  u32 mbarrier = 0;        // completion of a load
  Type reduce = TypeNone;  // element type of cp.reduce.async.bulk.add
  Clocks issuer;           // what the issuing thread had seen
  string where;
};

struct Block {
  dim3 block_dim, grid_dim;
  uint3 block_idx{};
  u32 linear_idx = 0;
  SharedMemory smem;
  vector<u8> shared_state;
  vector<SharedShadow> shared_shadow;
  vector<Clocks> read_rows;
  vector<int> free_rows;
  u32 epoch = 1;  // advanced by every barrier of the whole block
  int num_threads = 0, num_warps = 0;
  u64 grid_workspace = 0;  // cooperative groups' grid barrier
  Module* module = nullptr;
  Func* func = nullptr;
  u64 dynamic_shared = 0;
  u32 barrier_arrivals[16] = {};  // from bar.arrive
  Clocks barrier_clocks[16];
  map<u32, MBarrier> mbarriers;  // by shared address
  std::deque<BulkCopy> bulk_loads;
  u64 sync_events = 0;  // progress made by mbarriers, for the deadlock check
  u32 async_clock = 0;  // time of the asynchronous copy engine
};

struct Warp {
  Block* block = nullptr;
  u64 (*regs)[kWarpSize] = nullptr;
  u32 pc[kWarpSize] = {};
  u32 alive = 0;
  u32 parked = 0;  // waiting in a collective
  u32 at_barrier = 0;
  int barrier_id[kWarpSize] = {};
  int id = 0;
  u32 warp_epoch = 1;
  Clocks seen;         // vector clock; seen[id] is this warp's own time
  bool yield = false;  // set by an instruction that waits for somebody else
  bool mbarrier_wait = false, only_polls = false;  // for the deadlock check
  u32 carry = 0;  // condition code of add.cc and friends, one bit per lane
  Ins const* current = nullptr;
  vector<u64> storage;
  vector<vector<u8>> local, func_params;
  vector<vector<PendingCopy>> copies[kWarpSize];  // groups of cp.async per lane
  vector<vector<BulkCopy>> bulk_stores[kWarpSize];
  // Accumulator registers of wgmma operations in flight: not committed yet, and per committed
  // group.
  vector<int> wgmma_open;
  std::deque<vector<int>> wgmma_groups;
  vector<u16> reg_in_flight;  // number of operations per register, empty if there never was one
  bool wgmma_in_flight = false;
  vector<Frame> stack[kWarpSize];

  template <class T>
  T get(int reg, int lane) const {
    T v;
    memcpy(&v, &regs[reg][lane], sizeof(T));
    return v;
  }
  template <class T>
  void set(int reg, int lane, T v) {
    u64 x = 0;
    memcpy(&x, &v, sizeof(T));
    regs[reg][lane] = x;
  }
};

template <class F>
inline __attribute__((always_inline)) void for_lanes(u32 mask, F&& body) {
  if (mask == kFullMask) {
    for (int lane = 0; lane < kWarpSize; lane++)
      body(lane);
  } else {
    for (; mask; mask &= mask - 1)
      body(countr_zero(mask));
  }
}

}  // namespace ptxemu
