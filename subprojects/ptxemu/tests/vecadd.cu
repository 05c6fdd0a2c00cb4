// SPDX-License-Identifier: Apache-2.0
// The smallest program: global loads and stores.
#include "common.h"
__global__ void vadd(float const* a, float const* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
int main() {
  int n = 1000;
  std::vector<float> a(n), b(n), c(n);
  for (int i = 0; i < n; i++) {
    a[i] = i;
    b[i] = 0.5f * i;
  }
  float *da = dev(a), *db = dev(b), *dc = dev(c);
  vadd<<<(n + 127) / 128, 128>>>(da, db, dc, n);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  back(c, dc);
  double e = 0;
  for (int i = 0; i < n; i++)
    e = fmax(e, fabs(c[i] - 1.5 * i));
  return report("vecadd", e, 0);
}
