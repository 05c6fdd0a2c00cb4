// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/runtime/page_ids.hpp>

#include <cstdint>
#include <string>

namespace allot::runtime {

enum class table_error : std::uint8_t {
  bad_row,          ///< there is no such row
  bad_column,       ///< the row has no page there
  row_full,         ///< more pages than the table has columns
  foreign_page,     ///< the id is no page of the pool, or a sentinel
  beyond_capacity,  ///< a number of tokens below 0, or more than the row's pages hold
  repeated_row,     ///< slot_mapping: a row comes twice in one batch
  batch_full,       ///< slot_mapping: more tokens than the batch has room for
};

/// Why an operation on a block table, or the mapping of a batch, was refused. Then nothing has
/// changed.
struct table_fault {
  table_error code = table_error::bad_row;
  std::int64_t row = 0;
  std::int64_t column = 0;  ///< bad_column, foreign_page
  page_id page = no_page;   ///< foreign_page
  std::int64_t asked = 0;   ///< row_full: pages; beyond_capacity, batch_full: tokens
  std::int64_t limit = 0;   ///< rows, pages or tokens there are, in the unit of what was asked

  friend bool operator==(table_fault const&, table_fault const&) = default;
};

/// One sentence with the numbers: "row 3 cannot reach 130 tokens, its pages hold 128".
std::string describe(table_fault const& fault);

}  // namespace allot::runtime
