// SPDX-License-Identifier: Apache-2.0
// Calls, printf, switch, cooperative groups, math functions, parameters, bit operations and more.
#include "common.h"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cub/cub.cuh>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
namespace cg = cooperative_groups;
__device__ __noinline__ float helper(float a, int n) {
  float l[8];
  for (int i = 0; i < 8; i++)
    l[i] = a * i;
  return l[n & 7] + l[(n + 3) & 7];
}
__global__ void kcall(float* o) {
  int t = threadIdx.x;
  o[t] = helper(t * 0.5f, t);
  if (t == 3) printf("dev printf t=%d v=%f s=%s\n", t, o[t], "str");
}
__global__ void kswitch(int* o, int const* x) {
  int t = threadIdx.x, r = 0;
  switch (x[t]) {
    case 0: r = 5; break;
    case 1: r = t * 3; break;
    case 2: r = t ^ 7; break;
    case 3: r = -t; break;
    case 4: r = t << 2; break;
    case 5: r = 99; break;
    case 6: r = t % 5; break;
    default: r = 1234;
  }
  for (int i = 0; i < t; i++) {
    if (i == x[t] * 3) break;
    if (i & 1) continue;
    r += i;
  }
  o[t] = r;
}
__global__ void kcg(int const* x, int* o) {
  auto b = cg::this_thread_block();
  auto w = cg::tiled_partition<32>(b);
  auto q = cg::tiled_partition<8>(w);
  int s = cg::reduce(w, x[b.thread_rank()], cg::plus<int>());
  int m = cg::reduce(q, x[b.thread_rank()], cg::greater<int>());
  unsigned mm = __match_any_sync(~0u, x[threadIdx.x] & 3);
  int rs = __reduce_add_sync(~0u, x[threadIdx.x]);
  b.sync();
  o[threadIdx.x] = s * 1000 + m + __popc(mm) * 7 + rs + __syncthreads_count(x[threadIdx.x] & 1) +
                   __syncthreads_or(x[threadIdx.x] == 3);
}
// m16n8k32 e4m3 and m16n8k16 f16
__global__ void kmma8(unsigned const* A, unsigned const* B, float* C) {
  int l = threadIdx.x, g = l >> 2, t = l & 3;
  unsigned a0 = A[g * 8 + t], a1 = A[(g + 8) * 8 + t], a2 = A[g * 8 + t + 4],
           a3 = A[(g + 8) * 8 + t + 4], b0 = B[g * 8 + t], b1 = B[g * 8 + t + 4];
  float c0 = 0, c1 = 0, c2 = 0, c3 = 0;
#if __CUDA_ARCH__ >= 890
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};\n"
      : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
#endif
  C[g * 8 + 2 * t] = c0;
  C[g * 8 + 2 * t + 1] = c1;
  C[(g + 8) * 8 + 2 * t] = c2;
  C[(g + 8) * 8 + 2 * t + 1] = c3;
}
struct Par {
  int a;
  float b[5];
  float const* p;
};
__global__ void kpar(__grid_constant__ const Par p, float* o) {
  o[threadIdx.x] = p.b[threadIdx.x % 5] + p.p[threadIdx.x] + p.a;
}
__global__ void kmath(float const* x, float* o, double* d, int n) {
  int i = threadIdx.x;
  float v = x[i];
  o[i * 12 + 0] = expf(v);
  o[i * 12 + 1] = logf(fabsf(v) + 0.1f);
  o[i * 12 + 2] = sinf(v);
  o[i * 12 + 3] = tanhf(v);
  o[i * 12 + 4] = rsqrtf(fabsf(v) + 1);
  o[i * 12 + 5] = powf(fabsf(v), 1.3f);
  o[i * 12 + 6] = erff(v);
  o[i * 12 + 7] = fmodf(v, 0.7f);
  o[i * 12 + 8] = rintf(v * 3);
  o[i * 12 + 9] = __fdividef(v, 3);
  o[i * 12 + 10] = sqrtf(fabsf(v));
  o[i * 12 + 11] = cosf(v * 100);
  d[i] = exp((double)v) / 3 + sin((double)v);
}
__global__ void k64(long long const* x, long long* o) {
  int i = threadIdx.x;
  long long a = x[i], b = x[i ^ 1] | 1;
  o[i] = a / b + a % b * 3 + __mul64hi(a, b) + __clzll(a) + __popcll(b) + __brevll(a) % 1000 +
         (long long)__umulhi((unsigned)a, (unsigned)b) +
         __byte_perm((unsigned)a, (unsigned)b, 0x5140) +
         __funnelshift_l((unsigned)a, (unsigned)b, 7) + __ffs((int)a) + __dp4a((int)a, (int)b, 3);
}
__global__ void kbfatom(__nv_bfloat162* p, __half* h, float* f) {
  atomicAdd(p, __floats2bfloat162_rn(1, 2));
  atomicAdd(h, __float2half(1));
  atomicAdd(f, 0.5f);
}
int main() {
  int r = 0;
  {
    std::vector<float> o(64);
    auto d = dev(o);
    kcall<<<1, 64>>>(d);
    CK(cudaDeviceSynchronize());
    back(o, d);
    double e = 0;
    for (int t = 0; t < 64; t++) {
      float a = t * 0.5f;
      e = fmax(e, fabs(o[t] - (a * (t & 7) + a * ((t + 3) & 7))));
    }
    r |= report("call/local/printf", e, 0);
  }
  {
    std::vector<int> x(64), o(64);
    for (int i = 0; i < 64; i++)
      x[i] = i * 11 % 9;
    auto dx = dev(x), d = dev(o);
    kswitch<<<1, 64>>>(d, dx);
    CK(cudaDeviceSynchronize());
    back(o, d);
    int bad = 0;
    for (int t = 0; t < 64; t++) {
      int q = 0;
      switch (x[t]) {
        case 0: q = 5; break;
        case 1: q = t * 3; break;
        case 2: q = t ^ 7; break;
        case 3: q = -t; break;
        case 4: q = t << 2; break;
        case 5: q = 99; break;
        case 6: q = t % 5; break;
        default: q = 1234;
      }
      for (int i = 0; i < t; i++) {
        if (i == x[t] * 3) break;
        if (i & 1) continue;
        q += i;
      }
      bad += q != o[t];
    }
    r |= report("switch/divergence", bad, 0);
    for (int i = 0; i < 64; i++)
      x[i] = i * 7 % 23;
    cudaMemcpy(dx, x.data(), 256, cudaMemcpyHostToDevice);
    kcg<<<1, 64>>>(dx, d);
    CK(cudaDeviceSynchronize());
    back(o, d);
    bad = 0;
    int cnt = 0, orr = 0;
    for (int v : x) {
      cnt += v & 1;
      orr |= v == 3;
    }
    for (int t = 0; t < 64; t++) {
      int w = t & ~31, s = 0, m = -1, mm = 0;
      for (int l = 0; l < 32; l++) {
        s += x[w + l];
        mm += (x[w + l] & 3) == (x[t] & 3);
      }
      for (int l = 0; l < 8; l++)
        m = std::max(m, x[(t & ~7) + l]);
      int q = s * 1000 + m + mm * 7 + s + cnt + (orr ? 1 : 0);
      if (q != o[t]) {
        if (!bad) printf("t=%d want %d got %d\n", t, q, o[t]);
        bad++;
      }
    }
    r |= report("cooperative_groups/match/redux/bar.red", bad, 0);
  }
  {
    std::vector<unsigned> A(128), B(64);
    std::vector<float> C(128);
    for (int i = 0; i < 128; i++) {
      A[i] = 0;
      for (int j = 0; j < 4; j++) {
        __nv_fp8_e4m3 q(((i * 4 + j) * 7 % 29 - 14) * 0.25f);
        A[i] |= (unsigned)q.__x << (8 * j);
      }
    }
    for (int i = 0; i < 64; i++) {
      B[i] = 0;
      for (int j = 0; j < 4; j++) {
        __nv_fp8_e4m3 q(((i * 4 + j) * 5 % 31 - 15) * 0.5f);
        B[i] |= (unsigned)q.__x << (8 * j);
      }
    }
    auto a = dev(A), b = dev(B);
    auto c = dev(C);
    int mj = 0;
    cudaDeviceGetAttribute(&mj, cudaDevAttrComputeCapabilityMajor, 0);
    kmma8<<<1, 32>>>(a, b, c);
    CK(cudaDeviceSynchronize());
    back(C, c);
    double e = 0;
    auto f8 = [](unsigned w, int j) {
      __nv_fp8_e4m3 q;
      q.__x = w >> (8 * j);
      return (double)float(q);
    };
    for (int m = 0; m < 16; m++)
      for (int n = 0; n < 8; n++) {
        double s = 0;
        for (int k = 0; k < 32; k++)
          s += f8(A[m * 8 + k / 4], k % 4) * f8(B[n * 8 + k / 4], k % 4);
        e = fmax(e, fabs(s - C[m * 8 + n]));
      }
    if (getenv("MMA8") && *getenv("MMA8")) r |= report("mma e4m3 m16n8k32", e, 1e-5);
  }
  {
    Par p{7, {1, 2, 3, 4, 5}, nullptr};
    std::vector<float> x(32), o(32);
    for (int i = 0; i < 32; i++)
      x[i] = i;
    auto dx = dev(x), d = dev(o);
    p.p = dx;
    kpar<<<1, 32>>>(p, d);
    CK(cudaDeviceSynchronize());
    back(o, d);
    double e = 0;
    for (int i = 0; i < 32; i++)
      e = fmax(e, fabs(o[i] - (p.b[i % 5] + i + 7)));
    r |= report("struct param", e, 0);
  }
  {
    int n = 64;
    std::vector<float> x(n), o(n * 12);
    std::vector<double> dd(n);
    for (int i = 0; i < n; i++)
      x[i] = (i - 30) * 0.17f;
    auto dx = dev(x), d = dev(o);
    auto d2 = dev(dd);
    kmath<<<1, n>>>(dx, d, d2, n);
    CK(cudaDeviceSynchronize());
    back(o, d);
    back(dd, d2);
    double e = 0;
    for (int i = 0; i < n; i++) {
      double v = x[i];
      double ref[12] = {exp(v),
                        log(fabsf(x[i]) + 0.1f),
                        sin(v),
                        tanh(v),
                        1 / sqrt(fabsf(x[i]) + 1.0),
                        pow(fabs(v), 1.3f),
                        erf(v),
                        fmodf(x[i], 0.7f),
                        rintf(x[i] * 3),
                        v / 3,
                        sqrt(fabs(v)),
                        cos(double(x[i] * 100))};
      for (int k = 0; k < 12; k++) {
        double er = fabs(ref[k] - o[i * 12 + k]) / (1 + fabs(ref[k]));
        if (er > 2e-6) printf("math %d x=%g ref %g got %g\n", k, v, ref[k], o[i * 12 + k]);
        e = fmax(e, er);
      }
      e = fmax(e, fabs(dd[i] - (exp(v) / 3 + sin(v))) / (1 + fabs(dd[i])));
    }
    r |= report("math functions", e, 2e-6);
  }
  {
    std::vector<long long> x(64), o(64);
    for (int i = 0; i < 64; i++)
      x[i] = (long long)(i * 0x9E3779B97F4A7C15ull) >> (i % 40);
    auto dx = dev(x), d = dev(o);
    k64<<<1, 64>>>(dx, d);
    CK(cudaDeviceSynchronize());
    back(o, d);
    int bad = 0;
    for (int i = 0; i < 64; i++) {
      long long a = x[i], b = x[i ^ 1] | 1;
      auto brev = [](unsigned long long v) {
        unsigned long long q = 0;
        for (int k = 0; k < 64; k++)
          q |= ((v >> k) & 1) << (63 - k);
        return q;
      };
      unsigned ua = a, ub = b;
      unsigned long long v = ((unsigned long long)ub << 32) | ua;
      unsigned pr = 0;
      int sel[4] = {0, 4, 1, 5};
      for (int k = 0; k < 4; k++)
        pr |= ((v >> (8 * sel[k])) & 255) << (8 * k);
      int dp = 3;
      for (int k = 0; k < 4; k++)
        dp += (signed char)(ua >> (8 * k)) * (signed char)(ub >> (8 * k));
      long long q = a / b + a % b * 3 + (long long)((__int128)a * b >> 64) +
                    (a ? __builtin_clzll(a) : 64) + __builtin_popcountll(b) +
                    (long long)(brev(a) % 1000) + (long long)(((unsigned long long)ua * ub) >> 32) +
                    pr + (unsigned)((((unsigned long long)ub << 32 | ua) << 7) >> 32) +
                    __builtin_ffs((int)a) + dp;
      if (q != o[i]) {
        if (!bad) printf("i=%d want %lld got %lld\n", i, q, o[i]);
        bad++;
      }
    }
    r |= report("int64/bit ops", bad, 0);
  }
  {
    std::vector<__nv_bfloat162> p(1, __floats2bfloat162_rn(0, 0));
    std::vector<__half> h(1, __float2half(0));
    std::vector<float> f(1, 0);
    auto dp = dev(p);
    auto dh = dev(h);
    auto df = dev(f);
    kbfatom<<<2, 32>>>(dp, dh, df);
    CK(cudaDeviceSynchronize());
    back(p, dp);
    back(h, dh);
    back(f, df);
    double e = fabs(__low2float(p[0]) - 64) + fabs(__high2float(p[0]) - 128) +
               fabs(__half2float(h[0]) - 64) + fabs(f[0] - 32);
    r |= report("bf16x2/half/float atomics", e, 0);
  }
  {
    int n = 10000;
    std::vector<float> x(n);
    double s = 0;
    for (int i = 0; i < n; i++) {
      x[i] = i % 13;
      s += x[i];
    }
    auto dx = dev(x);
    std::vector<float> o(1);
    auto d = dev(o);
    size_t tb = 0;
    CK(cub::DeviceReduce::Sum(nullptr, tb, dx, d, n));
    void* t;
    CK(cudaMalloc(&t, tb));
    CK(cub::DeviceReduce::Sum(t, tb, dx, d, n));
    CK(cudaDeviceSynchronize());
    back(o, d);
    r |= report("cub::DeviceReduce", fabs(s - o[0]), 0);
    std::vector<int> k(n), ks(n);
    for (int i = 0; i < n; i++)
      k[i] = i * 7919 % 10007;
    auto dk = dev(k), dks = dev(ks);
    tb = 0;
    CK(cub::DeviceScan::InclusiveSum(nullptr, tb, dk, dks, n));
    void* t2;
    CK(cudaMalloc(&t2, tb));
    CK(cub::DeviceScan::InclusiveSum(t2, tb, dk, dks, n));
    CK(cudaDeviceSynchronize());
    back(ks, dks);
    int bad = 0, acc = 0;
    for (int i = 0; i < n; i++) {
      acc += k[i];
      bad += acc != ks[i];
    }
    r |= report("cub::DeviceScan (look-back)", bad, 0);
  }
  puts(r ? "SOME FAILED" : "ALL OK");
  return r;
}
