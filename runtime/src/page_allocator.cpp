// SPDX-License-Identifier: Apache-2.0
#include <allot/runtime/page_allocator.hpp>

#include <stdexcept>

namespace allot::runtime {

namespace {

page_ids checked_pool(page_ids const& pool) {
  if (!pool.valid()) {
    throw std::invalid_argument(
        "page_allocator: " + std::to_string(pool.usable.count) + " usable and " +
        std::to_string(pool.policy.sentinel_pages) + " sentinel pages of " +
        std::to_string(pool.policy.page_tokens) +
        " tokens; counts start at 0, tokens at 1, and all pages together are at most 2147483647");
  }
  return pool;
}

}  // namespace

page_allocator::page_allocator(paging policy, usable_pages usable, sentinel_side side)
    : pool_{checked_pool({policy, usable, side})},
      free_{pool_.physical().count},
      references_(static_cast<std::size_t>(usable.count)) {
  free_.insert_range(pool_.first(), pool_.end());
}

page_id page_allocator::highest_in_use() const noexcept {
  page_id const page = free_.highest_absent(pool_.end());
  return page < pool_.first() ? no_page : page;
}

result<usable_pages, page_fault> page_allocator::allocate(std::span<page_id> out) noexcept {
  if (out.size() > static_cast<std::size_t>(free_.count())) {
    return failed<usable_pages>(exhausted(out.size()));
  }
  free_.take_lowest(out.data(), static_cast<std::int32_t>(out.size()));
  for (page_id const page : out) {
    references_[index(page)] = 1;
  }
  return result<usable_pages, page_fault>::success(free_pages());
}

result<usable_pages, page_fault> page_allocator::share(std::span<page_id const> pages) noexcept {
  for (std::size_t i = 0; i < pages.size(); ++i) {
    auto const shared = share(pages[i]);
    if (shared) { continue; }
    page_fault why = shared.error;
    why.index = static_cast<std::int64_t>(i);
    while (i > 0) {
      --i;
      --references_[index(pages[i])];
    }
    if (why.code == page_error::too_many_references) { why.references = references(why.page); }
    return failed<usable_pages>(why);
  }
  return result<usable_pages, page_fault>::success({static_cast<std::int64_t>(pages.size())});
}

result<usable_pages, page_fault> page_allocator::release(std::span<page_id const> pages) noexcept {
  // The counts themselves find an entry too many: they are dropped first, and put back on a fault.
  for (std::size_t i = 0; i < pages.size(); ++i) {
    page_id const page = pages[i];
    bool const foreign = is_foreign(page);
    if (!foreign && references_[index(page)] > 0) {
      --references_[index(page)];
      continue;
    }
    page_fault why = fault(foreign ? page_error::foreign_page : page_error::not_allocated, page);
    why.index = static_cast<std::int64_t>(i);
    while (i > 0) {
      --i;
      ++references_[index(pages[i])];
    }
    why.references = references(page);
    if (why.references > 0) { why.code = page_error::over_released; }
    return failed<usable_pages>(why);
  }
  std::int64_t freed = 0;
  for (page_id const page : pages) {
    if (references_[index(page)] == 0 && free_.insert(page)) { ++freed; }
  }
  return result<usable_pages, page_fault>::success({freed});
}

std::string describe(page_fault const& fault) {
  std::string const page = "page " + std::to_string(fault.page);
  switch (fault.code) {
    case page_error::exhausted:
      return "needs " + std::to_string(fault.needed.count) + " pages, " +
             std::to_string(fault.available.count) + " are free";
    case page_error::foreign_page: return page + " is none that this pool hands out";
    case page_error::not_allocated:
      return page + " is not in use: released twice, or never allocated";
    case page_error::over_released:
      return page + " is released more often than its references, " +
             std::to_string(fault.references);
    case page_error::too_many_references:
      return page + " has " + std::to_string(fault.references) +
             " references, and their count would wrap";
  }
  return "unknown fault";
}

}  // namespace allot::runtime
