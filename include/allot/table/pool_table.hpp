// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/core/maybe.hpp>
#include <allot/table/pool.hpp>
#include <allot/table/tenants.hpp>

#include <cstddef>
#include <cstdint>

namespace allot {

/// The table a request lowers to, borrowed: what `solve` and `lay_out` read. Cheap to copy; its
/// charges' total, state and experts are values, so that a repair can be tried on a copy.
struct table_view {
  view<extent> extents{};         ///< of all pools, in the order of `pools`
  view<pool> pools{};             ///< kv[0], kv[1] …, then the state pool and the experts, if any
  std::int32_t kv_pools = 0;    ///< how many of `pools` are kv
  paging anchor{};                ///< of kv[0]
  maybe<state_slots_rule> state{};  ///< how many state slots; absent without a state pool
  maybe<expert_terms> experts{};  ///< absent for a dense model
  view<charge> charges{};         ///< fixed lines outside the arena
  checked charge_bytes{};         ///< their sum
  std::int64_t granularity = 1;  ///< bytes each array is rounded up to
  fault found{};                  ///< what is wrong with the description, if anything
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

/// Bytes of all KV pools for `n` usable anchor pages, sentinels included.
constexpr checked kv_bytes(table_view const& t, std::int64_t n) {
  counts const at{.anchor_pages = n};
  checked sum{};
  for (std::int64_t i = 0; i < t.kv_pools; ++i) { sum = sum + pool_bytes(t, i, at); }
  return sum;
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

/// Bytes of the block of `slots` expert slots; 0 for a dense model.
constexpr checked expert_bytes(table_view const& t, std::int64_t slots) {
  if (!t.experts) { return {}; }
  return pool_bytes(t, t.kv_pools + (t.state ? 1 : 0), {.expert_slots = slots});
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
    if (each_bytes < 1) {
      t.rest.found = first_of(
          t.rest.found, {solve_error::bad_input, {"granularity"}, each_bytes, "an integer of at least 1"});
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
