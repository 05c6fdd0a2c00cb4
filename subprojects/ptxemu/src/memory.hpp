// SPDX-License-Identifier: Apache-2.0
// Device memory lives at reserved addresses that the host cannot touch, so host code that follows a
// device pointer crashes as it would on a real system.
//
// The allocation table: every byte a kernel may touch outside shared and local memory belongs to
// an Allocation, which also records which bytes were ever written.
#pragma once

#include "common.hpp"

namespace ptxemu {

enum class MemoryKind : u8 { Device, Managed, Pinned, Registered, ModuleVariable };

// Last accesses to one 4-byte word of global memory (PTXEMU_GRACE=1).
struct GlobalShadow {
  int write_block = -1, write_thread = -1, read_block = -1, read_thread = -1;
  u32 write_epoch = 0, read_epoch = 0;
  bool strong_write = false;
};

struct Allocation {
  u64 base = 0, size = 0;  // the address that the program sees
  u8* storage = nullptr;   // where the bytes are; differs from base for device memory
  u8* valid = nullptr;     // one byte per byte, 1 = written; null: all bytes count as written
  MemoryKind kind = MemoryKind::Device;
  bool mapped = false;  // memory and validity bytes come from mmap
  u64 charged = 0;      // bytes counted against the device memory
  unsigned host_flags = 0;
  vector<GlobalShadow> shadow;
  u32 shadow_launch = 0;  // launch that the shadow belongs to
};

// Whether [addr, addr + bytes) lies within [base, base + size), for addresses near the top as well.
inline bool lies_within(u64 addr, u64 bytes, u64 base, u64 size) {
  return addr >= base && addr - base <= size && bytes <= size - (addr - base);
}

// The allocation that holds all of [addr, addr + bytes), or null.
Allocation* find_allocation(u64 addr, u64 bytes);
inline Allocation* find_allocation(void const* p, u64 bytes) {
  return find_allocation(u64(p), bytes);
}

// True if the address lies in memory that was freed recently (it is not reused for a while).
bool is_recently_freed(u64 addr);

// Returns null when the device memory (PTXEMU_MEM) is exhausted. Large blocks are reserved without
// being committed, so a test may allocate far more than the machine has and touch little of it.
void* allocate_memory(u64 bytes, MemoryKind kind, unsigned host_flags = 0);
bool free_memory(void* p);

// Makes existing host memory known to the table (cudaHostRegister); false if it overlaps.
bool register_host_memory(void* p, u64 bytes, unsigned flags);
bool unregister_host_memory(void* p);

// Where the bytes behind an address are; the address itself for memory outside the table.
u8* host_view(void const* p);

void mark_written(void const* p, u64 bytes);

// Copies bytes and their validity. Returns false if bytes that were never written reach memory
// that does not track validity (the host).
bool copy_memory(void* dst, void const* src, u64 bytes);

u64 device_memory_total();
u64 device_memory_used();

}  // namespace ptxemu
