// SPDX-License-Identifier: Apache-2.0
// Reports, exit summary, and the checks on memory accesses.
#include "checks.hpp"
#include "memory.hpp"

#include <cstdio>
#include <unistd.h>

namespace ptxemu {

CheckOptions const kChecks = {env_int("PTXEMU_INIT", 1) != 0, env_int("PTXEMU_RACE", 1) != 0,
                              env_int("PTXEMU_GRACE", 0) != 0};
u32 launch_number = 1;

namespace {

constexpr int kStrictExitCode = 86;

map<string, u64>& counts() {
  static auto* c = new map<string, u64>;
  return *c;
}

// Runs after the program's own static destructors.
__attribute__((destructor)) void finish() {
  bool const strict = env_int("PTXEMU_STRICT", 0) != 0;
  u64 total = report_count();
  if (total || strict) {
    string line = "PTXEMU summary: " + to_string(total) + " reports, " +
                  to_string(launch_number - 1) + " kernel launches";
    for (auto& [kind, n] : counts())
      line += ", " + kind + " " + to_string(n);
    fflush(nullptr);
    fprintf(stderr, "%s\n", line.c_str());
  }
  if (strict && total) {
    fflush(nullptr);
    _exit(kStrictExitCode);
  }
}

// True if all `n` state bytes are kValid.
inline bool all_valid(u8 const* state, int n) {
  switch (n) {
    case 1: return *state == 1;
    case 2: {
      u16 v;
      memcpy(&v, state, 2);
      return v == 0x0101;
    }
    case 4: {
      u32 v;
      memcpy(&v, state, 4);
      return v == 0x01010101u;
    }
    case 8: {
      u64 v;
      memcpy(&v, state, 8);
      return v == 0x0101010101010101ull;
    }
  }
  for (int k = 0; k < n; k++) {
    if (state[k] != 1) return false;
  }
  return true;
}

void check_global_race(Warp& w, int lane, Allocation& a, u64 offset, int bytes, bool store,
                       bool strong) {
  Block& b = *w.block;
  if (a.shadow_launch != launch_number) {
    a.shadow.assign((a.size + 3) / 4, GlobalShadow());
    a.shadow_launch = launch_number;
  }
  int thread = w.id * kWarpSize + lane, block = b.linear_idx;
  // Another block is never ordered; another warp of this block only by a barrier.
  auto conflicts = [&](int other_block, int other_thread, u32 epoch) {
    return other_block >= 0 &&
           (other_block != block || (other_thread != thread && epoch == b.epoch &&
                                     other_thread / kWarpSize != thread / kWarpSize));
  };
  for (u64 k = offset / 4; k < (offset + bytes + 3) / 4; k++) {
    GlobalShadow& s = a.shadow[k];
    if (conflicts(s.write_block, s.write_thread, s.write_epoch) && !(strong && s.strong_write)) {
      report("RACE-GLOBAL", string(store ? "write" : "read") + " after write by block " +
                                to_string(s.write_block) + " thread " + to_string(s.write_thread) +
                                " " + where(w, lane));
      s = GlobalShadow();
      return;
    }
    if (store && !strong && conflicts(s.read_block, s.read_thread, s.read_epoch)) {
      report("RACE-GLOBAL", "write after read by block " + to_string(s.read_block) + " thread " +
                                to_string(s.read_thread) + " " + where(w, lane));
      s = GlobalShadow();
      return;
    }
    if (store) {
      s.write_block = block;
      s.write_thread = thread;
      s.write_epoch = b.epoch;
      s.strong_write = strong;
    } else if (!strong && !(s.read_block >= 0 && s.read_block != block)) {
      s.read_block = block;
      s.read_thread = thread;
      s.read_epoch = b.epoch;
    }
  }
}

void drop_readers(Block& b, SharedShadow& s) {
  if (s.read_row >= 0) {
    b.free_rows.push_back(s.read_row);
    s.read_row = -1;
  }
  s.reader = -1;
}

int new_row(Block& b, size_t width) {
  if (b.free_rows.empty()) {
    b.read_rows.emplace_back(width, 0);
    return int(b.read_rows.size()) - 1;
  }
  int row = b.free_rows.back();
  b.free_rows.pop_back();
  std::fill(b.read_rows[row].begin(), b.read_rows[row].end(), 0);
  return row;
}

// Returns the thread whose earlier read of this byte is not ordered before a write by `thread`,
// or -1.
int unordered_reader(Warp const& w, SharedShadow const& s, int thread) {
  if (s.read_row >= 0) {
    Clocks const& row = w.block->read_rows[s.read_row];
    for (size_t v = 0; v < row.size(); v++) {
      if (int(v) != w.id && row[v] > w.seen[v]) return int(v) * kWarpSize;
    }
  }
  if (s.reader < 0 || s.reader == thread) return -1;
  if (s.reader / kWarpSize == w.id) return s.read_epoch == w.warp_epoch ? s.reader : -1;
  return s.read_row < 0 && s.read_clock > w.seen[s.reader / kWarpSize] ? s.reader : -1;
}

void record_read(Warp& w, SharedShadow& s, int thread) {
  u32 now = w.seen[w.id];
  if (s.read_row >= 0) {
    w.block->read_rows[s.read_row][w.id] = now;
  } else if (s.reader >= 0) {
    int other = s.reader / kWarpSize;
    // A reader that is ordered before this one is covered by it; a concurrent one is not.
    if (other != w.id && s.read_clock > w.seen[other]) {
      s.read_row = new_row(*w.block, w.seen.size());
      w.block->read_rows[s.read_row][other] = s.read_clock;
      w.block->read_rows[s.read_row][w.id] = now;
    }
  }
  s.reader = thread;
  s.read_clock = now;
  s.read_epoch = w.warp_epoch;
}

void check_shared_race(Warp& w, int lane, u64 offset, int bytes, bool store, bool atomic) {
  Block& b = *w.block;
  int thread = w.id * kWarpSize + lane;
  for (int k = 0; k < bytes; k++) {
    SharedShadow& s = b.shared_shadow[offset + k];
    char const* what = nullptr;
    int other = -1;
    if (s.writer >= 0 && s.writer != thread && !(atomic && s.atomic_write)) {
      int writer_warp = s.writer / kWarpSize;
      bool unordered =
          writer_warp == w.id ? s.write_epoch == w.warp_epoch : s.write_clock > w.seen[writer_warp];
      if (unordered) {
        what = store ? "write-after-write" : "read-after-write";
        other = s.writer;
      }
    }
    if (!what && store && !atomic) {
      other = unordered_reader(w, s, thread);
      if (other >= 0) what = "write-after-read";
    }
    if (what) {
      string who =
          other >= b.num_warps * kWarpSize ? "asynchronous copy" : "thread " + to_string(other);
      report("RACE-SHARED", string(what) + " offset " + to_string(offset + k) + " other " + who +
                                " " + where(w, lane));
      drop_readers(b, s);
      s = SharedShadow();
      return;
    }
    if (store) {
      if (!atomic) drop_readers(b, s);
      s.writer = thread;
      s.write_clock = w.seen[w.id];
      s.write_epoch = w.warp_epoch;
      s.atomic_write = atomic;
    } else {
      record_read(w, s, thread);
    }
  }
}

}  // namespace

void report(string const& kind, string const& message) {
  static u64 const limit = env_int("PTXEMU_MAXWARN", 20);
  if (counts()[kind] < limit) { fprintf(stderr, "PTXEMU %s: %s\n", kind.c_str(), message.c_str()); }
  counts()[kind]++;
}

u64 report_count() {
  u64 total = 0;
  for (auto& [kind, n] : counts())
    total += n;
  return total;
}

string where(Warp const& w, int lane) {
  Block const& b = *w.block;
  char text[500];
  snprintf(text, sizeof text, "kernel %s block(%u,%u,%u) thread %d, PTX line %d: %s",
           b.func->name.c_str(), b.block_idx.x, b.block_idx.y, b.block_idx.z,
           w.id * kWarpSize + lane, w.current->line, w.current->text);
  return text;
}

void check_shared(Warp& w, int lane, u64 offset, int bytes, bool store, bool atomic) {
  Block& b = *w.block;
  if (offset + bytes > b.smem.size()) {
    throw Error("shared memory access out of bounds (offset " + to_string(offset) + " size " +
                    to_string(bytes) + " of " + to_string(b.smem.size()) + "): " + where(w, lane),
                kIllegalAddress);
  }
  u8* state = &b.shared_state[offset];
  if (!all_valid(state, bytes)) {
    for (int k = 0; k < bytes; k++) {
      if (state[k] == kRedZone) {
        throw Error("shared memory access between variables (red zone, offset " +
                        to_string(offset + k) + "): " + where(w, lane),
                    kIllegalAddress);
      }
    }
    char const* kind = nullptr;
    for (int k = 0; k < bytes && !kind && kChecks.uninitialised; k++) {
      if (state[k] == kAsyncPending) {
        kind = "ASYNC-SHARED";  // the copy was issued but nobody waited for it
      } else if (state[k] == kUninit && (!store || atomic)) {
        kind = "UNINIT-SHARED";
      }
    }
    if (kind) report(kind, "offset " + to_string(offset) + " " + where(w, lane));
    if (store) memset(state, kValid, bytes);
  }
  if (kChecks.shared_races) check_shared_race(w, lane, offset, bytes, store, atomic);
}

void mark_async_pending(Block& b, u32 offset, u32 bytes) {
  memset(&b.shared_state[offset], kAsyncPending, bytes);
}

void land_async(Block& b, u32 offset, u32 bytes) {
  memset(&b.shared_state[offset], kValid, bytes);
  for (u32 k = 0; k < bytes; k++) {
    SharedShadow& s = b.shared_shadow[offset + k];
    drop_readers(b, s);
    s.writer = b.num_warps * kWarpSize;  // after the last thread: the copy engine
    s.write_clock = b.async_clock;
    s.atomic_write = false;
  }
}

u8* resolve_global(u64 addr, u64 bytes, bool store, string const& location) {
  Allocation* a = find_allocation(addr, bytes);
  if (!a) {
    char text[64];
    snprintf(text, sizeof text, "%#lx size %lu", addr, bytes);
    throw Error(string("illegal global address ") + text +
                    (is_recently_freed(addr) ? " (memory was freed)" : "") + ": " + location,
                kIllegalAddress);
  }
  if (a->valid) {
    u8* valid = a->valid + (addr - a->base);
    if (store) {
      memset(valid, 1, bytes);
    } else if (kChecks.uninitialised && memchr(valid, 0, bytes)) {
      report("UNINIT-GLOBAL", location);
    }
  }
  return a->storage + (addr - a->base);
}

u8* resolve_address(Warp& w, Ins const& i, Space space, u64 addr, int bytes, int lane, bool store,
                    bool atomic) {
  if (bytes <= 16 && addr % bytes) throw Error("misaligned access: " + where(w, lane), kMisaligned);
  Block& b = *w.block;
  if (space == Space::Generic) {
    u64 shared_base = u64(b.smem.data());
    vector<u8>& local = w.local[lane];
    if (addr >= shared_base && addr < shared_base + b.smem.size() + 64) {
      space = Space::Shared;
      addr -= shared_base;
    } else if (!local.empty() && lies_within(addr, bytes, u64(local.data()), local.size())) {
      space = Space::Local;
      addr -= u64(local.data());
    }
  }
  switch (space) {
    case Space::Shared:
      addr = u32(addr);
      check_shared(w, lane, addr, bytes, store, atomic);
      return b.smem.data() + addr;
    case Space::Local:
      if (!lies_within(addr, bytes, 0, w.local[lane].size())) {
        throw Error("local memory access out of bounds: " + where(w, lane), kIllegalAddress);
      }
      if (memchr(&b.module->local_gaps[addr], 1, bytes)) {
        throw Error("local memory access between variables (red zone): " + where(w, lane),
                    kIllegalAddress);
      }
      return w.local[lane].data() + addr;
    case Space::FuncParam: return w.func_params[lane].data() + addr;
    case Space::Param: return reinterpret_cast<u8*>(addr);
    default: break;
  }
  // Kernel parameters may also be read through a generic address (__grid_constant__).
  u64 params = u64(b.func->param_buffer);
  if (!store && lies_within(addr, bytes, params, b.func->param_bytes)) {
    return reinterpret_cast<u8*>(addr);
  }
  Allocation* a = find_allocation(addr, bytes);
  if (!a) {
    char text[64];
    snprintf(text, sizeof text, "%#lx size %d", addr, bytes);
    throw Error(string("illegal global address ") + text +
                    (space == Space::Generic ? " (generic)" : "") +
                    (is_recently_freed(addr) ? " (memory was freed)" : "") + ": " + where(w, lane),
                kIllegalAddress);
  }
  u64 offset = addr - a->base;
  if (a->valid) {
    u8* valid = a->valid + offset;
    if ((!store || atomic) && kChecks.uninitialised && !all_valid(valid, bytes)) {
      report("UNINIT-GLOBAL", where(w, lane));
    }
    if (store) memset(valid, 1, bytes);
  }
  if (kChecks.global_races)
    check_global_race(w, lane, *a, offset, bytes, store, atomic || i.strong);
  return a->storage + offset;
}

}  // namespace ptxemu
