// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic, bit operations, and add/sub (shared with floats).
#include "decode.hpp"
#include "elementwise.hpp"

namespace ptxemu {
namespace {

// Extended-precision add/sub: a = subtract, b = use the carry, c = set the carry.
template <class T>
void add_carry(Warp& w, Ins const& i, u32 mask) {
  for_lanes(mask, [&](int l) {
    T a = w.get<T>(i.src[0], l), b = w.get<T>(i.src[1], l);
    u128 carry = i.b ? (w.carry >> l & 1) : 0;
    u128 r = i.a ? u128(a) - b - carry : u128(a) + b + carry;
    w.set<T>(i.dst[0], l, T(r));
    if (i.c) w.carry = (w.carry & ~(1u << l)) | (u32((r >> (sizeof(T) * 8)) & 1) << l);
  });
}

// mad.cc / madc: a = high half, b = use the carry, c = set the carry, sat = signed operands.
void mad_carry(Warp& w, Ins const& i, u32 mask) {
  for_lanes(mask, [&](int l) {
    u32 a = w.get<u32>(i.src[0], l), b = w.get<u32>(i.src[1], l), c = w.get<u32>(i.src[2], l);
    u64 product = i.sat ? u64(s64(s32(a)) * s32(b)) : u64(a) * b;
    u64 r = u64(i.a ? u32(product >> 32) : u32(product)) + c + (i.b ? (w.carry >> l & 1) : 0);
    w.regs[i.dst[0]][l] = u32(r);
    if (i.c) w.carry = (w.carry & ~(1u << l)) | (u32((r >> 32) & 1) << l);
  });
}

void permute_bytes(Warp& w, Ins const& i, u32 mask) {
  for_lanes(mask, [&](int l) {
    u64 v = (u64(w.get<u32>(i.src[1], l)) << 32) | w.get<u32>(i.src[0], l);
    u32 selector = w.get<u32>(i.src[2], l), r = 0;
    for (int k = 0; k < 4; k++) {
      u32 q = (selector >> (4 * k)) & 15;
      u8 byte = u8(v >> (8 * (q & 7)));
      if (q & 8) byte = byte & 0x80 ? 0xff : 0;
      r |= u32(byte) << (8 * k);
    }
    w.regs[i.dst[0]][l] = r;
  });
}

// Funnel shift: a = left, b = clamp the count at 32 instead of wrapping.
void funnel_shift(Warp& w, Ins const& i, u32 mask) {
  for_lanes(mask, [&](int l) {
    u64 v = (u64(w.get<u32>(i.src[1], l)) << 32) | w.get<u32>(i.src[0], l);
    u32 n = w.get<u32>(i.src[2], l);
    n = i.b ? min(n, 32u) : n & 31;
    u32 r = i.a ? (n == 32 ? u32(v) : u32((v << n) >> 32)) : u32(v >> n);
    w.regs[i.dst[0]][l] = r;
  });
}

void lop3(Warp& w, Ins const& i, u32 mask) {
  for_lanes(mask, [&](int l) {
    u32 a = w.get<u32>(i.src[0], l), b = w.get<u32>(i.src[1], l), c = w.get<u32>(i.src[2], l);
    u32 table = w.get<u32>(i.src[3], l), r = 0;
    for (int k = 0; k < 8; k++) {
      if (table >> k & 1) r |= (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
    }
    w.regs[i.dst[0]][l] = r;
  });
}

template <class T>
void bit_extract(Warp& w, Ins const& i, u32 mask) {
  for_lanes(mask, [&](int l) {
    constexpr u32 width = sizeof(T) * 8;
    u64 a = u64(w.get<T>(i.src[0], l)) & (width == 64 ? ~0ull : (1ull << width % 64) - 1);
    u32 pos = w.get<u32>(i.src[1], l) & 255, len = w.get<u32>(i.src[2], l) & 255;
    // Bits beyond the field repeat its sign bit, which is the top bit if the field sticks out.
    u64 fill = 0, r = 0;
    if (std::is_signed_v<T> && len) fill = (a >> min<u32>(pos + len - 1, width - 1)) & 1;
    for (u32 k = 0; k < width; k++) {
      u64 bit = k < len && pos + k < width ? (a >> (pos + k)) & 1 : fill;
      r |= bit << k;
    }
    w.set<T>(i.dst[0], l, T(r));
  });
}

template <class T>
void bit_insert(Warp& w, Ins const& i, u32 mask) {
  for_lanes(mask, [&](int l) {
    T a = w.get<T>(i.src[0], l), b = w.get<T>(i.src[1], l);
    u32 pos = w.get<u32>(i.src[2], l) & 255, len = w.get<u32>(i.src[3], l) & 255;
    for (u32 k = 0; k < len && pos + k < sizeof(T) * 8; k++) {
      T bit = (a >> k) & 1;
      b = (b & ~(T(1) << (pos + k))) | (bit << (pos + k));
    }
    w.set<T>(i.dst[0], l, b);
  });
}

// Position of the highest bit that differs from the sign; a = .shiftamt
template <class T>
void bit_find(Warp& w, Ins const& i, u32 mask) {
  for_lanes(mask, [&](int l) {
    T a = w.get<T>(i.src[0], l);
    if (std::is_signed_v<T> && a < 0) a = ~a;
    constexpr int width = sizeof(T) * 8;
    u32 r = ~0u;
    for (int k = width - 1; k >= 0 && r == ~0u; k--) {
      if ((a >> k) & 1) r = k;
    }
    if (i.a && r != ~0u) r = width - 1 - r;
    w.regs[i.dst[0]][l] = r;
  });
}

void bit_mask(Warp& w, Ins const& i, u32 mask) {
  for_lanes(mask, [&](int l) {
    u32 pos = w.get<u32>(i.src[0], l), len = w.get<u32>(i.src[1], l);
    if (i.a) {  // .wrap
      pos &= 31;
      len &= 31;
    }
    u64 r = 0;
    if (pos < 32) r = (((1ull << min(len, 32u)) - 1) << pos) & 0xffffffffu;
    w.regs[i.dst[0]][l] = r;
  });
}

void dot4(Warp& w, Ins const& i, u32 mask) {
  for_lanes(mask, [&](int l) {
    u32 a = w.get<u32>(i.src[0], l), b = w.get<u32>(i.src[1], l);
    s64 sum = w.get<s32>(i.src[2], l);
    for (int k = 0; k < 4; k++) {
      s64 x = i.type == S32 ? s8(a >> 8 * k) : u8(a >> 8 * k);
      s64 y = i.type2 == S32 ? s8(b >> 8 * k) : u8(b >> 8 * k);
      sum += x * y;
    }
    w.regs[i.dst[0]][l] = u32(sum);
  });
}

template <class T>
T reverse_bits(T x) {
  T r = 0;
  for (size_t k = 0; k < sizeof(T) * 8; k++)
    r |= ((x >> k) & 1) << (sizeof(T) * 8 - 1 - k);
  return r;
}

// mul.wide / mad.wide: T to the twice as wide W.
template <class T, class W>
Handler wide_multiply(bool mad) {
  if (mad) return ternary<[](T x, T y, W c) { return W(W(x) * W(y) + c); }, W, T, W>;
  return binary<[](T x, T y) { return W(W(x) * W(y)); }, W, T>;
}

// Upper half of the product, computed in the twice as wide W.
template <class T, class W>
Handler high_multiply(bool mad) {
  constexpr int bits = sizeof(T) * 8;
  if (mad) return ternary<[](T x, T y, T c) { return T(T((W(x) * y) >> bits) + c); }, T, T>;
  return binary<[](T x, T y) { return T((W(x) * y) >> bits); }, T, T>;
}

template <class T>
Handler low_multiply(bool mad) {
  using U = std::conditional_t<sizeof(T) < 4, u32, T>;  // avoids overflow in int
  if (mad) return ternary<[](T x, T y, T c) { return T(U(x) * U(y) + c); }, T, T>;
  return binary<[](T x, T y) { return T(U(x) * U(y)); }, T, T>;
}

Handler multiply(Decoder const& d, bool mad) {
  int const size = type_size(d.ins.type);
  bool const sg = is_signed(d.ins.type);
  if (d.has("wide")) {
    if (size == 2) return sg ? wide_multiply<s16, s32>(mad) : wide_multiply<u16, u32>(mad);
    return sg ? wide_multiply<s32, s64>(mad) : wide_multiply<u32, u64>(mad);
  }
  if (d.has("hi")) {
    if (size == 2) return sg ? high_multiply<s16, s32>(mad) : high_multiply<u16, u32>(mad);
    if (size == 4) return sg ? high_multiply<s32, s64>(mad) : high_multiply<u32, u64>(mad);
    return sg ? high_multiply<s64, s128>(mad) : high_multiply<u64, u128>(mad);
  }
  return size == 2   ? low_multiply<u16>(mad)
         : size == 4 ? low_multiply<u32>(mad)
                     : low_multiply<u64>(mad);
}

// Shift counts beyond the width give 0, or the sign for an arithmetic right shift.
template <class T>
Handler shift(bool left) {
  constexpr u32 width = sizeof(T) * 8;
  if (left) return binary<[](T x, u32 n) { return n >= width ? T(0) : T(x << n); }, T, T, u32>;
  if (std::is_signed_v<T>) {
    return binary<[](T x, u32 n) { return T(x >> min(n, width - 1)); }, T, T, u32>;
  }
  return binary<[](T x, u32 n) { return n >= width ? T(0) : T(x >> n); }, T, T, u32>;
}

Handler shift(Decoder const& d) {
  int const size = type_size(d.ins.type);
  if (d.op == "shl")
    return size == 2 ? shift<u16>(true) : size == 4 ? shift<u32>(true) : shift<u64>(true);
  if (is_signed(d.ins.type)) {
    return size == 2 ? shift<s16>(false) : size == 4 ? shift<s32>(false) : shift<s64>(false);
  }
  return size == 2 ? shift<u16>(false) : size == 4 ? shift<u32>(false) : shift<u64>(false);
}

constexpr auto kDivide = [](auto x, auto y) -> decltype(x) {
  using T = decltype(x);
  if (y == 0) return T(-1);
  if constexpr (std::is_signed_v<T>) {
    if (y == T(-1)) return T(0 - u64(x));
  }
  return x / y;
};

constexpr auto kRemainder = [](auto x, auto y) -> decltype(x) {
  using T = decltype(x);
  if (y == 0) return x;
  if constexpr (std::is_signed_v<T>) {
    if (y == T(-1)) return 0;
  }
  return x % y;
};

constexpr auto kSaturatingAdd = [](s32 x, s32 y) {
  return s32(std::clamp<s64>(s64(x) + y, INT32_MIN, INT32_MAX));
};

bool decode_carry(Decoder& d) {
  bool const sets = d.has("cc"), wide = type_size(d.ins.type) == 8;
  string const& op = d.op;
  if (((op == "add" || op == "sub") && sets) || op == "addc" || op == "subc") {
    d.ins.a = op.rfind("sub", 0) == 0;
    d.ins.b = op.size() == 4;
    d.ins.c = sets;
    d.set(wide ? add_carry<u64> : add_carry<u32>);
    return true;
  }
  if ((op == "mad" && sets) || op == "madc") {
    if (wide) throw Error("64-bit madc");
    d.ins.a = d.has("hi");
    d.ins.b = op == "madc";
    d.ins.c = sets;
    d.ins.sat = d.ins.type == S32;
    d.set(mad_carry);
    return true;
  }
  if (sets) throw Error(".cc");
  return false;
}

}  // namespace

bool decode_integer(Decoder& d) {
  Ins& i = d.ins;
  string const& op = d.op;
  bool const wide = type_size(i.type) == 8;
  static char const* const kOps[] = {"add",   "sub",   "addc", "subc", "mul", "mad", "madc",
                                     "mul24", "mad24", "div",  "rem",  "min", "max", "and",
                                     "or",    "xor",   "not",  "cnot", "neg", "abs", "shl",
                                     "shr",   "shf",   "lop3", "prmt", "bfe", "bfi", "bfind",
                                     "bmsk",  "popc",  "clz",  "brev", "sad", "dp4a"};
  if (is_float(i.type) || std::find(std::begin(kOps), std::end(kOps), op) == std::end(kOps)) {
    return false;
  }
  d.dst(0);
  d.rest(1);
  if (decode_carry(d)) return true;
  if (i.sat && !(op == "add" && i.type == S32)) throw Error(".sat");
  if (op == "add") {
    d.set(i.sat ? Handler(binary<kSaturatingAdd, s32, s32>)
                : binary_int<[](auto x, auto y) { return x + y; }>(i.type));
  } else if (op == "sub") {
    d.set(binary_int<[](auto x, auto y) { return x - y; }>(i.type));
  } else if (op == "mul" || op == "mul24") {
    if (op == "mul24" && d.has("hi")) throw Error("mul24.hi");
    d.set(multiply(d, false));
  } else if (op == "mad" || op == "mad24") {
    if (op == "mad24" && d.has("hi")) throw Error("mad24.hi");
    d.set(multiply(d, true));
  } else if (op == "div") {
    d.set(binary_int<kDivide>(i.type));
  } else if (op == "rem") {
    d.set(binary_int<kRemainder>(i.type));
  } else if (op == "min" || op == "max") {
    if (d.ops.size() > 3 || d.has("relu") || i.type == TypeNone) throw Error(op + " form");
    d.set(op == "max" ? binary_int<kMax>(i.type) : binary_int<kMin>(i.type));
  } else if (op == "and") {
    d.set(binary_int<[](auto x, auto y) { return x & y; }>(i.type));
  } else if (op == "or") {
    d.set(binary_int<[](auto x, auto y) { return x | y; }>(i.type));
  } else if (op == "xor") {
    d.set(binary_int<[](auto x, auto y) { return x ^ y; }>(i.type));
  } else if (op == "not") {
    d.set(i.type == PRED ? Handler(unary<[](u8 x) { return u8(!(x & 1)); }, u8, u8>)
                         : unary_int<[](auto x) { return ~x; }>(i.type));
  } else if (op == "cnot") {
    d.set(unary_int<[](auto x) { return x == 0; }>(i.type));
  } else if (op == "neg") {
    d.set(unary_int<[](auto x) { return 0 - x; }>(i.type));
  } else if (op == "abs") {
    d.set(unary_int<[](auto x) { return x < 0 ? 0 - x : x; }>(i.type));
  } else if (op == "shl" || op == "shr") {
    d.set(shift(d));
  } else if (op == "shf") {
    i.a = d.has("l");
    i.b = d.has("clamp");
    d.set(funnel_shift);
  } else if (op == "lop3") {
    if (d.ops.size() != 5 || d.ops[0].pred_dst >= 0) throw Error("lop3 with predicate");
    d.set(lop3);
  } else if (op == "prmt") {
    if (d.parts.size() > 2) throw Error("prmt mode");
    d.set(permute_bytes);
  } else if (op == "bfe") {
    d.set(i.type == U32   ? bit_extract<u32>
          : i.type == S32 ? bit_extract<s32>
          : i.type == U64 ? bit_extract<u64>
                          : bit_extract<s64>);
  } else if (op == "bfi") {
    d.set(wide ? bit_insert<u64> : bit_insert<u32>);
  } else if (op == "bfind") {
    i.a = d.has("shiftamt");
    d.set(i.type == U32   ? bit_find<u32>
          : i.type == S32 ? bit_find<s32>
          : i.type == U64 ? bit_find<u64>
                          : bit_find<s64>);
  } else if (op == "bmsk") {
    i.a = d.has("wrap");
    d.set(bit_mask);
  } else if (op == "popc") {
    d.set(wide ? Handler(unary<[](u64 x) { return u32(popcount(x)); }, u32, u64>)
               : Handler(unary<[](u32 x) { return u32(popcount(x)); }, u32, u32>));
  } else if (op == "clz") {
    d.set(wide ? Handler(unary<[](u64 x) { return u32(std::countl_zero(x)); }, u32, u64>)
               : Handler(unary<[](u32 x) { return u32(std::countl_zero(x)); }, u32, u32>));
  } else if (op == "brev") {
    d.set(wide ? Handler(unary<[](u64 x) { return reverse_bits(x); }, u64, u64>)
               : Handler(unary<[](u32 x) { return reverse_bits(x); }, u32, u32>));
  } else if (op == "sad") {
    if (type_size(i.type) != 4) throw Error("sad type");
    d.set(i.type == S32
              ? Handler(ternary<[](s32 x, s32 y, s32 c) { return c + (x < y ? y - x : x - y); },
                                s32, s32>)
              : Handler(ternary<[](u32 x, u32 y, u32 c) { return c + (x < y ? y - x : x - y); },
                                u32, u32>));
  } else if (op == "dp4a") {
    d.set(dot4);
  }
  return true;
}

}  // namespace ptxemu
