// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/core/view.hpp>
#include <allot/table/rows_rule.hpp>

#include <cstdint>

namespace allot {

/// One row of the table: `copies` equal arrays of `rows` rows of `row_bytes` bytes.
struct extent {
  text name{};                 ///< within its pool, e.g. "rows", "index slab"
  std::int64_t row_bytes = 0;  ///< bytes of one row                                      [>= 0]
  rows_rule rows{};            ///< how many rows a plan gives it
  std::int64_t copies = 1;     ///< equal arrays, each rounded to the granularity by itself [>= 0]
};

/// Rows of `pool[k]` when the plan's counts are `at`.
///
/// \param pool  the extents of one pool, in order       [> k]
/// \requires    rules refer to earlier extents only (`is_well_formed`)
constexpr checked rows(extent const* pool, std::int64_t k, counts const& at) {
  rows_rule const& rule = pool[k].rows;
  checked x{};
  switch (rule.of) {
    case rows_of::anchor_pages: x = at.anchor_pages; break;
    case rows_of::anchor_physical: x = at.anchor_physical; break;
    case rows_of::expert_slots: x = at.expert_slots; break;
    case rows_of::state_slots: x = at.state_slots; break;
    case rows_of::extent: x = rows(pool, rule.extent_index, at); break;
  }
  if (rule.mul != 1) { x = x * rule.mul; }
  if (rule.ratio != 1.0) { x = scale(rule.ratio, x, rule.ratio_rounding); }
  if (x.overflowed) { return x; }
  if (rule.per != 1) {
    x.value = rule.per_rounding == rounding::up ? divide_up(x.value, rule.per) : x.value / rule.per;
  }
  if (x.value < rule.at_least) { x.value = rule.at_least; }
  if (x.value > rule.at_most) { x.value = rule.at_most; }
  if (rule.at_most_rows_of >= 0) {
    checked const bound = rows(pool, rule.at_most_rows_of, at);
    if (bound < x) { x = bound; }
  }
  if (rule.plus == 0) { return x; }
  x = x + rule.plus;
  if (x.value < 0) { x.value = 0; }  // a free list of an empty pool
  return x;
}

/// Bytes of one of the `copies` arrays of `pool[k]`.
constexpr checked array_bytes(extent const* pool, std::int64_t k, counts const& at,
                              std::int64_t granularity) {
  return round_up(rows(pool, k, at) * pool[k].row_bytes, granularity);
}

/// Whether a rule can be evaluated: it looks back, never forward, and nothing divides by zero.
///
/// \param k  the extent's own index within its pool
constexpr bool is_well_formed(extent const& e, std::int64_t k) {
  rows_rule const& r = e.rows;
  bool const looks_back = r.of != rows_of::extent || (r.extent_index >= 0 && r.extent_index < k);
  return looks_back && r.at_most_rows_of < k && r.per >= 1 && r.mul >= 0 && r.ratio >= 0 &&
         r.at_least >= 0 && r.at_most >= 0 && e.row_bytes >= 0 && e.copies >= 0;
}

/// Whether a rule counts from what its pool is priced by: `counted`, or nothing that varies.
constexpr bool counts_from(extent const& e, rows_of counted) {
  rows_of const of = e.rows.of;
  bool const anchored = of == rows_of::anchor_pages || of == rows_of::anchor_physical;
  if (of == rows_of::extent || e.rows.mul == 0) { return true; }
  return counted == rows_of::anchor_pages ? anchored : of == counted;
}

/// Whole rows per counted thing, no ratio, no clamp: the rows are a line in that count.
constexpr bool is_proportional_to(rows_of counted, extent const& e) {
  rows_rule const& r = e.rows;
  return r.of == counted && r.mul > 0 && r.ratio == 1.0 && r.mul % r.per == 0 && r.at_least == 0 &&
         r.at_most == unlimited && r.at_most_rows_of < 0 && r.plus >= 0;
}

/// Rows of each physical page of the anchor, if an extent has exactly so many for every plan; else
/// 0. Such an extent joins the page block of a page_major arena. Derived from the rule, never
/// declared.
///
/// \param anchor_sentinels  sentinel pages of the anchor
constexpr std::int64_t rows_per_page(extent const& e, std::int64_t anchor_sentinels) {
  rows_rule const& r = e.rows;
  std::int64_t const each = r.mul / r.per;
  if (is_proportional_to(rows_of::anchor_physical, e)) { return r.plus == 0 ? each : 0; }
  bool const exact = is_proportional_to(rows_of::anchor_pages, e) &&
                     checked{each} * anchor_sentinels == checked{r.plus};
  return exact ? each : 0;
}

/// Rows of each expert slot, if an extent has exactly so many for every plan; else 0.
constexpr std::int64_t rows_per_slot(extent const& e) {
  bool const exact = is_proportional_to(rows_of::expert_slots, e) && e.rows.plus == 0;
  return exact ? e.rows.mul / e.rows.per : 0;
}

}  // namespace allot
