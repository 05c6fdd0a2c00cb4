// SPDX-License-Identifier: Apache-2.0
// CUB block reduction, scan and radix sort; device-wide reduction and scan.
#include "common.h"

#include <cub/cub.cuh>
__global__ void k(float const* x, float* out, int n) {
  using BR = cub::BlockReduce<float, 128>;
  __shared__ typename BR::TempStorage t;
  float v = 0;
  for (int i = threadIdx.x; i < n; i += 128)
    v += x[blockIdx.x * n + i];
  float s = BR(t).Sum(v);
  __syncthreads();
  float m = BR(t).Reduce(v, [](float a, float b) { return a > b ? a : b; });
  if (threadIdx.x == 0) {
    out[blockIdx.x * 2] = s;
    out[blockIdx.x * 2 + 1] = m;
  }
}
__global__ void scan(int const* x, int* out) {
  using BS = cub::BlockScan<int, 128>;
  __shared__ typename BS::TempStorage t;
  int v = x[threadIdx.x], agg;
  BS(t).ExclusiveSum(v, v, agg);
  out[threadIdx.x] = v + agg;
}
__global__ void sortk(unsigned const* x, int const* y, unsigned* ox, int* oy) {
  using S = cub::BlockRadixSort<unsigned, 128, 4, int>;
  __shared__ typename S::TempStorage t;
  unsigned k[4];
  int v[4];
  for (int i = 0; i < 4; i++) {
    k[i] = x[threadIdx.x * 4 + i];
    v[i] = y[threadIdx.x * 4 + i];
  }
  S(t).SortDescending(k, v);
  for (int i = 0; i < 4; i++) {
    ox[threadIdx.x * 4 + i] = k[i];
    oy[threadIdx.x * 4 + i] = v[i];
  }
}
__global__ void wr(float const* x, float* o) {
  using W = cub::WarpReduce<float>;
  __shared__ typename W::TempStorage t[4];
  float v = W(t[threadIdx.x / 32]).Sum(x[threadIdx.x]);
  if (threadIdx.x % 32 == 0) o[threadIdx.x / 32] = v;
}
int main() {
  int n = 500, B = 3, r = 0;
  std::vector<float> x(n * B), o(B * 2);
  for (int i = 0; i < n * B; i++)
    x[i] = (i * 37 % 101) * 0.25f;
  float *dx = dev(x), *dout = dev(o);
  k<<<B, 128>>>(dx, dout, n);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  back(o, dout);
  double e = 0;
  for (int b = 0; b < B; b++) {
    double s = 0, m = -1;
    for (int t = 0; t < 128; t++) {
      double ss = 0;
      for (int i = t; i < n; i += 128)
        ss += x[b * n + i];
      s += ss;
      m = fmax(m, ss);
    }
    e = fmax(e, fabs(s - o[2 * b]));
    e = fmax(e, fabs(m - o[2 * b + 1]));
  }
  r |= report("cub_reduce", e, 0);
#ifndef REDUCE_ONLY
  std::vector<int> xi(128), oi(128);
  for (int i = 0; i < 128; i++)
    xi[i] = i * 31 % 17;
  int *di = dev(xi), *doi = dev(oi);
  scan<<<1, 128>>>(di, doi);
  CK(cudaDeviceSynchronize());
  back(oi, doi);
  int bad = 0, tot = 0, acc = 0;
  for (int v : xi)
    tot += v;
  for (int i = 0; i < 128; i++) {
    if (oi[i] != acc + tot) bad++;
    acc += xi[i];
  }
  r |= report("cub_scan", bad, 0);
  std::vector<unsigned> kx(512), ko(512);
  std::vector<int> vy(512), vo(512);
  for (int i = 0; i < 512; i++) {
    kx[i] = (i * 2654435761u) >> 8;
    vy[i] = i;
  }
  unsigned *dkx = dev(kx), *dko = dev(ko);
  int *dvy = dev(vy), *dvo = dev(vo);
  sortk<<<1, 128>>>(dkx, dvy, dko, dvo);
  CK(cudaDeviceSynchronize());
  back(ko, dko);
  back(vo, dvo);
  bad = 0;
  for (int i = 0; i < 512; i++) {
    if (i && ko[i] > ko[i - 1]) bad++;
    if (kx[vo[i]] != ko[i]) bad++;
  }
  r |= report("cub_sort", bad, 0);
  std::vector<float> wo(4);
  float* dwo = dev(wo);
  wr<<<1, 128>>>(dx, dwo);
  CK(cudaDeviceSynchronize());
  back(wo, dwo);
  e = 0;
  for (int w = 0; w < 4; w++) {
    double s = 0;
    for (int i = 0; i < 32; i++)
      s += x[w * 32 + i];
    e = fmax(e, fabs(s - wo[w]));
  }
  r |= report("cub_warp", e, 0);
#endif
  return r;
}
