// SPDX-License-Identifier: Apache-2.0
#include "../cases/published.hpp"

#include <allot/runtime/page_allocator.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <span>
#include <vector>

// The published reports again, now with the pool that a plan of them gives: it holds what was
// planned, and its admission is the planner's.

using allot::paging;
using allot::physical_pages;
using allot::usable_pages;
using allot::runtime::page_allocator;
using allot::runtime::page_id;
using allot_test::published;

TEST_CASE("every report with a plan: the pool hands out the planned pages, and not one more") {
  int plans = 0;
  for (std::string const& id : published::ids()) {
    published report{id};
    if (!report.has("/given/budget")) { continue; }
    auto const plan = report.solve();
    if (!plan || plan->pages.count > 1'000'000) { continue; }
    CAPTURE(id);
    std::int64_t const page_tokens =
        report.has("/given/kv/0/page_tokens") ? report.number("/given/kv/0/page_tokens") : 1;
    page_allocator pages{paging{page_tokens, 1}, plan->pages};
    CHECK(pages.pool().physical() == plan->physical);
    std::vector<page_id> all(static_cast<std::size_t>(plan->pages.count));
    REQUIRE(pages.allocate(std::span{all}));
    CHECK(all.front() == 1);
    CHECK(physical_pages{all.back() + 1} == plan->physical);
    CHECK_FALSE(pages.allocate());
    CHECK(pages.release(std::span<page_id const>{all}).value == plan->pages);
    CHECK(pages.can_serve(plan->usable_tokens, {0}));
    CHECK_FALSE(pages.can_serve(plan->usable_tokens, {1}));
    ++plans;
  }
  CHECK(plans >= 8);
}

TEST_CASE("sentinel-4: the request that fits passes, the one past the plan is refused") {
  published report{"sentinel-4"};
  auto const plan = report.solve();
  REQUIRE(plan);
  page_allocator pages{paging{}, plan->pages};
  CHECK(pages.can_serve({report.number("/expect/can_serve/0/0")}, {0}));
  auto const refused = pages.can_serve({report.number("/expect/can_serve/1/0")}, {0});
  REQUIRE_FALSE(refused);
  CHECK(refused.error.needed == usable_pages{8760});
  CHECK(refused.error.available == usable_pages{8208});
}

TEST_CASE("admit-1: two short requests take a page each, whatever their tokens add up to") {
  CHECK(published{"admit-1"}.kind() == "admission");
  page_allocator pages{paging{128, 1}, {1}};
  REQUIRE(pages.can_serve_now({2}, {0}));
  REQUIRE(pages.allocate());
  CHECK_FALSE(pages.can_serve_now({2}, {0}));  // it waits,
  CHECK(pages.can_serve({2}, {0}));            // and its turn will come
}

TEST_CASE("admit-2: the last page is not the sentinel's") {
  published const report{"admit-2"};
  page_allocator pages{paging{64, 1}, paging{64, 1}.usable(physical_pages{2981})};
  std::int64_t const longest = report.number("/expect/max_input");
  CHECK(pages.can_serve({longest}, {1}));
  CHECK_FALSE(pages.can_serve({longest + 1}, {1}));
}

TEST_CASE("admit-3: a request longer than the pool is refused at once, with both numbers") {
  CHECK(published{"admit-3"}.kind() == "admission");
  page_allocator pages{paging{16, 1}, {100}};
  auto const refused = pages.can_serve({1500}, {101});
  REQUIRE_FALSE(refused);
  CHECK(refused.error.needed == usable_pages{101});
  CHECK(refused.error.available == usable_pages{100});
}
