// SPDX-License-Identifier: Apache-2.0
// Named barriers, cuda::barrier, cuda::pipeline, and host threads that share the runtime.
#include "common.h"

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>

#include <thread>

namespace cg = cooperative_groups;

// A cuda::barrier in shared memory has a constructor, which init() stands in for.
#pragma nv_diag_suppress static_var_with_dynamic_init

// Warp 0 produces, warp 1 consumes; warps 2 and 3 work on their own pair of barriers.
__global__ void named(int* out, int rounds) {
  __shared__ int box[2][32];
  int const warp = threadIdx.x / 32, lane = threadIdx.x % 32, pair = warp / 2;
  int sum = 0;
  for (int k = 0; k < rounds; k++) {
    if (warp % 2 == 0) {
      box[pair][lane] = k * 10 + lane + pair;
      asm volatile("bar.arrive %0, 64;" ::"r"(1 + pair) : "memory");  // full
      asm volatile("bar.sync %0, 64;" ::"r"(3 + pair) : "memory");    // empty
    } else {
      asm volatile("bar.sync %0, 64;" ::"r"(1 + pair) : "memory");
      sum += box[pair][31 - lane];
      asm volatile("bar.arrive %0, 64;" ::"r"(3 + pair) : "memory");
    }
  }
  if (warp % 2) out[pair * 32 + lane] = sum;
}

// Two warps reach one barrier from different instructions, which have different registers.
__global__ void reduced(int* out) {
  int const t = threadIdx.x;
  int count = 0, all = 7;
  if (t < 32) {
    asm volatile("{ .reg .pred p; setp.lt.s32 p, %1, 5; barrier.cta.red.popc.u32 %0, 0, p; }"
                 : "=r"(count)
                 : "r"(t)
                 : "memory");
    all = -1;
  } else {
    asm volatile("{ .reg .pred p; setp.ge.s32 p, %1, 60; barrier.cta.red.popc.u32 %0, 0, p; }"
                 : "=r"(all)
                 : "r"(t)
                 : "memory");
    count = -1;
  }
  unsigned sms, clusters;
  asm("mov.u32 %0, %%nsmid;" : "=r"(sms));
  asm("mov.u32 %0, %%nclusterid.x;" : "=r"(clusters));
  out[t] = t < 32 ? count : all;
  if (t == 0) out[64] = sms >= 1 && clusters == gridDim.x;
}

__global__ void block_barrier(int const* in, int* out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  __shared__ alignas(16) int s[128];
  auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&bar, block.size());
  block.sync();
  cuda::memcpy_async(block, s, in, cuda::aligned_size_t<16>(sizeof s), bar);
  bar.arrive_and_wait();
  int v = s[127 - threadIdx.x];
  auto token = bar.arrive();
  bar.wait(std::move(token));
  s[threadIdx.x] = v + 1;
  bar.arrive_and_wait();
  out[threadIdx.x] = s[127 - threadIdx.x];
}

__global__ void pipelined(int const* in, int* out, int batches) {
  __shared__ alignas(16) int s[2][64];
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline();
  int sum = 0;
  for (int fetch = 0, compute = 0; compute < batches; compute++) {
    for (; fetch < batches && fetch < compute + 2; fetch++) {
      pipe.producer_acquire();
      cuda::memcpy_async(&s[fetch % 2][threadIdx.x], in + fetch * 64 + threadIdx.x,
                         cuda::aligned_size_t<4>(4), pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    block.sync();
    sum += s[compute % 2][63 - threadIdx.x];
    pipe.consumer_release();
    block.sync();
  }
  out[threadIdx.x] = sum;
}

__global__ void scale(int* p, int a) {
  p[threadIdx.x] *= a;
}

int main() {
  int r = 0, bad = 0;
  std::vector<int> h(64), in(1024), out(128);
  for (int k = 0; k < 1024; k++)
    in[k] = k * 3 % 101;
  int *d = dev(h), *din = dev(in), *dout = dev(out);
  named<<<2, 128>>>(d, 5);
  CK(cudaDeviceSynchronize());
  back(h, d);
  for (int p = 0; p < 2; p++) {
    for (int l = 0; l < 32; l++)
      bad += h[p * 32 + l] != 100 + 5 * (31 - l + p);
  }
  r |= report("named barriers", bad, 0);

  reduced<<<3, 64>>>(dout);
  CK(cudaDeviceSynchronize());
  back(out, dout);
  bad = out[64] != 1;
  for (int t = 0; t < 64; t++)
    bad += out[t] != 5 + 4;
  r |= report("bar.red from two places", bad, 0);

  block_barrier<<<1, 128>>>(din, dout);
  CK(cudaDeviceSynchronize());
  back(out, dout);
  bad = 0;
  for (int k = 0; k < 128; k++)
    bad += out[k] != in[k] + 1;
  r |= report("cuda::barrier with memcpy_async", bad, 0);

  pipelined<<<1, 64>>>(din, dout, 7);
  CK(cudaDeviceSynchronize());
  back(out, dout);
  bad = 0;
  for (int t = 0; t < 64; t++) {
    int e = 0;
    for (int b = 0; b < 7; b++)
      e += in[b * 64 + 63 - t];
    bad += out[t] != e;
  }
  r |= report("cuda::pipeline", bad, 0);

  // Host threads, each with its own stream.
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([t, &wrong] {
      cudaStream_t s;
      CK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
      int *p, *pinned;
      CK(cudaMallocAsync(&p, 128, s));
      CK(cudaMallocHost(&pinned, 128));
      for (int k = 0; k < 32; k++)
        pinned[k] = k;
      CK(cudaMemcpyAsync(p, pinned, 128, cudaMemcpyHostToDevice, s));
      for (int k = 0; k < 20; k++)
        scale<<<1, 32, 0, s>>>(p, k % 2 ? t + 2 : 1);
      CK(cudaMemcpyAsync(pinned, p, 128, cudaMemcpyDeviceToHost, s));
      CK(cudaStreamSynchronize(s));
      int e = 1;
      for (int k = 0; k < 10; k++)
        e *= t + 2;
      for (int k = 0; k < 32; k++)
        wrong[t] += pinned[k] != k * e;
      CK(cudaFreeAsync(p, s));
      CK(cudaFreeHost(pinned));
      CK(cudaStreamDestroy(s));
    });
  }
  bad = 0;
  for (int t = 0; t < 4; t++) {
    threads[t].join();
    bad += wrong[t];
  }
  r |= report("host threads", bad, 0);
  return r;
}
