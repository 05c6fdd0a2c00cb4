// SPDX-License-Identifier: Apache-2.0
// The resources and the backend of CUDA, on a device or on ptxemu.
#include "../runtime/refusal.hpp"

#include <allot/runtime/allocation_error.hpp>
#include <allot/runtime/counting_resource.hpp>
#include <allot/runtime/cuda_backend.hpp>
#include <allot/runtime/cuda_devices.hpp>
#include <allot/runtime/cuda_resources.hpp>
#include <allot/runtime/faulting_resource.hpp>
#include <allot/runtime/limited_resource.hpp>

#include <cuda_runtime_api.h>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

using namespace allot::runtime;
using allot_test::is_aligned;
using allot_test::refusal;

namespace {

bool nothing_pending() {
  return cudaPeekAtLastError() == cudaSuccess;
}

/// ptxemu is told the size of its card before the first call; a GPU does not listen.
constexpr std::int64_t emulated_bytes = 64 << 20;
[[maybe_unused]] int const card_chosen = setenv("PTXEMU_MEM", "64M", 1);

struct stream {
  stream() { REQUIRE(cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking) == cudaSuccess); }
  stream(stream const&) = delete;
  stream& operator=(stream const&) = delete;
  ~stream() { static_cast<void>(cudaStreamDestroy(handle)); }
  cudaStream_t handle = nullptr;
};

bool emulated() {
  return cuda_device_name(0).find("ptxemu") != std::string::npos;
}

/// Blocks of all sizes, aligned and apart, written and read back on `gpu`.
void check_memory(memory_resource& resource, cuda_backend& gpu) {
  CHECK(resource.alignment() == 256);
  struct block {
    void* memory;
    std::int64_t bytes;
  };
  std::vector<block> blocks;
  for (std::int64_t const bytes : {1, 3, 256, 257, 100'000}) {
    void* const memory = resource.allocate(bytes);
    REQUIRE(memory != nullptr);
    CHECK(is_aligned(memory, resource.alignment()));
    gpu.fill(memory, static_cast<std::byte>(bytes), bytes);
    blocks.push_back({memory, bytes});
  }
  for (auto const& [memory, bytes] : blocks) {
    CHECK(gpu.find_other(memory, static_cast<std::byte>(bytes), bytes) == -1);
    resource.deallocate(memory, bytes);
  }
  CHECK(resource.allocate(0) == nullptr);
  resource.deallocate(nullptr, 0);
  CHECK(refusal(resource, -1).asked_bytes() == -1);
  gpu.wait();
  CHECK(nothing_pending());
}

/// What a resource that knows its free bytes says when one more is asked for, and that it can go
/// on.
void check_out_of_memory(memory_resource& resource, std::string const& call) {
  std::int64_t const free_bytes = resource.free_bytes();
  REQUIRE(free_bytes > 0);
  allocation_error const error = refusal(resource, free_bytes + 1);
  CHECK(error.call() == call);
  CHECK(error.asked_bytes() == free_bytes + 1);
  CHECK(error.free_bytes() == free_bytes);
  CHECK(std::string{error.what()} == call + ": " + std::to_string(free_bytes + 1) +
                                         " bytes asked, " + std::to_string(free_bytes) +
                                         " bytes free (cudaErrorMemoryAllocation: out of memory)");
  CHECK(nothing_pending());
  buffer const next{resource, 4096};
  CHECK(next.data() != nullptr);
  CHECK(nothing_pending());
}

}  // namespace

TEST_CASE("the devices are there by name") {
  REQUIRE(built_with_cuda());
  REQUIRE(cuda_device_count() >= 1);
  CHECK_FALSE(cuda_device_name(0).empty());
  CHECK(cuda_device_name(cuda_device_count()).empty());
  CHECK(nothing_pending());

  int const beyond = cuda_device_count();
  std::string const what = "there is no device " + std::to_string(beyond) + ", of " +
                           std::to_string(cuda_device_count());
  CHECK_THROWS_WITH_AS(device_resource{beyond}, ("device_resource: " + what).c_str(),
                       backend_error);
  CHECK_THROWS_AS(device_resource{-1}, backend_error);
  CHECK_THROWS_AS((stream_ordered_resource{nullptr, beyond}), backend_error);
  CHECK_THROWS_AS((cuda_backend{nullptr, beyond}), backend_error);
}

TEST_CASE("device memory") {
  device_resource device;
  CHECK(device.space() == memory_space::device);
  CHECK(device.name() == "cudaMalloc on device 0");
  cuda_backend gpu;
  check_memory(device, gpu);
  check_out_of_memory(device, "cudaMalloc");

  std::int64_t const before = device.free_bytes();
  {
    buffer const large{device, 8 << 20};
    CHECK(device.free_bytes() <= before - (8 << 20));
  }
  CHECK(device.free_bytes() == before);
}

TEST_CASE("a card of the size that was chosen") {
  if (!emulated()) { return; }
  device_resource device;
  CHECK(device.free_bytes() == emulated_bytes);
  CHECK(refusal(device, emulated_bytes + 1).free_bytes() == emulated_bytes);
  {
    buffer const all{device, emulated_bytes};
    CHECK(device.free_bytes() == 0);
    CHECK(refusal(device, 1).free_bytes() == 0);
    // A backend wants a few bytes of its own.
    CHECK_THROWS_AS(cuda_backend{}, allocation_error);
    CHECK(nothing_pending());
  }
  CHECK(device.free_bytes() == emulated_bytes);
  cuda_backend const next;
  CHECK(nothing_pending());
}

TEST_CASE("pinned memory is the host's and the device's") {
  pinned_resource pinned;
  CHECK(pinned.space() == memory_space::pinned_host);
  CHECK(pinned.free_bytes() == allocation_error::unknown);
  cuda_backend gpu;
  check_memory(pinned, gpu);

  buffer const memory{pinned, 1000};
  std::memset(memory.data(), 7, 1000);
  CHECK(gpu.find_other(memory.data(), std::byte{7}, 1000) == -1);  // by a kernel, at this address
  memory.data()[999] = std::byte{8};
  CHECK(gpu.find_other(memory.data(), std::byte{7}, 1000) == 999);
}

TEST_CASE("stream-ordered memory is used and given back in the order of the stream") {
  stream const own;
  stream_ordered_resource ordered{own.handle};
  CHECK(ordered.space() == memory_space::device);
  CHECK(ordered.stream() == own.handle);
  CHECK(ordered.name() == "cudaMallocAsync on device 0");
  cuda_backend gpu{own.handle};
  check_memory(ordered, gpu);
  check_out_of_memory(ordered, "cudaMallocAsync");

  // Allocated, written, copied and given back without a wait: the stream keeps the order.
  std::vector<std::byte> got(5000);
  {
    buffer const from{ordered, 5000};
    buffer const to{ordered, 5000};
    gpu.fill(from.data(), std::byte{0x5A}, 5000);
    gpu.copy(to.data(), from.data(), 5000);
    gpu.download(got.data(), to.data(), 5000);
  }
  gpu.wait();
  CHECK(got == std::vector<std::byte>(5000, std::byte{0x5A}));

  // Another stream sees it once it waits for this one.
  stream const other;
  cuda_backend reader{other.handle};
  cudaEvent_t written = nullptr;
  REQUIRE(cudaEventCreateWithFlags(&written, cudaEventDisableTiming) == cudaSuccess);
  {
    buffer const shared{ordered, 777};
    gpu.fill(shared.data(), std::byte{3}, 777);
    REQUIRE(cudaEventRecord(written, own.handle) == cudaSuccess);
    REQUIRE(cudaStreamWaitEvent(other.handle, written, 0) == cudaSuccess);
    CHECK(reader.find_other(shared.data(), std::byte{3}, 777) == -1);  // waits: it may go now
  }
  REQUIRE(cudaEventDestroy(written) == cudaSuccess);
  gpu.wait();
  CHECK(nothing_pending());
}

TEST_CASE("the adaptors do on the device what they do on the host") {
  device_resource device;
  for (std::int64_t k = 1; k <= 3; ++k) {
    limited_resource card{device, 1 << 20};
    counting_resource counter{card};
    faulting_resource faulty{counter, k};
    CHECK_THROWS_AS(([&] {
                      buffer const a{faulty, 1 << 19};
                      buffer const b{faulty, 1 << 19};
                      buffer const c{faulty, 1};  // the limit, when nothing failed before
                    }()),
                    allocation_error);
    CHECK(counter.counts().outstanding_bytes == 0);
    CHECK(counter.counts().misuses == 0);
    CHECK(card.outstanding_bytes() == 0);
  }
  limited_resource huge{device, std::int64_t{1} << 60};
  CHECK(huge.free_bytes() == device.free_bytes());
}

TEST_CASE("the backend copies both ways and within the device") {
  device_resource device;
  stream const own;
  for (cudaStream_t const handle : {cudaStream_t{}, own.handle}) {
    cuda_backend gpu{handle};
    CHECK(std::string{gpu.name()} == "cuda");
    CHECK(gpu.stream() == handle);
    std::vector<std::byte> sent(3001);
    for (std::size_t i = 0; i < sent.size(); ++i) {
      sent[i] = static_cast<std::byte>(i * 37);
    }
    std::vector<std::byte> got(3001);
    buffer const a{device, 3001};
    buffer const b{device, 3001};
    gpu.fill(b.data(), std::byte{0xEE}, 3001);
    gpu.upload(a.data(), sent.data(), 3001);
    gpu.copy(b.data() + 1, a.data() + 1, 2999);
    gpu.download(got.data(), b.data(), 3001);
    gpu.wait();
    CHECK(got[0] == std::byte{0xEE});
    CHECK(got[3000] == std::byte{0xEE});
    sent[0] = sent[3000] = std::byte{0xEE};
    CHECK(got == sent);

    gpu.fill(nullptr, std::byte{1}, 0);
    gpu.copy(nullptr, nullptr, 0);
    gpu.upload(nullptr, nullptr, 0);
    gpu.download(nullptr, nullptr, 0);
    CHECK(gpu.find_other(nullptr, std::byte{1}, 0) == -1);
    CHECK_THROWS_WITH_AS(gpu.fill(a.data(), std::byte{1}, -1), "fill: -1 bytes, fewer than none",
                         backend_error);
    CHECK_THROWS_AS(gpu.copy(a.data(), b.data(), -1), backend_error);
    CHECK_THROWS_AS(gpu.find_other(a.data(), std::byte{1}, -1), backend_error);
    CHECK_THROWS_WITH_AS(gpu.copy(a.data(), nullptr, 5),
                         "cudaMemcpyAsync: cudaErrorInvalidValue: invalid argument", backend_error);
    CHECK(nothing_pending());
  }
}

TEST_CASE("the first other byte is found at every alignment, length and place") {
  device_resource device;
  cuda_backend gpu;
  constexpr std::int64_t longest = 100;
  buffer const memory{device, 16 + longest + 16};
  std::int64_t checked = 0;
  for (std::int64_t offset = 0; offset < 16; ++offset) {
    for (std::int64_t length = 0; length <= longest; ++length) {
      // What surrounds the range differs from it.
      gpu.fill(memory.data(), std::byte{0x5B}, memory.bytes());
      std::byte* const range = memory.data() + offset;
      gpu.fill(range, std::byte{0xA5}, length);
      REQUIRE(gpu.find_other(range, std::byte{0xA5}, length) == -1);
      // From the end: those behind stay other, and must not be what is found. Every place for
      // lengths of up to two units and for the longest, some of the others, so that each place is
      // met.
      bool const every_place = length <= 34 || length >= 99;
      for (std::int64_t at = length - 1; at >= 0; at -= every_place ? 1 : 13) {
        gpu.fill(range + at, std::byte{0xA4}, 1);
        REQUIRE(gpu.find_other(range, std::byte{0xA5}, length) == at);
        ++checked;
      }
    }
  }
  CHECK(checked > 15'000);
}

TEST_CASE("the first other byte is found in what many blocks read") {
  device_resource device;
  cuda_backend gpu;
  constexpr std::int64_t bytes = (5 << 20) + 13;  // more units than the grid has threads
  buffer const memory{device, bytes + 3};
  std::byte* const range = memory.data() + 3;
  gpu.fill(memory.data(), std::byte{1}, 3);
  gpu.fill(range, std::byte{0}, bytes);
  CHECK(gpu.find_other(range, std::byte{0}, bytes) == -1);
  CHECK(gpu.find_other(range, std::byte{9}, bytes) == 0);
  for (std::int64_t const at : {bytes - 1, bytes - 14, std::int64_t{4 << 20} + 12,
                                std::int64_t{(4 << 20) - 4}, std::int64_t{70'000}}) {
    gpu.fill(range + at, std::byte{0x80}, 1);
    CHECK(gpu.find_other(range, std::byte{0}, bytes) == at);
  }
}

TEST_CASE("an index is 64 bits wide") {
  device_resource device;
  constexpr std::int64_t bytes = (std::int64_t{1} << 32) + 100;
  if (emulated() || device.free_bytes() < bytes) {
    MESSAGE("not tried: 4 GiB are too much for this device");
    return;
  }
  cuda_backend gpu;
  buffer const memory{device, bytes};
  gpu.fill(memory.data(), std::byte{0}, bytes);
  CHECK(gpu.find_other(memory.data(), std::byte{0}, bytes) == -1);
  gpu.fill(memory.data() + bytes - 1, std::byte{1}, 1);
  CHECK(gpu.find_other(memory.data(), std::byte{0}, bytes) == bytes - 1);
}
