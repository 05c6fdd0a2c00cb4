// SPDX-License-Identifier: Apache-2.0
// Reports, and the address checks that every memory access goes through.
#pragma once

#include "machine.hpp"

namespace ptxemu {

struct CheckOptions {
  bool uninitialised, shared_races, global_races;
};
extern CheckOptions const kChecks;

// Increases with every kernel launch; global race shadows are per launch.
extern u32 launch_number;

// Prints "PTXEMU <kind>: <message>" (up to PTXEMU_MAXWARN times per kind) and counts it.
void report(string const& kind, string const& message);
u64 report_count();

// "kernel k block(x,y,z) thread t, PTX line n: text" of the instruction being executed.
string where(Warp const& w, int lane);

// Checks an access of `bytes` bytes and returns the host address of the data.
u8* resolve_address(Warp& w, Ins const& i, Space space, u64 addr, int bytes, int lane, bool store,
                    bool atomic = false);

// The shared-memory part of it, also used by asynchronous copies. Red zones and bounds throw.
void check_shared(Warp& w, int lane, u64 offset, int bytes, bool store, bool atomic);

// Marks a shared range as the target of a copy that has not landed yet.
void mark_async_pending(Block& b, u32 offset, u32 bytes);

// Data of an asynchronous copy arrives: the range becomes valid, written by the copy engine.
void land_async(Block& b, u32 offset, u32 bytes);

// Global memory without lane context (bulk copies): bounds and validity only.
u8* resolve_global(u64 addr, u64 bytes, bool store, string const& location);

}  // namespace ptxemu
