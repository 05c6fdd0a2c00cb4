// SPDX-License-Identifier: Apache-2.0
// Arenas, block tables and state pools in device memory: kernels write through the views, and read
// what others left.
#include <allot/allot.hpp>
#include <allot/runtime/arena.hpp>
#include <allot/runtime/block_table.hpp>
#include <allot/runtime/counting_resource.hpp>
#include <allot/runtime/cuda_backend.hpp>
#include <allot/runtime/cuda_resources.hpp>
#include <allot/runtime/faulting_resource.hpp>
#include <allot/runtime/limited_resource.hpp>
#include <allot/runtime/page_allocator.hpp>
#include <allot/runtime/slot_mapping.hpp>
#include <allot/runtime/state_pool.hpp>
#include <allot/runtime/verify.hpp>

#include <cuda_runtime_api.h>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace rt = allot::runtime;
using allot::arrangement;

namespace {

/// What a kernel needs of a view.
struct strided {
  std::byte* data;
  std::int64_t copies, blocks, block_rows, row_bytes;
  std::int64_t copy_stride, block_stride, row_stride;

  explicit strided(rt::extent_view<std::byte> const& v)
      : data{v.data},
        copies{v.shape[0]},
        blocks{v.shape[1]},
        block_rows{v.shape[2]},
        row_bytes{v.shape[3]},
        copy_stride{v.strides[0]},
        block_stride{v.strides[1]},
        row_stride{v.strides[2]} {}
};

/// The value that byte `i` of a row is given: another one in each extent, copy, row and place.
__device__ std::uint8_t value_of(int extent, std::int64_t copy, std::int64_t row, std::int64_t i) {
  return static_cast<std::uint8_t>(1 + (extent * 41 + copy * 17 + row * 7 + i * 3) % 163);
}

/// A block of threads a row.  // grid (rows of all copies)
__global__ void write_rows(strided v, int extent) {
  std::int64_t const rows = v.blocks * v.block_rows;
  std::int64_t const copy = blockIdx.x / rows;
  std::int64_t const row = blockIdx.x % rows;
  std::byte* const at = v.data + copy * v.copy_stride + row / v.block_rows * v.block_stride +
                        row % v.block_rows * v.row_stride;
  for (std::int64_t i = threadIdx.x; i < v.row_bytes; i += blockDim.x) {
    at[i] = static_cast<std::byte>(value_of(extent, copy, row, i));
  }
}

__global__ void count_wrong(strided v, int extent, unsigned long long* wrong) {
  std::int64_t const rows = v.blocks * v.block_rows;
  std::int64_t const copy = blockIdx.x / rows;
  std::int64_t const row = blockIdx.x % rows;
  std::byte const* const at = v.data + copy * v.copy_stride + row / v.block_rows * v.block_stride +
                              row % v.block_rows * v.row_stride;
  for (std::int64_t i = threadIdx.x; i < v.row_bytes; i += blockDim.x) {
    if (at[i] != static_cast<std::byte>(value_of(extent, copy, row, i))) { atomicAdd(wrong, 1ULL); }
  }
}

__global__ void write_byte(std::byte* at, std::uint8_t value) {
  *at = static_cast<std::byte>(value);
}

/// Sums what a decode kernel would read: the pages of each row up to its length.
__global__ void sum_pages(std::int32_t const* table, std::int32_t const* kv_len, int columns,
                          int page_tokens, std::int64_t* sums) {
  int const row = static_cast<int>(blockIdx.x);
  int const pages = (kv_len[row] + page_tokens - 1) / page_tokens;
  std::int64_t sum = 0;
  for (int i = 0; i < columns; ++i) {
    std::int32_t const page = table[static_cast<std::int64_t>(row) * columns + i];
    sum += i < pages ? page : 1'000'000 * static_cast<std::int64_t>(page);  // stale ids show
  }
  sums[row] = sum;
}

unsigned rows_of(rt::extent_view<std::byte> const& v) {
  return static_cast<unsigned>(v.copies() * v.rows());
}

constexpr auto attention = allot::gqa{
    .layers = 3, .kv_heads = 2, .head_dim = 8, .index = allot::index_slab{8, 2}, .page_tokens = 4};
constexpr auto half_pages =
    allot::raw_pages{.page_bytes = {48}, .page_tokens = 2, .sentinel_pages = 2};
constexpr auto state = allot::recurrent_state{.layers = 2,
                                              .key_heads = 2,
                                              .value_heads = 2,
                                              .key_head_dim = 4,
                                              .value_head_dim = 4,
                                              .conv_kernel = 3,
                                              .max_running = 3};
constexpr auto experts = allot::expert_bank{.slot_bytes = {160}, .per_layer = 2, .layers = 4};

template <arrangement Arranged>
constexpr auto table =
    allot::make_table<Arranged>(attention, half_pages, state, experts).with_granularity(256);

/// Writes every row of every extent from kernels, and counts the bytes that are not as written.
std::int64_t wrong_bytes(rt::arena const& a, rt::cuda_backend& gpu, rt::memory_resource& memory) {
  rt::buffer const found{memory, 8};
  gpu.fill(found.data(), std::byte{0}, 8);
  auto* const counter = reinterpret_cast<unsigned long long*>(found.data());
  for (int pass = 0; pass < 2; ++pass) {
    for (std::int64_t e = 0; e < a.extents(); ++e) {
      auto const v = a.view(e);
      if (rows_of(v) == 0) { continue; }
      if (pass == 0) {
        write_rows<<<rows_of(v), 32, 0, gpu.stream()>>>(strided{v}, static_cast<int>(e));
      } else {
        count_wrong<<<rows_of(v), 32, 0, gpu.stream()>>>(strided{v}, static_cast<int>(e), counter);
      }
    }
  }
  unsigned long long wrong = 0;
  gpu.download(&wrong, found.data(), sizeof wrong);
  gpu.wait();
  return static_cast<std::int64_t>(wrong);
}

template <arrangement Arranged>
void check_arrangement() {
  rt::device_resource device;
  rt::counting_resource memory{device};
  rt::cuda_backend gpu;
  allot::plan const p = *allot::solve(table<Arranged>, allot::bytes{24'000}, {.min_tokens = {40}});
  for (auto const guard : {rt::guarding::off, rt::guarding::on}) {
    memory.restart_peak();
    rt::arena const a{table<Arranged>, p, memory, guard, &gpu};
    CHECK(a.carved_bytes() == rt::arena::planned_bytes(table<Arranged>, p));
    CHECK(memory.counts().peak_bytes == a.allocated_bytes().count);
    CHECK(wrong_bytes(a, gpu, device) == 0);
    if (guard == rt::guarding::off) { continue; }
    CHECK(a.first_broken(gpu).offset == -1);
    for (std::int64_t e = 0; e < a.extents(); ++e) {
      auto const v = a.view(e);
      std::byte* const behind = v.row(v.copies() - 1, v.rows() - 1) + v.row_elements();
      write_byte<<<1, 1, 0, gpu.stream()>>>(behind, 7);
      CAPTURE(a.name(e));
      CHECK(a.first_broken(gpu).offset == behind - a.data());
      write_byte<<<1, 1, 0, gpu.stream()>>>(behind, 0xA5);
    }
    CHECK(a.first_broken(gpu).offset == -1);
  }
  CHECK(memory.counts().outstanding_allocations == 0);
  CHECK(memory.counts().misuses == 0);
}

}  // namespace

TEST_CASE("kernels write every row of an arena, and no other byte") {
  SUBCASE("flat") {
    check_arrangement<arrangement::flat>();
  }
  SUBCASE("page_major") {
    check_arrangement<arrangement::page_major>();
  }
  SUBCASE("layer_major") {
    check_arrangement<arrangement::layer_major>();
  }
}

TEST_CASE("plans are verified on the device, on a card of exactly the budget") {
  int verified = 0;
  rt::device_resource device;
  rt::cuda_backend gpu;
  rt::stream_ordered_resource ordered{gpu.stream()};
  for (rt::memory_resource* const from :
       {static_cast<rt::memory_resource*>(&device), static_cast<rt::memory_resource*>(&ordered)}) {
    for (std::int64_t budget = 8000; budget < 24'000; budget += 1777) {
      constexpr auto t = table<arrangement::page_major>;
      auto const p = allot::solve(t, allot::bytes{budget}, {.min_tokens = {20}});
      if (!p) { continue; }
      ++verified;
      rt::limited_resource card{*from, budget};
      rt::verification const v = rt::verify(t, *p, card, gpu);
      CHECK(v.planned == v.carved);
      CHECK(v.peak.count == budget);
      CHECK(card.outstanding_bytes() == 0);
      rt::limited_resource small{*from, budget - 1};
      CHECK_THROWS_AS(rt::verify(t, *p, small, gpu), rt::allocation_error);
    }
  }
  CHECK(verified >= 12);
}

TEST_CASE("an arena that the device refuses leaves nothing behind, and the next one is had") {
  rt::device_resource device;
  rt::counting_resource memory{device};
  rt::cuda_backend gpu;
  constexpr auto t = table<arrangement::flat>;
  allot::plan const p = *allot::solve(t, allot::bytes{24'000}, {.min_tokens = {40}});
  rt::faulting_resource faulty{memory, 1};
  CHECK_THROWS_AS((rt::arena{t, p, faulty}), rt::allocation_error);
  CHECK(memory.counts().outstanding_allocations == 0);
  rt::arena const a{t, p, faulty};
  CHECK(wrong_bytes(a, gpu, device) == 0);
}

TEST_CASE("kernels read the rows of a block table at an address that stays") {
  rt::device_resource device;
  rt::pinned_resource pinned;
  rt::cuda_backend gpu;
  constexpr int page_tokens = 4;
  rt::page_allocator pages{{page_tokens, 1}, {40}};
  rt::block_table blocks{device, pinned, gpu, pages.pool(), 3, {37}};
  rt::slot_mapping mapping{blocks};
  std::int32_t const* const address = blocks.device_data();
  auto const columns = static_cast<int>(blocks.columns());
  REQUIRE(columns == 10);
  rt::buffer const sums{device, 3 * 8};
  auto const read = [&] {
    CHECK(blocks.device_data() == address);
    blocks.upload();
    sum_pages<<<3, 1, 0, gpu.stream()>>>(blocks.device_data(), blocks.device_kv_len(), columns,
                                         page_tokens, reinterpret_cast<std::int64_t*>(sums.data()));
    std::vector<std::int64_t> out(3);
    gpu.download(out.data(), sums.data(), 3 * 8);
    gpu.wait();
    return out;
  };
  CHECK(read() == std::vector<std::int64_t>{0, 0, 0});
  for (std::int64_t row = 0; row < 3; ++row) {
    for (int i = 0; i < 3; ++i) {
      REQUIRE(blocks.append(row, *pages.allocate()));
    }
  }
  REQUIRE(blocks.set_kv_len(0, {12}));
  REQUIRE(blocks.set_kv_len(1, {9}));
  REQUIRE(blocks.set_kv_len(2, {10}));
  CHECK(read() == std::vector<std::int64_t>{1 + 2 + 3, 4 + 5 + 6, 7 + 8 + 9});
  REQUIRE(blocks.clear(1));  // its columns hold the sentinel again: no stale id is left
  CHECK(read() == std::vector<std::int64_t>{6, 0, 24});

  std::vector<std::int64_t> slots(4, 0);
  std::vector<rt::appended_tokens> const batch{{2, 2}};
  REQUIRE(mapping.fill(batch, slots));
  CHECK(slots == std::vector<std::int64_t>{9 * 4 + 2, 9 * 4 + 3, -1, -1});
}

TEST_CASE("states are cleared and copied on the device, whole, and the sink is left alone") {
  rt::device_resource device;
  rt::cuda_backend gpu;
  constexpr auto t = table<arrangement::layer_major>;
  allot::plan const p = *allot::solve(t, allot::bytes{24'000}, {.min_tokens = {40}});
  rt::arena const a{t, p, device};
  std::vector<std::int64_t> const extents = a.extents_of("state");
  REQUIRE(extents.size() == 2);
  rt::state_pool states{gpu, state.slots().padding, p.state, rt::state_extents(a)};
  auto const bytes_of = [&](std::int64_t slot) {
    std::vector<std::uint8_t> out;
    for (std::int64_t const e : extents) {
      auto const v = a.view(e);
      for (std::int64_t copy = 0; copy < v.copies(); ++copy) {
        std::size_t const from = out.size();
        out.resize(from + static_cast<std::size_t>(v.row_elements()));
        gpu.download(out.data() + from, v.row(copy, slot), v.row_elements());
        gpu.wait();
      }
    }
    return out;
  };
  for (std::int64_t const e : extents) {
    auto const v = a.view(e);
    write_rows<<<rows_of(v), 32, 0, gpu.stream()>>>(strided{v}, static_cast<int>(e));
  }
  std::vector<std::uint8_t> const sink = bytes_of(0);
  std::vector<std::uint8_t> const third = bytes_of(3);
  auto const first = states.allocate();
  REQUIRE(first);
  CHECK(*first == 1);
  CHECK(bytes_of(1) == std::vector<std::uint8_t>(sink.size(), 0));
  REQUIRE(states.allocate_as_it_is());
  auto const last = states.allocate_as_it_is();
  REQUIRE(last);
  CHECK(bytes_of(3) == third);
  REQUIRE(states.copy(3, 1));
  CHECK(bytes_of(1) == third);
  REQUIRE(states.clear(3));
  CHECK(bytes_of(3) == std::vector<std::uint8_t>(sink.size(), 0));
  CHECK(bytes_of(1) == third);
  CHECK(bytes_of(0) == sink);
  CHECK_FALSE(states.copy(0, 1));
}
