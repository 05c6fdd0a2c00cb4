// SPDX-License-Identifier: Apache-2.0
// Ordering between streams. With PTXEMU_DEFER=1 correct programs still work and each of the seeded
// mistakes (argument 1..4) gives wrong data, which this program reports with exit code 3.
#include "common.h"

__global__ void set(int* p, int v) {
  p[threadIdx.x] = v;
}
__global__ void copy(int* d, int const* s) {
  d[threadIdx.x] = s[threadIdx.x];
}

int main(int argc, char** argv) {
  int const mistake = argc > 1 ? atoi(argv[1]) : 0;
  int *a, *b, *pinned;
  CK(cudaMalloc(&a, 128));
  CK(cudaMalloc(&b, 128));
  CK(cudaMallocHost(&pinned, 128));
  CK(cudaMemset(a, 0, 128));
  memset(pinned, 0, 128);
  cudaStream_t s, t;
  CK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
  cudaEvent_t e;
  CK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
  // Producer in s, consumer in t.
  set<<<1, 32, 0, s>>>(a, 7);
  CK(cudaEventRecord(e, s));
  if (mistake != 1) CK(cudaStreamWaitEvent(t, e, 0));
  copy<<<1, 32, 0, t>>>(b, a);
  CK(cudaMemcpyAsync(pinned, b, 128, cudaMemcpyDeviceToHost, t));
  if (mistake != 2) CK(cudaStreamSynchronize(mistake == 3 ? s : t));
  int bad = pinned[5] != 7;
  CK(cudaDeviceSynchronize());
  // A source buffer that is overwritten before the copy has run.
  pinned[0] = 1;
  CK(cudaMemcpyAsync(a, pinned, 4, cudaMemcpyHostToDevice, s));
  if (mistake != 4) CK(cudaStreamSynchronize(s));
  pinned[0] = 2;
  CK(cudaStreamSynchronize(s));
  int v;
  CK(cudaMemcpy(&v, a, 4, cudaMemcpyDeviceToHost));
  bad |= v != 1;
  // The legacy stream waits for blocking streams and they wait for it.
  cudaStream_t blocking;
  CK(cudaStreamCreate(&blocking));
  set<<<1, 32, 0, blocking>>>(a, 20);
  copy<<<1, 32>>>(b, a);
  set<<<1, 32, 0, blocking>>>(a, 21);
  CK(cudaMemcpy(&v, b, 4, cudaMemcpyDeviceToHost));
  bad |= v != 20;
  // Polling ends.
  set<<<1, 32, 0, t>>>(a, 30);
  CK(cudaEventRecord(e, t));
  while (cudaEventQuery(e) == cudaErrorNotReady) {}
  CK(cudaMemcpy(&v, a, 4, cudaMemcpyDeviceToHost));
  bad |= v != 30;
  // Stream-ordered free: the memory is still there for work queued before.
  int* tmp;
  CK(cudaMallocAsync(&tmp, 128, s));
  set<<<1, 32, 0, s>>>(tmp, 40);
  copy<<<1, 32, 0, s>>>(b, tmp);
  CK(cudaFreeAsync(tmp, s));
  CK(cudaStreamSynchronize(s));
  CK(cudaMemcpy(&v, b, 4, cudaMemcpyDeviceToHost));
  bad |= v != 40;
  printf(bad ? "WRONG DATA\n" : "PASS streams\n");
  return bad ? 3 : 0;
}
