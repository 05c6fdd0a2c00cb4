// SPDX-License-Identifier: Apache-2.0
// Allocation table, lazily committed device memory and validity bytes.
#include "memory.hpp"

#include <cstdio>
#include <deque>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

namespace ptxemu {
namespace {

constexpr u64 kGranularity = 512;       // cudaMalloc sizes are charged in these steps
constexpr u64 kMapThreshold = 1 << 20;  // from here on memory comes from mmap
constexpr u64 kLargeAlignment = 2 << 20;
constexpr u64 kQuarantineBytes = 64 << 20;
constexpr size_t kQuarantineCount = 4096;
constexpr u8 kPoison = 0xff;  // content of small fresh blocks: NaN as a float, -1 as an index

// Never destroyed: a program may free device memory in its own static destructors.
map<u64, Allocation>& table() {
  static auto* t = new map<u64, Allocation>;
  return *t;
}

// Freed memory. Device addresses are not reused for long anyway and only remembered for the
// message; host memory is really kept for a while.
struct Freed {
  u64 base, size;
  bool mapped, keeps_memory;
};
std::deque<Freed>& quarantine() {
  static auto* q = new std::deque<Freed>;
  return *q;
}

u64 quarantine_bytes = 0;
u64 used_bytes = 0;
Allocation* last_hit = nullptr;

u8* map_lazily(u64 bytes) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? nullptr : static_cast<u8*>(p);
}

u64 mapped_size(u64 bytes) {
  return round_up(bytes + 4096, 4096);
}

// Device addresses come from a large inaccessible range and are handed out upwards.
constexpr u64 kArenaBytes = 16ull << 40;
u64 arena_base = 0, arena_next = 0;
struct sigaction previous_handler;

// Says what happened, then lets the fault take its normal course.
void on_fault(int signal, siginfo_t* info, void*) {
  u64 const addr = u64(info->si_addr);
  if (addr >= arena_base && addr < arena_base + kArenaBytes) {
    char text[120];
    int n = snprintf(text, sizeof text, "PTXEMU ERROR: host code accessed device memory at %#lx\n",
                     addr);
    if (write(STDERR_FILENO, text, n) < 0) _exit(1);
  }
  sigaction(signal, &previous_handler, nullptr);
}

void create_arena() {
  void* p =
      mmap(nullptr, kArenaBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  arena_base = arena_next = p == MAP_FAILED ? 0 : round_up(u64(p), kLargeAlignment);
  if (!arena_base) return;
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, &previous_handler);
}

// Returns 0 if there is no address range (limited address space): then the host can reach the
// memory.
u64 reserve_addresses(u64 bytes) {
  if (!arena_next) create_arena();
  if (!arena_base) return 0;
  u64 const align = bytes >= kMapThreshold ? kLargeAlignment : kGranularity;
  u64 at = round_up(arena_next, align);
  u64 const end = arena_base + kArenaBytes - kLargeAlignment;
  for (int pass = 0; pass < 2; pass++) {
    // After a wrap, skip what is still allocated.
    auto it = table().lower_bound(at);
    while (it != table().end() && it->first < at + bytes + kGranularity) {
      at = round_up(it->first + it->second.size, align);
      ++it;
    }
    if (at + bytes < end) break;
    at = arena_base;
  }
  arena_next = at + bytes + kGranularity;
  return at;
}

void release_oldest() {
  Freed f = quarantine().front();
  quarantine().pop_front();
  if (!f.keeps_memory) return;
  if (f.mapped) {
    munmap(reinterpret_cast<void*>(f.base), mapped_size(f.size));
  } else {
    quarantine_bytes -= f.size;
    free(reinterpret_cast<void*>(f.base));
  }
}

}  // namespace

Allocation* find_allocation(u64 addr, u64 bytes) {
  if (last_hit && lies_within(addr, bytes, last_hit->base, last_hit->size)) return last_hit;
  auto it = table().upper_bound(addr);
  if (it == table().begin()) return nullptr;
  --it;
  if (!lies_within(addr, bytes, it->second.base, it->second.size)) return nullptr;
  return last_hit = &it->second;
}

bool is_recently_freed(u64 addr) {
  for (Freed const& f : quarantine()) {
    if (addr >= f.base && addr < f.base + f.size) return true;
  }
  return false;
}

u64 device_memory_total() {
  static u64 const total = env_bytes("PTXEMU_MEM", 16ull << 30);
  return total;
}

u64 device_memory_used() {
  return used_bytes;
}

void* allocate_memory(u64 bytes, MemoryKind kind, unsigned host_flags) {
  Allocation a;
  a.size = bytes;
  a.kind = kind;
  a.host_flags = host_flags;
  if (kind == MemoryKind::Device || kind == MemoryKind::Managed) {
    if (bytes > device_memory_total()) return nullptr;
    a.charged = round_up(bytes, kGranularity);
    if (used_bytes + a.charged > device_memory_total()) return nullptr;
  }
  bool const tracked = kind == MemoryKind::Device;
  u8* memory;
  if (bytes >= kMapThreshold) {
    a.mapped = true;
    memory = map_lazily(mapped_size(bytes));
    if (memory && tracked) {
      a.valid = map_lazily(bytes);
      if (!a.valid) {
        munmap(memory, mapped_size(bytes));
        memory = nullptr;
      }
    }
  } else {
    u64 padded = round_up(bytes + 256, 512);
    memory = static_cast<u8*>(aligned_alloc(512, padded));
    if (memory) memset(memory, kind == MemoryKind::ModuleVariable ? 0 : kPoison, padded);
    if (memory && tracked) a.valid = static_cast<u8*>(calloc(bytes + 16, 1));
  }
  if (!memory) return nullptr;
  used_bytes += a.charged;
  a.storage = memory;
  a.base = tracked ? reserve_addresses(bytes) : 0;
  if (!a.base) a.base = u64(memory);
  u64 const base = a.base;
  last_hit = nullptr;
  table()[base] = std::move(a);
  return reinterpret_cast<void*>(base);
}

bool free_memory(void* p) {
  auto it = table().find(u64(p));
  if (it == table().end() || it->second.kind == MemoryKind::Registered) return false;
  Allocation& a = it->second;
  used_bytes -= a.charged;
  bool const keep = u64(a.storage) == a.base;
  if (a.mapped) {
    // Give the pages back at once, even if the address range is kept.
    if (keep) {
      madvise(p, mapped_size(a.size), MADV_DONTNEED);
    } else {
      munmap(a.storage, mapped_size(a.size));
    }
    if (a.valid) munmap(a.valid, a.size);
  } else {
    free(a.valid);
    if (keep) {
      quarantine_bytes += a.size;
    } else {
      free(a.storage);
    }
  }
  quarantine().push_back({a.base, a.size, a.mapped, keep});
  last_hit = nullptr;
  table().erase(it);
  while (quarantine_bytes > kQuarantineBytes || quarantine().size() > kQuarantineCount) {
    release_oldest();
  }
  return true;
}

bool register_host_memory(void* p, u64 bytes, unsigned flags) {
  auto it = table().upper_bound(u64(p) + bytes - 1);
  if (it != table().begin()) {
    --it;
    if (it->second.base + it->second.size > u64(p)) return false;
  }
  Allocation a;
  a.base = u64(p);
  a.storage = static_cast<u8*>(p);
  a.size = bytes;
  a.kind = MemoryKind::Registered;
  a.host_flags = flags;
  last_hit = nullptr;
  table()[a.base] = std::move(a);
  return true;
}

bool unregister_host_memory(void* p) {
  auto it = table().find(u64(p));
  if (it == table().end() || it->second.kind != MemoryKind::Registered) return false;
  last_hit = nullptr;
  table().erase(it);
  return true;
}

u8* host_view(void const* p) {
  Allocation* a = find_allocation(p, 1);
  return a ? a->storage + (u64(p) - a->base) : static_cast<u8*>(const_cast<void*>(p));
}

void mark_written(void const* p, u64 bytes) {
  Allocation* a = find_allocation(p, bytes);
  if (a && a->valid) memset(a->valid + (u64(p) - a->base), 1, bytes);
}

bool copy_memory(void* dst, void const* src, u64 bytes) {
  if (!bytes) return true;
  memmove(host_view(dst), host_view(src), bytes);
  Allocation* from = find_allocation(src, bytes);
  u8 const* from_valid = from && from->valid ? from->valid + (u64(src) - from->base) : nullptr;
  Allocation* to = find_allocation(dst, bytes);
  if (to && to->valid) {
    u8* to_valid = to->valid + (u64(dst) - to->base);
    if (from_valid) {
      memmove(to_valid, from_valid, bytes);
    } else {
      memset(to_valid, 1, bytes);
    }
    return true;
  }
  return !from_valid || !memchr(from_valid, 0, bytes);
}

}  // namespace ptxemu
