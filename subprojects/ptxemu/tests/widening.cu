// SPDX-License-Identifier: Apache-2.0
// Values narrower than the register that receives them: the sign must reach its top. An index or a
// page id of -1 that is widened to 64 bits depends on it.
#include "common.h"

struct Wide {
  long long bytes, shorts, ints, shared, converted;
};

__global__ void widen(signed char const* b, short const* s, int const* i, Wide* out) {
  __shared__ int kept[32];
  int const t = threadIdx.x;
  kept[t] = i[t];
  __syncthreads();
  out[t].bytes = b[t];
  out[t].shorts = s[t];
  out[t].ints = i[t];
  out[t].shared = kept[31 - t];
  out[t].converted = static_cast<signed char>(i[t]);
}

// A negative index that is used at once as part of an address.
__global__ void gather(int const* index, float const* middle, float* out) {
  out[threadIdx.x] = middle[index[threadIdx.x]];
}

// A conversion to a narrow type, in a 64-bit register.
__global__ void narrow(long long const* x, long long* out) {
  long long y, z;
  asm("cvt.s8.s64 %0, %1;" : "=l"(y) : "l"(x[threadIdx.x]));
  asm("cvt.s32.s64 %0, %1;" : "=l"(z) : "l"(x[threadIdx.x]));
  out[2 * threadIdx.x] = y;
  out[2 * threadIdx.x + 1] = z;
}

int main() {
  int const n = 32;
  std::vector<signed char> b(n);
  std::vector<short> s(n);
  std::vector<int> i(n), index(n);
  std::vector<Wide> wide(n);
  std::vector<float> data(2 * n), gathered(n);
  std::vector<long long> x(n), narrowed(2 * n);
  for (int k = 0; k < n; k++) {
    b[k] = static_cast<signed char>(5 * k - 80);
    s[k] = static_cast<short>(2000 * k - 32000);
    i[k] = k % 3 ? -k * 60000001 : k * 60000001;
    index[k] = k - n / 2;
    x[k] = k % 2 ? -k * 100000000007ll : k * 100000000007ll;
  }
  for (int k = 0; k < 2 * n; k++)
    data[k] = 0.5f * k;
  auto* db = dev(b);
  auto* ds = dev(s);
  auto *di = dev(i), *dindex = dev(index);
  auto* dwide = dev(wide);
  auto *ddata = dev(data), *dgathered = dev(gathered);
  auto *dx = dev(x), *dnarrowed = dev(narrowed);
  widen<<<1, n>>>(db, ds, di, dwide);
  gather<<<1, n>>>(dindex, ddata + n, dgathered);
  narrow<<<1, n>>>(dx, dnarrowed);
  CK(cudaDeviceSynchronize());
  back(wide, dwide);
  back(gathered, dgathered);
  back(narrowed, dnarrowed);
  int wrong = 0;
  for (int k = 0; k < n; k++) {
    wrong += wide[k].bytes != b[k];
    wrong += wide[k].shorts != s[k];
    wrong += wide[k].ints != i[k];
    wrong += wide[k].shared != i[n - 1 - k];
    wrong += wide[k].converted != static_cast<signed char>(i[k]);
    wrong += gathered[k] != data[n + index[k]];
    wrong += narrowed[2 * k] != static_cast<signed char>(x[k]);
    wrong += narrowed[2 * k + 1] != static_cast<int>(x[k]);
  }
  return report("widening", wrong, 0);
}
