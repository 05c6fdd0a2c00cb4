// SPDX-License-Identifier: Apache-2.0
// The argument is the number of sequences (64 takes about a second).
// Toy paged decode attention: one block per (seq, head), 128 threads, bf16 KV, block size 16
#include "common.h"

#include <cuda_bf16.h>
constexpr int D = 64, BS = 16, NT = 128;
__global__ void __launch_bounds__(NT)
    attn(__nv_bfloat16 const* q, __nv_bfloat16 const* kc, __nv_bfloat16 const* vc, int const* table,
         int const* lens, float* out, int heads, int maxb, float scale) {
  extern __shared__ float sm[];
  __shared__ float red[NT / 32];
  __shared__ float bc;
  int seq = blockIdx.x / heads, h = blockIdx.x % heads, t = threadIdx.x, len = lens[seq];
  float* sc = sm;
  float mx = -INFINITY;
  for (int p = t; p < len; p += NT) {
    int blk = table[seq * maxb + p / BS];
    __nv_bfloat16 const* k = kc + ((size_t)(blk * BS + p % BS) * heads + h) * D;
    __nv_bfloat16 const* qq = q + (seq * heads + h) * D;
    float a = 0;
    for (int d = 0; d < D; d++)
      a += __bfloat162float(qq[d]) * __bfloat162float(k[d]);
    a *= scale;
    sc[p] = a;
    mx = fmaxf(mx, a);
  }
  for (int o = 16; o; o >>= 1)
    mx = fmaxf(mx, __shfl_xor_sync(~0u, mx, o));
  if (t % 32 == 0) red[t / 32] = mx;
  __syncthreads();
  if (t == 0) {
    float m = red[0];
    for (int i = 1; i < NT / 32; i++)
      m = fmaxf(m, red[i]);
    bc = m;
  }
  __syncthreads();
  mx = bc;
  float s = 0;
  for (int p = t; p < len; p += NT) {
    float e = __expf(sc[p] - mx);
    sc[p] = e;
    s += e;
  }
  for (int o = 16; o; o >>= 1)
    s += __shfl_xor_sync(~0u, s, o);
  __syncthreads();
  if (t % 32 == 0) red[t / 32] = s;
  __syncthreads();
  if (t == 0) {
    float m = 0;
    for (int i = 0; i < NT / 32; i++)
      m += red[i];
    bc = m;
  }
  __syncthreads();
  s = bc;
  int d = t % D, part = t / D;
  float acc = 0;
  for (int p = part; p < len; p += NT / D) {
    int blk = table[seq * maxb + p / BS];
    acc += sc[p] * __bfloat162float(vc[((size_t)(blk * BS + p % BS) * heads + h) * D + d]);
  }
  __syncthreads();
  sc[t] = acc;
  __syncthreads();
  if (t < D) { out[(seq * heads + h) * D + t] = (sc[t] + sc[t + D]) / s; }
}
int main(int argc, char** argv) {
  int S = argc > 1 ? atoi(argv[1]) : 8, H = 8, maxb = 16, nb = S * maxb;
  std::vector<__nv_bfloat16> q(S * H * D), k((size_t)nb * BS * H * D), v(k.size());
  std::vector<int> tb(S * maxb), len(S);
  std::vector<float> o(S * H * D);
  unsigned st = 1;
  auto rnd = [&] {
    st = st * 1664525u + 1013904223u;
    return ((st >> 8) & 0xffff) / 65536.f - 0.5f;
  };
  for (auto& x : q)
    x = __float2bfloat16(rnd());
  for (auto& x : k)
    x = __float2bfloat16(rnd());
  for (auto& x : v)
    x = __float2bfloat16(rnd());
  for (int i = 0; i < nb; i++)
    tb[i] = (i * 37) % nb;
  for (int i = 0; i < S; i++)
    len[i] = 129 + i % 8 * 17;
  auto dq = dev(q), dk = dev(k), dv = dev(v);
  auto dt = dev(tb), dl = dev(len);
  auto dout = dev(o);
  float sc = 1 / sqrtf(D);
  double t0 = now();
  attn<<<S * H, NT, maxb * BS * sizeof(float)>>>(dq, dk, dv, dt, dl, dout, H, maxb, sc);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  double t1 = now();
  back(o, dout);
  double e = 0;
  for (int s = 0; s < S; s++)
    for (int h = 0; h < H; h++) {
      std::vector<double> p(len[s]);
      double mx = -1e30, sum = 0;
      for (int i = 0; i < len[s]; i++) {
        double a = 0;
        int blk = tb[s * maxb + i / BS];
        for (int d = 0; d < D; d++)
          a += double(__bfloat162float(q[(s * H + h) * D + d])) *
               __bfloat162float(k[((size_t)(blk * BS + i % BS) * H + h) * D + d]);
        p[i] = a * sc;
        mx = fmax(mx, p[i]);
      }
      for (auto& x : p) {
        x = exp(x - mx);
        sum += x;
      }
      for (int d = 0; d < D; d++) {
        double a = 0;
        for (int i = 0; i < len[s]; i++)
          a += p[i] *
               __bfloat162float(v[((size_t)(tb[s * maxb + i / BS] * BS + i % BS) * H + h) * D + d]);
        e = fmax(e, fabs(a / sum - o[(s * H + h) * D + d]));
      }
    }
  printf("attn kernel wall %.3f s\n", t1 - t0);
  return report("paged_attn", e, 1e-5);
}
