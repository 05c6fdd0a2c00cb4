// SPDX-License-Identifier: Apache-2.0
// Cooperative launch with grid.sync().
#include "common.h"

#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void coop(int* a, int* b, int n) {
  auto g = cg::this_grid();
  int i = g.thread_rank();
  if (i < n) a[i] = i * i;
  g.sync();
  if (i < n) b[i] = a[n - 1 - i];
}
__device__ unsigned ticket;
__global__ void lastblock(float const* x, float* part, float* out, int n) {
  __shared__ float s[128];
  __shared__ bool last;
  float v = 0;
  for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128)
    v += x[i];
  s[threadIdx.x] = v;
  __syncthreads();
  for (int k = 64; k; k >>= 1) {
    if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    part[blockIdx.x] = s[0];
    __threadfence();
    last = atomicAdd(&ticket, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float t = 0;
    for (int i = 0; i < gridDim.x; i++)
      t += ((float volatile*)part)[i];
    *out = t;
    ticket = 0;
  }
}
int main() {
  int n = 1000, r = 0;
  std::vector<int> a(n), b(n);
  auto da = dev(a), db = dev(b);
  void* args[] = {&da, &db, &n};
  CK(cudaLaunchCooperativeKernel((void*)coop, dim3(8), dim3(128), args, 0, 0));
  CK(cudaDeviceSynchronize());
  back(b, db);
  int bad = 0;
  for (int i = 0; i < n; i++)
    bad += b[i] != (n - 1 - i) * (n - 1 - i);
  r |= report("cooperative grid.sync", bad, 0);
  std::vector<float> x(5000), p(16), o(1);
  double s = 0;
  for (int i = 0; i < 5000; i++) {
    x[i] = i % 9;
    s += x[i];
  }
  auto dx = dev(x), dp = dev(p), d = dev(o);
  for (int k = 0; k < 2; k++)
    lastblock<<<16, 128>>>(dx, dp, d, 5000);
  CK(cudaDeviceSynchronize());
  back(o, d);
  r |= report("last-block reduction", fabs(s - o[0]), 0);
  return r;
}
