// SPDX-License-Identifier: Apache-2.0
// Further mma.sync shapes and types, ldmatrix variants, stmatrix.
#include "common.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
// B stored row-major [k=16][n=8], loaded with ldmatrix.x2.trans; result stored through stmatrix
// (f16 accumulators)
__global__ void k1(half const* A, half const* B, float* C, half* H) {
  __shared__ __align__(16) half sa[256], sb[128], sc[128];
  int l = threadIdx.x;
  for (int i = l; i < 256; i += 32)
    sa[i] = A[i];
  for (int i = l; i < 128; i += 32)
    sb[i] = B[i];
  __syncwarp();
  unsigned a[4], b[2];
  unsigned pa = (unsigned)__cvta_generic_to_shared(sa) + (((l & 15) * 16) + ((l >> 4) * 8)) * 2,
           pb = (unsigned)__cvta_generic_to_shared(sb) + ((l & 15) * 8) * 2;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
               : "r"(pa));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
               : "=r"(b[0]), "=r"(b[1])
               : "r"(pb));
  float c[4] = {0, 0, 0, 0};
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  unsigned h[2] = {0, 0};
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
      : "+r"(h[0]), "+r"(h[1])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  float e[4] = {0, 0, 0, 0};
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
      "{%0,%1,%2,%3};"
      : "+f"(e[0]), "+f"(e[1]), "+f"(e[2]), "+f"(e[3])
      : "r"(a[0]), "r"(a[1]), "r"(b[0]));
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
      "{%0,%1,%2,%3};"
      : "+f"(e[0]), "+f"(e[1]), "+f"(e[2]), "+f"(e[3])
      : "r"(a[2]), "r"(a[3]), "r"(b[1]));
  int g = l >> 2, t = l & 3;
  for (int q = 0; q < 4; q++) {
    int r = g + 8 * (q >> 1), n = 2 * t + (q & 1);
    C[r * 8 + n] = c[q];
    C[128 + r * 8 + n] = e[q];
  }
#if __CUDA_ARCH__ >= 900
  unsigned ps = (unsigned)__cvta_generic_to_shared(sc) + ((l & 15) * 8) * 2;
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1,%2};" ::"r"(ps), "r"(h[0]),
               "r"(h[1]));
  __syncwarp();
  for (int i = l; i < 128; i += 32)
    H[i] = sc[i];
#else
  for (int q = 0; q < 2; q++) {
    __half2 v = *(__half2*)&h[q];
    H[(g + 8 * q) * 8 + 2 * t] = v.x;
    H[(g + 8 * q) * 8 + 2 * t + 1] = v.y;
  }
  (void)sc;
#endif
}
__global__ void k2(float const* A, float const* B, float* C, signed char const* A8,
                   signed char const* B8, int* C8) {
  int l = threadIdx.x, g = l >> 2, t = l & 3;
  auto tf = [](float f) {
    unsigned r;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(f));
    return r;
  };
  unsigned a0 = tf(A[g * 8 + t]), a1 = tf(A[(g + 8) * 8 + t]), a2 = tf(A[g * 8 + t + 4]),
           a3 = tf(A[(g + 8) * 8 + t + 4]), b0 = tf(B[t * 8 + g]), b1 = tf(B[(t + 4) * 8 + g]);
  float c[4] = {0, 0, 0, 0};
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  unsigned const *a8 = (unsigned const*)A8, *b8 = (unsigned const*)B8;
  int d[4] = {1, 1, 1, 1};
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a8[g * 8 + t]), "r"(a8[(g + 8) * 8 + t]), "r"(a8[g * 8 + t + 4]),
        "r"(a8[(g + 8) * 8 + t + 4]), "r"(b8[g * 8 + t]), "r"(b8[g * 8 + t + 4]));
  for (int q = 0; q < 4; q++) {
    int r = g + 8 * (q >> 1), n = 2 * t + (q & 1);
    C[r * 8 + n] = c[q];
    C8[r * 8 + n] = d[q];
  }
}
int main() {
  int r = 0;
  std::vector<half> A(256), B(128), H(128);
  std::vector<float> C(256);
  for (int i = 0; i < 256; i++)
    A[i] = __float2half((i * 7 % 23) - 11);
  for (int i = 0; i < 128; i++)
    B[i] = __float2half((i * 5 % 19) * 0.25f - 2);
  auto a = dev(A), b = dev(B), h = dev(H);
  auto c = dev(C);
  k1<<<1, 32>>>(a, b, c, h);
  CK(cudaDeviceSynchronize());
  back(C, c);
  back(H, h);
  double e = 0, e2 = 0, e3 = 0;
  for (int m = 0; m < 16; m++)
    for (int n = 0; n < 8; n++) {
      double s = 0;
      for (int k = 0; k < 16; k++)
        s += double(__half2float(A[m * 16 + k])) * __half2float(B[k * 8 + n]);
      e = fmax(e, fabs(s - C[m * 8 + n]));
      e2 = fmax(e2, fabs(s - C[128 + m * 8 + n]));
      e3 = fmax(e3, fabs(s - __half2float(H[m * 8 + n])) / (1 + fabs(s)));
    }
  r |= report("f16 mma + ldmatrix.trans", e, 0);
  r |= report("m16n8k8 x2", e2, 0);
  r |= report("f16 accumulate + stmatrix", e3, 1e-3);
  std::vector<float> X(128), Y(64), Z(128);
  for (int i = 0; i < 128; i++)
    X[i] = (i * 13 % 29) - 14;
  for (int i = 0; i < 64; i++)
    Y[i] = (i * 11 % 17) * 0.5f - 4;
  std::vector<signed char> P(512), Q(256);
  std::vector<int> R(128);
  for (int i = 0; i < 512; i++)
    P[i] = i * 37 % 251 - 125;
  for (int i = 0; i < 256; i++)
    Q[i] = i * 91 % 253 - 126;
  auto x = dev(X), y = dev(Y), z = dev(Z);
  auto p = dev(P), q = dev(Q);
  auto rr = dev(R);
  k2<<<1, 32>>>(x, y, z, p, q, rr);
  CK(cudaDeviceSynchronize());
  back(Z, z);
  back(R, rr);
  e = 0;
  int bad = 0;
  for (int m = 0; m < 16; m++)
    for (int n = 0; n < 8; n++) {
      double s = 0;
      for (int k = 0; k < 8; k++)
        s += double(X[m * 8 + k]) * Y[k * 8 + n];
      e = fmax(e, fabs(s - Z[m * 8 + n]));
      int t = 1;
      for (int k = 0; k < 32; k++)
        t += P[m * 32 + k] * Q[n * 32 + k];
      bad += t != R[m * 8 + n];
    }
  r |= report("tf32 m16n8k8", e, 0);
  r |= report("s8 m16n8k32", bad, 0);
  return r;
}
