// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/core/maybe.hpp>
#include <allot/table/pool.hpp>
#include <allot/table/tenants.hpp>

#include <cstddef>
#include <cstdint>

namespace allot {

/// A cost that is exactly `base + step * count`: what a walk over page-proportional extents comes
/// to. Found from two walks when the table is built, never from a formula of its own.
struct cost_line {
  bool exact = false;  ///< otherwise only the walk knows
  std::int64_t base = 0;
  std::int64_t step = 0;

  constexpr checked at(std::int64_t count) const { return checked{count} * step + base; }
};

/// The table a request lowers to, borrowed: what `solve` and `lay_out` read. Cheap to copy; its
/// charges' total, state and experts are values, so that a repair can be tried on a copy.
struct table_view {
  view<extent> extents{};           ///< of all pools, in the order of `pools`
  view<pool> pools{};               ///< kv[0], kv[1] …, then the state pool and the experts, if any
  std::int32_t kv_pools = 0;        ///< how many of `pools` are kv
  paging anchor{};                  ///< of kv[0]
  maybe<state_slots_rule> state{};  ///< how many state slots; absent without a state pool
  maybe<expert_terms> experts{};    ///< absent for a dense model
  view<charge> charges{};           ///< fixed lines outside the arena
  checked charge_bytes{};           ///< their sum
  std::int64_t granularity = 1;     ///< bytes each array is rounded up to
  cost_line kv_line{};              ///< of kv_bytes, where it is a line
  cost_line slot_line{};            ///< of expert_bytes, where it is a line
  fault found{};                    ///< what is wrong with the description, if anything
};

/// Bytes of one pool.
constexpr checked pool_bytes(table_view const& t, std::int64_t index, counts const& at) {
  pool const& p = t.pools[index];
  extent const* const first = t.extents.data + p.first_extent;
  checked sum{};
  for (std::int64_t k = 0; k < p.extents; ++k) {
    checked const one = array_bytes(first, k, at, t.granularity);
    sum = sum + (first[k].copies == 1 ? one : one * first[k].copies);
  }
  return sum;
}

/// The walk behind `kv_bytes`: every extent of every KV pool.
constexpr checked walk_kv(table_view const& t, std::int64_t n) {
  checked const physical = checked{n} + t.anchor.sentinel_pages;
  if (physical.overflowed) { return physical; }
  counts const at{.anchor_pages = n, .anchor_physical = physical.value};
  checked sum{};
  for (std::int64_t i = 0; i < t.kv_pools; ++i) {
    sum = sum + pool_bytes(t, i, at);
  }
  return sum;
}

/// Bytes of all KV pools for `n` usable anchor pages, sentinels included.
constexpr checked kv_bytes(table_view const& t, std::int64_t n) {
  return t.kv_line.exact ? t.kv_line.at(n) : walk_kv(t, n);
}

/// Usable state slots the table asks for; 0 without a state pool.
constexpr checked state_slots(table_view const& t) {
  return t.state ? t.state->usable() : checked{};
}

/// Bytes of the state pool, padding slots included; 0 without one.
constexpr checked state_bytes(table_view const& t) {
  if (!t.state) { return {}; }
  checked const slots = state_slots(t);
  if (slots.overflowed) { return slots; }
  return pool_bytes(t, t.kv_pools, {.state_slots = slots.value});
}

/// The walk behind `expert_bytes`.
constexpr checked walk_slots(table_view const& t, std::int64_t slots) {
  return pool_bytes(t, t.kv_pools + (t.state ? 1 : 0), {.expert_slots = slots});
}

/// Bytes of the block of `slots` expert slots; 0 for a dense model.
constexpr checked expert_bytes(table_view const& t, std::int64_t slots) {
  if (!t.experts) { return {}; }
  return t.slot_line.exact ? t.slot_line.at(slots) : walk_slots(t, slots);
}

/// Finds the lines of a table whose lists are in place. Without it everything is walked.
constexpr void find_lines(table_view& t) {
  t.kv_line = {};
  t.slot_line = {};
  if (t.found || t.granularity != 1) { return; }
  auto const line = [](checked at_0, checked at_1) {
    checked const step = at_1 - at_0;
    return step.ok() ? cost_line{true, at_0.value, step.value} : cost_line{};
  };
  auto const all = [&](rows_of counted, std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) {
      pool const& p = t.pools[i];
      for (std::int32_t k = 0; k < p.extents; ++k) {
        if (!is_proportional_to(counted, t.extents[p.first_extent + k])) { return false; }
      }
    }
    return true;
  };
  if (all(rows_of::anchor_pages, 0, t.kv_pools)) { t.kv_line = line(walk_kv(t, 0), walk_kv(t, 1)); }
  if (t.experts && all(rows_of::expert_slots, t.pools.size - 1, t.pools.size)) {
    t.slot_line = line(walk_slots(t, 0), walk_slots(t, 1));
  }
}

/// Charges and the state pool: what is taken before anything is split.
constexpr checked fixed_bytes(table_view const& t) {
  return t.charge_bytes + state_bytes(t);
}

/// A table that owns its rows: what `make_table` returns. Converts to the view that everything
/// else takes; copies freely.
template <std::size_t Extents, std::size_t Pools, std::size_t Charges>
struct pool_table {
  extent extents[Extents > 0 ? Extents : 1] = {};
  pool pools[Pools > 0 ? Pools : 1] = {};
  charge charges[Charges > 0 ? Charges : 1] = {};
  table_view rest{};  ///< all that is not a list, and the lists' sizes

  /// The same table with every array rounded up to `each_bytes` (>= 1).
  constexpr pool_table with_granularity(std::int64_t each_bytes) const {
    pool_table t = *this;
    t.rest.granularity = each_bytes;
    t.rest.kv_line = {};
    t.rest.slot_line = {};
    if (each_bytes < 1) {
      t.rest.found = first_of(
          t.rest.found,
          {solve_error::bad_input, {"granularity"}, each_bytes, "an integer of at least 1"});
    }
    return t;
  }

  constexpr operator table_view() const {  // NOLINT(google-explicit-constructor)
    table_view v = rest;
    v.extents.data = extents;
    v.pools.data = pools;
    v.charges.data = charges;
    return v;
  }
};

}  // namespace allot
