// SPDX-License-Identifier: Apache-2.0
// That GPU tests run at all: a kernel of our own and one of CUB, compared with the host.
#include <cub/block/block_scan.cuh>

#include <doctest/doctest.h>

#include <numeric>
#include <vector>

namespace {

constexpr int block_threads = 128;

__global__ void multiply_add(float const* x, float factor, float* sums, int count) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) sums[i] += factor * x[i];
}

// Exclusive sums, each block's on their own.
__global__ void scan_blocks(int const* counts, int* offsets) {
  using scan = cub::BlockScan<int, block_threads>;
  __shared__ typename scan::TempStorage storage;
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  int offset = 0;
  scan(storage).ExclusiveSum(counts[i], offset);
  offsets[i] = offset;
}

// A copy of host values on the device.
template <class T>
class on_device {
 public:
  explicit on_device(std::vector<T> const& values) : count_(values.size()) {
    REQUIRE(cudaMalloc(&values_, bytes()) == cudaSuccess);
    REQUIRE(cudaMemcpy(values_, values.data(), bytes(), cudaMemcpyHostToDevice) == cudaSuccess);
  }
  on_device(on_device const&) = delete;
  on_device& operator=(on_device const&) = delete;
  ~on_device() { cudaFree(values_); }

  T* data() { return values_; }
  std::vector<T> read() const {
    std::vector<T> values(count_);
    REQUIRE(cudaMemcpy(values.data(), values_, bytes(), cudaMemcpyDeviceToHost) == cudaSuccess);
    return values;
  }

 private:
  std::size_t bytes() const { return count_ * sizeof(T); }

  std::size_t count_;
  T* values_ = nullptr;
};

}  // namespace

TEST_CASE("a kernel computes what the host does, and nothing past the end") {
  int const count = 1000, blocks = (count + block_threads - 1) / block_threads;
  std::vector<float> x(count), sums(count);
  for (int i = 0; i < count; ++i) {
    x[i] = static_cast<float>(i);
    sums[i] = 1.0f / static_cast<float>(i + 1);
  }
  on_device<float> device_x(x), device_sums(sums);
  multiply_add<<<blocks, block_threads>>>(device_x.data(), 0.5f, device_sums.data(), count);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  auto const result = device_sums.read();
  for (int i = 0; i < count; ++i)
    CHECK(result[i] == doctest::Approx(sums[i] + 0.5f * x[i]));
}

TEST_CASE("a block scan of CUB is the host's") {
  int const blocks = 5;
  std::vector<int> counts(blocks * block_threads), expected(counts.size());
  for (std::size_t i = 0; i < counts.size(); ++i)
    counts[i] = static_cast<int>(i * 7 % 11) - 3;
  for (int b = 0; b < blocks; ++b) {
    auto const from = counts.begin() + b * block_threads;
    std::exclusive_scan(from, from + block_threads, expected.begin() + b * block_threads, 0);
  }
  on_device<int> device_counts(counts), device_offsets(std::vector<int>(counts.size(), -1));
  scan_blocks<<<blocks, block_threads>>>(device_counts.data(), device_offsets.data());
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(device_offsets.read() == expected);
}
