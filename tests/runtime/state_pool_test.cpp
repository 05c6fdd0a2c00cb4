// SPDX-License-Identifier: Apache-2.0
#include "../unit/random.hpp"
#include "late_backend.hpp"

#include <allot/allot.hpp>
#include <allot/runtime/state_pool.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

// State slots: a fresh request starts from zeros in every tensor of every layer, a fork has all of
// it, nothing else is touched, and the sink is nobody's.

using namespace allot::runtime;
using allot::physical_state_slots;
using allot::slot_padding;
using allot::usable_state_slots;
using allot_test::late_backend;

namespace {

/// A model with state, planned and laid out in the given arrangement, and its arena on the heap.
template <allot::arrangement Arranged>
struct engine {
  static constexpr std::int64_t layers = 3;
  static constexpr auto table = allot::make_table<Arranged>(
      allot::raw_pages{.page_bytes = allot::bytes{256}, .page_tokens = 16},
      allot::recurrent_state{.layers = layers,
                             .key_heads = 1,
                             .value_heads = 2,
                             .key_head_dim = 2,
                             .value_head_dim = 3,
                             .conv_kernel = 3,
                             .max_running = 5,
                             .sentinel_slots = 2});
  static constexpr allot::plan plan =
      allot::solve_or_stop(table, allot::bytes{65'536}, {.min_tokens = {1024}});
  static constexpr auto places = allot::lay_out(table, plan);

  std::vector<std::byte> arena =
      std::vector<std::byte>(static_cast<std::size_t>(65'536), std::byte{0xa5});
  late_backend on;
  std::vector<state_extent> extents;
  state_pool pool;

  engine() : extents{find_extents()}, pool{on, slot_padding{2}, plan.state, extents} {}

  std::vector<state_extent> find_extents() {
    std::vector<state_extent> found;
    for (std::size_t k = 0; k < std::size(places.places); ++k) {
      allot::text const name = table.extents[k].name;
      if (name == allot::text{"convolution"} || name == allot::text{"recurrent"}) {
        found.push_back(state_extent::at(arena.data(), places.places[k]));
      }
    }
    return found;
  }

  /// Offsets of the bytes of a slot, from the layout's own formula.
  static std::vector<std::size_t> bytes_of(slot_id slot) {
    std::vector<std::size_t> out;
    for (std::size_t k = 0; k < std::size(places.places); ++k) {
      allot::text const name = table.extents[k].name;
      if (!(name == allot::text{"convolution"} || name == allot::text{"recurrent"})) { continue; }
      allot::placement const& place = places.places[k];
      for (std::int64_t copy = 0; copy < place.copies; ++copy) {
        for (std::int64_t i = 0; i < place.row_bytes; ++i) {
          out.push_back(static_cast<std::size_t>(place.at(copy, slot) + i));
        }
      }
    }
    return out;
  }
};

/// Slots of 1 byte in one array, for what is about numbers only.
struct small {
  std::vector<std::byte> memory;
  late_backend on;
  state_pool pool;
  explicit small(std::int64_t usable, std::int64_t sentinels)
      : memory(static_cast<std::size_t>(usable + sentinels + 1), std::byte{7}),
        pool{on,
             slot_padding{sentinels},
             {usable},
             std::vector<state_extent>{{memory.data(), {usable + sentinels}, 1, 1}}} {}
};

slot_fault foreign(slot_id slot) {
  return {.code = slot_error::foreign_slot, .slot = slot};
}
slot_fault not_allocated(slot_id slot) {
  return {.code = slot_error::not_allocated, .slot = slot};
}

template <class Engine>
void zeros_and_copies() {
  Engine e;
  REQUIRE(e.extents.size() == 2);
  CHECK(e.pool.slots().physical() == physical_state_slots{7});
  // Both tensors of three layers: bf16 of 10 channels by 2 taps, fp32 of 2 heads by 2 by 3.
  CHECK(Engine::bytes_of(3).size() == 3 * (10 * 2 * 2 + 2 * 2 * 3 * 4));
  auto const expect = [&](std::vector<std::byte> const& before, slot_id to, auto&& value) {
    e.on.wait();
    std::vector<std::byte> expected = before;
    auto const cells = Engine::bytes_of(to);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      expected[cells[i]] = value(i);
    }
    CHECK(e.arena == expected);
  };
  auto const zero = [](std::size_t) { return std::byte{0}; };

  auto before = e.arena;
  auto const first = e.pool.allocate();
  REQUIRE(first);
  CHECK(*first == 2);
  expect(before, 2, zero);

  before = e.arena;
  CHECK(e.pool.allocate_as_it_is().value == 3);
  expect(before, 3, [](std::size_t) { return std::byte{0xa5}; });

  for (std::size_t const at : Engine::bytes_of(2)) {
    e.arena[at] = static_cast<std::byte>(at % 251);
  }
  before = e.arena;
  CHECK(e.pool.copy(2, 3).value == 3);
  auto const source = Engine::bytes_of(2);
  expect(before, 3, [&](std::size_t i) { return before[source[i]]; });

  before = e.arena;
  CHECK(e.pool.clear(3).value == 3);
  expect(before, 3, zero);
  before = e.arena;
  CHECK(e.pool.clear(1).value == 1);  // the sink
  expect(before, 1, zero);

  e.on.forget();
  CHECK(e.pool.copy(2, 2).ok);
  CHECK(e.on.calls().empty());

  // The next user of a slot finds zeros again.
  CHECK(e.pool.free(2).value == usable_state_slots{4});
  before = e.arena;
  CHECK(e.pool.allocate().value == 2);
  expect(before, 2, zero);
}

}  // namespace

TEST_CASE("zeros and copies act on every tensor of every layer, and on nothing else: flat") {
  zeros_and_copies<engine<allot::arrangement::flat>>();
}

TEST_CASE("the same, with an array for each layer") {
  using layered = engine<allot::arrangement::layer_major>;
  CHECK(layered{}.extents[0].copies == layered::layers);
  zeros_and_copies<layered>();
}

TEST_CASE("the same, in the fixed face of a page-major arena") {
  zeros_and_copies<engine<allot::arrangement::page_major>>();
}

TEST_CASE("the lowest slot first, and never the sink") {
  for (std::int64_t usable = 0; usable <= 70; ++usable) {
    for (std::int64_t sentinels = 0; sentinels <= 3; ++sentinels) {
      small s{usable, sentinels};
      REQUIRE(s.pool.slots().usable() == usable_state_slots{usable});
      REQUIRE(s.pool.slots().physical() == physical_state_slots{usable + sentinels});
      bool right = true;
      for (std::int64_t i = 0; i < usable; ++i) {
        auto const slot = s.pool.allocate();
        right =
            right && slot && *slot == sentinels + i && s.pool.slots().used_slots().count == i + 1;
      }
      REQUIRE(right);
      REQUIRE(s.pool.allocate().error ==
              slot_fault{.code = slot_error::exhausted, .needed = {1}, .available = {0}});
      s.on.wait();
      REQUIRE(std::all_of(s.memory.begin(), s.memory.begin() + sentinels,
                          [](std::byte b) { return b == std::byte{7}; }));
      REQUIRE(s.memory.back() == std::byte{7});
    }
  }
}

TEST_CASE("faults, and that nothing changes") {
  small s{4, 2};
  REQUIRE(s.pool.allocate());
  REQUIRE(s.pool.allocate());
  s.on.wait();
  s.on.forget();
  auto const unchanged = [&] {
    CHECK(s.on.calls().empty());
    CHECK(s.pool.slots().used_slots() == usable_state_slots{2});
    CHECK(s.pool.slots().is_used(2));
    CHECK(s.pool.slots().is_used(3));
    CHECK_FALSE(s.pool.slots().is_used(4));
  };
  for (slot_id const slot : {-1, 0, 1, 6, INT32_MAX, INT32_MIN}) {
    CAPTURE(slot);
    CHECK(s.pool.free(slot).error == foreign(slot));
    CHECK(s.pool.copy(2, slot).error == foreign(slot));
    CHECK(s.pool.copy(slot, 2).error == foreign(slot));
    if (!s.pool.slots().is_sink(slot)) { CHECK(s.pool.clear(slot).error == foreign(slot)); }
    unchanged();
  }
  for (slot_id const slot : {4, 5}) {
    CHECK(s.pool.free(slot).error == not_allocated(slot));
    CHECK(s.pool.copy(2, slot).error == not_allocated(slot));
    CHECK(s.pool.copy(slot, 2).error == not_allocated(slot));
    CHECK(s.pool.clear(slot).error == not_allocated(slot));
    unchanged();
  }
  CHECK(s.pool.free(3).ok);
  CHECK(s.pool.free(3).error == not_allocated(3));  // twice
  CHECK(describe(not_allocated(3)) == "slot 3 is not in use: freed twice, or never allocated");
  CHECK(describe(foreign(0)) == "slot 0 is none that this pool hands out");
  CHECK(describe({.needed = {1}, .available = {0}}) == "needs 1 slots, 0 are free");
}

TEST_CASE("a slot whose zeros could not be issued is free again") {
  engine<allot::arrangement::layer_major> e;
  for (int call = 1; call <= 6; ++call) {
    e.on.fail_call(call);
    CHECK_THROWS_AS(static_cast<void>(e.pool.allocate()), backend_error);
    CHECK(e.pool.slots().used_slots() == usable_state_slots{0});
  }
  CHECK(e.pool.allocate().value == 2);
}

TEST_CASE("extents that do not fit the pool are refused, with the numbers") {
  late_backend on;
  std::vector<std::byte> memory(64);
  auto const refusal = [&](std::vector<state_extent> const& extents, std::int64_t usable = 3,
                           std::int64_t sentinels = 1) -> std::string {
    try {
      state_pool const pool{on, slot_padding{sentinels}, {usable}, extents};
    } catch (std::invalid_argument const& why) { return why.what(); }
    return "none";
  };
  state_extent const good{memory.data(), {4}, 8, 16};
  CHECK(refusal({good}) == "none");
  CHECK(refusal({}) == "state_pool: no extents");
  auto const changed = [&](auto&& change) {
    state_extent e = good;
    change(e);
    return refusal({good, e});
  };
  // The typical fault: memory for the usable slots only.
  CHECK(changed([](state_extent& e) { e.slots = {3}; }) ==
        "state_pool: extent 1 has 3 slots, the pool has 4, sentinels included");
  CHECK(changed([](state_extent& e) { e.slot_stride = 7; }) ==
        "state_pool: extent 1 has slots of 8 bytes, 7 apart, in 1 arrays");
  CHECK(changed([](state_extent& e) { e.slot_bytes = -1; }) ==
        "state_pool: extent 1 has slots of -1 bytes, 16 apart, in 1 arrays");
  CHECK(changed([](state_extent& e) { e.slot_bytes = 0; }) == "none");  // passed over
  CHECK(changed([](state_extent& e) { e.copies = 0; }) ==
        "state_pool: extent 1 has slots of 8 bytes, 16 apart, in 0 arrays");
  CHECK(changed([](state_extent& e) { e.slot_stride = INT64_MAX / 2; }) ==
        "state_pool: extent 1 is of 2^63 bytes or more");
  CHECK(changed([](state_extent& e) { e.copies = 2; }) ==
        "state_pool: extent 1 has arrays of 64 bytes, 0 apart");
  CHECK(changed([](state_extent& e) { e.base = nullptr; }) == "state_pool: extent 1 has no memory");
  CHECK(refusal({good}, -1, 5).starts_with("state_slots: -1 usable and 5 sentinel slots"));
  CHECK(refusal({good}, 5, -1).starts_with("state_slots: 5 usable and -1 sentinel slots"));
  CHECK(refusal({good}, INT32_MAX, 1).starts_with("state_slots: 2147483647 usable"));
  CHECK(refusal({good}, INT64_MAX, 1).starts_with("state_slots: 9223372036854775807 usable"));
}

TEST_CASE("a million random operations on the numbers agree with std::set") {
  allot_test::dice dice{9};
  std::int64_t steps = 0;
  std::int64_t seen[2][4] = {};  // allocate, free; each: done, exhausted, foreign, not allocated
  for (std::int64_t const usable : {1, 5, 64, 130}) {
    for (std::int64_t const sentinels : {0, 1, 4}) {
      state_slots slots{slot_padding{sentinels}, {usable}};
      std::set<slot_id> free;
      for (std::int64_t i = 0; i < usable; ++i) {
        free.insert(static_cast<slot_id>(sentinels + i));
      }
      bool filling = true;
      for (int step = 0; step < 90'000; ++step) {
        if (step % 500 == 0) { filling = !filling; }
        bool same = true;
        if (dice.chance(filling ? 70 : 30)) {
          auto const slot = slots.allocate();
          same = slot.ok == !free.empty() && (!slot || *slot == *free.begin());
          if (slot) { free.erase(free.begin()); }
          ++seen[0][slot ? 0 : 1 + static_cast<int>(slot.error.code)];
        } else {
          auto const slot = static_cast<slot_id>(dice.in(-2, usable + sentinels + 1));
          auto const answer = slots.free(slot);
          bool const ours = sentinels <= slot && slot < usable + sentinels;
          slot_fault const expected = ours ? not_allocated(slot) : foreign(slot);
          bool const good = ours && free.count(slot) == 0;
          same = answer.ok == good && (good || answer.error == expected);
          if (good) { free.insert(slot); }
          ++seen[1][answer ? 0 : 1 + static_cast<int>(answer.error.code)];
        }
        same = same && slots.free_slots().count == static_cast<std::int64_t>(free.size());
        if (step % 64 == 0) {
          for (slot_id slot = -1; slot <= usable + sentinels; ++slot) {
            bool const ours = sentinels <= slot && slot < usable + sentinels;
            same = same && slots.is_used(slot) == (ours && free.count(slot) == 0);
          }
        }
        REQUIRE(same);
        ++steps;
      }
    }
  }
  CHECK(steps >= 1'000'000);
  CHECK(seen[0][0] >= 10'000);
  CHECK(seen[0][1] >= 10'000);
  CHECK(seen[0][2] + seen[0][3] == 0);
  CHECK(seen[1][0] >= 10'000);
  CHECK(seen[1][1] == 0);
  CHECK(seen[1][2] >= 10'000);
  CHECK(seen[1][3] >= 10'000);
}
