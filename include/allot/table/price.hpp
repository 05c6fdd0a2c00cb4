// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/table/table_view.hpp>

#include <cstdint>

/// What a table's arrays take. These walks are the only prices there are: `solve` inverts them,
/// `lay_out` places the same arrays.
namespace allot {

/// Bytes a face of a page_major arena is rounded up to: the granularity, 16 at least.
constexpr std::int64_t face_unit(table_view const& t) {
  return t.granularity < stride_bytes ? stride_bytes : t.granularity;
}

/// Bytes each array of its own is rounded up to.
constexpr std::int64_t array_unit(table_view const& t) {
  return t.arrangement == arrangement::page_major ? stride_bytes : t.granularity;
}

/// Rows of extent `e` of pool `index` in each page block or expert slot of a page_major arena; 0
/// when it lies in arrays of its own.
constexpr std::int64_t block_rows(table_view const& t, std::int64_t index, extent const& e) {
  if (t.arrangement != arrangement::page_major) { return 0; }
  if (index < t.kv_pools) { return rows_per_page(e, t.anchor.sentinel_pages); }
  return rows_per_slot(e);
}

/// Bytes of one block that the pools [from, to) share.
constexpr checked block_bytes(table_view const& t, std::int64_t from, std::int64_t to) {
  checked sum{};
  for (std::int64_t i = from; i < to; ++i) {
    pool const& p = t.pools[i];
    for (std::int32_t k = 0; k < p.extents; ++k) {
      extent const& e = t.extents[p.first_extent + k];
      sum = sum + checked{block_rows(t, i, e)} * e.row_bytes * e.copies;
    }
  }
  return sum;
}

/// Bytes from one page of a page_major arena to the next.
constexpr checked page_stride(table_view const& t) {
  return block_bytes(t, 0, t.kv_pools);
}

/// Bytes from one expert slot of a page_major arena to the next; 0 for a dense model.
constexpr checked slot_stride(table_view const& t) {
  return t.experts ? block_bytes(t, t.pools.size - 1, t.pools.size) : checked{};
}

namespace detail {

/// Bytes of a pool's own arrays, and of its rows in page blocks or slots.
struct pool_sums {
  checked arrays{};
  checked rows{};

  friend constexpr pool_sums operator+(pool_sums a, pool_sums b) {
    return {a.arrays + b.arrays, a.rows + b.rows};
  }
  /// With both faces of a page_major arena rounded; elsewhere there are only arrays, rounded
  /// already.
  constexpr checked in_faces(table_view const& t) const {
    if (t.arrangement != arrangement::page_major) { return arrays; }
    return round_up(arrays, face_unit(t)) + round_up(rows, face_unit(t));
  }
};

constexpr pool_sums sums_of(table_view const& t, std::int64_t index, counts const& at) {
  pool const& p = t.pools[index];
  extent const* const first = t.extents.data + p.first_extent;
  pool_sums sum;
  for (std::int64_t k = 0; k < p.extents; ++k) {
    bool const alone = block_rows(t, index, first[k]) == 0;
    checked const one = array_bytes(first, k, at, alone ? array_unit(t) : 1);
    checked const all = first[k].copies == 1 ? one : one * first[k].copies;
    (alone ? sum.arrays : sum.rows) = (alone ? sum.arrays : sum.rows) + all;
  }
  return sum;
}

constexpr checked walk_kv(table_view const& t, counts const& at) {
  pool_sums sum;
  for (std::int64_t i = 0; i < t.kv_pools; ++i) {
    sum = sum + sums_of(t, i, at);
  }
  return sum.in_faces(t);
}

}  // namespace detail

/// Bytes of one pool. KV pools share two faces: the anchor is charged with what rounds these up.
constexpr checked pool_bytes(table_view const& t, std::int64_t index, counts const& at) {
  detail::pool_sums const own = detail::sums_of(t, index, at);
  if (t.arrangement != arrangement::page_major || index >= t.kv_pools) { return own.in_faces(t); }
  if (index > 0) { return own.arrays + own.rows; }
  checked others{};
  for (std::int64_t i = 1; i < t.kv_pools; ++i) {
    others = others + pool_bytes(t, i, at);
  }
  return detail::walk_kv(t, at) - others;
}

/// The walk behind `kv_bytes`: every extent of every KV pool.
constexpr checked walk_kv(table_view const& t, std::int64_t n) {
  checked const physical = checked{n} + t.anchor.sentinel_pages;
  if (physical.overflowed) { return physical; }
  return detail::walk_kv(t, {.anchor_pages = n, .anchor_physical = physical.value});
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
  bool const rounds =
      t.arrangement == arrangement::page_major ? face_unit(t) != stride_bytes : t.granularity != 1;
  if (t.found || rounds) { return; }
  auto const line = [](checked at_0, checked at_1) {
    checked const step = at_1 - at_0;
    return step.ok() ? cost_line{true, at_0.value, step.value} : cost_line{};
  };
  auto const all = [&](rows_of counted, std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) {
      pool const& p = t.pools[i];
      for (std::int32_t k = 0; k < p.extents; ++k) {
        extent const& e = t.extents[p.first_extent + k];
        bool const on_line = t.arrangement == arrangement::page_major
                                 ? block_rows(t, i, e) > 0
                                 : is_proportional_to(counted, e);
        if (!on_line) { return false; }
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

}  // namespace allot
