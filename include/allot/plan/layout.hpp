// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/plan/plan.hpp>

#include <cstddef>
#include <cstdint>

namespace allot {

/// Where one extent lies in the arena: `copies` arrays, `stride` bytes apart.
struct placement {
  std::int64_t offset = 0;       ///< bytes from the start of the arena to the first array
  std::int64_t rows = 0;         ///< rows of one array
  std::int64_t row_bytes = 0;    ///< bytes of one row
  std::int64_t copies = 0;       ///< equal arrays
  std::int64_t array_bytes = 0;  ///< bytes of one array, rounded up; also the stride of the copies

  constexpr std::int64_t end() const { return offset + array_bytes * copies; }
};

/// Walks the extents in layout order and hands each its place: `take(extent index, placement)`.
/// The flat arrangement: every extent contiguous, in the order of the table.
///
/// \param at  counts of a plan
/// \returns   bytes of the arena: the end of the last extent
/// \ensures   every offset and size is a multiple of the table's granularity
///            carved == priced: the sum of pool_bytes over the pools
template <class Take>
constexpr checked lay_out(table_view const& t, counts const& at, Take&& take) {
  checked offset{};
  for (pool const& p : t.pools) {
    extent const* const first = t.extents.data + p.first_extent;
    for (std::int32_t k = 0; k < p.extents; ++k) {
      checked const each = array_bytes(first, k, at, t.granularity);
      checked const next = offset + each * first[k].copies;
      if (next.overflowed) { return next; }
      take(p.first_extent + k, placement{offset.value, rows(first, k, at).value, first[k].row_bytes,
                                         first[k].copies, each.value});
      offset = next;
    }
  }
  return offset;
}

/// The places of all extents of a table whose size is known.
template <std::size_t Extents>
struct layout {
  placement places[Extents > 0 ? Extents : 1] = {};  ///< by extent index
  bytes total{};                                     ///< bytes of the one arena
};

template <std::size_t Extents, std::size_t Pools, std::size_t Charges>
constexpr layout<Extents> lay_out(pool_table<Extents, Pools, Charges> const& t, plan const& p) {
  layout<Extents> out;
  table_view const v = t;
  out.total = {lay_out(v, p.at(), [&](std::int32_t index, placement const& place) {
                 out.places[index] = place;
               }).value};
  return out;
}

}  // namespace allot
