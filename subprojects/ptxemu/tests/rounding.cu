// SPDX-License-Identifier: Apache-2.0
// Conversions with a rounding other than to nearest. The host checks them by their definition: the
// result is on the right side of the input, and its neighbour is not.
#include "common.h"

#include <cuda_fp16.h>

struct Rounded {
  __half down, up, zero;
  unsigned pair;
  double signed_down, signed_up, unsigned_zero;
  float saturated;
};

__global__ void convert(float const* x, long long const* i, Rounded* out) {
  int const t = threadIdx.x;
  Rounded r;
  r.down = __float2half_rd(x[t]);
  r.up = __float2half_ru(x[t]);
  r.zero = __float2half_rz(x[t]);
  asm("cvt.rz.f16x2.f32 %0, %1, %2;" : "=r"(r.pair) : "f"(x[t]), "f"(-x[t]));
  r.signed_down = __ll2double_rd(i[t]);
  r.signed_up = __ll2double_ru(i[t]);
  r.unsigned_zero = __ull2double_rz(static_cast<unsigned long long>(i[t]));
  asm("cvt.rn.sat.f32.s64 %0, %1;" : "=f"(r.saturated) : "l"(i[t]));
  out[t] = r;
}

__half next(__half h, bool up) {  // the neighbour of a finite number
  auto bits = __half_as_ushort(h);
  if ((bits & 0x7fff) == 0) return __ushort_as_half(up ? 0x0001 : 0x8001);
  return __ushort_as_half((bits & 0x8000) == 0 == up ? bits + 1 : bits - 1);
}

int main() {
  int const n = 256;
  std::vector<float> x(n);
  std::vector<long long> i(n);
  std::vector<Rounded> out(n);
  unsigned long long seed = 1;
  for (int k = 0; k < n; k++) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    x[k] = ldexpf(1 + float(seed >> 40) / (1 << 24), int(k % 41) - 26) * (k % 2 ? -1 : 1);
    i[k] = static_cast<long long>(seed) >> (k % 60);
  }
  auto* dx = dev(x);
  auto* di = dev(i);
  auto* dout = dev(out);
  convert<<<1, n>>>(dx, di, dout);
  CK(cudaDeviceSynchronize());
  back(out, dout);
  int wrong = 0;
  for (int k = 0; k < n; k++) {
    Rounded const& r = out[k];
    float const v = x[k], down = __half2float(r.down), up = __half2float(r.up);
    wrong += !(down <= v && v < __half2float(next(r.down, true)));
    wrong += !(up >= v && v > __half2float(next(r.up, false)));
    wrong += __half2float(r.zero) != (v > 0 ? down : up);
    auto const upper = __ushort_as_half(static_cast<unsigned short>(r.pair >> 16));
    auto const lower = __ushort_as_half(static_cast<unsigned short>(r.pair));
    wrong += __half2float(upper) != (v > 0 ? down : up);
    wrong += __half2float(lower) != (v > 0 ? -down : -up);
    // From 2^53 on neighbouring doubles are integers; below, every integer is exact.
    using wide = __int128;
    bool const exact = i[k] > -(1ll << 53) && i[k] < (1ll << 53);
    auto const below = static_cast<wide>(r.signed_down), above = static_cast<wide>(r.signed_up);
    wrong += !(below <= i[k] && i[k] <= above);
    wrong +=
        exact || below == i[k] ? below != above : r.signed_up != nextafter(r.signed_down, INFINITY);
    auto const u = static_cast<unsigned long long>(i[k]);
    auto const chopped = static_cast<wide>(r.unsigned_zero);
    bool const small = u < (1ull << 53);
    wrong +=
        !(chopped <= u &&
          (small ? chopped == u : u < static_cast<wide>(nextafter(r.unsigned_zero, INFINITY))));
    wrong += r.saturated != (i[k] > 0 ? 1.0f : 0.0f);
  }
  return report("rounding", wrong, 0);
}
