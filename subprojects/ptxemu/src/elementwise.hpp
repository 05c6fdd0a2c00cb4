// SPDX-License-Identifier: Apache-2.0
// Templates that turn a scalar function into a handler for all lanes, and pick the instantiation
// for a PTX type.
#pragma once

#include "machine.hpp"
#include "small_floats.hpp"

#include <type_traits>

namespace ptxemu {

// D: destination type, A: type of the sources, C: type of the last source if it differs.
template <auto F, class D, class A>
void unary(Warp& w, Ins const& i, u32 mask) {
  for_lanes(mask, [&](int l) { w.set<D>(i.dst[0], l, D(F(w.get<A>(i.src[0], l)))); });
}

template <auto F, class D, class A, class C = A>
void binary(Warp& w, Ins const& i, u32 mask) {
  for_lanes(mask, [&](int l) {
    w.set<D>(i.dst[0], l, D(F(w.get<A>(i.src[0], l), w.get<C>(i.src[1], l))));
  });
}

template <auto F, class D, class A, class C = A>
void ternary(Warp& w, Ins const& i, u32 mask) {
  for_lanes(mask, [&](int l) {
    w.set<D>(i.dst[0], l,
             D(F(w.get<A>(i.src[0], l), w.get<A>(i.src[1], l), w.get<C>(i.src[2], l))));
  });
}

// The packed forms apply F to both halves.
template <auto F, class T>
void unary_x2(Warp& w, Ins const& i, u32 mask) {
  for_lanes(mask, [&](int l) {
    auto a = w.get<Pair16<T>>(i.src[0], l);
    w.set(i.dst[0], l, Pair16<T>{T(F(a.lo)), T(F(a.hi))});
  });
}

template <auto F, class T>
void binary_x2(Warp& w, Ins const& i, u32 mask) {
  for_lanes(mask, [&](int l) {
    auto a = w.get<Pair16<T>>(i.src[0], l), b = w.get<Pair16<T>>(i.src[1], l);
    w.set(i.dst[0], l, Pair16<T>{T(F(a.lo, b.lo)), T(F(a.hi, b.hi))});
  });
}

template <auto F, class T>
void ternary_x2(Warp& w, Ins const& i, u32 mask) {
  for_lanes(mask, [&](int l) {
    auto a = w.get<Pair16<T>>(i.src[0], l), b = w.get<Pair16<T>>(i.src[1], l),
         c = w.get<Pair16<T>>(i.src[2], l);
    w.set(i.dst[0], l, Pair16<T>{T(F(a.lo, b.lo, c.lo)), T(F(a.hi, b.hi, c.hi))});
  });
}

template <auto F>
Handler unary_int(Type t) {
  switch (t) {
    case U16:
    case B16: return unary<F, u16, u16>;
    case S16: return unary<F, s16, s16>;
    case U32:
    case B32: return unary<F, u32, u32>;
    case S32: return unary<F, s32, s32>;
    case U64:
    case B64: return unary<F, u64, u64>;
    case S64: return unary<F, s64, s64>;
    default: return nullptr;
  }
}

template <auto F>
Handler binary_int(Type t) {
  switch (t) {
    case U16:
    case B16: return binary<F, u16, u16>;
    case S16: return binary<F, s16, s16>;
    case U32:
    case B32: return binary<F, u32, u32>;
    case S32: return binary<F, s32, s32>;
    case U64:
    case B64: return binary<F, u64, u64>;
    case S64: return binary<F, s64, s64>;
    case PRED:
    case U8:
    case B8: return binary<F, u8, u8>;
    default: return nullptr;
  }
}

template <auto F>
Handler unary_float(Type t) {
  switch (t) {
    case F32: return unary<F, float, float>;
    case F64: return unary<F, double, double>;
    case F16: return unary<F, Half, Half>;
    case BF16: return unary<F, Bfloat, Bfloat>;
    case F16X2: return unary_x2<F, Half>;
    case BF16X2: return unary_x2<F, Bfloat>;
    default: return nullptr;
  }
}

template <auto F>
Handler binary_float(Type t) {
  switch (t) {
    case F32: return binary<F, float, float>;
    case F64: return binary<F, double, double>;
    case F16: return binary<F, Half, Half>;
    case BF16: return binary<F, Bfloat, Bfloat>;
    case F16X2: return binary_x2<F, Half>;
    case BF16X2: return binary_x2<F, Bfloat>;
    default: return nullptr;
  }
}

template <auto F>
Handler ternary_float(Type t) {
  switch (t) {
    case F32: return ternary<F, float, float>;
    case F64: return ternary<F, double, double>;
    case F16: return ternary<F, Half, Half>;
    case BF16: return ternary<F, Bfloat, Bfloat>;
    case F16X2: return ternary_x2<F, Half>;
    case BF16X2: return ternary_x2<F, Bfloat>;
    default: return nullptr;
  }
}

template <auto F>
Handler binary_any(Type t) {
  Handler h = binary_int<F>(t);
  return h ? h : binary_float<F>(t);
}

// min/max for integers and floats: a NaN gives the other operand, -0 is below +0.
inline constexpr auto kMax = [](auto a, auto b) {
  if constexpr (std::is_integral_v<decltype(a)>) {
    return a > b ? a : b;
  } else {
    double x = a, y = b;
    if (std::isnan(x)) return y;
    if (std::isnan(y)) return x;
    if (x == y) return std::signbit(x) ? y : x;
    return x > y ? x : y;
  }
};

inline constexpr auto kMin = [](auto a, auto b) {
  if constexpr (std::is_integral_v<decltype(a)>) {
    return a < b ? a : b;
  } else {
    double x = a, y = b;
    if (std::isnan(x)) return y;
    if (std::isnan(y)) return x;
    if (x == y) return std::signbit(x) ? x : y;
    return x < y ? x : y;
  }
};

}  // namespace ptxemu
