// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace attention_test {

/// Seeded random numbers.
struct dice {
  explicit dice(std::uint64_t seed) : engine{seed} {}

  std::int64_t roll(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>{low, high}(engine);
  }
  std::int32_t roll32(std::int64_t low, std::int64_t high) {
    return static_cast<std::int32_t>(roll(low, high));
  }
  bool chance(int percent) { return roll(1, 100) <= percent; }
  double normal() { return std::normal_distribution<double>{}(engine); }
  template <class T>
  T pick(std::initializer_list<T> of) {
    return of.begin()[roll(0, static_cast<std::int64_t>(of.size()) - 1)];
  }

  std::mt19937_64 engine;
};

/// Cards that are drawn one by one and shuffled when all are gone: so each comes as often as the
/// next, even in a short sweep.
template <class T>
class deck {
 public:
  deck(std::initializer_list<T> cards) : cards_{cards}, next_{cards_.size()} {}

  T draw(dice& d) {
    if (next_ == cards_.size()) {
      std::shuffle(cards_.begin(), cards_.end(), d.engine);
      next_ = 0;
    }
    return cards_[next_++];
  }

 private:
  std::vector<T> cards_;
  std::size_t next_;
};

/// What a sweep claims to have covered, and how often it did.
class tally {
 public:
  void note(std::string const& feature, bool seen) { seen_[feature] += seen ? 1 : 0; }

  /// Holds the sweep to its number of shapes, and each feature to one percent of them.
  void require(int shapes, int wanted) const {
    REQUIRE(shapes >= wanted);
    for (auto const& entry : seen_) {
      int const times = entry.second;
      CAPTURE(entry.first);
      CHECK(times >= 1);
      CHECK(times * 100 >= shapes);
    }
  }

 private:
  std::map<std::string, int> seen_;
};

}  // namespace attention_test
