// SPDX-License-Identifier: Apache-2.0
// Seeded mistakes, one per argument; each must be reported.
#include "common.h"

#include <cuda_pipeline.h>
__global__ void race(float const* x, float* o) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  o[threadIdx.x] = s[63 - threadIdx.x];
}
__global__ void oobg(float* o) {
  o[threadIdx.x + 1] = 1;
}
__global__ void oobs(float* o) {
  extern __shared__ float s[];
  s[threadIdx.x + 1] = 1;
  __syncthreads();
  o[threadIdx.x] = s[threadIdx.x + 1];
}
__global__ void uninit(float* o) {
  __shared__ float s[64];
  if (threadIdx.x < 60) s[threadIdx.x] = 1;
  __syncthreads();
  o[threadIdx.x] = s[threadIdx.x];
}
__global__ void nowait(float4 const* x, float* o) {
  __shared__ float4 s[32];
  __pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], 16);
  __pipeline_commit();
  o[threadIdx.x] = s[threadIdx.x].x;
  __pipeline_wait_prior(0);
}
__global__ void deadlock(float* o) {
  if (threadIdx.x < 16) {
    o[threadIdx.x] = __shfl_sync(~0u, threadIdx.x * 1.f, 3);
  } else {
    o[threadIdx.x] = __ballot_sync(~0u, threadIdx.x & 1);
  }
}
__global__ void readx(float const* x, float* o) {
  o[threadIdx.x] = x[threadIdx.x] + 1;
}
__global__ void mis(float const* x, float* o) {
  float2 v = *(float2 const*)(x + 1);
  o[threadIdx.x] = v.x + v.y;
}
__global__ void xblk(int* c) {
  if (threadIdx.x == 0) *c += 1;
}
__global__ void warprace(float const* x, float* o) {
  __shared__ volatile float s[32];
  s[threadIdx.x] = x[threadIdx.x];
  o[threadIdx.x] = s[31 - threadIdx.x];
}
__global__ void warpok(float const* x, float* o) {
  __shared__ float s[32];
  s[threadIdx.x] = x[threadIdx.x];
  __syncwarp();
  o[threadIdx.x] = s[31 - threadIdx.x];
}
__global__ void divbar(float* o) {
  if (threadIdx.x < 32) __syncthreads();
  o[threadIdx.x] = 1;
  if (threadIdx.x >= 32) {
    __syncthreads();
    __syncthreads();
  }
}
__global__ void hostptr(float const* p, float* o) {
  o[0] = p[0];
}
__global__ void rz(float* o, int k) {
  __shared__ float a[32];
  __shared__ float b[32];
  a[threadIdx.x] = 1;
  b[threadIdx.x] = 2;
  __syncthreads();
  a[threadIdx.x + k] = 3;
  __syncthreads();
  o[threadIdx.x] = a[threadIdx.x] + b[31 - threadIdx.x];
}
__global__ void inactive(float* o) {
  if (threadIdx.x < 16) o[threadIdx.x] = __shfl_sync(0xffff, o[threadIdx.x], threadIdx.x + 16);
}
__global__ void local_index(float* o, int k) {
  float a[8];
  for (int j = 0; j < 8; j++)
    a[(j + k) & 7] = float(j);
  o[0] = a[k] + a[o[1] > 0 ? 1 : 2];
}
__global__ void local_offset(float* o, int k) {  // the offset is in the instruction
  float a[8];
  for (int j = 0; j < 8; j++)
    a[(j + k) & 7] = float(j);
  float const* p = a;
  asm volatile("{ .reg .u64 q; cvta.to.local.u64 q, %1; ld.local.f32 %0, [q+-4]; }"
               : "=f"(o[0])
               : "l"(p));
}
int main(int c, char** v) {
  int k = c > 1 ? atoi(v[1]) : 0;
  std::vector<float> x(256, 1), o(64);
  auto dx = dev(x);
  float* d;
  CK(cudaMalloc(&d, 256));
  int* cn;
  CK(cudaMalloc(&cn, 4));
  CK(cudaMemset(cn, 0, 4));
  switch (k) {
    case 0: race<<<1, 64>>>(dx, d); break;
    case 1: oobg<<<1, 64>>>(d); break;
    case 2: oobs<<<1, 64, 256>>>(d); break;
    case 3: uninit<<<1, 64>>>(d); break;
    case 4: nowait<<<1, 32>>>((float4*)dx, d); break;
    case 5: deadlock<<<1, 32>>>(d); break;
    case 6: {
      float* u;
      CK(cudaMalloc(&u, 256));
      readx<<<1, 64>>>(u, d);
    } break;
    case 7: {
      float* u;
      CK(cudaMalloc(&u, 256));
      CK(cudaMemset(u, 0, 256));
      CK(cudaFree(u));
      readx<<<1, 64>>>(u, d);
    } break;
    case 8: mis<<<1, 1>>>(dx, d); break;
    case 9: xblk<<<4, 32>>>(cn); break;
    case 10: warprace<<<1, 32>>>(dx, d); break;
    case 11: warpok<<<1, 32>>>(dx, d); break;
    case 12: divbar<<<1, 64>>>(d); break;
    case 13: readx<<<1, 2048>>>(dx, d); break;
    case 14: hostptr<<<1, 1>>>(x.data(), d); break;
    case 15: rz<<<1, 32>>>(d, 1); break;
    case 18:
      printf("%g\n", d[3]);  // host code follows a device pointer
      break;
    case 16: back(o, d); break;
    case 17:
      CK(cudaMemset(d, 0, 256));
      inactive<<<1, 32>>>(d);
      break;
    case 19: readx<<<1, 1>>>(static_cast<float*>(nullptr) - 1, d); break;
    case 20:
      CK(cudaMemset(d, 0, 256));
      local_index<<<1, 1>>>(d, 8);
      break;
    case 21:
      CK(cudaMemset(d, 0, 256));
      local_index<<<1, 1>>>(d, -3);
      break;
    case 22:
      CK(cudaMemset(d, 0, 256));
      local_offset<<<1, 1>>>(d, 0);
      break;
    case 23: {  // the graph's copy outlives its target
      float* u;
      cudaGraph_t graph;
      cudaGraphNode_t node;
      cudaGraphExec_t exec;
      CK(cudaMalloc(&u, 256));
      CK(cudaGraphCreate(&graph, 0));
      CK(cudaGraphAddMemcpyNode1D(&node, graph, nullptr, 0, u, dx, 256, cudaMemcpyDeviceToDevice));
      CK(cudaGraphInstantiate(&exec, graph, 0));
      CK(cudaFree(u));
      CK(cudaGraphLaunch(exec, 0));
    } break;
  }
  cudaError_t e = cudaGetLastError();
  if (!e) e = cudaDeviceSynchronize();
  printf("case %d -> cuda error %d\n", k, (int)e);
}
