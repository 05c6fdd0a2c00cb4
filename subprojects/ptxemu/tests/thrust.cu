// SPDX-License-Identifier: Apache-2.0
// Device-wide CUB and Thrust algorithms, as used by sampling and mixture-of-experts code.
#include "common.h"

#include <cub/cub.cuh>
#include <thrust/device_vector.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>

#include <algorithm>
#include <numeric>

struct IsThree {
  __host__ __device__ bool operator()(int x) const { return x == 3; }
};

int main() {
  int const n = 20000;
  std::vector<unsigned> h(n);
  unsigned seed = 7;
  for (auto& x : h) {
    seed = seed * 1664525u + 1013904223u;
    x = seed >> 12;
  }
  int r = 0;
  thrust::device_vector<unsigned> d(h.begin(), h.end());
  thrust::device_vector<int> index(n);
  thrust::sequence(index.begin(), index.end());
  unsigned long long sum = thrust::reduce(d.begin(), d.end(), 0ull);
  r |= report("thrust::reduce", double(sum != std::accumulate(h.begin(), h.end(), 0ull)), 0);
  thrust::stable_sort_by_key(d.begin(), d.end(), index.begin());
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return h[a] < h[b]; });
  std::vector<int> got(n);
  thrust::copy(index.begin(), index.end(), got.begin());
  r |= report("thrust::stable_sort_by_key", double(got != order), 0);

  // cub: radix sort of pairs, histogram, select, exclusive sum, segmented reduce.
  std::vector<int> keys(n), values(n);
  for (int k = 0; k < n; k++) {
    keys[k] = h[k] % 8;  // expert of a token
    values[k] = k;
  }
  int *dk = dev(keys), *dv = dev(values), *ok = dev(keys), *ov = dev(values);
  size_t bytes = 0, most = 0;
  void* tmp = nullptr;
  int *counts, *offsets, *num;
  CK(cudaMalloc(&counts, 9 * 4));
  CK(cudaMalloc(&offsets, 9 * 4));
  CK(cudaMalloc(&num, 4));
  CK(cudaMemset(counts, 0, 36));
  for (int pass = 0; pass < 2; pass++) {
    CK(cub::DeviceRadixSort::SortPairs(tmp, bytes, dk, ok, dv, ov, n, 0, 3));
    if (!pass) most = std::max(most, bytes);
    CK(cub::DeviceHistogram::HistogramEven(tmp, bytes, dk, counts, 9, 0, 8, n));
    if (!pass) most = std::max(most, bytes);
    CK(cub::DeviceScan::ExclusiveSum(tmp, bytes, counts, offsets, 9));
    if (!pass) most = std::max(most, bytes);
    CK(cub::DeviceSelect::If(tmp, bytes, dk, ok + 0, num, n, IsThree()));
    if (!pass) {
      most = std::max(most, bytes);
      CK(cudaMalloc(&tmp, most));
    } else {
      CK(cub::DeviceRadixSort::SortPairs(tmp, bytes = most, dk, ok, dv, ov, n, 0, 3));
    }
    bytes = most;
  }
  std::vector<int> sv(n), sc(9), so(9), count3(1);
  back(sv, ov);
  back(sc, counts);
  back(so, offsets);
  back(count3, num);
  std::vector<int> expect = values;
  std::stable_sort(expect.begin(), expect.end(), [&](int a, int b) { return keys[a] < keys[b]; });
  int bad = sv != expect, running = 0;
  for (int e = 0; e < 8; e++) {
    int c = int(std::count(keys.begin(), keys.end(), e));
    bad += sc[e] != c || so[e] != running;
    running += c;
    if (e == 3) bad += count3[0] != c;
  }
  r |= report("cub sort, histogram, scan, select", bad, 0);
  return r;
}
