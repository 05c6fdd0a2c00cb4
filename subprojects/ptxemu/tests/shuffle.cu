// SPDX-License-Identifier: Apache-2.0
// Warp shuffles in all modes, and votes.
#include "common.h"
__global__ void red(float const* x, float* out, int n) {
  __shared__ float s[32];
  float v = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    v += x[blockIdx.x * n + i];
  for (int o = 16; o; o >>= 1)
    v += __shfl_down_sync(0xffffffffu, v, o);
  if ((threadIdx.x & 31) == 0) s[threadIdx.x >> 5] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = threadIdx.x < (blockDim.x >> 5) ? s[threadIdx.x] : 0.f;
    for (int o = 16; o; o >>= 1)
      v += __shfl_xor_sync(0xffffffffu, v, o);
    if (threadIdx.x == 0) out[blockIdx.x] = v;
  }
}
__global__ void votes(int const* x, unsigned* out) {
  int i = threadIdx.x;
  unsigned b = __ballot_sync(~0u, x[i] & 1);
  int any = __any_sync(~0u, x[i] == 37), all = __all_sync(~0u, x[i] < 1000);
  int up = __shfl_up_sync(~0u, x[i], 1);
  int idx = __shfl_sync(~0u, x[i], (i * 7) & 31, 16);
  unsigned m = 0;
  if (i % 3 == 0) {
    m = __activemask();
    m ^= __ballot_sync(m, (i & 2) != 0);
  }
  out[i] = b + any * 3 + all * 5 + up * 7 + idx * 11 + m * 13u;
}
int main() {
  int n = 1000, B = 5;
  std::vector<float> x(n * B), o(B);
  for (int i = 0; i < n * B; i++)
    x[i] = (i * 37 % 101) * 0.25f;
  float *dx = dev(x), *dout = dev(o);
  red<<<B, 256>>>(dx, dout, n);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  back(o, dout);
  double e = 0;
  for (int b = 0; b < B; b++) {
    double s = 0;
    for (int i = 0; i < n; i++)
      s += x[b * n + i];
    e = fmax(e, fabs(s - o[b]));
  }
  int r = report("shfl_reduce", e, 0);
  std::vector<int> xi(64);
  std::vector<unsigned> ou(64), ref(64);
  for (int i = 0; i < 64; i++)
    xi[i] = i * 5 % 61;
  int* di = dev(xi);
  unsigned* dou = dev(ou);
  votes<<<1, 64>>>(di, dou);
  CK(cudaDeviceSynchronize());
  back(ou, dou);
  for (int i = 0; i < 64; i++) {
    int w = i & ~31;
    unsigned b = 0;
    int any = 0, all = 1;
    unsigned m = 0;
    for (int l = 0; l < 32; l++) {
      b |= (unsigned)(xi[w + l] & 1) << l;
      any |= xi[w + l] == 37;
      all &= xi[w + l] < 1000;
    }
    int up = (i & 31) ? xi[i - 1] : xi[i];
    int idx = xi[w + ((i & 31) & 16) + (((i * 7) & 31) & 15)];
    if (i % 3 == 0) {
      unsigned act = 0, bb = 0;
      for (int l = 0; l < 32; l++)
        if ((w + l) % 3 == 0) {
          act |= 1u << l;
          if ((w + l) & 2) bb |= 1u << l;
        }
      m = act ^ bb;
    }
    ref[i] = b + any * 3 + all * 5 + up * 7 + idx * 11 + m * 13u;
  }
  int bad = 0;
  for (int i = 0; i < 64; i++)
    if (ref[i] != ou[i]) bad++;
  return r | report("votes", bad, 0);
}
