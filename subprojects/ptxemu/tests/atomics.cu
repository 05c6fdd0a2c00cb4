// SPDX-License-Identifier: Apache-2.0
// Atomics on integers and floats, in global and shared memory.
#include "common.h"
__device__ int gcount;
__constant__ float coef[4];
__global__ void hist(int const* x, int* h, float* fs, int* mx, unsigned long long* u, int n) {
  extern __shared__ int sh[];
  for (int i = threadIdx.x; i < 64; i += blockDim.x)
    sh[i] = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    atomicAdd(&sh[x[i] & 63], 1);
    atomicAdd(fs, coef[x[i] & 3]);
    atomicMax(mx, x[i]);
    atomicAdd(u, (unsigned long long)x[i]);
    int old = atomicCAS(&gcount, 0, 0);
    (void)old;
    atomicAdd(&gcount, 1);
  }
  __syncthreads();
  for (int j = threadIdx.x; j < 64; j += blockDim.x)
    atomicAdd(&h[j], sh[j]);
}
int main() {
  int n = 777;
  std::vector<int> x(n), h(64, 0), mx(1, -1);
  std::vector<float> fs(1, 0);
  std::vector<unsigned long long> u(1, 0);
  for (int i = 0; i < n; i++)
    x[i] = i * 73 % 257;
  float cf[4] = {1, 2, 0.5f, 0.25f};
  CK(cudaMemcpyToSymbol(coef, cf, sizeof cf));
  auto dx = dev(x), dh = dev(h), dm = dev(mx);
  auto dfs = dev(fs);
  auto du = dev(u);
  hist<<<4, 200, 64 * 4>>>(dx, dh, dfs, dm, du, n);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  back(h, dh);
  back(fs, dfs);
  back(mx, dm);
  back(u, du);
  int gc = 0;
  CK(cudaMemcpyFromSymbol(&gc, gcount, 4));
  std::vector<int> hr(64, 0);
  double s = 0;
  int m = -1;
  unsigned long long uu = 0;
  for (int v : x) {
    hr[v & 63]++;
    s += cf[v & 3];
    m = v > m ? v : m;
    uu += v;
  }
  int bad = (gc != n) + (m != mx[0]) + (uu != u[0]) + (fabs(s - fs[0]) > 1e-3);
  for (int i = 0; i < 64; i++)
    bad += hr[i] != h[i];
  return report("atomics", bad, 0);
}
