// SPDX-License-Identifier: Apache-2.0
#include <allot/runtime/host_resources.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

// What says that it is thread-safe, from several threads at once: for ThreadSanitizer.

namespace {

using namespace allot::runtime;

/// Every thread allocates, fills, hands some blocks to the next one, and gives back what it has.
std::int64_t torn_blocks(memory_resource& shared) {
  constexpr int threads = 4;
  constexpr int rounds = 200;
  std::atomic<std::byte*> handed[threads] = {};
  std::atomic<std::int64_t> torn{0};
  std::vector<std::thread> crew;
  auto const bytes_of = [](int round) { return std::int64_t{16} << round % 12; };
  for (int self = 0; self < threads; ++self) {
    crew.emplace_back([&, self] {
      for (int round = 0; round < rounds; ++round) {
        std::int64_t const bytes = bytes_of(round);
        auto* const block = static_cast<std::byte*>(shared.allocate(bytes));
        std::memset(block, self + 1, static_cast<std::size_t>(bytes));
        if (block[0] != block[bytes - 1]) { ++torn; }
        // 4 KiB blocks go to whoever comes next; whatever was there before is given back here.
        std::byte* const other =
            bytes == 4096 ? handed[(self + 1) % threads].exchange(block) : block;
        if (other != nullptr) { shared.deallocate(other, bytes); }
      }
    });
  }
  for (std::thread& one : crew) {
    one.join();
  }
  for (auto& left : handed) {
    if (left.load() != nullptr) { shared.deallocate(left.load(), 4096); }
  }
  return torn.load();
}

}  // namespace

TEST_CASE("the heap of the process, from four threads") {
  host_resource heap;
  CHECK(torn_blocks(heap) == 0);
}

TEST_CASE("reserved address space, from four threads") {
  reserved_host_resource space;
  CHECK(torn_blocks(space) == 0);
}

TEST_CASE("refusals, from four threads") {
  host_resource heap;
  std::vector<std::thread> crew;
  std::atomic<int> refused{0};
  for (int self = 0; self < 4; ++self) {
    crew.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        try {
          heap.deallocate(heap.allocate(-1), -1);
        } catch (allocation_error const& e) { refused += e.asked_bytes() == -1 ? 1 : 0; }
      }
    });
  }
  for (std::thread& one : crew) {
    one.join();
  }
  CHECK(refused == 200);
}
