// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/core/rounding.hpp>

#include <cstdint>

namespace allot {

/// The independent counts of a plan: everything else is a function of these.
struct counts {
  std::int64_t anchor_pages = 0;     ///< usable pages of the anchor pool, kv[0]
  std::int64_t anchor_physical = 0;  ///< the same and the anchor's sentinels
  std::int64_t expert_slots = 0;     ///< experts resident
  std::int64_t state_slots = 0;      ///< usable recurrent-state slots
};

// g++ 12 counts a scoped enumerator as shadowing a type of its name.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"

/// What a rule counts from.
enum class rows_of : std::uint8_t {
  anchor_pages,     ///< usable ones
  anchor_physical,  ///< usable and sentinel ones
  expert_slots,
  state_slots,
  extent,  ///< the rows of an earlier extent of the same pool: `rows_rule::extent_index`
};

#pragma GCC diagnostic pop

/// Rows of an extent as data, so that one walk can price, prove, lay out and allocate it:
///
///     rows = min(max(round(ratio * (mul * x)) / per, at_least), at_most, rows of an extent) + plus
///
/// and never below 0, where x is the count named by `of`. Monotone in every count, so a sum of such
/// rows has an exact inverse by search. These fields express every pool family known to us:
///
///     a pool's pages   {.plus = sentinel}
///     a 2nd pool       {.mul = P, .per = P2, .per_rounding = up, .plus = sentinel}
///     sliding window   {.of = anchor_physical, .mul = P, .ratio = r, .at_least = floor, .plus = 1}
///     its map          {.of = anchor_physical, .mul = P, .plus = P + 1}
///     its free list    {.of = extent, .extent_index = 0, .plus = -1}
///     a constant       {.mul = 0, .at_least = rows}
struct rows_rule {
  rows_of of = rows_of::anchor_pages;
  std::int32_t extent_index = -1;            ///< for `of == extent`: index within the pool
  std::int64_t mul = 1;                      ///< multiplies x                           [>= 0]
  double ratio = 1.0;                        ///< one IEEE product with the exact mul * x
  rounding ratio_rounding = rounding::down;  ///< how that product is rounded
  std::int64_t per = 1;                      ///< divides                                [>= 1]
  rounding per_rounding = rounding::down;    ///< down or up
  std::int64_t at_least = 0;                 ///< rows
  std::int64_t at_most = unlimited;          ///< rows
  std::int32_t at_most_rows_of = -1;         ///< never more rows than this earlier extent
  std::int64_t plus = 0;                     ///< rows after the clamp: sentinel, scratch
};

}  // namespace allot
