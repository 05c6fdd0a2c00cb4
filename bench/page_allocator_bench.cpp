// SPDX-License-Identifier: Apache-2.0
// What handing out pages costs, beside the two ways engines do it: a stack of free pages, which is
// not lowest first, and a std::set, which is. The baselines count references and refuse a double
// free as well. Times are for reading, not for asserting: compare them as ratios within one run; an
// item is a page allocated and released.

#include <allot/runtime/page_allocator.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <set>
#include <span>
#include <vector>

namespace {

using allot::paging;
using allot::runtime::no_page;
using allot::runtime::page_allocator;
using allot::runtime::page_id;

constexpr std::int64_t pool_pages = 65'536;  // a million tokens in pages of 16

class ours {
 public:
  ours() : pages_{paging{.page_tokens = 16}, {pool_pages}} {}
  page_id allocate() {
    auto const page = pages_.allocate();
    return page ? *page : no_page;
  }
  bool release(page_id page) { return pages_.release(page).ok; }
  bool share(page_id page) { return pages_.share(page).ok; }
  bool allocate(std::span<page_id> out) { return pages_.allocate(out).ok; }
  bool release(std::span<page_id const> in) { return pages_.release(in).ok; }
  bool share(std::span<page_id const> in) { return pages_.share(in).ok; }

 private:
  page_allocator pages_;
};

/// The same operations on any store of free pages: `take()`, `give(page)`, `size()`.
template <class Store>
class baseline {
 public:
  baseline() : references_(pool_pages + 1, 0) {}
  page_id allocate() {
    if (free_.size() == 0) { return no_page; }
    page_id const page = free_.take();
    references_[static_cast<std::size_t>(page)] = 1;
    return page;
  }
  bool release(page_id page) {
    if (page < 1 || page > pool_pages) { return false; }
    std::uint32_t& count = references_[static_cast<std::size_t>(page)];
    if (count == 0) { return false; }
    if (--count == 0) { free_.give(page); }
    return true;
  }
  bool share(page_id page) {
    if (page < 1 || page > pool_pages) { return false; }
    std::uint32_t& count = references_[static_cast<std::size_t>(page)];
    if (count == 0) { return false; }
    ++count;
    return true;
  }
  bool allocate(std::span<page_id> out) {
    if (out.size() > free_.size()) { return false; }
    for (page_id& page : out) {
      page = allocate();
    }
    return true;
  }
  bool release(std::span<page_id const> in) {
    bool good = true;
    for (page_id const page : in) {
      good = release(page) && good;
    }
    return good;
  }
  bool share(std::span<page_id const> in) {
    bool good = true;
    for (page_id const page : in) {
      good = share(page) && good;
    }
    return good;
  }

 private:
  Store free_;
  std::vector<std::uint32_t> references_;
};

class free_stack {
 public:
  free_stack() : pages_(pool_pages) { std::iota(pages_.rbegin(), pages_.rend(), 1); }
  std::size_t size() const { return pages_.size(); }
  page_id take() {
    page_id const page = pages_.back();
    pages_.pop_back();
    return page;
  }
  void give(page_id page) { pages_.push_back(page); }

 private:
  std::vector<page_id> pages_;
};

class free_tree {
 public:
  free_tree() {
    for (page_id page = 1; page <= pool_pages; ++page) {
      pages_.insert(pages_.end(), page);
    }
  }
  std::size_t size() const { return pages_.size(); }
  page_id take() {
    page_id const page = *pages_.begin();
    pages_.erase(pages_.begin());
    return page;
  }
  void give(page_id page) { pages_.insert(page); }

 private:
  std::set<page_id> pages_;
};

using stack = baseline<free_stack>;
using tree = baseline<free_tree>;

/// Three quarters of the pool in use, as after a while of serving: pages come and go in no order.
template <class Allocator>
std::vector<page_id> worn(Allocator& pages) {
  std::vector<page_id> held(pool_pages);
  for (page_id& page : held) {
    page = pages.allocate();
  }
  std::shuffle(held.begin(), held.end(), std::mt19937{7});
  while (held.size() > pool_pages * 3 / 4) {
    pages.release(held.back());
    held.pop_back();
  }
  return held;
}

void count_pages(benchmark::State& bench, std::int64_t each) {
  bench.SetItemsProcessed(bench.iterations() * each);
}

/// Allocates 1024 pages one by one and releases them, the last first.
template <class Allocator>
void last_first(benchmark::State& bench) {
  Allocator pages;
  worn(pages);
  std::vector<page_id> burst(1024);
  for (auto _ : bench) {
    for (page_id& page : burst) {
      page = pages.allocate();
    }
    for (std::size_t i = burst.size(); i > 0; --i) {
      pages.release(burst[i - 1]);
    }
    benchmark::DoNotOptimize(burst.data());
    benchmark::ClobberMemory();
  }
  count_pages(bench, static_cast<std::int64_t>(burst.size()));
}

/// Releases the page that has been held longest, and allocates one.
template <class Allocator>
void oldest_first(benchmark::State& bench) {
  Allocator pages;
  std::vector<page_id> held = worn(pages);
  std::size_t at = 0;
  for (auto _ : bench) {
    pages.release(held[at]);
    held[at] = pages.allocate();
    at = at + 1 == held.size() ? 0 : at + 1;
  }
  benchmark::DoNotOptimize(held.data());
  count_pages(bench, 1);
}

/// Releases any page, and allocates one.
template <class Allocator>
void any_order(benchmark::State& bench) {
  Allocator pages;
  std::vector<page_id> held = worn(pages);
  std::vector<std::uint32_t> order(1 << 16);
  std::mt19937 random{11};
  for (std::uint32_t& at : order) {
    at = static_cast<std::uint32_t>(random() % held.size());
  }
  std::size_t next = 0;
  for (auto _ : bench) {
    page_id& page = held[order[next++ & 0xffff]];
    pages.release(page);
    page = pages.allocate();
  }
  benchmark::DoNotOptimize(held.data());
  count_pages(bench, 1);
}

/// A request comes and another one goes, with `range(0)` pages each.
template <class Allocator>
void batches(benchmark::State& bench) {
  Allocator pages;
  worn(pages);
  auto const size = static_cast<std::size_t>(bench.range(0));
  std::vector<page_id> first(size);
  std::vector<page_id> second(size);
  pages.allocate(std::span{first});
  for (auto _ : bench) {
    pages.allocate(std::span{second});
    pages.release(std::span<page_id const>{first});
    std::swap(first, second);
    benchmark::ClobberMemory();
  }
  count_pages(bench, bench.range(0));
}

/// Requests that share a prefix of 256 pages come and go; an item is a page shared and released.
template <class Allocator>
void prefixes(benchmark::State& bench) {
  Allocator pages;
  worn(pages);
  std::vector<page_id> prefix(256);
  pages.allocate(std::span{prefix});
  for (auto _ : bench) {
    pages.share(std::span<page_id const>{prefix});
    pages.release(std::span<page_id const>{prefix});
    benchmark::ClobberMemory();
  }
  count_pages(bench, static_cast<std::int64_t>(prefix.size()));
}

BENCHMARK(last_first<ours>);
BENCHMARK(last_first<stack>);
BENCHMARK(last_first<tree>);
BENCHMARK(oldest_first<ours>);
BENCHMARK(oldest_first<stack>);
BENCHMARK(oldest_first<tree>);
BENCHMARK(any_order<ours>);
BENCHMARK(any_order<stack>);
BENCHMARK(any_order<tree>);
BENCHMARK(batches<ours>)->RangeMultiplier(8)->Range(1, 4096);
BENCHMARK(batches<stack>)->RangeMultiplier(8)->Range(1, 4096);
BENCHMARK(batches<tree>)->RangeMultiplier(8)->Range(1, 4096);
BENCHMARK(prefixes<ours>);
BENCHMARK(prefixes<stack>);

}  // namespace

BENCHMARK_MAIN();
