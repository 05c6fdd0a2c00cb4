// SPDX-License-Identifier: Apache-2.0
// cp.async.bulk, cp.async.bulk.tensor (TMA, tiled mode) and cp.reduce.async.bulk.
//
// Loads land when a thread waits for their mbarrier, stores when the issuing thread waits for the
// group; until then the source may still be read and the target is "pending".
#include "checks.hpp"
#include "decode.hpp"
#include "small_floats.hpp"
#include "tensor_map.hpp"

namespace ptxemu {
namespace {

// XORs address bits 4.. with bits 7..: 1, 2 or 3 bits for 32, 64 and 128 byte swizzle.
u32 swizzle_address(u32 a, int swizzle) {
  return a ^ (((a >> 7) & ((1u << swizzle) - 1)) << 4);
}

// Ins::a of the handlers below.
enum { kLoad = 1, kTensor = 2 };

// Adds bytes that are contiguous in the tile; with swizzle in 16-byte chunks.
void add_piece(BulkCopy& c, u32 shared, u64 global, u32 bytes, int swizzle) {
  while (bytes) {
    u32 part = swizzle ? min(bytes, 16 - shared % 16) : bytes;
    c.pieces.push_back({swizzle ? swizzle_address(shared, swizzle) : shared, global, part});
    shared += part;
    if (global) global += part;
    bytes -= part;
  }
}

// One box of a tiled tensor; elements outside the tensor become zero fill.
void add_tile(BulkCopy& c, TensorMap const& m, s32 const* coords, u32 shared) {
  u32 index[5] = {};
  u32 const e = m.element_bytes;
  u32 rows = 1;
  for (int k = 1; k < m.rank; k++)
    rows *= m.box[k];
  for (u32 row = 0; row < rows; row++) {
    bool inside = true;
    u64 address = m.base;
    for (int k = 1; k < m.rank; k++) {
      s64 x = s64(coords[k]) + index[k];
      inside &= x >= 0 && x < s64(m.dims[k]);
      address += u64(x) * m.strides[k];
    }
    s64 const first = coords[0], last = first + m.box[0], size = m.dims[0];
    s64 const from = std::clamp<s64>(0, first, last), to = std::clamp<s64>(size, from, last);
    if (!inside || from >= to) {
      add_piece(c, shared, 0, m.box[0] * e, m.swizzle);
    } else {
      add_piece(c, shared, 0, u32(from - first) * e, m.swizzle);
      add_piece(c, shared + u32(from - first) * e, address + u64(from) * e, u32(to - from) * e,
                m.swizzle);
      add_piece(c, shared + u32(to - first) * e, 0, u32(last - to) * e, m.swizzle);
    }
    shared += m.box[0] * e;
    for (int k = 1; k < m.rank && ++index[k] == m.box[k]; k++)
      index[k] = 0;
  }
  c.bytes = u64(rows) * m.box[0] * e;
}

// src: shared address, then [global address, size] or [map address, coordinates...]; a load has the
// mbarrier last. Ins::offset is the shared offset, b the global one, c the mbarrier's.
BulkCopy describe(Warp& w, Ins const& i, int l) {
  BulkCopy c;
  c.where = where(w, l);
  c.issuer = w.seen;
  c.reduce = i.type;
  u32 const shared = u32(w.regs[i.src[0]][l] + i.offset);
  u64 const other = w.regs[i.src[1]][l] + i.b;
  if (i.a & kTensor) {
    TensorMap m;
    u8 const* p = resolve_address(w, i, Space::Generic, other, 128, l, false);
    memcpy(&m, p, sizeof m);
    if (other % 64 || m.magic != kTensorMapMagic) throw Error("not a tensor map: " + c.where);
    if (m.rank != i.vec) throw Error("tensor rank differs from the map's: " + c.where);
    if (m.nan_fill) throw Error("NaN fill of a tensor map: " + c.where);
    if (shared % 128) throw Error("misaligned bulk tensor copy: " + c.where, kMisaligned);
    s32 coords[5];
    for (int k = 0; k < m.rank; k++)
      coords[k] = w.get<s32>(i.src[2 + k], l);
    add_tile(c, m, coords, shared);
  } else {
    u32 const bytes = w.get<u32>(i.src[2], l);
    if (shared % 16 || other % 16 || bytes % 16) {
      throw Error("misaligned cp.async.bulk: " + c.where, kMisaligned);
    }
    c.pieces.push_back({shared, other, bytes});
    c.bytes = bytes;
  }
  return c;
}

void load(Warp& w, Ins const& i, u32 mask) {
  for_lanes(mask, [&](int l) {
    BulkCopy c = describe(w, i, l);
    c.mbarrier = u32(w.regs[i.src[i.num_src - 1]][l] + i.c);
    if (!w.block->mbarriers.count(c.mbarrier))
      throw Error("mbarrier is not initialised: " + c.where);
    for (BulkPiece const& p : c.pieces) {
      if (p.global) resolve_global(p.global, p.bytes, false, c.where);
      check_shared(w, l, p.shared, int(p.bytes), true, false);
      mark_async_pending(*w.block, p.shared, p.bytes);
    }
    w.seen[w.id]++;
    w.block->bulk_loads.push_back(std::move(c));
  });
}

void store(Warp& w, Ins const& i, u32 mask) {
  for_lanes(mask, [&](int l) {
    BulkCopy c = describe(w, i, l);
    for (BulkPiece const& p : c.pieces)
      check_shared(w, l, p.shared, int(p.bytes), false, false);
    auto& groups = w.bulk_stores[l];
    if (groups.empty()) groups.emplace_back();
    groups.back().push_back(std::move(c));
  });
}

template <class T>
void add_elements(u8* to, u8 const* from, u32 bytes) {
  for (u32 k = 0; k < bytes; k += sizeof(T)) {
    T a, b;
    memcpy(&a, to + k, sizeof(T));
    memcpy(&b, from + k, sizeof(T));
    a = T(a + b);
    memcpy(to + k, &a, sizeof(T));
  }
}

void land_store(Block& b, BulkCopy const& c) {
  for (BulkPiece const& p : c.pieces) {
    if (!p.global) continue;
    u8 const* from = b.smem.data() + p.shared;
    if (c.reduce != TypeNone) resolve_global(p.global, p.bytes, false, c.where);
    u8* to = resolve_global(p.global, p.bytes, true, c.where);
    switch (c.reduce) {
      case TypeNone: memcpy(to, from, p.bytes); break;
      case F32: add_elements<float>(to, from, p.bytes); break;
      case F16: add_elements<Half>(to, from, p.bytes); break;
      case BF16: add_elements<Bfloat>(to, from, p.bytes); break;
      case U64: add_elements<u64>(to, from, p.bytes); break;
      default: add_elements<u32>(to, from, p.bytes);
    }
  }
}

void commit(Warp& w, Ins const&, u32 mask) {
  for_lanes(mask, [&](int l) {
    if (w.bulk_stores[l].empty()) w.bulk_stores[l].emplace_back();
    w.bulk_stores[l].emplace_back();
  });
}

// a = number of newest groups that may stay in flight. With .read only the source must have been
// read; the data is written at the same time here.
void wait_groups(Warp& w, Ins const& i, u32 mask) {
  for_lanes(mask, [&](int l) {
    auto& groups = w.bulk_stores[l];
    while (groups.size() > size_t(i.a) + 1) {
      for (BulkCopy const& c : groups.front())
        land_store(*w.block, c);
      groups.erase(groups.begin());
    }
    // The empty open group does not count as work in flight.
    if (groups.size() == 1 && groups[0].empty()) groups.clear();
  });
}

}  // namespace

void land_bulk_loads(Block& b, u32 mbarrier) {
  for (size_t k = 0; k < b.bulk_loads.size();) {
    if (b.bulk_loads[k].mbarrier != mbarrier) {
      k++;
      continue;
    }
    BulkCopy c = std::move(b.bulk_loads[k]);
    b.bulk_loads.erase(b.bulk_loads.begin() + k);
    b.async_clock++;
    for (BulkPiece const& p : c.pieces) {
      u8* to = b.smem.data() + p.shared;
      if (p.global) {
        memcpy(to, resolve_global(p.global, p.bytes, false, c.where), p.bytes);
      } else {
        memset(to, 0, p.bytes);
      }
      land_async(b, p.shared, p.bytes);
    }
    complete_transaction(b, mbarrier, c.bytes, c.issuer);
  }
}

void finish_block_async(Block& b, vector<unique_ptr<Warp>>& warps) {
  for (BulkCopy const& c : b.bulk_loads) {
    report("ASYNC-EXIT", "the block ends before this load was waited for: " + c.where);
  }
  for (auto& w : warps) {
    for (auto& groups : w->bulk_stores) {
      for (auto& group : groups) {
        for (BulkCopy const& c : group) {
          report("ASYNC-EXIT", "the block ends before this store was waited for: " + c.where);
          land_store(b, c);
        }
      }
      groups.clear();
    }
    if (w->wgmma_in_flight) {
      report("ASYNC-EXIT",
             "kernel " + b.func->name + ": the block ends before a wgmma was waited for");
    }
  }
}

bool decode_bulk_copy(Decoder& d) {
  require_modifiers(d, {"async",
                        "bulk",
                        "tensor",
                        "1d",
                        "2d",
                        "3d",
                        "4d",
                        "5d",
                        "tile",
                        "global",
                        "shared::cta",
                        "shared::cluster",
                        "mbarrier::complete_tx::bytes",
                        "bulk_group",
                        "commit_group",
                        "wait_group",
                        "read",
                        "prefetch",
                        "L2",
                        "L2::cache_hint",
                        "reduce",
                        "add",
                        "noftz"});
  Ins& i = d.ins;
  if (d.has("commit_group")) {
    d.set(commit);
    return true;
  }
  if (d.has("wait_group")) {
    i.a = d.parser.const_value(d.ops.at(0).regs[0]);
    d.set(wait_groups);
    return true;
  }
  if (d.has("prefetch")) {
    i.handler = no_operation;
    return true;
  }
  bool const reduce = d.has("reduce"), tensor = d.has("tensor");
  bool const is_load = d.has("mbarrier::complete_tx::bytes");
  if (!d.has("global")) throw Error("bulk copy within a cluster");
  if (reduce && (is_load || !d.has("add"))) throw Error("bulk reduction");
  if (!is_load && !d.has("bulk_group")) throw Error("bulk copy completion");
  if (reduce && tensor) throw Error("bulk tensor reduction");
  if (!reduce) i.type = TypeNone;
  size_t const shared_op = is_load ? 0 : 1, global_op = is_load ? 1 : 0;
  i.a = (is_load ? kLoad : 0) | (tensor ? kTensor : 0);
  d.address(shared_op);
  Operand const& g = d.ops.at(global_op);
  i.src[i.num_src++] = g.regs[0];
  i.b = int(g.offset);
  size_t next = 2;
  if (tensor) {
    i.vec = int(g.coords.size());
    for (int r : g.coords)
      i.src[i.num_src++] = r;
  } else {
    d.src(next++);
  }
  if (is_load) {
    i.src[i.num_src++] = d.ops.at(next).regs[0];
    i.c = int(d.ops[next].offset);
  }
  d.set(is_load ? load : store);
  return true;
}

}  // namespace ptxemu
