// SPDX-License-Identifier: Apache-2.0
// Seeded mistakes with asynchronous copies; the argument chooses one, 0 is correct.
#include "hopper.h"

__global__ void kernel(float const* x, float* y, int mistake, int rounds) {
  __shared__ alignas(128) float s[64];
  __shared__ unsigned long long bar;
  if (threadIdx.x == 0 && mistake != 5) mbar_init(&bar, 1);  // 5: not initialised
  __syncthreads();
  float sum = 0;
  for (int k = 0; k < rounds; k++) {
    if (threadIdx.x == 0) {
      mbar_expect(&bar, mistake == 2 ? 512 : 256);  // 2: expects bytes that never come
      bulk_load(s, x + k * 64, 256, &bar);
    }
    if (mistake == 1) {
      mbar_try(&bar, k & 1);  // does not look at the result
    } else if (mistake == 4) {
      return;  // leaves while the copy is in flight
    } else {
      mbar_wait(&bar, k & 1);
    }
    sum += s[threadIdx.x];
    if (mistake != 3) __syncthreads();  // 3: the next copy overtakes the readers
  }
  y[threadIdx.x] = sum;
}

// 6: accumulators are used before the wait.
__global__ void early_read(float* y, int mistake) {
  __shared__ alignas(1024) unsigned a[512], b[64];
  for (int k = threadIdx.x; k < 512; k += 128)
    a[k] = 0;
  if (threadIdx.x < 64) b[threadIdx.x] = 0;
  fence_async();
  __syncthreads();
  auto descriptor =
      [](void const* p) {  // no swizzle: 128 bytes to the next K, 256 to the next rows
        return (unsigned long long)((smem(p) & 0x3ffff) >> 4) | 8ull << 16 | 16ull << 32;
      };
  float d[4];
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  asm volatile(
      "{ .reg .pred p; setp.ne.b32 p, 0, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0,%1,%2,%3}, %4, %5, p, 1, 1, 0, 0; }"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "l"(descriptor(a)), "l"(descriptor(b)));
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  if (mistake == 6) y[threadIdx.x % 64] = d[0] + 1;
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  if (threadIdx.x < 64) y[threadIdx.x] = d[0] + d[1] + d[2] + d[3];
}

int main(int argc, char** argv) {
  int const mistake = argc > 1 ? atoi(argv[1]) : 0;
  std::vector<float> x(256, 1), y(64);
  float *dx = dev(x), *dy = dev(y);
  if (mistake == 0 || mistake == 6) early_read<<<1, 128>>>(dy, mistake);
  if (mistake != 6) kernel<<<1, 64>>>(dx, dy, mistake, 4);
  printf("case %d -> cuda error %d\n", mistake, (int)cudaDeviceSynchronize());
  return 0;
}
