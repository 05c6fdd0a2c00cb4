// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/table/pool_table.hpp>

#include <cstdint>
#include <vector>

namespace allot::runtime {

/// A table with a canary extent before, between and behind the extents of each pool, so that the
/// walk that prices and places a table prices and places its canaries too. An array of its own is
/// followed by one of 256 bytes; rows that share page blocks or expert slots by 16 bytes for each
/// of them, in every page and slot.
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

  /// Index of the same extent in the table it was made from; -1 for a canary.
  std::int32_t original(std::int32_t index) const {
    return originals_[static_cast<std::size_t>(index)];
  }

 private:
  table_view rest_;
  std::vector<extent> extents_;
  std::vector<std::int32_t> originals_;
  std::vector<pool> pools_;
};

}  // namespace allot::runtime
