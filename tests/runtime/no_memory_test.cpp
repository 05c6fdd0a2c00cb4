// SPDX-License-Identifier: Apache-2.0
#include <allot/allot.hpp>
#include <allot/runtime/arena.hpp>
#include <allot/runtime/host_backend.hpp>
#include <allot/runtime/host_resources.hpp>
#include <allot/runtime/page_allocator.hpp>
#include <allot/runtime/slot_mapping.hpp>
#include <allot/runtime/state_pool.hpp>
#include <allot/runtime/verify.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <new>
#include <span>
#include <vector>

// The allocators when the heap fails at each of their allocations in turn, and that they use it in
// construction only. This program's operator new counts, and fails when told to.

namespace {

long allocations = 0;  // so far
long outstanding = 0;
long failing = 0;  // the allocation that fails, counted from now; 0: none

void* take(std::size_t bytes, std::size_t alignment) {
  ++allocations;
  if (failing > 0) {
    --failing;
    if (failing == 0) { throw std::bad_alloc{}; }
  }
  void* const memory =
      alignment == 0
          ? std::malloc(bytes == 0 ? 1 : bytes)
          : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) { throw std::bad_alloc{}; }
  ++outstanding;
  return memory;
}

void give(void* memory) noexcept {
  if (memory != nullptr) { --outstanding; }
  std::free(memory);
}

}  // namespace

// All forms, for a sanitizer has its own of each, and they do not mix.
void* operator new(std::size_t bytes) {
  return take(bytes, 0);
}
void* operator new[](std::size_t bytes) {
  return take(bytes, 0);
}
void* operator new(std::size_t bytes, std::nothrow_t const&) noexcept {
  try {
    return take(bytes, 0);
  } catch (std::bad_alloc const&) { return nullptr; }
}
void* operator new(std::size_t bytes, std::align_val_t alignment, std::nothrow_t const&) noexcept {
  try {
    return take(bytes, static_cast<std::size_t>(alignment));
  } catch (std::bad_alloc const&) { return nullptr; }
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return take(bytes, static_cast<std::size_t>(alignment));
}
void operator delete[](void* memory) noexcept {
  give(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  give(memory);
}
void operator delete(void* memory) noexcept {
  give(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  give(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  give(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  give(memory);
}

namespace {

using namespace allot::runtime;
using allot::paging;
using allot::slot_padding;
using allot::tokens;

/// Makes the thing, with each of its allocations failing in turn. \returns how many there are
template <class Make>
long sweep(Make&& make) {
  long failures = 0;
  for (long which = 1; which < 100; ++which) {
    long const before = outstanding;
    bool failed = false;
    failing = which;
    try {
      make();
    } catch (std::bad_alloc const&) { failed = true; }
    failing = 0;
    long const left = outstanding - before;
    REQUIRE(left == 0);
    if (!failed) { return failures; }
    ++failures;
  }
  return failures;
}

/// Allocations that `work` makes.
template <class Work>
long allocations_of(Work&& work) {
  long const before = allocations;
  work();
  return allocations - before;
}

}  // namespace

TEST_CASE("construction that fails leaves nothing behind, wherever it fails") {
  CHECK(sweep([] { page_set const set{5000}; }) == 1);
  CHECK(sweep([] { page_allocator const pages{paging{16, 1}, {5000}}; }) == 2);
  CHECK(sweep([] { state_slots const slots{slot_padding{1}, {5000}}; }) == 1);

  host_resource heap;
  host_backend on;
  page_ids const pool{{16, 1}, {100}};
  // Two blocks and two lists of rows; the resource may need more of the heap to say what failed.
  CHECK(sweep([&] { block_table const table{heap, heap, on, pool, 8, {160}}; }) >= 4);
  block_table const table{heap, heap, on, pool, 8, {160}};
  CHECK(sweep([&] { slot_mapping const mapping{table}; }) == 1);

  constexpr auto table_of_all = allot::make_table<allot::arrangement::page_major>(
      allot::gqa{.layers = 2, .kv_heads = 2, .head_dim = 8, .page_tokens = 4},
      allot::expert_bank{.slot_bytes = {96}, .per_layer = 2, .layers = 4});
  allot::plan const p = *allot::solve(table_of_all, allot::bytes{6000}, {.min_tokens = {40}});
  // Places and their names; guarded, canaries and a second table too.
  long const plain = sweep([&] { arena const a{table_of_all, p, heap}; });
  CHECK(plain >= 4);
  CHECK(sweep([&] { arena const a{table_of_all, p, heap, guarding::on, &on}; }) > plain + 4);
  CHECK(sweep([&] { verify(table_of_all, p, heap, on); }) > plain + 2);

  std::array<std::byte, 64> memory{};
  std::array<state_extent, 1> const extents{{{memory.data(), {4}, 16, 16}}};
  CHECK(sweep([&] { state_pool const states{on, slot_padding{1}, {3}, extents}; }) == 2);
}

TEST_CASE("nothing is allocated after construction, faults included") {
  page_allocator pages{paging{16, 1}, {300}};
  std::array<page_id, 200> batch{};
  bool good = true;
  long taken = allocations_of([&] {
    for (int round = 0; round < 10; ++round) {
      good = good && pages.allocate(batch);
      good = good && pages.share(batch) && pages.make_writable(batch[7]);
      good = good && !pages.allocate(batch) && !pages.release(0) && !pages.share(300);
      good = good && pages.release(batch) && !pages.release(batch);
      for (page_id page = 1; page <= 300; ++page) {
        while (pages.references(page) > 0) {
          good = pages.release(page) && good;
        }
      }
    }
  });
  CHECK(good);
  CHECK(taken == 0);

  host_resource heap;
  host_backend on;
  block_table table{heap, heap, on, pages.pool(), 8, {160}};
  slot_mapping mapping{table};
  std::array<std::int64_t, 64> slots{};
  std::array<appended_tokens, 2> const tokens_of{{{0, 20}, {3, 1}}};
  taken += allocations_of([&] {
    for (int round = 0; round < 10; ++round) {
      good = good && table.assign(0, std::span{batch}.first(9), {100});
      good = good && table.append(3, 5) && table.replace(3, 0, 6) && !table.append(9, 1);
      good = good && mapping.fill(tokens_of, slots) && table.set_kv_len(0, {120});
      good = good && table.upload() > 0 && !mapping.fill(tokens_of, std::span{slots}.first(3));
      good = good && table.swap(0, 1) && table.move(1, 2) && table.clear(2) && table.clear(3);
      good = good && table.upload() > 0;
    }
  });
  CHECK(good);
  CHECK(taken == 0);

  std::array<std::byte, 64> memory{};
  std::array<state_extent, 1> const extents{{{memory.data(), {4}, 16, 16}}};
  state_pool states{on, slot_padding{1}, {3}, extents};
  taken += allocations_of([&] {
    for (int round = 0; round < 10; ++round) {
      good = good && states.allocate() && states.allocate_as_it_is() && states.copy(1, 2);
      good = good && states.clear(0) && !states.free(0) && states.free(1) && states.free(2);
    }
  });
  CHECK(good);
  CHECK(taken == 0);
}
