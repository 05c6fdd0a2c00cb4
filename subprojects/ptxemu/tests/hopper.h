// SPDX-License-Identifier: Apache-2.0
// Inline PTX wrappers for the Hopper tests.
#pragma once
#include "common.h"

#include <cuda.h>

__device__ inline unsigned smem(void const* p) {
  return unsigned(__cvta_generic_to_shared(p));
}
__device__ inline void mbar_init(unsigned long long* b, int n) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(smem(b)), "r"(n) : "memory");
}
__device__ inline void mbar_arrive(unsigned long long* b) {
  asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(smem(b)) : "memory");
}
__device__ inline void mbar_expect(unsigned long long* b, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(smem(b)),
               "r"(bytes)
               : "memory");
}
__device__ inline bool mbar_try(unsigned long long* b, int parity) {
  int ok;
  asm volatile(
      "{ .reg .pred p; mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%1], %2;"
      " selp.b32 %0, 1, 0, p; }"
      : "=r"(ok)
      : "r"(smem(b)), "r"(parity)
      : "memory");
  return ok;
}
__device__ inline void mbar_wait(unsigned long long* b, int parity) {
  while (!mbar_try(b, parity)) {}
}
__device__ inline void bulk_load(void* dst, void const* src, int bytes, unsigned long long* b) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(smem(dst)),
      "l"(src), "r"(bytes), "r"(smem(b))
      : "memory");
}
__device__ inline void bulk_store(void* dst, void const* src, int bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(dst),
               "r"(smem(src)), "r"(bytes)
               : "memory");
}
__device__ inline void bulk_commit() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
template <int N>
__device__ inline void bulk_wait() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(N) : "memory");
}
__device__ inline void fence_async() {
  asm volatile("fence.proxy.async;" ::: "memory");
}
__device__ inline void tma_load_2d(void* dst, CUtensorMap const* m, int x, int y,
                                   unsigned long long* b) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, "
      "{%2, %3}], [%4];" ::"r"(smem(dst)),
      "l"(m), "r"(x), "r"(y), "r"(smem(b))
      : "memory");
}
__device__ inline void tma_load_3d(void* dst, CUtensorMap const* m, int x, int y, int z,
                                   unsigned long long* b) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, "
      "{%2, %3, %4}], [%5];" ::"r"(smem(dst)),
      "l"(m), "r"(x), "r"(y), "r"(z), "r"(smem(b))
      : "memory");
}
__device__ inline void tma_store_2d(CUtensorMap const* m, void const* src, int x, int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(m),
      "r"(smem(src)), "r"(x), "r"(y)
      : "memory");
}
__device__ inline bool elect() {
  unsigned p;
  asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.b32 %0, 1, 0, p; }" : "=r"(p));
  return p;
}

using EncodeTiled = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*,
                                 cuuint64_t const*, cuuint64_t const*, cuuint32_t const*,
                                 cuuint32_t const*, CUtensorMapInterleave, CUtensorMapSwizzle,
                                 CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

inline EncodeTiled encode_function() {
  void* f = nullptr;
  cudaDriverEntryPointQueryResult q;
  CK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &f, 12000, 0, &q));
  return reinterpret_cast<EncodeTiled>(f);
}

// A tile description of a dense row-major tensor; dims and box from the innermost dimension.
inline CUtensorMap make_map(void* base, CUtensorMapDataType type, int element,
                            std::vector<cuuint64_t> dims, std::vector<cuuint32_t> box,
                            CUtensorMapSwizzle swizzle) {
  CUtensorMap m;
  std::vector<cuuint64_t> strides;
  cuuint64_t bytes = element;
  for (size_t k = 0; k + 1 < dims.size(); k++)
    strides.push_back(bytes *= dims[k]);
  std::vector<cuuint32_t> ones(dims.size(), 1);
  CUresult r =
      encode_function()(&m, type, cuuint32_t(dims.size()), base, dims.data(), strides.data(),
                        box.data(), ones.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                        CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (r != CUDA_SUCCESS) {
    printf("cuTensorMapEncodeTiled failed: %d\n", int(r));
    exit(2);
  }
  return m;
}
