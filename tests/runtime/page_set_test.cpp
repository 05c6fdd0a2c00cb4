// SPDX-License-Identifier: Apache-2.0
#include "../unit/random.hpp"

#include <allot/runtime/page_set.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <stdexcept>
#include <vector>

// The hierarchical bitmap against std::set, over sizes on both sides of every level.

using allot::runtime::page_set;

namespace {

std::vector<std::int32_t> take_all(page_set s) {
  std::vector<std::int32_t> out(static_cast<std::size_t>(s.count()));
  s.take_lowest(out.data(), s.count());
  CHECK(s.count() == 0);
  CHECK(s.first() == page_set::none);
  return out;
}

}  // namespace

TEST_CASE("an empty set has no first id, and a set of nothing is one") {
  for (std::int64_t const ids : {0, 1, 64, 65, 4096, 4097, 300'000}) {
    page_set s{ids};
    CHECK(s.ids() == ids);
    CHECK(s.count() == 0);
    CHECK(s.first() == page_set::none);
    CHECK(s.take_first() == page_set::none);
    CHECK(s.highest_absent(s.ids()) == static_cast<std::int32_t>(ids) - 1);
  }
}

TEST_CASE("ids beyond int32 are refused") {
  CHECK_THROWS_AS(page_set{-1}, std::invalid_argument);
  CHECK_THROWS_AS(page_set{std::int64_t{INT32_MAX} + 1}, std::invalid_argument);
}

TEST_CASE("the highest id there can be") {
  page_set s{INT32_MAX};  // 256 MiB of bits, six levels
  std::int32_t const top = INT32_MAX - 1;
  CHECK(s.insert(top));
  CHECK(s.first() == top);
  CHECK(s.highest_absent(INT32_MAX) == top - 1);
  s.insert_range(top - 200, INT32_MAX);
  CHECK(s.count() == 201);
  CHECK(s.first() == top - 200);
  CHECK(s.insert(0));
  CHECK(s.take_first() == 0);
  CHECK(s.take_first() == top - 200);
  CHECK(s.erase(top));
  CHECK(s.count() == 199);
}

TEST_CASE("a range holds its ids and no others") {
  std::int64_t checked = 0;
  for (std::int32_t const ids : {1, 63, 64, 65, 128, 200, 4096, 4160}) {
    for (std::int32_t first = 0; first <= ids; first += 1 + first / 7) {
      for (std::int32_t last = first; last <= ids; last += 1 + (last - first) / 5) {
        page_set s{ids};
        bool const one_there_before = first < last;
        if (one_there_before) { s.insert(first); }
        s.insert_range(first, last);
        REQUIRE(s.count() == last - first);
        bool right = true;
        for (std::int32_t id = 0; id < ids; ++id) {
          right = right && s.contains(id) == (first <= id && id < last);
        }
        std::int32_t next = first;
        for (std::int32_t const id : take_all(s)) {
          right = right && id == next++;
        }
        REQUIRE(right);
        ++checked;
      }
    }
  }
  CHECK(checked > 2000);
}

TEST_CASE("random operations agree with std::set") {
  allot_test::dice dice{1};
  std::int64_t operations = 0;
  for (std::int32_t const ids : {1, 2, 63, 64, 65, 127, 1000, 4095, 4096, 4097, 70'000, 262'145}) {
    page_set s{ids};
    std::set<std::int32_t> model;
    bool filling = true;
    for (int step = 0; step < 100'000; ++step) {
      if (step % 3000 == 0) { filling = !filling; }
      auto const id = static_cast<std::int32_t>(dice.in(0, ids - 1));
      bool agree = true;
      switch (dice.in(0, 6)) {
        case 0: agree = s.insert(id) == model.insert(id).second; break;
        case 1: agree = s.erase(id) == (model.erase(id) == 1); break;
        case 2: agree = s.contains(id) == (model.count(id) == 1); break;
        case 3: {
          if (!filling) { break; }
          auto const last = static_cast<std::int32_t>(id + dice.in(0, ids - id) % 200);
          s.insert_range(id, last);
          for (std::int32_t i = id; i < last; ++i) {
            model.insert(i);
          }
          break;
        }
        case 4: {
          if (filling) { break; }
          std::vector<std::int32_t> out(static_cast<std::size_t>(dice.in(0, s.count()) % 300) + 1,
                                        -7);
          s.take_lowest(out.data(), static_cast<std::int32_t>(out.size()) - 1);
          agree = out.back() == -7;
          for (std::size_t i = 0; i + 1 < out.size(); ++i) {
            agree = agree && out[i] == *model.begin();
            model.erase(model.begin());
          }
          break;
        }
        case 5: {
          std::int32_t expected = id;
          while (expected >= 0 && model.count(expected) == 1) {
            --expected;
          }
          agree = s.highest_absent(id + 1) == expected;
          break;
        }
        default:
          agree = s.take_first() == (model.empty() ? page_set::none : *model.begin());
          if (!model.empty()) { model.erase(model.begin()); }
      }
      agree = agree && s.count() == static_cast<std::int32_t>(model.size()) &&
              s.first() == (model.empty() ? page_set::none : *model.begin());
      REQUIRE(agree);
      ++operations;
      if (step % 20'000 == 0) {
        REQUIRE(take_all(s) == std::vector<std::int32_t>(model.begin(), model.end()));
      }
    }
  }
  CHECK(operations == 1'200'000);
}
