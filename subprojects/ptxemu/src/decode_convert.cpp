// SPDX-License-Identifier: Apache-2.0
// Moves, conversions, comparisons and selects.
#include "decode.hpp"
#include "elementwise.hpp"

#include <cfenv>

namespace ptxemu {
namespace {

// Comparison codes in Ins::a; +16 marks the unordered forms (equ, ltu, ...).
enum { kEq, kNe, kLt, kLe, kGt, kGe, kNum, kNan, kUnordered = 16 };

// a = comparison, b = 1/2/3 for and/or/xor with a predicate, c = that predicate is negated.
// type2 = destination type of `set`, TypeNone for `setp`.
template <class T>
void compare(Warp& w, Ins const& i, u32 mask) {
  for_lanes(mask, [&](int l) {
    T x = w.get<T>(i.src[0], l), y = w.get<T>(i.src[1], l);
    bool unordered = false, r = false;
    if constexpr (!std::is_integral_v<T>) unordered = std::isnan(float(x)) || std::isnan(float(y));
    int const code = i.a & 15;
    switch (code) {
      case kEq: r = x == y; break;
      case kNe: r = x != y; break;
      case kLt: r = x < y; break;
      case kLe: r = x <= y; break;
      case kGt: r = x > y; break;
      case kGe: r = x >= y; break;
      case kNum: r = !unordered; break;
      case kNan: r = unordered; break;
    }
    if (code < kNum && unordered) r = i.a >= kUnordered;
    bool other = !r;
    if (i.num_src > 2) {
      bool p = (w.regs[i.src[2]][l] & 1) != u64(i.c);
      switch (i.b) {
        case 1:
          r = r && p;
          other = other && p;
          break;
        case 2:
          r = r || p;
          other = other || p;
          break;
        case 3:
          r = r != p;
          other = other != p;
          break;
      }
    }
    if (i.type2 == TypeNone) {
      w.regs[i.dst[0]][l] = r;
      if (i.num_dst > 1) w.regs[i.dst[1]][l] = other;
      return;
    }
    u64 one = i.type2 == F32    ? 0x3f800000
              : i.type2 == F16  ? 0x3c00
              : i.type2 == BF16 ? 0x3f80
                                : 0xffffffff;
    w.regs[i.dst[0]][l] = r ? one : 0;
  });
}

Handler compare_handler(Type t) {
  switch (t) {
    case U8:
    case B8: return compare<u8>;
    case U16:
    case B16: return compare<u16>;
    case S16: return compare<s16>;
    case U32:
    case B32: return compare<u32>;
    case S32: return compare<s32>;
    case U64:
    case B64: return compare<u64>;
    case S64: return compare<s64>;
    case F16: return compare<Half>;
    case BF16: return compare<Bfloat>;
    case F32: return compare<float>;
    case F64: return compare<double>;
    default: return nullptr;
  }
}

// Reads a conversion source as an exact integer (returns true) or a double.
bool read_source(Warp const& w, int reg, int l, Type t, s128& integer, double& real) {
  switch (t) {
    case U8:
    case B8: integer = w.get<u8>(reg, l); return true;
    case S8: integer = w.get<s8>(reg, l); return true;
    case U16:
    case B16: integer = w.get<u16>(reg, l); return true;
    case S16: integer = w.get<s16>(reg, l); return true;
    case U32:
    case B32: integer = w.get<u32>(reg, l); return true;
    case S32: integer = w.get<s32>(reg, l); return true;
    case U64:
    case B64: integer = w.get<u64>(reg, l); return true;
    case S64: integer = w.get<s64>(reg, l); return true;
    case F16: real = w.get<Half>(reg, l); return false;
    case BF16: real = w.get<Bfloat>(reg, l); return false;
    case F32: real = w.get<float>(reg, l); return false;
    case F64: real = w.get<double>(reg, l); return false;
    default: throw Error("cvt source type");
  }
}

double round_to_integer(double x, int mode) {
  switch (mode) {
    case RN: return nearbyint(x);
    case RZ: return trunc(x);
    case RM: return floor(x);
    case RP: return ceil(x);
    default: return round(x);
  }
}

int fenv_mode(int mode) {
  return mode == RZ   ? FE_TOWARDZERO
         : mode == RM ? FE_DOWNWARD
         : mode == RP ? FE_UPWARD
                      : FE_TONEAREST;
}

template <class T>
float to_float_rounded(T x, int mode) {
  fesetround(fenv_mode(mode));
  float volatile f = float(x);
  fesetround(FE_TONEAREST);
  return f;
}

u16 double_to_bf16(double x, bool toward_zero) {
  float f = double_to_float_odd(x);
  return toward_zero && !std::isnan(x) ? u16(bit_cast<u32>(f) >> 16) : float_to_bf16(f);
}

// The sign comes before the rounding, so that rm and rp keep their direction.
template <class T>
T integer_to(s128 integer, int mode) {
  fesetround(fenv_mode(mode));
  T volatile x = integer < 0 ? T(s64(integer)) : T(u64(integer));
  fesetround(FE_TONEAREST);
  return x;
}

// One step from the half h towards minus infinity.
u16 half_below(u16 h) {
  if (h == 0) return 0x8001;
  return h & 0x8000 ? h + 1 : h - 1;
}

u16 double_to_half(double x, int mode) {
  u16 const h = ptxemu::double_to_half(x);  // nearest: at most one step off
  double const rounded = half_to_float(h);
  if (std::isnan(x)) return h;
  bool const down = mode == RM || (mode == RZ && x > 0), up = mode == RP || (mode == RZ && x < 0);
  if (down && rounded > x) return half_below(h);
  if (up && rounded < x) return half_below(h ^ 0x8000) ^ 0x8000;
  return h;
}

u64 convert_to_integer(Ins const& i, bool from_int, s128 integer, double x) {
  int const bits = type_size(i.type) * 8;
  bool const sg = is_signed(i.type);
  s128 const lo = sg ? -(s128(1) << (bits - 1)) : 0;
  s128 const hi = sg ? (s128(1) << (bits - 1)) - 1 : (s128(1) << bits) - 1;
  if (!from_int) {  // floats always saturate; NaN gives 0, or 1<<63 where 64 bits are involved
    if (std::isnan(x)) {
      integer = bits == 64 ? s128(1) << 63 : 0;
    } else {
      x = round_to_integer(x, i.a);
      integer = x <= double(lo) ? lo : x >= double(hi) ? hi : s128(x);
    }
  } else if (i.sat) {
    integer = std::clamp(integer, lo, hi);
  }
  u64 v = u64(integer);
  // The register may be wider than the type: it receives the sign up to its top.
  if (sg && bits < 64) return u64(s64(v << (64 - bits)) >> (64 - bits));
  return bits < 64 ? v & ((1ull << bits) - 1) : v;
}

// a = rounding, b = rounds to an integer value (.rni etc.), c = .relu
void convert(Warp& w, Ins const& i, u32 mask) {
  bool const to_int = (i.type >= U8 && i.type <= S64) || (i.type >= B8 && i.type <= B64);
  for_lanes(mask, [&](int l) {
    s128 integer = 0;
    double x = 0;
    bool from_int = read_source(w, i.src[0], l, i.type2, integer, x);
    if (i.ftz && i.type2 == F32) x = flush_denormal(x);
    if (to_int) {
      w.regs[i.dst[0]][l] = convert_to_integer(i, from_int, integer, x);
      return;
    }
    if (from_int) {
      x = integer_to<double>(integer, i.type == F64 ? i.a : RN);
      if (i.type == F32) {
        float f = integer_to<float>(integer, i.a);
        w.set<float>(i.dst[0], l, i.sat ? std::clamp(f, 0.0f, 1.0f) : f);
        return;
      }
    } else if (i.b) {
      x = round_to_integer(x, i.a);
    }
    if (i.sat) x = std::isnan(x) ? 0 : std::clamp(x, 0.0, 1.0);
    if (i.c && !(x > 0) && !std::isnan(x)) x = 0;
    bool const toward_zero = i.a == RZ && !i.b;
    switch (i.type) {
      case F64: w.set<double>(i.dst[0], l, x); break;
      case F32: {
        float f = to_float_rounded(x, i.b ? RN : i.a);
        w.set<float>(i.dst[0], l, i.ftz ? flush_denormal(f) : f);
        break;
      }
      case F16: w.set<u16>(i.dst[0], l, double_to_half(x, i.b ? RN : i.a)); break;
      case BF16: w.set<u16>(i.dst[0], l, double_to_bf16(x, toward_zero)); break;
      default: throw Error("cvt destination type");
    }
  });
}

// Two values at once: f32 pairs or packed 16/8-bit values to a packed type. The first source is the
// upper half.
void convert_packed(Warp& w, Ins const& i, u32 mask) {
  auto narrow = [&](double x) -> u32 {
    if (i.c && !(x > 0) && !std::isnan(x)) x = 0;  // .relu
    switch (i.type) {
      case F16X2: return double_to_half(x, i.a);
      case BF16X2: return double_to_bf16(x, i.a == RZ);
      case E4M3X2: return double_to_fp8(x, true);
      default: return double_to_fp8(x, false);
    }
  };
  int const shift = i.type == F16X2 || i.type == BF16X2 ? 16 : 8;
  for_lanes(mask, [&](int l) {
    u32 r = w.get<u32>(i.src[0], l);
    double lo, hi;
    switch (i.type2) {
      case F32:
        hi = w.get<float>(i.src[0], l);
        lo = w.get<float>(i.src[1], l);
        break;
      case F16X2:
        lo = half_to_float(r);
        hi = half_to_float(r >> 16);
        break;
      case BF16X2:
        lo = bf16_to_float(r);
        hi = bf16_to_float(r >> 16);
        break;
      case E4M3X2:
        lo = fp8_to_float(r, true);
        hi = fp8_to_float(r >> 8, true);
        break;
      case E5M2X2:
        lo = fp8_to_float(r, false);
        hi = fp8_to_float(r >> 8, false);
        break;
      default: throw Error("cvt source type");
    }
    w.regs[i.dst[0]][l] = narrow(lo) | (narrow(hi) << shift);
  });
}

void convert_tf32(Warp& w, Ins const& i, u32 mask) {
  for_lanes(mask, [&](int l) {
    u32 u = w.get<u32>(i.src[0], l);
    if ((u & 0x7f800000) != 0x7f800000) {
      if (i.a == RN) u += 0xfff + ((u >> 13) & 1);
      if (i.a == RNA) u += 0x1000;
      u &= ~0x1fffu;
    }
    w.regs[i.dst[0]][l] = u;
  });
}

void move(Warp& w, Ins const& i, u32 mask) {
  for_lanes(mask, [&](int l) { w.regs[i.dst[0]][l] = w.regs[i.src[0]][l]; });
}

// Clocks advance with every read, so that code that waits for time to pass terminates.
void move_clock(Warp& w, Ins const& i, u32 mask) {
  static u64 ticks = 0;
  ticks += 100;
  for_lanes(mask, [&](int l) { w.regs[i.dst[0]][l] = ticks; });
}

void pack(Warp& w, Ins const& i, u32 mask) {
  int const n = i.num_src, bits = type_size(i.type) * 8 / n;
  u64 const part = bits == 64 ? ~0ull : (1ull << bits) - 1;
  for_lanes(mask, [&](int l) {
    u64 v = 0;
    for (int k = 0; k < n; k++)
      v |= (w.regs[i.src[k]][l] & part) << (bits * k);
    w.regs[i.dst[0]][l] = v;
  });
}

void unpack(Warp& w, Ins const& i, u32 mask) {
  int const n = i.num_dst, bits = type_size(i.type) * 8 / n;
  for_lanes(mask, [&](int l) {
    u64 v = w.regs[i.src[0]][l];
    for (int k = 0; k < n; k++)
      w.regs[i.dst[k]][l] = (v >> (bits * k)) & ((1ull << bits) - 1);
  });
}

void select(Warp& w, Ins const& i, u32 mask) {
  for_lanes(mask, [&](int l) {
    bool p = (w.regs[i.src[2]][l] & 1) != u64(i.c);
    w.regs[i.dst[0]][l] = w.regs[p ? i.src[0] : i.src[1]][l];
  });
}

void decode_move(Decoder& d) {
  Ins& i = d.ins;
  d.dst(0);
  d.src(1);
  if (type_size(i.type) > 8) throw Error("128-bit mov");
  if (d.ops[0].regs.size() > 1) {
    d.set(unpack);
  } else if (d.ops[1].regs.size() > 1) {
    d.set(pack);
  } else if (d.ops[1].offset) {
    i.src[i.num_src++] = d.parser.const_reg(u64(d.ops[1].offset));
    d.set(binary<[](u64 x, u64 y) { return x + y; }, u64, u64>);
  } else {
    i.plain_move = true;
    d.set(d.parser.is_clock(i.src[0]) ? move_clock : move);
  }
}

void decode_compare(Decoder& d) {
  static char const* const kOrdered[] = {"eq", "ne", "lt", "le", "gt", "ge", "num", "nan"};
  static char const* const kUnorderedNames[] = {"equ", "neu", "ltu", "leu", "gtu", "geu"};
  static char const* const kUnsigned[] = {"lo", "ls", "hi", "hs"};
  Ins& i = d.ins;
  for (int k = 0; k < 8; k++)
    if (d.has(kOrdered[k])) i.a = k;
  for (int k = 0; k < 6; k++)
    if (d.has(kUnorderedNames[k])) i.a = k | kUnordered;
  for (int k = 0; k < 4; k++)
    if (d.has(kUnsigned[k])) i.a = k + kLt;
  for (Type t : d.types)
    if (t == F16X2 || t == BF16X2) throw Error("packed comparison");
  d.dst(0);
  d.rest(1);
  i.b = d.has("and") ? 1 : d.has("or") ? 2 : d.has("xor") ? 3 : 0;
  i.c = d.ops.back().negated;
  Type source = d.op == "set" && d.types.size() > 1 ? d.types[1] : i.type;
  i.type2 = d.op == "set" ? i.type : TypeNone;
  d.set(compare_handler(source));
}

void decode_cvt(Decoder& d) {
  Ins& i = d.ins;
  if (d.op != "cvt" || d.parts.size() < 2) throw Error("cvt form");
  d.dst(0);
  d.rest(1);
  i.a = d.rounding();
  i.c = d.has("relu");
  bool const to_fp8 = i.type == E4M3X2 || i.type == E5M2X2;
  if (d.has("satfinite") && !to_fp8) throw Error("cvt.satfinite");
  if (i.type == BF16 && (i.a == RM || i.a == RP)) throw Error("cvt rounding");
  if (i.type == F16X2 || i.type == BF16X2 || to_fp8) {
    d.set(convert_packed);
  } else if (i.type == TF32) {
    if (i.a < 0) i.a = RN;
    d.set(convert_tf32);
  } else {
    if (i.type == TypeNone || i.type2 == TypeNone) throw Error("cvt types");
    i.b = d.has("rni") || d.has("rzi") || d.has("rmi") || d.has("rpi");
    if (i.a < 0) i.a = RN;
    d.set(convert);
  }
}

}  // namespace

bool decode_convert(Decoder& d) {
  Ins& i = d.ins;
  if (d.op == "mov") {
    decode_move(d);
  } else if (d.op == "setp" || d.op == "set") {
    decode_compare(d);
  } else if (d.op == "cvt") {
    decode_cvt(d);
  } else if (d.op == "selp") {
    d.dst(0);
    d.rest(1);
    i.c = d.ops[3].negated;
    d.set(select);
  } else if (d.op == "slct") {
    d.dst(0);
    d.rest(1);
    constexpr auto choose = [](auto x, auto y, auto c) { return c >= 0 ? x : y; };
    d.set(i.type2 == F32 ? Handler(ternary<choose, u64, u64, float>)
                         : Handler(ternary<choose, u64, u64, s32>));
  } else {
    return false;
  }
  return true;
}

}  // namespace ptxemu
