// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/core/result.hpp>
#include <allot/plan/admission.hpp>
#include <allot/runtime/page_fault.hpp>
#include <allot/runtime/page_ids.hpp>
#include <allot/runtime/page_set.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace allot::runtime {

/// A page its holder may write to.
struct writable_page {
  page_id page = no_page;
  page_id copy_from = no_page;  ///< its tokens are still there: copy them; `no_page`: nothing to do

  friend constexpr bool operator==(writable_page, writable_page) = default;
};

/// Hands out the pages of one pool by number: the lowest free one first, sentinels never, so that
/// what is in use stays low and the top of the pool can be given away. Pages are counted by
/// reference: requests with a common prefix share its pages, and a page is free again when the last
/// of them releases it.
///
/// It knows numbers only; the memory is elsewhere. Every operation does all of what it says, or
/// returns a `page_fault` and changes nothing. None allocates memory. Not thread-safe. One that was
/// moved from may only be assigned to or destroyed.
///
///     page_allocator pages{attention.paging(), plan.pages};
///     auto const page = pages.allocate();
///     if (!page) { wait_or_evict(page.error.needed, page.error.available); }
///
/// A plan's `pages` are the anchor's. Another pool of the table is given `share_of(table, plan,
/// i)`:
///
///     page_allocator draft{mla.paging(), usable_pages{share_of(table, plan, 1).usable}};
///
/// \cost  4 B + 1 bit a page on the host; an operation on one page is O(1), now and then O(levels)
class page_allocator {
 public:
  /// \param policy  that the pool was priced with
  /// \param usable  pages requests can be given: a plan's `pages`; ids and counts must be int32
  /// \errors        std::invalid_argument, std::bad_alloc
  page_allocator(paging policy, usable_pages usable, sentinel_side side = sentinel_side::front);

  // Two allocators that hand out the same pages are never what somebody wants.
  page_allocator(page_allocator const&) = delete;
  page_allocator& operator=(page_allocator const&) = delete;
  page_allocator(page_allocator&&) noexcept = default;
  page_allocator& operator=(page_allocator&&) noexcept = default;
  ~page_allocator() = default;

  page_ids const& pool() const noexcept { return pool_; }
  std::int64_t page_tokens() const noexcept { return pool_.policy.page_tokens; }
  usable_pages usable() const noexcept { return pool_.usable; }
  usable_pages free_pages() const noexcept { return {free_.count()}; }
  usable_pages used_pages() const noexcept { return {pool_.usable.count - free_.count()}; }

  /// References of `page`; 0 when it is free or none of this pool's.
  std::int64_t references(page_id page) const noexcept {
    return is_foreign(page) ? 0 : references_[index(page)];
  }

  /// The highest page in use, or `no_page`: everything above could be given away at once.
  ///
  /// \cost  O(1) for each 64 free pages at the top
  page_id highest_in_use() const noexcept;

  /// Whether a request of `input` + `output` tokens can be served when nobody else is: if not,
  /// refuse it, it would wait for ever. The question the planner asks, of the pages it planned.
  ///
  /// \returns  the pages it takes when fully generated, or pages needed and available
  result<usable_pages, admission_refusal> can_serve(tokens input, tokens output) const {
    return allot::can_serve(pool_.policy, usable(), input, output);
  }

  /// Whether its pages are free at this moment: if not, it may wait.
  result<usable_pages, admission_refusal> can_serve_now(tokens input, tokens output) const {
    return allot::can_serve(pool_.policy, free_pages(), input, output);
  }

  /// The lowest free page, with one reference.
  ///
  /// \errors  exhausted
  result<page_id, page_fault> allocate() noexcept {
    page_id const page = free_.take_first();
    if (page == page_set::none) { return failed<page_id>(exhausted(1)); }
    references_[index(page)] = 1;
    return result<page_id, page_fault>::success(page);
  }

  /// The lowest free pages, ascending, with one reference each.
  ///
  /// \param out  [pages to allocate]; as it was, on an error
  /// \returns    pages still free
  /// \errors     exhausted
  result<usable_pages, page_fault> allocate(std::span<page_id> out) noexcept;

  /// Adds references to a page in use.
  ///
  /// \returns  references it has now
  /// \errors   foreign_page, not_allocated, too_many_references
  result<std::int64_t, page_fault> share(page_id page, std::uint32_t more = 1) noexcept {
    if (is_foreign(page)) { return failed<std::int64_t>(fault(page_error::foreign_page, page)); }
    std::uint32_t& count = references_[index(page)];
    if (count == 0) { return failed<std::int64_t>(fault(page_error::not_allocated, page)); }
    if (more > UINT32_MAX - count) {
      return failed<std::int64_t>(fault(page_error::too_many_references, page, count));
    }
    count += more;
    return result<std::int64_t, page_fault>::success(count);
  }

  /// Adds one reference to each of `pages`: a prefix that one more request starts with.
  ///
  /// \returns  how many they are
  /// \errors   foreign_page, not_allocated, too_many_references
  result<usable_pages, page_fault> share(std::span<page_id const> pages) noexcept;

  /// Drops references; without any, the page is free.
  ///
  /// \returns  references left
  /// \errors   foreign_page, not_allocated (a double free), over_released
  result<std::int64_t, page_fault> release(page_id page, std::uint32_t less = 1) noexcept {
    if (is_foreign(page)) { return failed<std::int64_t>(fault(page_error::foreign_page, page)); }
    std::uint32_t& count = references_[index(page)];
    if (count == 0) { return failed<std::int64_t>(fault(page_error::not_allocated, page)); }
    if (less > count) {
      return failed<std::int64_t>(fault(page_error::over_released, page, count));
    }
    count -= less;
    if (count == 0) { free_.insert(page); }
    return result<std::int64_t, page_fault>::success(count);
  }

  /// Drops one reference for each entry; a page may be there as often as it has references.
  ///
  /// \returns  pages that became free
  /// \errors   foreign_page, not_allocated, over_released: more often than it has references
  result<usable_pages, page_fault> release(std::span<page_id const> pages) noexcept;

  /// What the holder of one reference to `page` needs before it writes: the page itself when nobody
  /// else holds it, else a new page, for which the reference to the old one is dropped.
  ///
  /// \errors  foreign_page, not_allocated, exhausted
  result<writable_page, page_fault> make_writable(page_id page) noexcept {
    using outcome = result<writable_page, page_fault>;
    if (is_foreign(page)) { return outcome::failure(fault(page_error::foreign_page, page)); }
    std::uint32_t& count = references_[index(page)];
    if (count == 0) { return outcome::failure(fault(page_error::not_allocated, page)); }
    if (count == 1) { return outcome::success({page, no_page}); }
    auto const fresh = allocate();
    if (!fresh) { return outcome::failure(fresh.error); }
    --count;
    return outcome::success({*fresh, page});
  }

 private:
  // By unsigned distance, so that no id can wrap into the pool.
  bool is_foreign(page_id page) const noexcept {
    return static_cast<std::uint32_t>(page) - static_cast<std::uint32_t>(pool_.first()) >=
           references_.size();
  }
  std::size_t index(page_id page) const noexcept {
    return static_cast<std::uint32_t>(page) - static_cast<std::uint32_t>(pool_.first());
  }

  page_fault exhausted(std::size_t pages) const noexcept {
    return {.code = page_error::exhausted,
            .needed = {static_cast<std::int64_t>(pages)},
            .available = free_pages()};
  }
  static page_fault fault(page_error code, page_id page, std::int64_t references = 0) noexcept {
    return {.code = code, .page = page, .references = references};
  }
  template <class T>
  static result<T, page_fault> failed(page_fault const& why) noexcept {
    return result<T, page_fault>::failure(why);
  }

  page_ids pool_;
  page_set free_;                          // physical ids; sentinels are never in
  std::vector<std::uint32_t> references_;  // [usable pages], from the first that is handed out
};

}  // namespace allot::runtime
