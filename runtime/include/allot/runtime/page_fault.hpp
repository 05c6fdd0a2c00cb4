// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/runtime/page_ids.hpp>

#include <cstdint>
#include <string>

namespace allot::runtime {

enum class page_error : std::uint8_t {
  exhausted,            ///< fewer pages are free than were asked for
  foreign_page,         ///< the id is no page of this pool, or a sentinel
  not_allocated,        ///< nobody holds the page: freed twice, or never allocated
  over_released,        ///< more references would be dropped than the page has
  too_many_references,  ///< the count of references would wrap
};

/// Why an operation of a page_allocator was refused. Then nothing has changed.
struct page_fault {
  page_error code = page_error::exhausted;
  page_id page = no_page;       ///< the page refused; none when exhausted
  std::int64_t index = 0;       ///< its position in the batch; 0 for a single page
  std::int64_t references = 0;  ///< what the page has: over_released, too_many_references
  usable_pages needed{};        ///< exhausted: pages asked for
  usable_pages available{};     ///< exhausted: pages free

  friend bool operator==(page_fault const&, page_fault const&) = default;
};

/// One sentence with the numbers: "needs 5 pages, 3 are free".
std::string describe(page_fault const& fault);

}  // namespace allot::runtime
