// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/table/price.hpp>

#include <cstddef>
#include <cstdint>

namespace allot {

/// Whether arrays, or the faces of a page_major arena, can be rounded to so many bytes.
constexpr fault check_granularity(arrangement a, std::int64_t each_bytes) {
  fault_check check{"granularity"};
  check.positive("", each_bytes);
  if (a == arrangement::page_major && each_bytes > 1 && each_bytes % stride_bytes != 0) {
    check.report(solve_error::bad_input, "", each_bytes, "1, or with page_major a multiple of 16");
  }
  return check.found;
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
    t.rest.found = first_of(t.rest.found, check_granularity(rest.arrangement, each_bytes));
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
