// SPDX-License-Identifier: Apache-2.0
#include "../unit/random.hpp"

#include <allot/runtime/page_allocator.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

// A million random operations, right and wrong ones, against a model of std::set and std::map that
// knows each answer and each fault in full.

using namespace allot::runtime;
using allot::usable_pages;
using allot_test::dice;

namespace {

constexpr std::int64_t most_references = UINT32_MAX;

class model {
 public:
  explicit model(page_ids const& pool) : pool_{pool} {
    for (page_id page = pool.first(); page < pool.end(); ++page) {
      free_.insert(page);
    }
  }

  std::set<page_id> const& free() const { return free_; }
  std::map<page_id, std::int64_t> const& used() const { return used_; }

  std::int64_t references(page_id page) const {
    auto const found = used_.find(page);
    return found == used_.end() ? 0 : found->second;
  }

  page_id take() {
    page_id const page = *free_.begin();
    free_.erase(free_.begin());
    used_[page] = 1;
    return page;
  }

  void add(page_id page, std::int64_t references) {
    std::int64_t& count = used_[page];
    count += references;
    if (count == 0) {
      used_.erase(page);
      free_.insert(page);
    }
  }

  /// What stops adding (or, with a negative number, dropping) references, if anything does.
  bool stops(page_id page, std::int64_t change, page_fault& why) const {
    std::int64_t const held = references(page);
    why = {.page = page};
    if (!pool_.hands_out(page)) {
      why.code = page_error::foreign_page;
    } else if (held == 0) {
      why.code = page_error::not_allocated;
    } else if (held + change < 0) {
      why.code = page_error::over_released;
      why.references = held;
    } else if (held + change > most_references) {
      why.code = page_error::too_many_references;
      why.references = held;
    } else {
      return false;
    }
    return true;
  }

  /// The same for a batch of one reference each.
  bool stops(std::vector<page_id> const& batch, std::int64_t change, page_fault& why) const {
    std::map<page_id, std::int64_t> times;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (stops(batch[i], change * ++times[batch[i]], why)) {
        why.index = static_cast<std::int64_t>(i);
        return true;
      }
    }
    return false;
  }

  bool agrees(page_allocator const& pages) const {
    bool same = pages.free_pages().count == static_cast<std::int64_t>(free_.size()) &&
                pages.used_pages().count == static_cast<std::int64_t>(used_.size()) &&
                pages.highest_in_use() == (used_.empty() ? no_page : used_.rbegin()->first);
    for (page_id page = -2; page < pool_.physical().count + 2; ++page) {
      same = same && pages.references(page) == references(page);
    }
    return same;
  }

 private:
  page_ids pool_;
  std::set<page_id> free_;
  std::map<page_id, std::int64_t> used_;
};

enum operation : std::uint8_t {
  one,
  batch,
  share_one,
  share_batch,
  drop_one,
  drop_batch,
  write,
  operations
};

/// How often each operation ended how: column 0 is success, then the errors.
struct tally {
  std::int64_t seen[operations][6] = {};
  void add(operation which, bool good, page_fault const& why) {
    ++seen[which][good ? 0 : 1 + static_cast<int>(why.code)];
  }
};

class walk {
 public:
  walk(page_ids const& pool, std::uint64_t seed, tally& seen)
      : pages_{pool.policy, pool.usable, pool.side}, model_{pool}, dice_{seed}, seen_{seen} {}

  void step() {
    auto const which = static_cast<operation>(dice_.in(0, operations - 1));
    bool good = false;
    page_fault expected{};
    page_fault got{};
    bool same = true;  // of the value, and of what must not be written
    switch (which) {
      case one: {
        auto const answer = pages_.allocate();
        good = !exhausted(1, expected);
        same = answer.ok == good && (!good || *answer == model_.take());
        got = answer.error;
        break;
      }
      case batch: {
        std::vector<page_id> out(static_cast<std::size_t>(dice_.in(0, 12)), -5);
        auto const answer = pages_.allocate(std::span{out});
        good = !exhausted(static_cast<std::int64_t>(out.size()), expected);
        same = answer.ok == good;
        for (page_id const page : out) {
          same = same && page == (good ? model_.take() : -5);
        }
        same = same && (!good || answer.value == pages_.free_pages());
        got = answer.error;
        break;
      }
      case share_one: {
        page_id const page = some_page();
        std::int64_t more = dice_.in(0, 3);
        if (dice_.chance(5)) { more = most_references - dice_.in(0, 2); }
        auto const answer = pages_.share(page, static_cast<std::uint32_t>(more));
        good = !model_.stops(page, more, expected);
        if (good) { model_.add(page, more); }
        same = answer.ok == good && (!good || *answer == model_.references(page));
        got = answer.error;
        break;
      }
      case share_batch: {
        auto const in = some_pages();
        auto const answer = pages_.share(std::span{in});
        good = !model_.stops(in, 1, expected);
        for (page_id const page : in) {
          if (good) { model_.add(page, 1); }
        }
        same = answer.ok == good;
        got = answer.error;
        break;
      }
      case drop_one: {
        page_id const page = some_page();
        std::int64_t less = dice_.in(0, 2);
        if (dice_.chance(30)) { less = model_.references(page); }
        auto const answer = pages_.release(page, static_cast<std::uint32_t>(less));
        good = !model_.stops(page, -less, expected);
        if (good) { model_.add(page, -less); }
        same = answer.ok == good && (!good || *answer == model_.references(page));
        got = answer.error;
        break;
      }
      case drop_batch: {
        auto const in = some_pages();
        auto const free_before = static_cast<std::int64_t>(model_.free().size());
        auto const answer = pages_.release(std::span{in});
        good = !model_.stops(in, -1, expected);
        for (page_id const page : in) {
          if (good) { model_.add(page, -1); }
        }
        auto const freed = static_cast<std::int64_t>(model_.free().size()) - free_before;
        same = answer.ok == good && (!good || *answer == usable_pages{freed});
        got = answer.error;
        break;
      }
      default: {
        page_id const page = some_page();
        auto const answer = pages_.make_writable(page);
        good = !model_.stops(page, 0, expected);
        bool const alone = model_.references(page) == 1;
        if (good && !alone) { good = !exhausted(1, expected); }
        same = answer.ok == good;
        if (good && alone) { same = same && *answer == writable_page{page, no_page}; }
        if (good && !alone) {
          same = same && *answer == writable_page{model_.take(), page};
          model_.add(page, -1);
        }
        got = answer.error;
      }
    }
    seen_.add(which, good, expected);
    CAPTURE(which);
    REQUIRE(same);
    if (!good) { REQUIRE(got == expected); }
    // After a fault the model is as before, so this is also: nothing has changed.
    if (!good || ++steps_ % 16 == 0) { REQUIRE(model_.agrees(pages_)); }
  }

 private:
  bool exhausted(std::int64_t needed, page_fault& why) const {
    auto const free = static_cast<std::int64_t>(model_.free().size());
    why = {.code = page_error::exhausted, .needed = {needed}, .available = {free}};
    return needed > free;
  }

  page_id some_page() {
    auto const any_of = [&](auto const& from) {
      auto at = from.begin();
      std::advance(at, dice_.in(0, static_cast<std::int64_t>(from.size()) - 1));
      return *at;
    };
    if (dice_.chance(2)) {
      return dice_.one_of({INT32_MIN, -1, 0, pages_.pool().padding(), pages_.pool().first() - 1,
                           pages_.pool().end(), INT32_MAX});
    }
    bool const prefer_used = dice_.chance(97);
    if (model_.free().empty() || (prefer_used && !model_.used().empty())) {
      return any_of(model_.used()).first;
    }
    return any_of(model_.free());
  }

  std::vector<page_id> some_pages() {
    std::vector<page_id> out(static_cast<std::size_t>(dice_.in(0, 6)));
    for (page_id& page : out) {
      page = some_page();
    }
    return out;
  }

  page_allocator pages_;
  model model_;
  dice dice_;
  tally& seen_;
  std::int64_t steps_ = 0;
};

}  // namespace

TEST_CASE("a million random operations agree with the model, faults included") {
  constexpr std::int64_t each = 50'000;
  tally seen;
  std::int64_t steps = 0;
  for (std::int64_t const usable : {1, 2, 13, 64, 70}) {
    for (std::int64_t const sentinels : {0, 1, 3}) {
      for (auto const side : {sentinel_side::front, sentinel_side::back}) {
        if (sentinels == 0 && side == sentinel_side::back) { continue; }
        page_ids const pool{{16, sentinels}, {usable}, side};
        walk random{pool, static_cast<std::uint64_t>(steps), seen};
        for (std::int64_t i = 0; i < each; ++i) {
          random.step();
        }
        steps += each;
      }
    }
  }
  CHECK(steps >= 1'000'000);

  // Each operation succeeds, and each fault it can have occurs. Columns: success, exhausted,
  // foreign_page, not_allocated, over_released, too_many_references.
  constexpr bool possible[operations][6] = {
      {true, true, false, false, false, false},  // allocate
      {true, true, false, false, false, false},  // allocate a batch
      {true, false, true, true, false, true},    // share
      {true, false, true, true, false, true},    // share a batch
      {true, false, true, true, true, false},    // release
      {true, false, true, true, true, false},    // release a batch
      {true, true, true, true, false, false},    // make writable
  };
  for (int which = 0; which < operations; ++which) {
    for (int how = 0; how < 6; ++how) {
      CAPTURE(which);
      CAPTURE(how);
      CAPTURE(seen.seen[which][how]);
      CHECK((seen.seen[which][how] >= 1000) == possible[which][how]);
      CHECK((seen.seen[which][how] > 0) == possible[which][how]);
    }
  }
}
