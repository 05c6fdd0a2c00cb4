// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/table/pool_table.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace allot::runtime {

/// What an extent of a guarded table is.
struct guarded_extent {
  std::int32_t original = -1;  ///< index in the table it was made from; -1: a canary
  std::int64_t copy = 0;       ///< which of the original's arrays
};

/// A table with a canary before each pool and behind each array, so that the walk that prices and
/// places a table prices and places its canaries too. The copies of an extent become extents of
/// their own. An array is followed by 256 bytes; rows that share page blocks or expert slots by 16
/// bytes for each of them, in every page and slot and for every layer: the strides of a guarded
/// arena are other ones, so take them from its views.
///
/// It is laid out like any table, and its plan costs more; the counts of a plan without canaries
/// can be laid out in it.
class guarded_table {
 public:
  static constexpr std::int64_t array_canary_bytes = 256;
  static constexpr std::int64_t row_canary_bytes = stride_bytes;

  explicit guarded_table(table_view const& t);

  /// Valid as long as this object is, and the names and charges of the table it was made from.
  table_view view() const noexcept;

  /// What extent `e` of the view is.
  guarded_extent const& what(std::int32_t e) const { return originals_[index(e)]; }

 private:
  static std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }
  void add(extent const& e, guarded_extent of);

  table_view rest_;
  std::vector<extent> extents_;
  std::vector<guarded_extent> originals_;
  std::vector<pool> pools_;
};

}  // namespace allot::runtime
