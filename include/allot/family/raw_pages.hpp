// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/family/family.hpp>

namespace allot {

/// Pages of a stated size: whatever an engine keeps by the page, priced by somebody else.
struct raw_pages {
  static constexpr std::int32_t max_extents = 1;

  allot::bytes page_bytes{};        ///< bytes of one page, all layers                    [>= 1]
  std::int64_t page_tokens = 1;     ///< tokens per page                                  [>= 1]
  std::int64_t sentinel_pages = 1;  ///< pages never handed out                           [>= 0]
  text name = "raw";

  constexpr allot::paging paging() const { return {page_tokens, sentinel_pages}; }

  constexpr lowered lower(lowering const& in, extent* out) const {
    fault_check check{"kv", in.index};
    check.positive("page_bytes", page_bytes.count);
    check.positive("page_tokens", page_tokens);
    check.not_negative("sentinel_pages", sentinel_pages);
    if (!check.ok()) { return {.found = check.found}; }
    out[0] = {.name = "rows", .row_bytes = page_bytes.count, .rows = page_rows(paging(), in)};
    return {.pool = {.name = name,
                     .family = "raw",
                     .page_tokens = page_tokens,
                     .sentinel = sentinel_pages,
                     .extents = 1},
            .stride_field = "page_bytes"};
  }
};
static_assert(describes_pool_family<raw_pages>);

}  // namespace allot
