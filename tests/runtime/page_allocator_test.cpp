// SPDX-License-Identifier: Apache-2.0
#include <allot/runtime/page_allocator.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <span>
#include <stdexcept>
#include <vector>

// Examples of every operation and every fault, and the laws: what is handed out is what was
// planned, and admission says yes exactly when a fresh pool can.

using namespace allot::runtime;
using allot::paging;
using allot::tokens;
using allot::usable_pages;

namespace {

/// All that can be seen of an allocator; on a fault it must be as before.
struct snapshot {
  std::vector<std::int64_t> references;
  std::int64_t free = 0;
  page_id highest = no_page;

  explicit snapshot(page_allocator const& pages)
      : free{pages.free_pages().count}, highest{pages.highest_in_use()} {
    for (page_id page = 0; page < pages.pool().physical().count; ++page) {
      references.push_back(pages.references(page));
    }
  }
  friend bool operator==(snapshot const&, snapshot const&) = default;
};

page_id take(page_allocator& pages) {
  auto const page = pages.allocate();
  REQUIRE(page);
  return *page;
}

page_fault foreign(page_id page, std::int64_t index = 0) {
  return {.code = page_error::foreign_page, .page = page, .index = index};
}

page_fault not_allocated(page_id page, std::int64_t index = 0) {
  return {.code = page_error::not_allocated, .page = page, .index = index};
}

using ids = std::vector<page_id>;

}  // namespace

TEST_CASE("the lowest page first, and never a sentinel") {
  page_allocator front{paging{16, 2}, {3}};
  CHECK(take(front) == 2);
  CHECK(take(front) == 3);
  CHECK(take(front) == 4);
  CHECK_FALSE(front.allocate());
  CHECK(front.release(3).ok);
  CHECK(front.release(2).ok);
  CHECK(take(front) == 2);

  page_allocator back{paging{16, 2}, {3}, sentinel_side::back};
  CHECK(take(back) == 0);
  CHECK(take(back) == 1);
  CHECK(take(back) == 2);
  CHECK_FALSE(back.allocate());
  CHECK(back.pool().padding() == 3);
  CHECK(front.pool().padding() == 0);
  CHECK(page_ids{{16, 0}, {3}}.padding() == no_page);
}

TEST_CASE("what is handed out is what was planned, for every small pool") {
  int pools = 0;
  for (std::int64_t usable = 0; usable <= 200; ++usable) {
    for (std::int64_t sentinels = 0; sentinels <= 3; ++sentinels) {
      for (auto const side : {sentinel_side::front, sentinel_side::back}) {
        page_allocator pages{paging{1, sentinels}, {usable}, side};
        REQUIRE(pages.usable() == usable_pages{usable});
        REQUIRE(pages.pool().physical().count == usable + sentinels);
        std::int64_t const first = side == sentinel_side::front ? sentinels : 0;
        bool right = true;
        for (std::int64_t i = 0; i < usable; ++i) {
          auto const page = pages.allocate();
          right = right && page && *page == first + i && pages.used_pages().count == i + 1;
          right = right && pages.highest_in_use() == *page;
        }
        REQUIRE(right);
        auto const refused = pages.allocate();
        REQUIRE_FALSE(refused);
        REQUIRE(refused.error ==
                page_fault{.code = page_error::exhausted, .needed = {1}, .available = {0}});
        ++pools;
      }
    }
  }
  CHECK(pools == 201 * 4 * 2);
}

TEST_CASE("counts that are no counts, and ids beyond int32, are refused") {
  auto const refuses = [](paging policy, std::int64_t usable) {
    CHECK_THROWS_AS((page_allocator{policy, {usable}}), std::invalid_argument);
  };
  refuses({16, 1}, -1);
  refuses({16, -1}, 10);
  refuses({0, 1}, 10);
  refuses({16, 1}, INT32_MAX);
  refuses({16, INT64_MAX}, INT64_MAX);
  CHECK(page_ids{{16, 1}, {INT32_MAX - 1}}.valid());
  CHECK(page_ids{{16, 1}, {INT32_MAX - 1}, sentinel_side::back}.padding() == INT32_MAX - 1);
}

TEST_CASE("a shared page is free when the last holder releases it") {
  page_allocator pages{paging{16, 1}, {4}};
  page_id const page = take(pages);
  CHECK(pages.references(page) == 1);
  CHECK(pages.share(page).value == 2);
  CHECK(pages.share(page, 3).value == 5);
  CHECK(pages.release(page).value == 4);
  CHECK(pages.release(page, 3).value == 1);
  CHECK(pages.free_pages() == usable_pages{3});
  CHECK(pages.release(page).value == 0);
  CHECK(pages.free_pages() == usable_pages{4});
  CHECK(pages.references(page) == 0);
  CHECK(take(pages) == page);
  CHECK(pages.references(page) == 1);
}

TEST_CASE("faults of one page, and that nothing changes") {
  for (auto const side : {sentinel_side::front, sentinel_side::back}) {
    page_allocator pages{paging{16, 2}, {5}, side};
    page_id const first = take(pages);
    page_id const second = take(pages);
    REQUIRE(pages.share(second));
    page_id const free = second + 1;
    snapshot const before{pages};

    for (page_id const page : {pages.pool().padding(), pages.pool().first() - 1, pages.pool().end(),
                               page_id{7}, no_page, page_id{INT32_MIN}, page_id{INT32_MAX}}) {
      CAPTURE(page);
      CHECK(pages.share(page).error == foreign(page));
      CHECK(pages.release(page).error == foreign(page));
      CHECK(pages.make_writable(page).error == foreign(page));
      CHECK(pages.references(page) == 0);
    }
    CHECK(pages.share(free).error == not_allocated(free));
    CHECK(pages.release(free).error == not_allocated(free));
    CHECK(pages.make_writable(free).error == not_allocated(free));
    CHECK(pages.release(second, 3).error ==
          page_fault{.code = page_error::over_released, .page = second, .references = 2});
    CHECK(pages.share(first, UINT32_MAX).error ==
          page_fault{.code = page_error::too_many_references, .page = first, .references = 1});
    CHECK(snapshot{pages} == before);
    CHECK(pages.share(first, UINT32_MAX - 1).value == INT64_C(0xffffffff));
    CHECK(pages.release(first, UINT32_MAX).value == 0);
    CHECK(pages.release(first).error == not_allocated(first));  // twice
  }
}

TEST_CASE("a batch is allocated whole or not at all") {
  page_allocator pages{paging{16, 1}, {5}};
  ids four(4, -9);
  CHECK(pages.allocate(std::span{four}).value == usable_pages{1});
  CHECK(four == ids{1, 2, 3, 4});
  REQUIRE(pages.release(2));
  snapshot const before{pages};
  ids three(3, -9);
  auto const refused = pages.allocate(std::span{three});
  CHECK(refused.error ==
        page_fault{.code = page_error::exhausted, .needed = {3}, .available = {2}});
  CHECK(three == ids{-9, -9, -9});
  CHECK(snapshot{pages} == before);
  ids two(2);
  CHECK(pages.allocate(std::span{two}).value == usable_pages{0});
  CHECK(two == ids{2, 5});
  CHECK(pages.allocate(std::span<page_id>{}).ok);
}

TEST_CASE("a batch is released whole or not at all") {
  page_allocator pages{paging{16, 1}, {6}};
  ids all(4);
  REQUIRE(pages.allocate(std::span{all}));
  REQUIRE(pages.share(2));
  snapshot const before{pages};
  auto const refused = [&](ids const& batch, page_fault const& why) {
    auto const answer = pages.release(std::span{batch});
    CHECK_FALSE(answer);
    CHECK(answer.error == why);
    CHECK(snapshot{pages} == before);
  };
  refused({1, 2, 0}, foreign(0, 2));  // the sentinel
  refused({1, 2, 7}, foreign(7, 2));
  refused({1, 2, 5, 3}, not_allocated(5, 2));
  refused({1, 3, 1}, {.code = page_error::over_released, .page = 1, .index = 2, .references = 1});
  refused({2, 1, 2, 2},
          {.code = page_error::over_released, .page = 2, .index = 3, .references = 2});

  CHECK(pages.release(std::span<page_id const>{ids{2, 1, 2}}).value == usable_pages{2});
  CHECK(pages.references(2) == 0);
  CHECK(pages.free_pages() == usable_pages{4});
  CHECK(take(pages) == 1);
  CHECK(take(pages) == 2);
}

TEST_CASE("a prefix is shared whole or not at all") {
  page_allocator pages{paging{16, 1}, {6}};
  ids prefix(3);
  REQUIRE(pages.allocate(std::span{prefix}));
  CHECK(pages.share(std::span<page_id const>{prefix}).value == usable_pages{3});
  CHECK(pages.references(1) == 2);
  REQUIRE(pages.share(3, UINT32_MAX - 3));
  snapshot const before{pages};
  auto const refused = [&](ids const& batch, page_fault const& why) {
    CHECK(pages.share(std::span{batch}).error == why);
    CHECK(snapshot{pages} == before);
  };
  refused({1, 2, 0}, foreign(0, 2));
  refused({1, 4}, not_allocated(4, 1));
  refused({3, 1, 3}, {.code = page_error::too_many_references,
                      .page = 3,
                      .index = 2,
                      .references = INT64_C(0xfffffffe)});
}

TEST_CASE("a shared page is copied before it is written to") {
  page_allocator pages{paging{16, 1}, {3}};
  page_id const page = take(pages);
  CHECK(pages.make_writable(page).value == writable_page{page, no_page});
  REQUIRE(pages.share(page, 2));
  CHECK(pages.make_writable(page).value == writable_page{2, page});
  CHECK(pages.references(page) == 2);
  CHECK(pages.references(2) == 1);
  CHECK(pages.make_writable(page).value == writable_page{3, page});
  CHECK(pages.make_writable(page).value == writable_page{page, no_page});  // the last holder

  REQUIRE(pages.share(page));
  snapshot const before{pages};
  CHECK(pages.make_writable(page).error ==
        page_fault{.code = page_error::exhausted, .needed = {1}, .available = {0}});
  CHECK(snapshot{pages} == before);
}

TEST_CASE("admission says yes exactly when a fresh pool can, and now exactly when this one can") {
  int served = 0;
  int refused = 0;
  int later = 0;
  for (std::int64_t page_tokens = 1; page_tokens <= 5; ++page_tokens) {
    for (std::int64_t usable = 0; usable <= 7; ++usable) {
      for (std::int64_t held = 0; held <= usable; ++held) {
        for (std::int64_t input = 0; input <= 30; ++input) {
          std::int64_t const output = (input * 7) % 12;
          paging const policy{page_tokens, 1};
          page_allocator pages{policy, {usable}};
          ids const nobody(static_cast<std::size_t>(held));
          ids others = nobody;
          REQUIRE(pages.allocate(std::span{others}));

          // Token by token, as a request grows: a page whenever the last one is full.
          auto const serve = [&](page_allocator& from) {
            for (std::int64_t t = 0; t < input + output; ++t) {
              if (t % page_tokens == 0 && !from.allocate()) { return false; }
            }
            return true;
          };
          auto const ever = pages.can_serve({input}, {output});
          auto const now = pages.can_serve_now({input}, {output});
          page_allocator fresh{policy, {usable}};
          REQUIRE(ever.ok == serve(fresh));
          REQUIRE(now.ok == serve(pages));
          if (ever) { REQUIRE(*ever == fresh.used_pages()); }
          ++(now ? served : ever ? later : refused);
        }
      }
    }
  }
  CHECK(served > 500);
  CHECK(later > 500);
  CHECK(refused > 500);
  page_allocator pages{paging{16, 1}, {10}};
  auto const never = pages.can_serve({INT64_MAX}, {1});
  CHECK_FALSE(never);
  CHECK(never.error.available == usable_pages{10});
}

TEST_CASE("faults in words") {
  CHECK(describe({.code = page_error::exhausted, .needed = {5}, .available = {3}}) ==
        "needs 5 pages, 3 are free");
  CHECK(describe(foreign(0)) == "page 0 is none that this pool hands out");
  CHECK(describe(not_allocated(4)) == "page 4 is not in use: released twice, or never allocated");
  CHECK(describe({.code = page_error::over_released, .page = 4, .references = 2}) ==
        "page 4 is released more often than its references, 2");
  CHECK(describe({.code = page_error::too_many_references, .page = 4, .references = 9}) ==
        "page 4 has 9 references, and their count would wrap");
}
