// SPDX-License-Identifier: Apache-2.0
// Floating-point arithmetic. f16/bf16 are computed in double and rounded once.
#include "decode.hpp"
#include "elementwise.hpp"

#include <cfenv>

namespace ptxemu {
namespace {

constexpr auto kFma = [](auto a, auto b, auto c) {
  using T = decltype(a);
  if constexpr (std::is_same_v<T, float>) {
    return fmaf(a, b, c);
  } else {
    return fma(double(a), double(b), double(c));
  }
};

constexpr auto kFmaRelu = [](auto a, auto b, auto c) {
  auto r = kFma(a, b, c);
  return r > 0 ? r : decltype(r)(0);
};

constexpr auto kMaxNan = [](auto a, auto b) {
  double x = a, y = b;
  return std::isnan(x) || std::isnan(y) ? double(NAN) : double(kMax(x, y));
};

constexpr auto kMinNan = [](auto a, auto b) {
  double x = a, y = b;
  return std::isnan(x) || std::isnan(y) ? double(NAN) : double(kMin(x, y));
};

// Half types go through float, so that 1/x and sqrt are not computed in the wrapper type.
template <class T>
auto widen(T x) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    return x;
  } else {
    return float(x);
  }
}

template <int Mode, class F>
float with_rounding(F f) {
  fesetround(Mode);
  float volatile r = f();
  fesetround(FE_TONEAREST);
  return r;
}

// f32 operations with a rounding mode other than nearest.
template <int Mode>
Handler directed(string const& op) {
  if (op == "add") {
    return binary<[](float x, float y) { return with_rounding<Mode>([&] { return x + y; }); },
                  float, float>;
  }
  if (op == "sub") {
    return binary<[](float x, float y) { return with_rounding<Mode>([&] { return x - y; }); },
                  float, float>;
  }
  if (op == "mul") {
    return binary<[](float x, float y) { return with_rounding<Mode>([&] { return x * y; }); },
                  float, float>;
  }
  if (op == "div") {
    return binary<[](float x, float y) { return with_rounding<Mode>([&] { return x / y; }); },
                  float, float>;
  }
  if (op == "fma" || op == "mad") {
    return ternary<[](float x, float y, float z) {
      return with_rounding<Mode>([&] { return fmaf(x, y, z); });
    },
                   float, float>;
  }
  return nullptr;
}

// a = index in kClasses
char const* const kClasses[] = {"finite",     "infinite", "number",
                                "notanumber", "normal",   "subnormal"};

void test_class(Warp& w, Ins const& i, u32 mask) {
  for_lanes(mask, [&](int l) {
    double x = i.type == F64 ? w.get<double>(i.src[0], l) : w.get<float>(i.src[0], l);
    int c = i.type == F64 ? std::fpclassify(x) : std::fpclassify(float(x));
    bool r = false;
    switch (i.a) {
      case 0: r = std::isfinite(x); break;
      case 1: r = std::isinf(x); break;
      case 2: r = !std::isnan(x); break;
      case 3: r = std::isnan(x); break;
      case 4: r = c == FP_NORMAL; break;
      case 5: r = c == FP_SUBNORMAL; break;
    }
    w.regs[i.dst[0]][l] = r;
  });
}

// neg and abs only touch the sign bit, also for NaN.
Handler sign_operation(Type t, bool negate) {
  switch (t) {
    case F16:
    case BF16:
      return negate ? Handler(unary<[](u16 x) { return x ^ 0x8000; }, u16, u16>)
                    : Handler(unary<[](u16 x) { return x & 0x7fff; }, u16, u16>);
    case F16X2:
    case BF16X2:
      return negate ? Handler(unary<[](u32 x) { return x ^ 0x80008000u; }, u32, u32>)
                    : Handler(unary<[](u32 x) { return x & 0x7fff7fffu; }, u32, u32>);
    case F32:
      return negate ? Handler(unary<[](u32 x) { return x ^ 0x80000000u; }, u32, u32>)
                    : Handler(unary<[](u32 x) { return x & 0x7fffffffu; }, u32, u32>);
    default:
      return negate ? Handler(unary<[](u64 x) { return x ^ (1ull << 63); }, u64, u64>)
                    : Handler(unary<[](u64 x) { return x & ~(1ull << 63); }, u64, u64>);
  }
}

// Approximations are computed in double and rounded: better than hardware, so compare with a
// tolerance.
Handler function(string const& op, Type t) {
  if (op == "sqrt") return unary_float<[](auto x) { return sqrt(widen(x)); }>(t);
  if (op == "rcp") return unary_float<[](auto x) { return 1 / widen(x); }>(t);
  if (op == "rsqrt") return unary_float<[](auto x) { return 1 / sqrt(double(x)); }>(t);
  if (op == "ex2") return unary_float<[](auto x) { return exp2(double(x)); }>(t);
  if (op == "lg2") return unary_float<[](auto x) { return log2(double(x)); }>(t);
  if (op == "sin") return unary_float<[](auto x) { return sin(double(x)); }>(t);
  if (op == "cos") return unary_float<[](auto x) { return cos(double(x)); }>(t);
  if (op == "tanh") return unary_float<[](auto x) { return tanh(double(x)); }>(t);
  return nullptr;
}

}  // namespace

bool decode_float(Decoder& d) {
  Ins& i = d.ins;
  string const& op = d.op;
  d.dst(0);
  d.rest(1);
  if (i.sat && i.type != F32) throw Error(".sat");
  int const mode = d.rounding();
  if (mode > RN && mode != RNA) {
    if (i.type == F32) {
      Handler h = mode == RZ   ? directed<FE_TOWARDZERO>(op)
                  : mode == RM ? directed<FE_DOWNWARD>(op)
                               : directed<FE_UPWARD>(op);
      if (!h) throw Error("rounding mode");
      d.set_rounded(h);
      return true;
    }
    throw Error("rounding mode");
  }
  if (op == "add") {
    d.set_rounded(binary_float<[](auto x, auto y) { return x + y; }>(i.type));
  } else if (op == "sub") {
    d.set_rounded(binary_float<[](auto x, auto y) { return x - y; }>(i.type));
  } else if (op == "mul") {
    d.set_rounded(binary_float<[](auto x, auto y) { return x * y; }>(i.type));
  } else if (op == "div") {
    d.set_rounded(binary_float<[](auto x, auto y) { return x / y; }>(i.type));
  } else if (op == "fma" || op == "mad") {
    if (!d.has("relu")) {
      d.set_rounded(ternary_float<kFma>(i.type));
    } else {
      d.set(type_size(i.type) == 8 || i.type == F32 ? nullptr : ternary_float<kFmaRelu>(i.type));
    }
  } else if (op == "min" || op == "max") {
    if (d.ops.size() > 3 || d.has("xorsign")) throw Error(op + " form");
    bool const mx = op == "max";
    if (d.has("NaN")) {
      d.set_rounded(mx ? binary_float<kMaxNan>(i.type) : binary_float<kMinNan>(i.type));
    } else {
      d.set_rounded(mx ? binary_float<kMax>(i.type) : binary_float<kMin>(i.type));
    }
  } else if (op == "neg" || op == "abs") {
    d.set_rounded(sign_operation(i.type, op == "neg"));
  } else if (op == "copysign") {
    d.set(i.type == F64
              ? Handler(binary<[](double x, double y) { return copysign(y, x); }, double, double>)
              : Handler(binary<[](float x, float y) { return copysignf(y, x); }, float, float>));
  } else if (op == "testp") {
    for (int k = 0; k < 6; k++) {
      if (d.has(kClasses[k])) i.a = k;
    }
    d.set(test_class);
  } else if (Handler h = function(op, i.type)) {
    d.set_rounded(h);
  } else {
    return false;
  }
  return true;
}

}  // namespace ptxemu
