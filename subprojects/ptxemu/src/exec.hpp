// SPDX-License-Identifier: Apache-2.0
// Runs thread blocks. One Machine holds one resident block and is reused for the next ones.
#pragma once

#include "machine.hpp"

namespace ptxemu {

enum class WarpOrder { Forward, Reverse, Random };

// Scheduling of a launch, from PTXEMU_ORDER.
struct Schedule {
  WarpOrder order = WarpOrder::Forward;
  bool reverse_blocks = false;
  u64 quantum = 200000;  // instructions a warp may run before the next warp gets a turn
};
extern Schedule g_schedule;

struct Statistics {
  u64 warp_instructions = 0, thread_instructions = 0;
};
extern Statistics g_statistics;

void configure_schedule(bool interleaved);

class Machine {
 public:
  Machine(Module& module, Func& func, dim3 grid, dim3 block_dim, u64 dynamic_shared);
  void begin(uint3 block_idx);
  bool slice();  // gives every warp one quantum; true when the block has finished
  void run(uint3 block_idx) {
    begin(block_idx);
    while (!slice()) {}
  }
  bool busy() const { return busy_; }
  void set_grid_workspace(u64 p) { block_.grid_workspace = p; }

 private:
  void reset_memory();
  void set_special_registers(Warp& w, int lane);
  bool run_warp(Warp& w);
  void step(Warp& w, Ins const& i, u32 lanes, u32 pc);
  void collective(Warp& w, Ins const& i, u32 lanes);
  void barrier(Warp& w, Ins const& i, u32 lanes);
  void release_barriers();
  void try_release(int id);
  void call(Warp& w, Ins const& i, u32 lanes, u32 pc);
  void ret(Warp& w, u32 lanes);
  [[noreturn]] void deadlock();

  Block block_;
  vector<unique_ptr<Warp>> warps_;
  Module& module_;
  Func& func_;
  u64 static_shared_;
  u64 reserved_shared_ = 0;  // offset of the system's scratch memory, 0 if the module uses none
  vector<int> order_;
  bool busy_ = false;
  u64 steps_ = 0;
  int blocked_rounds_ = 0;
};

// vprintf and __assertfail.
void call_builtin(Warp& w, Ins const& i, u32 lanes);

}  // namespace ptxemu
