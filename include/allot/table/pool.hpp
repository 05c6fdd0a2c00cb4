// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/policy/arrangement.hpp>
#include <allot/policy/sentinel.hpp>
#include <allot/table/extent.hpp>
#include <allot/table/fault.hpp>

#include <cstdint>

namespace allot {

// g++ 12 counts a scoped enumerator as shadowing a type of its name.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"

/// What a pool's counts are counted in.
enum class pool_unit : std::uint8_t { pages, tokens, slots };

#pragma GCC diagnostic pop

/// One pool of the table: a run of extents, and how to read its usable and physical counts.
/// The first extent of a pool is the one whose rows are its physical count.
struct pool {
  text name{};    ///< the request's name for it, or the family's
  text family{};  ///< "raw", "gqa", "mla", "state", "experts"
  pool_unit unit = pool_unit::pages;
  std::int64_t page_tokens = 1;   ///< tokens per page; 1 for slots
  std::int64_t sentinel = 0;      ///< rows of the first extent that are never handed out
  std::int32_t first_extent = 0;  ///< index into the table's extents
  std::int32_t extents = 0;       ///< how many follow
};

/// What a family lowers to: its pool (extents counted from 0) or what is wrong with it.
struct lowered {
  allot::pool pool{};
  fault found{};
  text stride_field = "page_tokens";  ///< the field that aligns a page of it in a page_major arena
};

/// What a family may ask about the table it is lowered into.
struct lowering {
  std::int32_t index = 0;               ///< position among `kv`; 0 is the anchor
  std::int64_t anchor_page_tokens = 1;  ///< page tokens of kv[0]
  allot::arrangement arrangement = allot::arrangement::flat;

  /// Whether layers have arrays of their own, as copies of one extent; else one array holds all.
  constexpr bool by_layer() const { return arrangement != allot::arrangement::flat; }
};

/// Rows of a paged pool's pages: as many as hold the anchor's tokens, and the sentinels.
constexpr rows_rule page_rows(paging const& own, lowering const& in) {
  rows_rule rule{.plus = own.sentinel_pages};
  if (in.index > 0 && own.page_tokens != in.anchor_page_tokens) {
    rule.mul = in.anchor_page_tokens;
    rule.per = own.page_tokens;
    rule.per_rounding = rounding::up;
  }
  return rule;
}

}  // namespace allot
