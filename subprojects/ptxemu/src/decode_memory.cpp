// SPDX-License-Identifier: Apache-2.0
// Loads, stores, atomics, address conversion and non-bulk cp.async.
#include "checks.hpp"
#include "decode.hpp"
#include "elementwise.hpp"

namespace ptxemu {
namespace {

// Shared and local addresses are 32 bits wide even if held in a 64-bit register.
inline u64 effective_address(Warp const& w, Ins const& i, int l) {
  u64 a = w.regs[i.src[0]][l];
  if (i.space == Space::Shared || i.space == Space::Local) a = u32(a);
  return a + i.offset;
}

template <int N, bool SignExtend>
void load(Warp& w, Ins const& i, u32 mask) {
  for_lanes(mask, [&](int l) {
    u8 const* p = resolve_address(w, i, i.space, effective_address(w, i, l), N * i.vec, l, false);
    for (int k = 0; k < i.vec; k++) {
      u64 v = 0;
      memcpy(&v, p + k * N, N);
      // The register may be wider than the type: it receives the sign up to its top.
      if (SignExtend) v = u64(s64(v << (64 - 8 * N)) >> (64 - 8 * N));
      w.regs[i.dst[k]][l] = v;
    }
  });
}

template <int N>
void store(Warp& w, Ins const& i, u32 mask) {
  for_lanes(mask, [&](int l) {
    u8* p = resolve_address(w, i, i.space, effective_address(w, i, l), N * i.vec, l, true);
    for (int k = 0; k < i.vec; k++)
      memcpy(p + k * N, &w.regs[i.src[1 + k]][l], N);
  });
}

enum AtomicOp { kAdd, kMinimum, kMaximum, kAnd, kOr, kXor, kExchange, kCas, kInc, kDec };
char const* const kAtomicNames[] = {"add", "min",  "max", "and", "or",
                                    "xor", "exch", "cas", "inc", "dec"};

template <class T>
T combine(int op, T old, T v) {
  if constexpr (std::is_integral_v<T>) {
    switch (op) {
      case kAdd: return old + v;
      case kMinimum: return old < v ? old : v;
      case kMaximum: return old > v ? old : v;
      case kAnd: return old & v;
      case kOr: return old | v;
      case kXor: return old ^ v;
      case kExchange: return v;
      case kInc: return old >= v ? 0 : old + 1;
      case kDec: return old == 0 || old > v ? v : old - 1;
    }
  } else {
    switch (op) {
      case kAdd: return T(old + v);
      case kMinimum: return T(kMin(old, v));
      case kMaximum: return T(kMax(old, v));
      case kExchange: return v;
    }
  }
  throw Error("atomic operation");
}

template <class T>
constexpr bool is_pair = std::is_same_v<T, Pair16<Half>> || std::is_same_v<T, Pair16<Bfloat>>;

template <class T>
void atomic(Warp& w, Ins const& i, u32 mask) {
  for_lanes(mask, [&](int l) {
    u64 base = effective_address(w, i, l);
    for (int k = 0; k < i.vec; k++) {
      u8* p = resolve_address(w, i, i.space, base + k * sizeof(T), sizeof(T), l, true, true);
      T old, now;
      memcpy(&old, p, sizeof(T));
      if (i.a == kCas) {
        T expected = w.get<T>(i.src[1], l);
        now = memcmp(&old, &expected, sizeof(T)) ? old : w.get<T>(i.src[2], l);
      } else if constexpr (is_pair<T>) {
        T v = w.get<T>(i.src[1 + k], l);
        now.lo = combine(i.a, old.lo, v.lo);
        now.hi = combine(i.a, old.hi, v.hi);
      } else {
        now = combine<T>(i.a, old, w.get<T>(i.src[1 + k], l));
      }
      memcpy(p, &now, sizeof(T));
      if (i.num_dst) w.set<T>(i.dst[k], l, old);
    }
  });
}

Handler atomic_handler(Type t) {
  switch (t) {
    case U32:
    case B32: return atomic<u32>;
    case S32: return atomic<s32>;
    case U64:
    case B64: return atomic<u64>;
    case S64: return atomic<s64>;
    case F32: return atomic<float>;
    case F64: return atomic<double>;
    case F16: return atomic<Half>;
    case BF16: return atomic<Bfloat>;
    case F16X2: return atomic<Pair16<Half>>;
    case BF16X2: return atomic<Pair16<Bfloat>>;
    case B16:
    case U16: return atomic<u16>;
    default: return nullptr;
  }
}

// Generic addresses are host addresses; shared and local ones are offsets into the block's and the
// lane's buffers. a = generic to space.
void convert_address(Warp& w, Ins const& i, u32 mask) {
  for_lanes(mask, [&](int l) {
    u64 v = w.regs[i.src[0]][l];
    if (i.space == Space::Shared) {
      u64 base = u64(w.block->smem.data());
      v = i.a ? v - base : base + u32(v);
    } else if (i.space == Space::Local) {
      u64 base = u64(w.local[l].data());
      v = i.a ? v - base : base + v;
    }
    w.regs[i.dst[0]][l] = v;
  });
}

void is_space(Warp& w, Ins const& i, u32 mask) {
  for_lanes(mask, [&](int l) {
    u64 v = w.regs[i.src[0]][l], base = u64(w.block->smem.data());
    vector<u8> const& local = w.local[l];
    bool shared = v >= base && v < base + w.block->smem.size();
    bool in_local =
        !local.empty() && v >= u64(local.data()) && v < u64(local.data()) + local.size();
    w.regs[i.dst[0]][l] = i.space == Space::Shared  ? shared
                          : i.space == Space::Local ? in_local
                                                    : !(shared || in_local);
  });
}

// The target bytes become "pending" now and receive the data at the wait, so that a read before
// the wait is reported. a = bytes, b = source offset, src[2] = bytes really read (rest zero).
void copy_async(Warp& w, Ins const& i, u32 mask) {
  for_lanes(mask, [&](int l) {
    u32 dst = u32(w.regs[i.src[0]][l] + i.offset);
    u64 src = w.regs[i.src[1]][l] + i.b;
    int const bytes = i.a;
    int valid = i.num_src > 2 ? min<int>(bytes, w.get<u32>(i.src[2], l)) : bytes;
    if (dst % bytes) throw Error("misaligned cp.async: " + where(w, l));
    PendingCopy p{dst, bytes, {}};
    if (valid) memcpy(p.data, resolve_address(w, i, Space::Global, src, valid, l, false), valid);
    check_shared(w, l, dst, bytes, true, false);
    mark_async_pending(*w.block, dst, bytes);
    if (w.copies[l].empty()) w.copies[l].emplace_back();
    w.copies[l].back().push_back(p);
  });
}

void copy_commit(Warp& w, Ins const&, u32 mask) {
  for_lanes(mask, [&](int l) {
    if (w.copies[l].empty()) w.copies[l].emplace_back();
    w.copies[l].emplace_back();
  });
}

// a = number of newest groups that may stay in flight, -1 for wait_all.
void copy_wait(Warp& w, Ins const& i, u32 mask) {
  for_lanes(mask, [&](int l) {
    auto& groups = w.copies[l];
    size_t const keep = i.a < 0 ? 0 : i.a + 1;  // the last entry is the open group
    while (groups.size() > keep) {
      for (PendingCopy& p : groups.front()) {
        memset(&w.block->shared_state[p.dst], kValid, p.bytes);
        check_shared(w, l, p.dst, p.bytes, true, false);
        memcpy(&w.block->smem[p.dst], p.data, p.bytes);
      }
      groups.erase(groups.begin());
    }
  });
}

void decode_load_store(Decoder& d) {
  Ins& i = d.ins;
  bool const is_load = d.op != "st";
  i.strong = d.has("volatile") || d.has("relaxed") || d.has("acquire") || d.has("release");
  i.space = d.space();
  if (is_load) {
    d.dst(0);
    d.address(1);
    i.vec = int(d.ops[0].regs.size());
    // ld.param in a device function, or of a call's return value.
    if (i.space == Space::Param && d.ops[1].space == Space::FuncParam) i.space = Space::FuncParam;
  } else {
    d.address(0);
    d.src(1);
    i.vec = int(d.ops[1].regs.size());
    if (i.space == Space::Param) i.space = Space::FuncParam;
  }
  bool const sx = is_signed(i.type);
  switch (type_size(i.type)) {
    case 1: d.set(!is_load ? store<1> : sx ? load<1, true> : load<1, false>); break;
    case 2: d.set(!is_load ? store<2> : sx ? load<2, true> : load<2, false>); break;
    case 4: d.set(!is_load ? store<4> : sx ? load<4, true> : load<4, false>); break;
    case 8: d.set(!is_load ? store<8> : load<8, false>); break;
    default: throw Error("access size");
  }
}

void decode_atomic(Decoder& d) {
  Ins& i = d.ins;
  i.space = d.space();
  size_t k = 0;
  if (d.op == "atom") d.dst(k++);
  i.vec = int(d.ops.at(k + 1).regs.size());
  d.address(k);
  d.rest(k + 1);
  i.a = -1;
  for (int q = 0; q < 10; q++) {
    if (d.has(kAtomicNames[q])) i.a = q;
  }
  if (i.a < 0) throw Error("atomic operation");
  d.set(atomic_handler(i.type));
}

void decode_copy_async(Decoder& d) {
  Ins& i = d.ins;
  if (d.has("commit_group")) return d.set(copy_commit);
  if (d.has("wait_group") || d.has("wait_all")) {
    i.a = d.has("wait_all") ? -1 : d.parser.const_value(d.ops.at(0).regs[0]);
    return d.set(copy_wait);
  }
  if (!d.has("shared") && !d.has("shared::cta")) throw Error("cp form");
  d.address(0);
  i.src[i.num_src++] = d.ops.at(1).regs[0];
  i.b = int(d.ops[1].offset);
  i.a = d.parser.const_value(d.ops.at(2).regs[0]);
  if (i.a != 4 && i.a != 8 && i.a != 16) throw Error("cp.async size");
  // Further operands: source size, then the cache policy if .L2::cache_hint is given.
  size_t extra = d.ops.size() - 3 - (d.has("L2::cache_hint") ? 1 : 0);
  if (extra) i.src[i.num_src++] = d.ops[3].regs[0];
  d.set(copy_async);
}

}  // namespace

bool decode_memory(Decoder& d) {
  string const& op = d.op;
  if (op == "ld" || op == "ldu" || op == "st") {
    decode_load_store(d);
  } else if (op == "atom" || op == "red") {
    decode_atomic(d);
  } else if (op == "cp") {
    decode_copy_async(d);
  } else if (op == "cvta" || op == "isspacep") {
    d.ins.space = d.space();
    d.ins.a = d.has("to");
    d.dst(0);
    d.src(1);
    if (op == "cvta" && d.ops[1].offset) { throw Error("cvta of a sum"); }
    d.set(op == "cvta" ? convert_address : is_space);
  } else {
    return false;
  }
  return true;
}

}  // namespace ptxemu
