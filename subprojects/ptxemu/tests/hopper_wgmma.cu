// SPDX-License-Identifier: Apache-2.0
// wgmma m64nNk16 with A from shared memory or registers and B in the K-major and MN-major layouts,
// with and without 128-byte swizzle, against a host product.
#include "hopper.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

__device__ inline unsigned long long descriptor(void const* p, int leading, int stride,
                                                int swizzle) {
  unsigned long long d = 0;
  d |= (unsigned long long)((smem(p) & 0x3ffff) >> 4);
  d |= (unsigned long long)(leading >> 4) << 16;
  d |= (unsigned long long)(stride >> 4) << 32;
  d |= (unsigned long long)swizzle << 62;
  return d;
}

#define D32(o)                                                                                \
  "+f"(d[o]), "+f"(d[o + 1]), "+f"(d[o + 2]), "+f"(d[o + 3]), "+f"(d[o + 4]), "+f"(d[o + 5]), \
      "+f"(d[o + 6]), "+f"(d[o + 7])
#define REGS32                                                                                  \
  "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24," \
  "%25,%26,%27,%28,%29,%30,%31}"

template <int TransB, int TransA = 0>
__device__ inline void wgmma_ss(float* d, unsigned long long a, unsigned long long b, int acc) {
  asm volatile(
      "{ .reg .pred p; setp.ne.b32 p, %34, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " REGS32
      ", %32, %33, p, 1, 1, %36, %35; }"
      : D32(0), D32(8), D32(16), D32(24)
      : "l"(a), "l"(b), "r"(acc), "n"(TransB), "n"(TransA));
}
__device__ inline void wgmma_rs(float* d, unsigned const* a, unsigned long long b, int acc) {
  asm volatile(
      "{ .reg .pred p; setp.ne.b32 p, %37, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " REGS32
      ", {%32,%33,%34,%35}, %36, p, 1, 1, 0; }"
      : D32(0), D32(8), D32(16), D32(24)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(acc));
}
__device__ inline void fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ inline void commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
__device__ inline void wait() {
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

__device__ void write_result(float const* d, float* out) {
  int const w = threadIdx.x / 32, l = threadIdx.x % 32;
  for (int q = 0; q < 32; q++) {
    int row = w * 16 + l / 4 + 8 * (q / 2 % 2), col = 8 * (q / 4) + 2 * (l % 4) + q % 2;
    out[row * 64 + col] = d[q];
  }
}

constexpr int K = 64;

// Mode 0: no swizzle, K-major. 1: 128-byte swizzle, K-major. 2: B MN-major without swizzle.
// 3: B MN-major with 128-byte swizzle. 4: A MN-major and B K-major, 128-byte swizzle. 5: 64-byte
// swizzle, K-major. A is [64][K], B is given as [64 (n)][K].
template <int Mode>
__global__ void product(__nv_bfloat16 const* a, __nv_bfloat16 const* b, float* out) {
  __shared__ __align__(1024) __nv_bfloat16 sa[64 * K], sb[64 * K];
  for (int k = threadIdx.x; k < 64 * K; k += blockDim.x) {
    int r = k / K, c = k % K;
    int plain =
        r / 8 * (K / 8) * 64 + c / 8 * 64 + r % 8 * 8 + c % 8;  // core matrices of a row block
    int swizzled = r * 64 + ((c / 8) ^ (r % 8)) * 8 + c % 8;
    // MN-major: n is the fast index.
    int mn_plain = c / 8 * (64 / 8) * 64 + r / 8 * 64 + c % 8 * 8 + r % 8;
    int mn_swizzled = c * 64 + ((r / 8) ^ (c % 8)) * 8 + r % 8;
    int swizzled64 = c / 32 * 2048 + r * 32 + ((c % 32 / 8) ^ (r / 2 % 4)) * 8 + c % 8;
    if (Mode >= 4) {
      sa[Mode == 4 ? mn_swizzled : swizzled64] = a[k];
      sb[Mode == 4 ? swizzled : swizzled64] = b[k];
      continue;
    }
    sa[Mode == 1 || Mode == 3 ? swizzled : plain] = a[k];
    sb[Mode == 0 ? plain : Mode == 1 ? swizzled : Mode == 2 ? mn_plain : mn_swizzled] = b[k];
  }
  fence_async();
  __syncthreads();
  float d[32];
  for (int q = 0; q < 32; q++)
    d[q] = 0;
  fence();
  for (int k = 0; k < K; k += 16) {
    unsigned long long da, db;
    if (Mode == 1 || Mode == 3) {
      da = descriptor(sa + k, 16, 1024, 1);
    } else {
      da = descriptor(sa + k * 8, 128, K / 8 * 128, 0);
    }
    if (Mode == 0) db = descriptor(sb + k * 8, 128, K / 8 * 128, 0);
    if (Mode == 1) db = descriptor(sb + k, 16, 1024, 1);
    // Without swizzle: stride to the next 8 of N, leading to the next 8 of K.
    if (Mode == 2) db = descriptor(sb + k * 64, 64 / 8 * 128, 128, 0);
    if (Mode == 3) db = descriptor(sb + k * 64, 8192, 1024, 1);
    if (Mode == 4) {
      da = descriptor(sa + k * 64, 8192, 1024, 1);
      db = descriptor(sb + k, 16, 1024, 1);
    }
    if (Mode == 5) {
      da = descriptor(sa + k / 32 * 2048 + k % 32, 16, 512, 2);
      db = descriptor(sb + k / 32 * 2048 + k % 32, 16, 512, 2);
    }
    wgmma_ss<(Mode == 2 || Mode == 3), (Mode == 4)>(d, da, db, k > 0);
  }
  commit();
  wait();
  write_result(d, out);
}

__global__ void product_registers(__half const* a, __half const* b, float* out) {
  __shared__ __align__(1024) __half sb[64 * K];
  for (int k = threadIdx.x; k < 64 * K; k += blockDim.x) {
    int r = k / K, c = k % K;
    sb[r * 64 + ((c / 8) ^ (r % 8)) * 8 + c % 8] = b[k];
  }
  fence_async();
  __syncthreads();
  float d[32];
  int const w = threadIdx.x / 32, l = threadIdx.x % 32;
  fence();
  for (int k = 0; k < K; k += 16) {
    unsigned ra[4];
    for (int q = 0; q < 4; q++) {
      int row = w * 16 + l / 4 + 8 * (q % 2), col = k + 2 * (l % 4) + 8 * (q / 2);
      ra[q] = *reinterpret_cast<unsigned const*>(a + row * K + col);
    }
    wgmma_rs(d, ra, descriptor(sb + k, 16, 1024, 1), k > 0);
  }
  commit();
  wait();
  write_result(d, out);
}

template <class T>
double error_of(std::vector<T> const& a, std::vector<T> const& b, std::vector<float> const& out) {
  double e = 0;
  for (int i = 0; i < 64; i++) {
    for (int j = 0; j < 64; j++) {
      double s = 0;
      for (int k = 0; k < K; k++)
        s += double(float(a[i * K + k])) * double(float(b[j * K + k]));
      e = fmax(e, fabs(s - out[i * 64 + j]));
    }
  }
  return e;
}

int main() {
  std::vector<__nv_bfloat16> a(64 * K), b(64 * K);
  std::vector<__half> ha(64 * K), hb(64 * K);
  std::vector<float> out(64 * 64);
  unsigned seed = 1;
  auto random = [&] {
    seed = seed * 1664525u + 1013904223u;
    return float(int(seed >> 16) % 33 - 16) / 16;
  };
  for (int k = 0; k < 64 * K; k++) {
    a[k] = __float2bfloat16(random());
    b[k] = __float2bfloat16(random());
    ha[k] = __float2half(random());
    hb[k] = __float2half(random());
  }
  auto *da = dev(a), *db = dev(b);
  auto *dha = dev(ha), *dhb = dev(hb);
  float* dout = dev(out);
  int r = 0;
  char const* names[] = {"wgmma K-major",
                         "wgmma K-major 128B swizzle",
                         "wgmma B MN-major",
                         "wgmma B MN-major 128B swizzle",
                         "wgmma A MN-major 128B swizzle",
                         "wgmma K-major 64B swizzle"};
  for (int mode = 0; mode < 6; mode++) {
    if (mode == 0) product<0><<<1, 128>>>(da, db, dout);
    if (mode == 1) product<1><<<1, 128>>>(da, db, dout);
    if (mode == 2) product<2><<<1, 128>>>(da, db, dout);
    if (mode == 3) product<3><<<1, 128>>>(da, db, dout);
    if (mode == 4) product<4><<<1, 128>>>(da, db, dout);
    if (mode == 5) product<5><<<1, 128>>>(da, db, dout);
    CK(cudaDeviceSynchronize());
    back(out, dout);
    r |= report(names[mode], error_of(a, b, out), 0);
  }
  product_registers<<<1, 128>>>(dha, dhb, dout);
  CK(cudaDeviceSynchronize());
  back(out, dout);
  r |= report("wgmma A in registers", error_of(ha, hb, out), 0);
  return r;
}
