// SPDX-License-Identifier: Apache-2.0
// mma.sync with ldmatrix and cp.async against a host product.
#include "common.h"

#include <cuda_bf16.h>
// C[16x8] = A[16x16] * B[16x8], row.col; ldmatrix + cp.async staging
__global__ void kmma(__nv_bfloat16 const* A, __nv_bfloat16 const* Bt, float* C) {
  __shared__ __align__(16) __nv_bfloat16 sa[16 * 16], sb[8 * 16];
  int l = threadIdx.x;
  unsigned sA = __cvta_generic_to_shared(sa), sB = __cvta_generic_to_shared(sb);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(sA + l * 16),
               "l"((char const*)A + l * 16));
  if (l < 16)
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;\n" ::"r"(sB + l * 16),
                 "l"((char const*)Bt + l * 16));
  asm volatile("cp.async.commit_group;\n");
  asm volatile("cp.async.wait_group 0;\n");
  __syncwarp();
  unsigned a0, a1, a2, a3, b0, b1;
  unsigned pa = sA + (((l & 15) * 16) + ((l >> 4) * 8)) * 2;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(a0), "=r"(a1), "=r"(a2), "=r"(a3)
               : "r"(pa));
  unsigned pb = sB + (((l & 7) * 16) + (((l >> 3) & 1) * 8)) * 2;
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];\n"
               : "=r"(b0), "=r"(b1)
               : "r"(pb));
  float c0 = 0, c1 = 0, c2 = 0, c3 = 0;
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};\n"
      : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  int g = l >> 2, t = l & 3;
  C[g * 8 + t * 2] = c0;
  C[g * 8 + t * 2 + 1] = c1;
  C[(g + 8) * 8 + t * 2] = c2;
  C[(g + 8) * 8 + t * 2 + 1] = c3;
}
int main() {
  std::vector<__nv_bfloat16> A(256), B(128);
  std::vector<float> C(128);
  for (int i = 0; i < 256; i++)
    A[i] = __float2bfloat16((i * 7 % 23) - 11);
  for (int i = 0; i < 128; i++)
    B[i] = __float2bfloat16((i * 5 % 19) * 0.25f);
  auto a = dev(A), b = dev(B);
  auto c = dev(C);
  kmma<<<1, 32>>>(a, b, c);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  back(C, c);
  double e = 0;
  for (int m = 0; m < 16; m++)
    for (int n = 0; n < 8; n++) {
      double s = 0;
      for (int k = 0; k < 16; k++)
        s += double(__bfloat162float(A[m * 16 + k])) * __bfloat162float(B[n * 16 + k]);
      e = fmax(e, fabs(s - C[m * 8 + n]));
    }
  return report("mma_ldmatrix_cpasync", e, 0);
}
