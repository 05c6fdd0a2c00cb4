// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/policy/sentinel.hpp>

#include <cstdint>

namespace allot::runtime {

/// The number of a physical page: what block tables hold and kernels multiply by the page stride.
using page_id = std::int32_t;

inline constexpr page_id no_page = -1;

/// Where the sentinel pages of a pool lie.
enum class sentinel_side : std::uint8_t {
  front,  ///< ids [0, s); requests get [s, s + n)
  back,   ///< ids [n, n + s); requests get [0, n)
};

/// Which ids of a pool are whose: what a plan's `paging` and usable pages say, as numbers of pages.
struct page_ids {
  paging policy{};
  usable_pages usable{};  ///< pages requests can be given: a plan's `pages`
  sentinel_side side = sentinel_side::front;

  /// Whether the counts are counts and every id is an int32. What follows requires it.
  constexpr bool valid() const {
    auto const all = policy.physical(usable);
    return policy.page_tokens >= 1 && policy.sentinel_pages >= 0 && usable.count >= 0 &&
           all <= physical_pages{INT32_MAX};
  }

  /// Pages to allocate memory for.
  ///
  /// \ensures  physical == usable + sentinel
  constexpr physical_pages physical() const { return *policy.physical(usable); }

  /// The ids that are handed out are [first, end).
  constexpr page_id first() const {
    return side == sentinel_side::front ? static_cast<page_id>(policy.sentinel_pages) : 0;
  }
  constexpr page_id end() const { return first() + static_cast<page_id>(usable.count); }

  /// Whether a request can be given `page`: a page of the pool, and no sentinel.
  constexpr bool hands_out(page_id page) const { return first() <= page && page < end(); }

  /// The page that padding writes to and unused table columns name: the first sentinel. A pool
  /// without sentinels has none, and `no_page` writes nothing.
  constexpr page_id padding() const {
    if (policy.sentinel_pages == 0) { return no_page; }
    return side == sentinel_side::front ? 0 : end();
  }

  friend constexpr bool operator==(page_ids, page_ids) = default;
};

}  // namespace allot::runtime
