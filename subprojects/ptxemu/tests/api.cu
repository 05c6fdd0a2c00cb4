// SPDX-License-Identifier: Apache-2.0
// Runtime API: every call a CUDA library is likely to make, with its documented result. On ptxemu
// it is run with PTXEMU_MEM=12G and PTXEMU_SMS=132.
#include "common.h"

#include <cuda.h>

#include <string>

static int failures = 0;
static bool const emulated = getenv("PTXEMU_MEM") != nullptr;
#define EXPECT(cond)                                 \
  do {                                               \
    if (!(cond)) {                                   \
      printf("FAIL line %d: %s\n", __LINE__, #cond); \
      failures++;                                    \
    }                                                \
  } while (0)

__global__ void add(float* y, const float* x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}
__global__ void fill(int* p, int v) {
  p[threadIdx.x] = v;
}
__global__ void bad(int* p) {
  p[1 << 20] = 1;
}
__global__ void use_dynamic(int* out) {
  extern __shared__ int s[];
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}
__constant__ int constant_table[4];
__device__ int device_counter = 5;

void test_copies() {
  int h[64], r[64] = {};
  for (int i = 0; i < 64; i++)
    h[i] = i;
  int *d, *e;
  CK(cudaMalloc(&d, sizeof h));
  CK(cudaMalloc(&e, sizeof h));
  // 8x8 ints, copy the 4x4 corner with different pitches.
  CK(cudaMemcpy2D(d, 16, h, 32, 16, 4, cudaMemcpyHostToDevice));
  CK(cudaMemcpy(r, d, 64, cudaMemcpyDeviceToHost));
  EXPECT(r[0] == 0 && r[4] == 8 && r[15] == 27);
  EXPECT(cudaMemcpy2D(d, 8, h, 32, 16, 4, cudaMemcpyHostToDevice) == cudaErrorInvalidPitchValue);
  EXPECT(cudaGetLastError() == cudaErrorInvalidPitchValue);
  CK(cudaMemset(e, 0xff, sizeof h));
  CK(cudaMemset2D(e, 32, 0, 4, 8));
  CK(cudaMemcpy(r, e, sizeof r, cudaMemcpyDefault));
  EXPECT(r[0] == 0 && r[1] == -1 && r[8] == 0);
  EXPECT(cudaMemcpy(d, h, 1 << 20, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  EXPECT(cudaMemcpy(r, d, 1 << 20, cudaMemcpyDefault) == cudaErrorInvalidValue);
  cudaGetLastError();
  // Batched copies.
  cudaStream_t s;
  CK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  int* pinned;
  CK(cudaMallocHost(&pinned, sizeof h));
  for (int i = 0; i < 64; i++)
    pinned[i] = 100 + i;
  CK(cudaMemset(d, 0, sizeof h));
  void* dsts[3] = {d, d + 8, d + 32};
  void const* srcs[3] = {pinned + 1, pinned + 20, pinned + 30};
  size_t sizes[3] = {16, 32, 4};
  cudaMemcpyAttributes at[2] = {};
  at[0].srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  at[1].srcAccessOrder = cudaMemcpySrcAccessOrderDuringApiCall;
  size_t starts[2] = {0, 2};
  CK(cudaMemcpyBatchAsync(dsts, srcs, sizes, 3, at, starts, 2, s));
  CK(cudaStreamSynchronize(s));
  CK(cudaMemcpy(r, d, 132, cudaMemcpyDeviceToHost));
  EXPECT(r[0] == 101 && r[3] == 104 && r[8] == 120 && r[15] == 127 && r[32] == 130);
  starts[0] = 1;
  EXPECT(cudaMemcpyBatchAsync(dsts, srcs, sizes, 3, at, starts, 2, s) == cudaErrorInvalidValue);
  starts[0] = 0;
  EXPECT(cudaMemcpyBatchAsync(dsts, srcs, sizes, 3, at, starts, 2, 0) == cudaErrorInvalidValue);
  cudaGetLastError();
  // Symbols.
  int table[4] = {1, 2, 3, 4}, v = 0;
  CK(cudaMemcpyToSymbol(constant_table, table, sizeof table));
  CK(cudaMemcpyFromSymbol(&v, constant_table, 4, 8));
  EXPECT(v == 3);
  CK(cudaMemcpyFromSymbol(&v, device_counter, 4));
  EXPECT(v == 5);
  EXPECT(cudaMemcpyFromSymbol(&v, device_counter, 4, 4) == cudaErrorInvalidValue);
  cudaGetLastError();
  CK(cudaFreeHost(pinned));
  CK(cudaStreamDestroy(s));
  EXPECT(cudaStreamSynchronize(s) == cudaErrorInvalidResourceHandle);
  cudaGetLastError();
  CK(cudaFree(d));
  EXPECT(cudaFree(d) == cudaErrorInvalidValue);
  EXPECT(cudaMemset(d, 0, 4) == cudaErrorInvalidValue);
  cudaGetLastError();
  CK(cudaFree(e));
}

void test_memory() {
  size_t f0, total, f1;
  CK(cudaMemGetInfo(&f0, &total));
  EXPECT(!emulated || total == 12ull << 30);
  char *big, *more = reinterpret_cast<char*>(1);
  CK(cudaMalloc(&big, 11ull << 30));
  CK(cudaMemGetInfo(&f1, &total));
  EXPECT(f0 - f1 == 11ull << 30);
  EXPECT(cudaMalloc(&more, f1 + 1) == cudaErrorMemoryAllocation && more == nullptr);
  EXPECT(cudaPeekAtLastError() == cudaErrorMemoryAllocation);
  EXPECT(cudaGetLastError() == cudaErrorMemoryAllocation && cudaGetLastError() == cudaSuccess);
  // Only touched pages cost memory.
  fill<<<1, 32>>>(reinterpret_cast<int*>(big + (11ull << 30) - 128), 7);
  int v[32];
  CK(cudaMemcpy(v, big + (11ull << 30) - 128, 128, cudaMemcpyDeviceToHost));
  EXPECT(v[31] == 7);
  CK(cudaFree(big));
  CK(cudaMemGetInfo(&f1, &total));
  EXPECT(f0 == f1);
  // Pools and stream-ordered allocation.
  cudaStream_t s;
  CK(cudaStreamCreate(&s));
  cudaMemPool_t pool;
  CK(cudaDeviceGetDefaultMemPool(&pool, 0));
  unsigned long long threshold = ~0ull, back_value = 0;
  CK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  CK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &back_value));
  EXPECT(back_value == threshold);
  int* p;
  CK(cudaMallocAsync(&p, 4096, s));
  CK(cudaMemsetAsync(p, 1, 4096, s));
  CK(cudaFreeAsync(p, s));
  CK(cudaMallocFromPoolAsync(reinterpret_cast<void**>(&p), 64, pool, s));
  CK(cudaFreeAsync(p, s));
  CK(cudaStreamSynchronize(s));
  CK(cudaMemPoolTrimTo(pool, 0));
  // Host memory.
  int *host, *alias;
  CK(cudaHostAlloc(&host, 256, cudaHostAllocMapped));
  CK(cudaHostGetDevicePointer(&alias, host, 0));
  fill<<<1, 64, 0, s>>>(alias, 9);
  CK(cudaStreamSynchronize(s));
  EXPECT(host[63] == 9);
  cudaPointerAttributes a;
  CK(cudaPointerGetAttributes(&a, host + 3));
  EXPECT(a.type == cudaMemoryTypeHost && a.hostPointer == host + 3);
  std::vector<int> plain(64);
  CK(cudaPointerGetAttributes(&a, plain.data()));
  EXPECT(a.type == cudaMemoryTypeUnregistered && a.devicePointer == nullptr);
  CK(cudaHostRegister(plain.data(), 256, cudaHostRegisterDefault));
  EXPECT(cudaHostRegister(plain.data(), 256, 0) == cudaErrorHostMemoryAlreadyRegistered);
  CK(cudaPointerGetAttributes(&a, plain.data()));
  EXPECT(a.type == cudaMemoryTypeHost);
  fill<<<1, 64, 0, s>>>(plain.data(), 4);
  CK(cudaStreamSynchronize(s));
  EXPECT(plain[5] == 4);
  CK(cudaHostUnregister(plain.data()));
  EXPECT(cudaHostUnregister(plain.data()) == cudaErrorHostMemoryNotRegistered);
  EXPECT(cudaFree(host) == cudaErrorInvalidValue);
  cudaGetLastError();
  CK(cudaFreeHost(host));
  int* managed;
  CK(cudaMallocManaged(&managed, 256));
  fill<<<1, 64>>>(managed, 3);
  CK(cudaDeviceSynchronize());
  EXPECT(managed[10] == 3);
  CK(cudaPointerGetAttributes(&a, managed));
  EXPECT(a.type == cudaMemoryTypeManaged);
  CK(cudaFree(managed));
  CK(cudaStreamDestroy(s));
}

void test_launch() {
  int* out;
  CK(cudaMalloc(&out, 4096));
  use_dynamic<<<1, 1024, 60 << 10>>>(out);
  EXPECT(cudaGetLastError() == cudaErrorInvalidValue);  // needs the opt-in
  CK(cudaFuncSetAttribute(use_dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 60 << 10));
  use_dynamic<<<1, 1024, 60 << 10>>>(out);
  CK(cudaGetLastError());
  EXPECT(cudaFuncSetAttribute(use_dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20) ==
         cudaErrorInvalidValue);
  cudaGetLastError();
  use_dynamic<<<1, 2048, 0>>>(out);
  EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration);
  cudaFuncAttributes fa;
  CK(cudaFuncGetAttributes(&fa, use_dynamic));
  EXPECT(fa.maxDynamicSharedSizeBytes == 60 << 10 && fa.maxThreadsPerBlock == 1024);
  int blocks = 0;
  CK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, use_dynamic, 256, 100 << 10));
  EXPECT(blocks == 2);
  CK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, use_dynamic, 1024, 0));
  EXPECT(blocks == 2);
  // Programmatic dependent launch attribute.
  cudaStream_t s;
  CK(cudaStreamCreate(&s));
  cudaLaunchAttribute attr[1];
  attr[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attr[0].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1);
  config.blockDim = dim3(64);
  config.stream = s;
  config.attrs = attr;
  config.numAttrs = 1;
  CK(cudaLaunchKernelEx(&config, fill, out, 11));
  int v = 0;
  CK(cudaMemcpyAsync(&v, out + 63, 4, cudaMemcpyDeviceToHost, s));
  CK(cudaStreamSynchronize(s));
  EXPECT(v == 11);
  CK(cudaFree(out));
  CK(cudaStreamDestroy(s));
}

void test_graphs() {
  int const n = 256;
  std::vector<float> ones(n, 1), h(n);
  float *x = dev(ones), *y = dev(ones);
  cudaStream_t s, t;
  CK(cudaStreamCreate(&s));
  CK(cudaStreamCreate(&t));
  cudaEvent_t fork, join;
  CK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  CK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
  auto capture = [&](float a, bool extra) {
    cudaGraph_t g;
    CK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    add<<<1, n, 0, s>>>(y, x, a, n);
    CK(cudaEventRecord(fork, s));
    CK(cudaStreamWaitEvent(t, fork, 0));
    add<<<1, n, 0, t>>>(y, x, 10, n);
    CK(cudaEventRecord(join, t));
    CK(cudaStreamWaitEvent(s, join, 0));
    if (extra) add<<<1, n, 0, s>>>(y, x, 1, n);
    cudaStreamCaptureStatus status;
    CK(cudaStreamIsCapturing(t, &status));
    EXPECT(status == cudaStreamCaptureStatusActive);
    CK(cudaStreamEndCapture(s, &g));
    return g;
  };
  cudaGraph_t g = capture(1, false);
  size_t count = 0;
  CK(cudaGraphGetNodes(g, nullptr, &count));
  EXPECT(count == 2);
  cudaGraphExec_t e;
  CK(cudaGraphInstantiate(&e, g, 0));
  CK(cudaGraphLaunch(e, s));
  CK(cudaGraphLaunch(e, s));
  CK(cudaStreamSynchronize(s));
  back(h, y);
  EXPECT(h[5] == 23);
  cudaGraph_t g2 = capture(2, false), g3 = capture(2, true);
  cudaGraphExecUpdateResultInfo info;
  CK(cudaGraphExecUpdate(e, g2, &info));
  EXPECT(info.result == cudaGraphExecUpdateSuccess);
  CK(cudaGraphLaunch(e, s));
  CK(cudaStreamSynchronize(s));
  back(h, y);
  EXPECT(h[5] == 35);
  EXPECT(cudaGraphExecUpdate(e, g3, &info) == cudaErrorGraphExecUpdateFailure);
  EXPECT(info.result == cudaGraphExecUpdateErrorTopologyChanged);
  cudaGetLastError();
  // Mistakes during capture.
  cudaGraph_t broken;
  CK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  EXPECT(cudaStreamSynchronize(s) == cudaErrorStreamCaptureUnsupported);
  EXPECT(cudaStreamEndCapture(s, &broken) == cudaErrorStreamCaptureInvalidated);
  CK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  void* p;
  EXPECT(cudaMalloc(&p, 16) == cudaErrorStreamCaptureUnsupported);
  EXPECT(cudaStreamEndCapture(s, &broken) == cudaErrorStreamCaptureInvalidated);
  CK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
  CK(cudaMalloc(&p, 16));
  add<<<1, n, 0, s>>>(y, x, 1, n);
  CK(cudaEventRecord(fork, s));
  CK(cudaStreamWaitEvent(t, fork, 0));
  add<<<1, n, 0, t>>>(y, x, 1, n);
  EXPECT(cudaStreamEndCapture(s, &broken) == cudaErrorStreamCaptureUnjoined);
  EXPECT(cudaStreamEndCapture(s, &broken) == cudaErrorIllegalState);
  cudaGetLastError();
  CK(cudaFree(p));
  // A graph built by hand.
  cudaGraph_t m;
  cudaGraphNode_t a, b;
  CK(cudaGraphCreate(&m, 0));
  cudaMemsetParams mp = {};
  mp.dst = y;
  mp.value = 0;
  mp.elementSize = 4;
  mp.width = n;
  mp.height = 1;
  CK(cudaGraphAddMemsetNode(&a, m, nullptr, 0, &mp));
  cudaKernelNodeParams kp = {};
  float four = 4;
  int nn = n;
  void* args[] = {&y, &x, &four, &nn};
  kp.func = reinterpret_cast<void*>(add);
  kp.gridDim = dim3(1);
  kp.blockDim = dim3(n);
  kp.kernelParams = args;
  CK(cudaGraphAddKernelNode(&b, m, &a, 1, &kp));
  cudaGraphExec_t me;
  CK(cudaGraphInstantiate(&me, m, 0));
  CK(cudaGraphLaunch(me, 0));
  CK(cudaDeviceSynchronize());
  back(h, y);
  EXPECT(h[9] == 4);
  CK(cudaGraphExecDestroy(me));
  CK(cudaGraphDestroy(m));
  for (cudaGraph_t q : {g, g2, g3})
    CK(cudaGraphDestroy(q));
  CK(cudaGraphExecDestroy(e));
}

void test_events_and_host_functions() {
  cudaStream_t s;
  CK(cudaStreamCreate(&s));
  cudaEvent_t a, b, c;
  CK(cudaEventCreate(&a));
  CK(cudaEventCreate(&b));
  CK(cudaEventCreateWithFlags(&c, cudaEventDisableTiming));
  std::vector<float> v(1 << 16, 1);
  float *x = dev(v), *y = dev(v);
  CK(cudaEventRecord(a, s));
  add<<<256, 256, 0, s>>>(y, x, 1, 1 << 16);
  CK(cudaEventRecord(b, s));
  int called = 0;
  CK(cudaLaunchHostFunc(s, [](void* p) { ++*static_cast<int*>(p); }, &called));
  CK(cudaEventSynchronize(b));
  float ms = -1;
  CK(cudaEventElapsedTime(&ms, a, b));
  EXPECT(ms > 0 && ms < 10000);
  EXPECT(cudaEventElapsedTime(&ms, a, c) == cudaErrorInvalidResourceHandle);
  cudaGetLastError();
  CK(cudaStreamSynchronize(s));
  EXPECT(called == 1);
  EXPECT(cudaStreamQuery(s) == cudaSuccess && cudaEventQuery(b) == cudaSuccess);
}

void test_queries() {
  int v;
  CK(cudaDeviceGetAttribute(&v, cudaDevAttrMultiProcessorCount, 0));
  EXPECT(!emulated || v == 132);
  cudaDeviceProp prop;
  CK(cudaGetDeviceProperties(&prop, 0));
  EXPECT(prop.multiProcessorCount == v);
  EXPECT(!emulated || prop.totalGlobalMem == 12ull << 30);
  CK(cudaDeviceGetAttribute(&v, cudaDevAttrComputeCapabilityMajor, 0));
  EXPECT(prop.major == v && (!emulated || v == 9));
  CK(cudaGetDeviceCount(&v));
  EXPECT(v >= 1 && cudaSetDevice(v) == cudaErrorInvalidDevice);
  EXPECT(cudaGetLastError() == cudaErrorInvalidDevice);
  EXPECT(std::string(cudaGetErrorString(cudaErrorMemoryAllocation)) == "out of memory");
  EXPECT(std::string(cudaGetErrorName(cudaErrorIllegalAddress)) == "cudaErrorIllegalAddress");
  void* f = &v;
  cudaDriverEntryPointQueryResult q;
  CK(cudaGetDriverEntryPointByVersion("cuNoSuchFunction", &f, 13000, 0, &q));
  EXPECT(f == nullptr && q == cudaDriverEntryPointSymbolNotFound);
  CK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &f, 12000, 0, &q));
  EXPECT(f != nullptr && q == cudaDriverEntryPointSuccess);
}

void test_sticky_error() {
  int* p;
  CK(cudaMalloc(&p, 64));
  bad<<<1, 1>>>(p);
  EXPECT(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
  EXPECT(cudaGetLastError() == cudaErrorIllegalAddress);
  EXPECT(cudaGetLastError() == cudaErrorIllegalAddress);
  EXPECT(cudaMalloc(&p, 64) == cudaErrorIllegalAddress);
  int v;
  EXPECT(cudaMemcpy(&v, p, 4, cudaMemcpyDeviceToHost) == cudaErrorIllegalAddress);
}

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "sticky") {
    test_sticky_error();
  } else if (argc > 1 && std::string(argv[1]) == "missing") {
    cudaArray_t array;
    cudaExtent extent = {1, 1, 1};
    cudaChannelFormatDesc desc = {};
    EXPECT(cudaMalloc3DArray(&array, &desc, extent, 0) == cudaErrorNotSupported);
    EXPECT(cudaGetLastError() == cudaErrorNotSupported);
  } else {
    test_queries();
    test_copies();
    test_memory();
    test_launch();
    test_graphs();
    test_events_and_host_functions();
    CK(cudaGetLastError());
  }
  printf(failures ? "FAIL api\n" : "PASS api\n");
  return failures != 0;
}
