// SPDX-License-Identifier: Apache-2.0
// bf16, f16 and fp8 arithmetic and conversions.
#include "common.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
__global__ void kb(__nv_bfloat16 const* a, __nv_bfloat16 const* b, __nv_bfloat16* c, float* f,
                   int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    __nv_bfloat16 x = __hfma(a[i], b[i], a[i]);
    c[i] = __float2bfloat16(__bfloat162float(x) * 0.5f);
    f[i] = __bfloat162float(a[i] + b[i]) + __bfloat162float(a[i] * b[i]);
  }
}
__global__ void kb2(__nv_bfloat162 const* a, __nv_bfloat162* c, int n) {
  int i = threadIdx.x;
  if (i < n) {
    float2 f = __bfloat1622float2(a[i]);
    f.x *= f.x;
    f.y += 1;
    c[i] = __hadd2(__float22bfloat162_rn(f), a[i]);
  }
}
__global__ void kh(__half const* a, __half2 const* b, float* f, int n) {
  int i = threadIdx.x;
  if (i < n) {
    __half2 h = __hmul2(b[i], __half2half2(a[i]));
    h = __hfma2(h, h, b[i]);
    f[2 * i] = __low2float(h);
    f[2 * i + 1] = __high2float(h) + __half2float(hexp(a[i]));
  }
}
__global__ void k8(float const* x, __nv_fp8_e4m3* q, float* y, int n) {
  int i = threadIdx.x;
  if (i < n) {
    q[i] = __nv_fp8_e4m3(x[i]);
    y[i] = float(q[i]) + float(__nv_fp8_e5m2(x[i]));
  }
}
#ifndef NOFP8
#endif
int main() {
  int n = 256, r = 0;
  std::vector<__nv_bfloat16> a(n), b(n), c(n);
  std::vector<float> f(n), fr(n);
  std::vector<__nv_bfloat16> cr(n);
  for (int i = 0; i < n; i++) {
    a[i] = __float2bfloat16(0.37f * (i - 100));
    b[i] = __float2bfloat16(0.011f * (i + 3));
  }
  auto da = dev(a), db = dev(b), dc = dev(c);
  auto df = dev(f);
  kb<<<2, 128>>>(da, db, dc, df, n);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  back(c, dc);
  back(f, df);
  int bad = 0;
  for (int i = 0; i < n; i++) {
    float x = __bfloat162float(a[i]), y = __bfloat162float(b[i]);
    float h = __bfloat162float(__float2bfloat16(fmaf(x, y, x)));
    __nv_bfloat16 cc = __float2bfloat16(h * 0.5f);
    float ff =
        __bfloat162float(__float2bfloat16(x + y)) + __bfloat162float(__float2bfloat16(x * y));
    if (__bfloat162float(cc) != __bfloat162float(c[i]) || ff != f[i]) bad++;
  }
  r |= report("bf16", bad, 0);
  std::vector<__nv_bfloat162> a2(64), c2(64);
  for (int i = 0; i < 64; i++)
    a2[i] = __floats2bfloat162_rn(i * 0.3f - 7, i * 1.7f);
  auto da2 = dev(a2), dc2 = dev(c2);
  kb2<<<1, 64>>>(da2, dc2, 64);
  CK(cudaDeviceSynchronize());
  back(c2, dc2);
  bad = 0;
  for (int i = 0; i < 64; i++) {
    float x = __low2float(a2[i]), y = __high2float(a2[i]);
    float rx = __bfloat162float(__float2bfloat16(__bfloat162float(__float2bfloat16(x * x)) + x)),
          ry = __bfloat162float(__float2bfloat16(__bfloat162float(__float2bfloat16(y + 1)) + y));
    if (rx != __low2float(c2[i]) || ry != __high2float(c2[i])) bad++;
  }
  r |= report("bf162", bad, 0);
  std::vector<__half> ha(64);
  std::vector<__half2> hb(64);
  std::vector<float> hf(128);
  for (int i = 0; i < 64; i++) {
    ha[i] = __float2half(0.01f * i);
    hb[i] = __floats2half2_rn(0.3f * i, -0.2f * i);
  }
  auto dha = dev(ha);
  auto dhb = dev(hb);
  auto dhf = dev(hf);
  kh<<<1, 64>>>(dha, dhb, dhf, 64);
  CK(cudaDeviceSynchronize());
  back(hf, dhf);
  double e = 0;
  for (int i = 0; i < 64; i++) {
    auto rn = [](float v) { return __half2float(__float2half(v)); };
    float s = __half2float(ha[i]), x = __low2float(hb[i]), y = __high2float(hb[i]);
    float px = rn(x * s), py = rn(y * s);
    px = rn(fmaf(px, px, x));
    py = rn(fmaf(py, py, y));
    e = fmax(e, fabs(px - hf[2 * i]));
    e = fmax(e, fabs(py + rn(expf(s)) - hf[2 * i + 1]));
  }
  r |= report("half2", e, 2e-3);
#ifndef NOFP8
  std::vector<float> x8(256), y8(256);
  std::vector<__nv_fp8_e4m3> q8(256);
  for (int i = 0; i < 256; i++)
    x8[i] = (i - 128) * powf(2.f, (i % 17) - 9);
  auto dx8 = dev(x8), dy8 = dev(y8);
  auto dq8 = dev(q8);
  k8<<<1, 256>>>(dx8, dq8, dy8, 256);
  CK(cudaDeviceSynchronize());
  back(y8, dy8);
  back(q8, dq8);
  bad = 0;
  for (int i = 0; i < 256; i++) {
    __nv_fp8_e4m3 q(x8[i]);
    float y = float(q) + float(__nv_fp8_e5m2(x8[i]));
    if (q.__x != q8[i].__x || y != y8[i]) bad++;
  }
  r |= report("fp8", bad, 0);
#endif
  return r;
}
