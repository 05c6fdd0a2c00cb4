// SPDX-License-Identifier: Apache-2.0
// The resources of the host, the owner of one allocation, and what the errors say.
#include "refusal.hpp"

#include <allot/runtime/allocation_error.hpp>
#include <allot/runtime/counting_resource.hpp>
#include <allot/runtime/host_resources.hpp>
#include <allot/runtime/memory_resource.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using namespace allot::runtime;
using allot_test::is_aligned;
using allot_test::refusal;

// AddressSanitizer would end the program where `operator new` fails.
extern "C" char const* __asan_default_options();   // NOLINT
extern "C" char const* __asan_default_options() {  // NOLINT
  return "allocator_may_return_null=1";
}

namespace {

static_assert(!std::is_copy_constructible_v<buffer> && !std::is_copy_assignable_v<buffer>);
static_assert(std::is_nothrow_move_constructible_v<buffer>);
static_assert(std::is_nothrow_move_assignable_v<buffer>);

constexpr std::int64_t gib = std::int64_t{1} << 30;
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

/// What every resource of host memory keeps: alignment, distinct blocks, memory that holds what is
/// written, and calls of 0 bytes.
void check_host_memory(memory_resource& resource) {
  REQUIRE(resource.alignment() > 0);
  REQUIRE((resource.alignment() & (resource.alignment() - 1)) == 0);
  CHECK(resource.space() == memory_space::host);

  struct block {
    std::byte* memory;
    std::int64_t bytes;
  };
  std::vector<block> blocks;
  for (std::int64_t const bytes : {1, 2, 3, 255, 256, 257, 4095, 4096, 4097, 100'000}) {
    auto* const memory = static_cast<std::byte*>(resource.allocate(bytes));
    REQUIRE(memory != nullptr);
    CHECK(is_aligned(memory, resource.alignment()));
    for (std::int64_t i = 0; i < bytes; ++i) {
      memory[i] = static_cast<std::byte>(bytes);
    }
    blocks.push_back({memory, bytes});
  }
  for (auto const& [memory, bytes] : blocks) {
    CHECK(memory[0] == static_cast<std::byte>(bytes));
    CHECK(memory[bytes - 1] == static_cast<std::byte>(bytes));
    resource.deallocate(memory, bytes);
  }

  resource.deallocate(resource.allocate(0), 0);
  CHECK(std::string{refusal(resource, -1).what()} ==
        resource.name() + ": -1 bytes asked (fewer than none)");
}

}  // namespace

TEST_CASE("an allocation error holds its numbers and says them") {
  allocation_error const told{"cudaMalloc", 12'884'901'888, 11'811'160'064,
                              "cudaErrorMemoryAllocation: out of memory"};
  CHECK(std::string{told.what()} ==
        "cudaMalloc: 12884901888 bytes asked, 11811160064 bytes free "
        "(cudaErrorMemoryAllocation: out of memory)");
  CHECK(told.call() == "cudaMalloc");
  CHECK(told.asked_bytes() == 12'884'901'888);
  CHECK(told.free_bytes() == 11'811'160'064);

  allocation_error const unknown{"mmap", 7, allocation_error::unknown, ""};
  CHECK(std::string{unknown.what()} == "mmap: 7 bytes asked");
  allocation_error const none_free{"mmap", 7, 0, ""};
  CHECK(std::string{none_free.what()} == "mmap: 7 bytes asked, 0 bytes free");
  CHECK_THROWS_AS(throw allocation_error(unknown), std::bad_alloc);

  backend_error const failed{"cudaMemcpyAsync", "cudaErrorInvalidValue: invalid argument"};
  CHECK(std::string{failed.what()} == "cudaMemcpyAsync: cudaErrorInvalidValue: invalid argument");
  CHECK(failed.call() == "cudaMemcpyAsync");
}

TEST_CASE("the heap") {
  host_resource heap;
  check_host_memory(heap);
  CHECK(heap.alignment() == 256);
  CHECK(heap.free_bytes() == allocation_error::unknown);

  allocation_error const error = refusal(heap, most / 2);
  CHECK(error.call() == "operator new");
  CHECK(error.asked_bytes() == most / 2);
  CHECK(error.free_bytes() == allocation_error::unknown);
  CHECK(std::string{error.what()} ==
        "operator new: 4611686018427387903 bytes asked (out of memory)");
  refusal(heap, most);  // rounded up to the alignment it is no int64 any more
}

TEST_CASE("reserved memory is there only where it is written") {
  reserved_host_resource reserved;
  check_host_memory(reserved);

  // An arena for a large card, on whatever runs this.
  std::int64_t const arena_bytes = 80 * gib;
  try {
    buffer const arena{reserved, arena_bytes};
    for (std::int64_t at = 0; at < arena_bytes; at += gib) {
      CHECK(arena.data()[at] == std::byte{0});
      arena.data()[at] = std::byte{42};
    }
    arena.data()[arena_bytes - 1] = std::byte{43};
    CHECK(arena.data()[79 * gib] == std::byte{42});
    CHECK(arena.data()[arena_bytes - 1] == std::byte{43});
  } catch (allocation_error const& error) {
    MESSAGE("this system promises no more than it has: " << error.what());
  }

  allocation_error const error = refusal(reserved, most);
  CHECK(error.call() == "mmap");
  CHECK(error.asked_bytes() == most);
  CHECK(std::string{error.what()} ==
        "mmap: 9223372036854775807 bytes asked (Cannot allocate memory)");
}

TEST_CASE("a caller's block is handed out from its start, and refuses past its end") {
  alignas(256) std::byte memory[4096];
  external_resource block{memory, 4096, memory_space::device};
  CHECK(block.space() == memory_space::device);
  CHECK(block.alignment() == 256);
  CHECK(block.free_bytes() == 4096);
  CHECK(block.name() == "external_resource(4096 bytes)");

  // The whole of it, again and again.
  for (int i = 0; i < 3; ++i) {
    buffer const all{block, 4096};
    CHECK(all.data() == memory);
    CHECK(block.free_bytes() == 0);
    CHECK(refusal(block, 1).free_bytes() == 0);
  }

  void* const first = block.allocate(1);
  void* const second = block.allocate(257);
  CHECK(first == memory);
  CHECK(second == memory + 256);
  CHECK(block.free_bytes() == 4096 - 768);
  allocation_error const error = refusal(block, 3329);
  CHECK(error.asked_bytes() == 3329);
  CHECK(error.free_bytes() == 3328);
  CHECK(std::string{error.what()} ==
        "external_resource(4096 bytes): 3329 bytes asked, 3328 bytes free "
        "(past the end of the block)");
  void* const rest = block.allocate(3328);
  CHECK(rest == memory + 768);

  // The newest comes back at once, the others when nothing is out.
  block.deallocate(rest, 3328);
  CHECK(block.free_bytes() == 3328);
  block.deallocate(first, 1);
  CHECK(block.free_bytes() == 3328);
  block.deallocate(second, 257);
  CHECK(block.free_bytes() == 4096);

  CHECK(block.allocate(0) == nullptr);
  block.deallocate(nullptr, 0);
  CHECK(block.free_bytes() == 4096);
  CHECK(refusal(block, -1).asked_bytes() == -1);
  CHECK(refusal(block, most).asked_bytes() == most);
}

TEST_CASE("a caller's block begins at its first aligned byte") {
  alignas(256) std::byte memory[1024];
  std::int64_t checked = 0;
  for (std::int64_t alignment_bytes = 1; alignment_bytes <= 256; alignment_bytes *= 2) {
    for (std::int64_t at = 0; at <= 256; ++at) {
      external_resource block{memory + at, 600, memory_space::host, alignment_bytes};
      std::int64_t const skipped = (alignment_bytes - at % alignment_bytes) % alignment_bytes;
      REQUIRE(block.free_bytes() == 600 - skipped);
      auto* const first = static_cast<std::byte*>(block.allocate(3));
      REQUIRE(first == memory + at + skipped);
      std::int64_t const step =
          alignment_bytes < 4 ? (4 - 1 + alignment_bytes - 1) / alignment_bytes * alignment_bytes
                              : alignment_bytes;
      REQUIRE(block.free_bytes() == (skipped + step > 600 ? 0 : 600 - skipped - step));
      if (block.free_bytes() > 0) {
        std::int64_t const rest = block.free_bytes();
        REQUIRE(block.allocate(rest) == first + step);
        REQUIRE(block.free_bytes() == 0);
      }
      ++checked;
    }
  }
  CHECK(checked == 9 * 257);

  // Too short for one aligned byte, and no block at all.
  external_resource tiny{memory + 1, 255, memory_space::host};
  CHECK(tiny.free_bytes() == 0);
  CHECK(refusal(tiny, 1).free_bytes() == 0);
  external_resource nothing{nullptr, 0, memory_space::host};
  CHECK(nothing.free_bytes() == 0);
  CHECK(nothing.allocate(0) == nullptr);

  // The end of all numbers: no byte of such a block is touched.
  external_resource huge{memory, most, memory_space::host};
  CHECK(huge.free_bytes() == most);
  void* const nearly = huge.allocate(most - 1);
  CHECK(huge.free_bytes() == 0);
  huge.deallocate(nearly, most - 1);
  CHECK(huge.free_bytes() == most);

  CHECK_THROWS_WITH_AS((external_resource{memory, 1024, memory_space::host, 48}),
                       "external_resource: an alignment of 48 bytes is no power of two",
                       std::invalid_argument);
  CHECK_THROWS_AS((external_resource{memory, 1024, memory_space::host, 0}), std::invalid_argument);
  CHECK_THROWS_WITH_AS((external_resource{memory, -1, memory_space::host}),
                       "external_resource: no block of -1 bytes", std::invalid_argument);
  CHECK_THROWS_AS((external_resource{nullptr, 1, memory_space::host}), std::invalid_argument);
}

TEST_CASE("a buffer gives back what it owns, once") {
  host_resource heap;
  counting_resource counter{heap};
  auto const outstanding = [&] { return counter.counts().outstanding_bytes; };
  {
    buffer first{counter, 100};
    CHECK(first.bytes() == 100);
    CHECK(first.resource() == &counter);
    std::byte* const memory = first.data();

    buffer second{std::move(first)};
    CHECK(second.data() == memory);
    CHECK(first.data() == nullptr);  // NOLINT(bugprone-use-after-move): what a move leaves
    CHECK(first.bytes() == 0);
    CHECK(first.resource() == nullptr);
    CHECK(outstanding() == 100);

    buffer third{counter, 50};
    CHECK(outstanding() == 150);
    third = std::move(second);  // its own 50 go back first
    CHECK(outstanding() == 100);
    CHECK(third.data() == memory);

    buffer& itself = third;
    third = std::move(itself);
    CHECK(third.data() == memory);
    CHECK(outstanding() == 100);

    third = buffer{};
    CHECK(outstanding() == 0);
    buffer const empty{counter, 0};
    CHECK(empty.bytes() == 0);
    CHECK(empty.resource() == &counter);
  }
  CHECK(outstanding() == 0);
  CHECK(counter.counts().misuses == 0);
  CHECK(counter.counts().allocate_calls == 3);
  CHECK(counter.counts().deallocate_calls == 3);
  CHECK_THROWS_AS((buffer{counter, -1}), allocation_error);
}
