// SPDX-License-Identifier: Apache-2.0
// Helpers shared by the tests.
#pragma once
#include <cuda_runtime.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#define CK(x)                                                          \
  do {                                                                 \
    cudaError_t e_ = (x);                                              \
    if (e_ != cudaSuccess) {                                           \
      printf("CUDA error %d at %s:%d\n", (int)e_, __FILE__, __LINE__); \
      exit(2);                                                         \
    }                                                                  \
  } while (0)
template <class T>
T* dev(std::vector<T> const& h) {
  T* p = nullptr;
  CK(cudaMalloc((void**)&p, h.size() * sizeof(T)));
  CK(cudaMemcpy(p, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice));
  return p;
}
template <class T>
void back(std::vector<T>& h, T const* p) {
  CK(cudaMemcpy(h.data(), p, h.size() * sizeof(T), cudaMemcpyDeviceToHost));
}
inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
inline int report(char const* n, double err, double tol) {
  printf("%s %s err=%g tol=%g\n", err <= tol ? "PASS" : "FAIL", n, err, tol);
  return err <= tol ? 0 : 1;
}
