// SPDX-License-Identifier: Apache-2.0
#include "kernels/find_other.hpp"

namespace allot::kernels {
namespace {

constexpr int block_threads = 256;
constexpr std::int64_t most_blocks = 1024;
constexpr int unit_bytes = 16;

__device__ bool differs(uint4 unit, unsigned word) {
  return unit.x != word || unit.y != word || unit.z != word || unit.w != word;
}

/// One thread takes up to 16 bytes at the head, one the tail; a grid-stride loop the aligned units
/// between.
__global__ void __launch_bounds__(block_threads)
    find_other_kernel(std::uint8_t const* memory,  // [bytes]
                      unsigned value, std::int64_t bytes, std::int64_t head_bytes,
                      unsigned long long* first) {
  std::int64_t const units = (bytes - head_bytes) / unit_bytes;
  std::int64_t const tail_at = head_bytes + units * unit_bytes;
  std::int64_t const stride = std::int64_t{gridDim.x} * block_threads;
  std::int64_t const thread = std::int64_t{blockIdx.x} * block_threads + threadIdx.x;

  unsigned long long found = ~0ULL;
  auto scan = [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) {
      if (memory[i] != value) {
        found = static_cast<unsigned long long>(i);
        return;
      }
    }
  };

  auto const* const aligned = reinterpret_cast<uint4 const*>(memory + head_bytes);
  unsigned const word = value * 0x01010101U;
  if (thread == 0) { scan(0, head_bytes); }
  for (std::int64_t unit = thread; unit < units && found == ~0ULL; unit += stride) {
    if (differs(aligned[unit], word)) {
      scan(head_bytes + unit * unit_bytes, head_bytes + (unit + 1) * unit_bytes);
    }
  }
  if (thread == stride - 1 && found == ~0ULL) { scan(tail_at, bytes); }
  if (found != ~0ULL) { atomicMin(first, found); }
}

}  // namespace

cudaError_t find_other(void const* memory, std::uint8_t value, std::int64_t bytes,
                       unsigned long long* first, cudaStream_t stream) {
  if (bytes <= 0) { return cudaSuccess; }
  auto const address = reinterpret_cast<std::uintptr_t>(memory);
  auto head_bytes = static_cast<std::int64_t>(-address % unit_bytes);
  if (head_bytes > bytes) { head_bytes = bytes; }
  std::int64_t const units = bytes / unit_bytes;
  std::int64_t const wanted = (units + block_threads - 1) / block_threads;
  auto const blocks =
      static_cast<unsigned>(wanted < 1 ? 1 : (wanted > most_blocks ? most_blocks : wanted));
  find_other_kernel<<<blocks, block_threads, 0, stream>>>(static_cast<std::uint8_t const*>(memory),
                                                          value, bytes, head_bytes, first);
  return cudaGetLastError();
}

}  // namespace allot::kernels
