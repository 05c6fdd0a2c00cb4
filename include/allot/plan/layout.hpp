// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/plan/plan.hpp>

#include <cstddef>
#include <cstdint>

namespace allot {

/// Where one extent lies in the arena. Row `r` of copy `c` starts at
///
///     offset + c * copy_stride + r / block_rows * block_stride + r % block_rows * row_bytes
///
/// The rows of an array of its own are one block each. In a page_major arena a block is what a
/// page, or an expert slot, has of this extent.
struct placement {
  std::int64_t offset = 0;        ///< bytes from the start of the arena to row 0 of copy 0
  std::int64_t rows = 0;          ///< rows of one copy
  std::int64_t row_bytes = 0;     ///< bytes of one row
  std::int64_t copies = 0;        ///< equal arrays
  std::int64_t copy_stride = 0;   ///< bytes from one copy to the next; of an array, its size
  std::int64_t block_rows = 1;    ///< rows that follow each other without a gap          [>= 1]
  std::int64_t block_stride = 0;  ///< bytes from one such block to the next

  /// Whether its rows follow each other; else they share page blocks or expert slots with others.
  constexpr bool stands_alone() const { return block_rows == 1 && block_stride == row_bytes; }

  /// Byte offset of a row.
  ///
  /// \param copy  in [0, copies)
  /// \param row   in [0, rows)
  constexpr std::int64_t at(std::int64_t copy, std::int64_t row) const {
    return offset + copy * copy_stride + row / block_rows * block_stride +
           row % block_rows * row_bytes;
  }

  /// Of an array of its own: the offset behind the last copy.
  constexpr std::int64_t end() const { return offset + copies * copy_stride; }
};

/// The arena of a plan as a whole. A page_major arena has two faces and a gap:
///
///     [fixed face][page 0][page 1] … →      gap      ← … [slot M - 2][slot M - 1]
///     0           pages              pages_end   slots                        top
///
///     address(page) = pages + page * page_stride
///     address(slot) = top - (M - slot) * slot_stride,  ids in [M - planned slots, M)
///
/// The strides, `top` and M are the same for every plan of a table and a budget, and so is `pages`
/// where the fixed face does not grow with the pages: what they address stays where it is when the
/// boundary moves. In the other arrangements there is no gap, and all of them are 0.
struct arena_map {
  bytes arena{};           ///< what is allocated, in one call
  bytes carved{};          ///< arrays and faces, what rounds them up included; the rest is gap
  std::int64_t pages = 0;  ///< offset of page block 0; the end of the fixed face
  std::int64_t page_stride = 0;  ///< bytes
  std::int64_t pages_end = 0;    ///< offset behind the page face: the gap begins
  std::int64_t slots = 0;        ///< offset of the slot face: the gap ends
  std::int64_t top = 0;          ///< offset behind the last slot
  std::int64_t slot_stride = 0;  ///< bytes
  std::int64_t most_slots = 0;   ///< M: the most slots that such an arena could ever hold

  constexpr bool fits() const { return carved <= arena; }
};

namespace detail {

/// Places the extents of one table, face by face.
template <class Take>
class layout_walk {
 public:
  constexpr layout_walk(table_view const& t, counts const& at, Take& take)
      : t_{t}, at_{at}, take_{take} {}

  /// Every array of its own, of the pools [from, to), from the current end on.
  constexpr void arrays(std::int64_t from, std::int64_t to) {
    each(from, to, [&](extent const* first, std::int32_t k, std::int32_t index, std::int64_t rows) {
      if (rows > 0) { return; }
      std::int64_t const size = array_bytes(first, k, at_, array_unit(t_)).value;
      take_(index, placement{end_, allot::rows(first, k, at_).value, first[k].row_bytes,
                             first[k].copies, size, 1, first[k].row_bytes});
      end_ += size * first[k].copies;
    });
  }

  /// The rows that share blocks: block 0 begins at `offset`.
  constexpr void blocks(std::int64_t from, std::int64_t to, std::int64_t offset,
                        std::int64_t stride) {
    each(from, to, [&](extent const* first, std::int32_t k, std::int32_t index, std::int64_t rows) {
      if (rows == 0) { return; }
      std::int64_t const size = rows * first[k].row_bytes;
      take_(index, placement{offset, allot::rows(first, k, at_).value, first[k].row_bytes,
                             first[k].copies, size, rows, stride});
      offset += size * first[k].copies;
    });
  }

  constexpr std::int64_t end() const { return end_; }
  constexpr void close_face() { end_ = round_up(end_, face_unit(t_)).value; }

 private:
  template <class Visit>
  constexpr void each(std::int64_t from, std::int64_t to, Visit&& visit) {
    for (std::int64_t i = from; i < to; ++i) {
      pool const& p = t_.pools[i];
      extent const* const first = t_.extents.data + p.first_extent;
      for (std::int32_t k = 0; k < p.extents; ++k) {
        visit(first, k, p.first_extent + k, block_rows(t_, i, first[k]));
      }
    }
  }

  table_view const& t_;
  counts const& at_;
  Take& take_;
  std::int64_t end_ = 0;
};

}  // namespace detail

/// Walks the extents and hands each its place: `take(extent index, placement)`. Flat and
/// layer_major: in the order of the table, each array a multiple of the granularity long.
/// Page_major: in the order of the arena; the fixed face has the state, then the side arrays of KV,
/// then those of the experts.
///
/// \param p      a plan of this table
/// \param arena  bytes of a page_major arena: at least what is carved, the rest is its gap
/// \ensures      carved == p.kv + p.experts + p.fixed - charges
template <class Take>
constexpr arena_map lay_out(table_view const& t, plan const& p, bytes arena, Take&& take) {
  counts const at = p.at();
  detail::layout_walk<Take> walk{t, at, take};
  std::int64_t const pools = t.pools.size;
  std::int64_t const experts = t.experts ? pools - 1 : pools;
  arena_map map;
  if (t.arrangement != arrangement::page_major) {
    walk.arrays(0, pools);
    map.arena = map.carved = {walk.end()};
    return map;
  }
  walk.arrays(t.kv_pools, experts);
  walk.close_face();
  walk.arrays(0, t.kv_pools);
  walk.close_face();
  walk.arrays(experts, pools);
  walk.close_face();

  std::int64_t const unit = face_unit(t);
  map.arena = arena;
  map.pages = walk.end();
  map.page_stride = page_stride(t).value;
  map.pages_end = map.pages + round_up(checked{at.anchor_physical} * map.page_stride, unit).value;
  walk.blocks(0, t.kv_pools, map.pages, map.page_stride);

  map.top = round_down(arena.count, unit);
  map.slot_stride = slot_stride(t).value;
  std::int64_t const slot_bytes = (checked{at.expert_slots} * map.slot_stride).value;
  std::int64_t const slot_face = round_up(slot_bytes, unit).value;
  map.slots = map.top - slot_face;
  map.carved = {map.pages_end + slot_face};
  if (map.slot_stride > 0) {
    checked const total = t.experts->total();
    std::int64_t const held = (map.top - map.pages) / map.slot_stride;
    map.most_slots = total < checked{held} ? total.value : held;
  }
  walk.blocks(experts, pools, map.top - slot_bytes, map.slot_stride);
  return map;
}

/// The same in the arena that the plan's budget leaves beside the charges.
template <class Take>
constexpr arena_map lay_out(table_view const& t, plan const& p, Take&& take) {
  return lay_out(t, p, bytes{p.budget.count - t.charge_bytes.value}, take);
}

/// The places of all extents of a table whose size is known.
template <std::size_t Extents>
struct layout : arena_map {
  placement places[Extents > 0 ? Extents : 1] = {};  ///< by extent index
};

template <std::size_t Extents, std::size_t Pools, std::size_t Charges>
constexpr layout<Extents> lay_out(pool_table<Extents, Pools, Charges> const& t, plan const& p) {
  layout<Extents> out;
  auto const take = [&](std::int32_t index, placement const& place) { out.places[index] = place; };
  static_cast<arena_map&>(out) = lay_out(static_cast<table_view>(t), p, take);
  return out;
}

}  // namespace allot
