// SPDX-License-Identifier: Apache-2.0
// Conversions bit for bit against the CUDA headers' host code; graph replay; pinned copies.
#include "common.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
__global__ void conv(unsigned const* x, unsigned* o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float f = __uint_as_float(x[i]);
  o[i * 8 + 0] = __bfloat16_as_ushort(__float2bfloat16_rn(f));
  o[i * 8 + 1] = __half_as_ushort(__float2half_rn(f));
  o[i * 8 + 2] = __nv_cvt_float_to_fp8(f, __NV_SATFINITE, __NV_E4M3);
  o[i * 8 + 3] = __nv_cvt_float_to_fp8(f, __NV_SATFINITE, __NV_E5M2);
  o[i * 8 + 4] = __half_as_ushort(__half(__nv_cvt_fp8_to_halfraw(x[i] & 255, __NV_E4M3)));
  o[i * 8 + 5] = __half_as_ushort(__half(__nv_cvt_fp8_to_halfraw(x[i] & 255, __NV_E5M2)));
  o[i * 8 + 6] = __float_as_uint(__half2float(__ushort_as_half(x[i] & 0xffff)));
  o[i * 8 + 7] = (unsigned)(int)f + __float2uint_rn(fabsf(f)) * 3 + __float2int_rd(f) * 5;
}
__global__ void arith(unsigned const* x, unsigned* o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  auto a = __ushort_as_bfloat16(x[i] & 0xffff), b = __ushort_as_bfloat16(x[i] >> 16);
  auto h = __ushort_as_half(x[i] & 0xffff), g = __ushort_as_half(x[i] >> 16);
  o[i * 4 + 0] = __bfloat16_as_ushort(__hadd(a, b));
  o[i * 4 + 1] = __bfloat16_as_ushort(__hmul(a, b));
  o[i * 4 + 2] = __half_as_ushort(__hadd(h, g));
  o[i * 4 + 3] = __half_as_ushort(__hmul(h, g));
}
__global__ void saxpy(float a, float const* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
int main() {
  int n = 1 << 18;
  std::vector<unsigned> x(n), o(n * 8);
  unsigned s = 12345;
  for (int i = 0; i < n; i++) {
    s = s * 1664525u + 1013904223u;
    unsigned r = s ^ (s >> 15);
    if (i % 4 == 1) r = (r & 0x807fffff) | ((100 + (r >> 23) % 60) << 23);
    if (i % 4 == 2) r = (i & 0xffff) << 16 | (i >> 3 & 0xffff);
    x[i] = r;
  }
  x[5] = 0x7f800000;
  x[6] = 0xff800000;
  x[7] = 0x7fc00000;
  x[8] = 0;
  x[9] = 0x80000000;
  auto dx = dev(x);
  auto d = dev(o);
  conv<<<(n + 255) / 256, 256>>>(dx, d, n);
  CK(cudaDeviceSynchronize());
  back(o, d);
  int bad[8] = {};
  for (int i = 0; i < n; i++) {
    float f;
    memcpy(&f, &x[i], 4);
    unsigned e[8] = {__bfloat16_as_ushort(__float2bfloat16_rn(f)),
                     __half_as_ushort(__float2half_rn(f)),
                     __nv_cvt_float_to_fp8(f, __NV_SATFINITE, __NV_E4M3),
                     __nv_cvt_float_to_fp8(f, __NV_SATFINITE, __NV_E5M2),
                     __half_as_ushort(__half(__nv_cvt_fp8_to_halfraw(x[i] & 255, __NV_E4M3))),
                     __half_as_ushort(__half(__nv_cvt_fp8_to_halfraw(x[i] & 255, __NV_E5M2))),
                     0,
                     0};
    float hf = __half2float(__ushort_as_half(x[i] & 0xffff));
    memcpy(&e[6], &hf, 4);
    auto ci = [](double v) {
      return std::isnan(v)        ? 0
             : v <= -2147483648.0 ? INT32_MIN
             : v >= 2147483647.0  ? INT32_MAX
                                  : (int)v;
    };
    auto cu = [](double v) -> unsigned {
      return std::isnan(v) ? 0 : v <= 0 ? 0 : v >= 4294967295.0 ? ~0u : (unsigned)v;
    };
    e[7] = (unsigned)ci(trunc(f)) + cu(nearbyint(fabsf(f))) * 3u + (unsigned)ci(floor(f)) * 5u;
    for (int k = 0; k < 8; k++) {
      bool nan = std::isnan(f) || (k == 6 && std::isnan(hf));
      if (e[k] != o[i * 8 + k] && !(nan && (k == 1 || k == 0 || k == 6))) {
        if (bad[k]++ < 2)
          printf("conv %d in %08x (%g) host %x dev %x\n", k, x[i], f, e[k], o[i * 8 + k]);
      }
    }
  }
  int r = 0;
  char const* nm[] = {"f32->bf16", "f32->f16",  "f32->e4m3", "f32->e5m2",
                      "e4m3->f16", "e5m2->f16", "f16->f32",  "f32->int"};
  for (int k = 0; k < 8; k++)
    r |= report(nm[k], bad[k], 0);
  arith<<<(n + 255) / 256, 256>>>(dx, d, n);
  CK(cudaDeviceSynchronize());
  back(o, d);
  int b2 = 0;
  for (int i = 0; i < n; i++) {
    auto a = __ushort_as_bfloat16(x[i] & 0xffff), b = __ushort_as_bfloat16(x[i] >> 16);
    auto h = __ushort_as_half(x[i] & 0xffff), g = __ushort_as_half(x[i] >> 16);
    unsigned e[4] = {__bfloat16_as_ushort(__hadd(a, b)), __bfloat16_as_ushort(__hmul(a, b)),
                     __half_as_ushort(__hadd(h, g)), __half_as_ushort(__hmul(h, g))};
    for (int k = 0; k < 4; k++) {
      bool en = (k < 2 ? (e[k] & 0x7fff) > 0x7f80 : (e[k] & 0x7fff) > 0x7c00),
           dn = (k < 2 ? (o[i * 4 + k] & 0x7fff) > 0x7f80 : (o[i * 4 + k] & 0x7fff) > 0x7c00);
      if (e[k] != o[i * 4 + k] && !(en && dn)) {
        if (b2++ < 3) printf("arith %d in %08x host %x dev %x\n", k, x[i], e[k], o[i * 4 + k]);
      }
    }
  }
  r |= report("bf16/f16 add,mul", b2, 0);
  // graph capture
  std::vector<float> vx(1000, 2), vy(1000, 1);
  auto px = dev(vx), py = dev(vy);
  cudaStream_t st;
  CK(cudaStreamCreate(&st));
  cudaGraph_t g;
  cudaGraphExec_t ge;
  CK(cudaStreamBeginCapture(st, cudaStreamCaptureModeGlobal));
  saxpy<<<4, 256, 0, st>>>(3.f, px, py, 1000);
  saxpy<<<4, 256, 0, st>>>(1.f, px, py, 1000);
  CK(cudaStreamEndCapture(st, &g));
  CK(cudaGraphInstantiate(&ge, g, 0));
  for (int i = 0; i < 3; i++)
    CK(cudaGraphLaunch(ge, st));
  CK(cudaStreamSynchronize(st));
  back(vy, py);
  r |= report("graph capture+replay", fabs(vy[7] - 25), 0);
  // missing sync: pinned D2H without synchronisation
  float* ph;
  CK(cudaMallocHost((void**)&ph, 4000));
  memset(ph, 0, 4000);
  CK(cudaMemcpyAsync(ph, py, 4000, cudaMemcpyDeviceToHost, st));
  printf("unsynchronised read sees %g (25 = would pass by luck)\n", ph[7]);
  CK(cudaStreamSynchronize(st));
  printf("after sync %g\n", ph[7]);
  return r;
}
