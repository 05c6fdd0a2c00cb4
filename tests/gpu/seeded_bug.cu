// SPDX-License-Identifier: Apache-2.0
// A mistake for each kind of report that the tests rely on: seeded_bug KIND. The results look
// right, so that nothing but the report gives it away; meson.build has one test for each.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

namespace {

__global__ void past_the_end(int* values, int count) {
  int const i = static_cast<int>(threadIdx.x);
  if (i <= count) values[i] = i;
}

__global__ void copy(int const* from, int* to) {
  to[threadIdx.x] = from[threadIdx.x];
}

__global__ void reverse_without_barrier(int* values) {
  __shared__ int shared[64];
  shared[threadIdx.x] = values[threadIdx.x];
  values[threadIdx.x] = shared[63 - threadIdx.x];
}

}  // namespace

int main(int argc, char** argv) {
  char const* const kind = argc > 1 ? argv[1] : "";
  int *values = nullptr, *others = nullptr;
  cudaMalloc(&values, 64 * sizeof(int));
  cudaMalloc(&others, 64 * sizeof(int));
  cudaMemset(values, 0, 64 * sizeof(int));
  if (std::strcmp(kind, "out-of-bounds") == 0) {
    past_the_end<<<1, 96>>>(values, 64);
  } else if (std::strcmp(kind, "uninitialised") == 0) {
    copy<<<1, 64>>>(others, values);
  } else if (std::strcmp(kind, "race") == 0) {
    reverse_without_barrier<<<1, 64>>>(values);
  } else {
    std::printf("usage: seeded_bug out-of-bounds|uninitialised|race\n");
    return 2;
  }
  cudaDeviceSynchronize();
  return 0;
}
