// SPDX-License-Identifier: Apache-2.0
// mbarrier, cp.async.bulk and cp.async.bulk.tensor against host results.
#include "hopper.h"

// Producer warp and three consumer warps over a ring of two stages.
__global__ void pipeline(float const* x, float* sum, int chunks) {
  __shared__ alignas(128) float stage[2][96];
  __shared__ unsigned long long full[2], empty[2];
  int const warp = threadIdx.x / 32;
  if (threadIdx.x == 0) {
    for (int k = 0; k < 2; k++) {
      mbar_init(&full[k], 1);
      mbar_init(&empty[k], 3);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (warp == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (elect()) {
      for (int c = 0; c < chunks; c++) {
        int const s = c % 2, round = c / 2;
        mbar_wait(&empty[s], (round & 1) ^ 1);
        mbar_expect(&full[s], sizeof stage[0]);
        bulk_load(stage[s], x + c * 96, sizeof stage[0], &full[s]);
      }
    }
  } else {
    float a = 0;
    for (int c = 0; c < chunks; c++) {
      int const s = c % 2;
      mbar_wait(&full[s], (c / 2) & 1);
      a += stage[s][threadIdx.x - 32] * (c + 1);
      __syncwarp();
      if (threadIdx.x % 32 == 0) mbar_arrive(&empty[s]);
    }
    sum[threadIdx.x - 32] = a;
  }
}

// Shared to global, in two groups.
__global__ void bulk_out(float* y) {
  __shared__ alignas(128) float s[256];
  s[threadIdx.x] = threadIdx.x * 2;
  fence_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulk_store(y, s, 512);
    bulk_commit();
    bulk_store(y + 128, s + 128, 512);
    bulk_commit();
    bulk_wait<0>();
  }
}

__global__ void reduce_out(float* y) {
  __shared__ alignas(128) float s[64];
  s[threadIdx.x] = threadIdx.x + blockIdx.x;
  fence_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile(
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(y),
        "r"(smem(s)), "r"(256)
        : "memory");
    bulk_commit();
    bulk_wait<0>();
  }
}

// Copies a box through shared memory and writes the raw shared image.
template <int Rank>
__global__ void tile(__grid_constant__ const CUtensorMap m, int x, int y, int z, unsigned* out,
                     int words) {
  extern __shared__ __align__(1024) unsigned s[];
  __shared__ unsigned long long bar;
  if (threadIdx.x == 0) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(&m) : "memory");
    mbar_init(&bar, 1);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    mbar_expect(&bar, words * 4);
    if (Rank == 2) tma_load_2d(s, &m, x, y, &bar);
    if (Rank == 3) tma_load_3d(s, &m, x, y, z, &bar);
  }
  mbar_wait(&bar, 0);
  for (int k = threadIdx.x; k < words; k += blockDim.x)
    out[k] = s[k];
}

__global__ void tile_store(__grid_constant__ const CUtensorMap m, int x, int y, int words) {
  extern __shared__ __align__(1024) unsigned s[];
  for (int k = threadIdx.x; k < words; k += blockDim.x)
    s[k] = 1000 + k;
  fence_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    tma_store_2d(&m, s, x, y);
    bulk_commit();
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
  }
}

// State form of the wait, with arrival counts.
__global__ void states(int* out) {
  __shared__ unsigned long long bar;
  __shared__ int v[64];
  if (threadIdx.x == 0) mbar_init(&bar, 64);
  __syncthreads();
  v[threadIdx.x] = threadIdx.x;
  unsigned long long state;
  asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(smem(&bar)) : "memory");
  int ok = 0;
  while (!ok) {
    asm volatile(
        "{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
        : "=r"(ok)
        : "r"(smem(&bar)), "l"(state)
        : "memory");
  }
  out[threadIdx.x] = v[63 - threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0)
    asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(smem(&bar)) : "memory");
}

int main() {
  int bad = 0;
  int const chunks = 7;
  std::vector<float> x(96 * chunks), sum(96), y(256);
  for (size_t k = 0; k < x.size(); k++)
    x[k] = float(k % 17);
  float *dx = dev(x), *dsum = dev(sum), *dy = dev(y);
  pipeline<<<3, 128>>>(dx, dsum, chunks);
  CK(cudaDeviceSynchronize());
  back(sum, dsum);
  for (int t = 0; t < 96; t++) {
    float e = 0;
    for (int c = 0; c < chunks; c++)
      e += x[c * 96 + t] * (c + 1);
    bad += sum[t] != e;
  }
  int r = report("mbarrier pipeline with bulk loads", bad, 0);

  bulk_out<<<1, 256>>>(dy);
  CK(cudaDeviceSynchronize());
  back(y, dy);
  bad = 0;
  for (int k = 0; k < 256; k++)
    bad += y[k] != 2 * k;
  r |= report("bulk store", bad, 0);

  CK(cudaMemset(dy, 0, 1024));
  reduce_out<<<3, 64>>>(dy);
  CK(cudaDeviceSynchronize());
  back(y, dy);
  bad = 0;
  for (int k = 0; k < 64; k++)
    bad += y[k] != 3 * k + 3;
  r |= report("bulk reduction", bad, 0);

  int* ds;
  std::vector<int> st(64);
  ds = dev(st);
  states<<<1, 64>>>(ds);
  CK(cudaDeviceSynchronize());
  back(st, ds);
  bad = 0;
  for (int k = 0; k < 64; k++)
    bad += st[k] != 63 - k;
  r |= report("mbarrier states", bad, 0);

  // 2-D tiles of a 40 x 100 u32 matrix, partly outside, with every swizzle.
  int const W = 40, H = 100;
  std::vector<unsigned> t(W * H), out(1024);
  for (size_t k = 0; k < t.size(); k++)
    t[k] = unsigned(k + 1);
  unsigned *dt = dev(t), *dout = dev(out);
  bad = 0;
  for (int swizzle = 0; swizzle < 4; swizzle++) {
    int const bw = swizzle ? 4 << swizzle : 32, bh = 16;
    CUtensorMap m = make_map(dt, CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, {W, H}, {cuuint32_t(bw), bh},
                             CUtensorMapSwizzle(swizzle));
    for (auto [cx, cy] : {std::pair{0, 0}, {4, 8}, {-3, -5}, {30, 90}, {100, 0}}) {
      tile<2><<<1, 64, 4096>>>(m, cx, cy, 0, dout, bw * bh);
      CK(cudaDeviceSynchronize());
      back(out, dout);
      for (int i = 0; i < bh; i++) {
        for (int j = 0; j < bw; j++) {
          int gx = cx + j, gy = cy + i;
          unsigned e = gx >= 0 && gx < W && gy >= 0 && gy < H ? t[gy * W + gx] : 0;
          int byte = (i * bw + j) * 4, width = 16 << swizzle;
          // The 16-byte chunk number within a row is XORed with bits of the 128-byte line number.
          int chunk = byte / 16 ^ (swizzle ? (byte / 128) % (width / 16) : 0);
          bad += out[(chunk * 16 + byte % 16) / 4] != e;
        }
      }
    }
  }
  r |= report("tensor tiles 2-D, 4 swizzles", bad, 0);

  CUtensorMap m3 = make_map(dt, CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, {20, 10, 20}, {8, 3, 2},
                            CU_TENSOR_MAP_SWIZZLE_NONE);
  tile<3><<<1, 32, 1024>>>(m3, 16, 8, 19, dout, 48);
  CK(cudaDeviceSynchronize());
  back(out, dout);
  bad = 0;
  for (int k = 0; k < 2; k++) {
    for (int i = 0; i < 3; i++) {
      for (int j = 0; j < 8; j++) {
        int gx = 16 + j, gy = 8 + i, gz = 19 + k;
        unsigned e = gx < 20 && gy < 10 && gz < 20 ? t[(gz * 10 + gy) * 20 + gx] : 0;
        bad += out[(k * 3 + i) * 8 + j] != e;
      }
    }
  }
  r |= report("tensor tile 3-D", bad, 0);

  std::vector<unsigned> grid(W * H, 5);
  CK(cudaMemcpy(dt, grid.data(), grid.size() * 4, cudaMemcpyHostToDevice));
  CUtensorMap ms =
      make_map(dt, CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, {W, H}, {16, 8}, CU_TENSOR_MAP_SWIZZLE_NONE);
  tile_store<<<1, 64, 1024>>>(ms, 32, 96, 128);
  CK(cudaDeviceSynchronize());
  back(grid, dt);
  bad = 0;
  for (int i = 0; i < H; i++) {
    for (int j = 0; j < W; j++) {
      unsigned e = i >= 96 && j >= 32 ? 1000 + (i - 96) * 16 + (j - 32) : 5;
      bad += grid[i * W + j] != e;
    }
  }
  r |= report("tensor tile store", bad, 0);
  return r;
}
