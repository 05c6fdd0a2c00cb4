// SPDX-License-Identifier: Apache-2.0
// limited, counting and faulting: each alone, and one above the other as the other tests use them.
#include "refusal.hpp"

#include <allot/runtime/allocation_error.hpp>
#include <allot/runtime/counting_resource.hpp>
#include <allot/runtime/faulting_resource.hpp>
#include <allot/runtime/host_resources.hpp>
#include <allot/runtime/limited_resource.hpp>
#include <allot/runtime/memory_resource.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

using namespace allot::runtime;
using allot_test::refusal;

namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

/// A text with the digits of its pointer taken out.
std::string without_address(std::string text) {
  auto const from = text.find('(') + 1;
  return text.replace(from, text.find(',') - from, "P");
}

}  // namespace

TEST_CASE("a limit is reached exactly and not passed by one byte") {
  host_resource heap;
  limited_resource card{heap, 1000};
  CHECK(card.free_bytes() == 1000);
  CHECK(card.name() == "limited_resource(1000 bytes)");
  CHECK(card.alignment() == heap.alignment());
  CHECK(card.space() == memory_space::host);

  allocation_error const whole = refusal(card, 1001);
  CHECK(whole.call() == "limited_resource(1000 bytes)");
  CHECK(whole.asked_bytes() == 1001);
  CHECK(whole.free_bytes() == 1000);
  CHECK(std::string{whole.what()} ==
        "limited_resource(1000 bytes): 1001 bytes asked, 1000 bytes free (past the limit)");
  { buffer const all{card, 1000}; }

  buffer const some{card, 600};
  CHECK(card.free_bytes() == 400);
  CHECK(refusal(card, 401).free_bytes() == 400);
  {
    buffer const rest{card, 400};
    CHECK(card.free_bytes() == 0);
    CHECK(card.outstanding_bytes() == 1000);
    CHECK(refusal(card, 1).free_bytes() == 0);
    buffer const none{card, 0};  // costs nothing, so a full card gives it
  }
  CHECK(card.outstanding_bytes() == 600);
  CHECK(refusal(card, -1).asked_bytes() == -1);
  CHECK(refusal(card, most).asked_bytes() == most);
  CHECK(card.outstanding_bytes() == 600);

  limited_resource empty{heap, 0};
  CHECK(refusal(empty, 1).free_bytes() == 0);
}

TEST_CASE("what the upstream refuses does not count against a limit") {
  host_resource heap;
  limited_resource small{heap, 100};
  limited_resource large{small, 1000};
  CHECK(large.free_bytes() == 100);  // whichever has less
  CHECK(refusal(large, 101).call() == "limited_resource(100 bytes)");
  CHECK(large.outstanding_bytes() == 0);
  buffer const all{large, 100};
  CHECK(large.free_bytes() == 0);
  CHECK(refusal(large, 901).call() == "limited_resource(1000 bytes)");
  CHECK(refusal(large, 901).free_bytes() == 0);
}

TEST_CASE("a counter knows what is outstanding, the most that was, and every call") {
  host_resource heap;
  counting_resource counter{heap};
  CHECK(counter.name() == "counting_resource(operator new)");
  CHECK(counter.free_bytes() == allocation_error::unknown);
  CHECK(counter.counts() == memory_counts{});

  void* const a = counter.allocate(100);
  void* const b = counter.allocate(50);
  counter.deallocate(a, 100);
  void* const c = counter.allocate(70);
  CHECK(counter.counts() == memory_counts{.outstanding_bytes = 120,
                                          .outstanding_allocations = 2,
                                          .peak_bytes = 150,
                                          .allocate_calls = 3,
                                          .failed_calls = 0,
                                          .deallocate_calls = 1,
                                          .misuses = 0});
  std::vector<allocated_block> expected{{b, 50}, {c, 70}};
  if (c < b) { std::swap(expected[0], expected[1]); }
  CHECK(counter.outstanding() == expected);  // the leaks, had this been the end

  counter.restart_peak();
  CHECK(counter.counts().peak_bytes == 120);
  counter.deallocate(b, 50);
  counter.deallocate(c, 70);
  CHECK(counter.counts().outstanding_bytes == 0);
  CHECK(counter.counts().outstanding_allocations == 0);
  CHECK(counter.counts().peak_bytes == 120);
  CHECK(counter.outstanding().empty());

  CHECK(counter.allocate(0) == nullptr);
  counter.deallocate(nullptr, 0);
  CHECK(counter.counts().allocate_calls == 4);
  CHECK(counter.counts().deallocate_calls == 4);
  CHECK(counter.counts().outstanding_allocations == 0);

  refusal(counter, -5);
  CHECK(counter.counts().failed_calls == 1);
  CHECK(counter.counts().outstanding_bytes == 0);
  CHECK(counter.counts().misuses == 0);
  CHECK(counter.first_misuse().memory == nullptr);
}

TEST_CASE("a counter notices what was given back wrongly, and keeps it from the upstream") {
  host_resource heap;
  counting_resource below{heap};
  counting_resource counter{static_cast<memory_resource&>(below)};  // else it would be a copy

  void* const twice = counter.allocate(128);
  counter.deallocate(twice, 128);
  counter.deallocate(twice, 128);
  CHECK(counter.counts().misuses == 1);
  CHECK(counter.first_misuse().memory == twice);
  CHECK(without_address(counter.first_misuse().text()) ==
        "deallocate(P, 128 bytes): not allocated here, or given back already");

  counter.deallocate(twice, 0);
  CHECK(counter.counts().misuses == 2);
  int foreign = 0;
  counter.deallocate(&foreign, 4);
  CHECK(counter.counts().misuses == 3);
  counter.deallocate(nullptr, 4);
  CHECK(counter.counts().misuses == 4);

  void* const wrong = counter.allocate(64);
  counter.deallocate(wrong, 63);
  CHECK(counter.counts().misuses == 5);
  CHECK(counter.counts().outstanding_bytes == 0);
  CHECK(counter.first_misuse().memory == twice);  // still the first

  CHECK(below.counts().misuses == 0);
  CHECK(below.counts().outstanding_bytes == 0);
  CHECK(below.counts().deallocate_calls == 2);

  counting_resource fresh{heap};
  void* const wrong_size = fresh.allocate(64);
  fresh.deallocate(wrong_size, 65);
  CHECK(without_address(fresh.first_misuse().text()) ==
        "deallocate(P, 65 bytes): 64 bytes were allocated there");
  CHECK(fresh.first_misuse().allocated_bytes == 64);
}

TEST_CASE("the chosen call fails and no other does") {
  host_resource heap;
  for (std::int64_t k = 0; k <= 5; ++k) {
    faulting_resource faulty{heap, k};
    CHECK(faulty.alignment() == heap.alignment());
    for (std::int64_t call = 1; call <= 5; ++call) {
      if (call == k) {
        CHECK_FALSE(faulty.has_failed());
        allocation_error const error = refusal(faulty, 16);
        CHECK(error.asked_bytes() == 16);
        CHECK(std::string{error.what()} ==
              "faulting_resource(call " + std::to_string(k) + "): 16 bytes asked (made to fail)");
      } else {
        buffer const ok{faulty, 16};
      }
      CHECK(faulty.calls() == call);
      CHECK(faulty.has_failed() == (k > 0 && call >= k));
    }
  }
}

TEST_CASE("whichever allocation fails, the ones before it are given back") {
  // Four buffers that somebody needs together, as a cache does at its start.
  struct four {
    explicit four(memory_resource& from)
        : keys{from, 4096}, values{from, 4096}, table{from, 64}, counts{from, 1} {}
    buffer keys, values, table, counts;
  };
  std::int64_t swept = 0;
  for (std::int64_t k = 1;; ++k, ++swept) {
    host_resource heap;
    limited_resource card{heap, 1 << 20};
    counting_resource counter{card};
    faulting_resource faulty{counter, k};
    bool failed = false;
    try {
      four const all{faulty};
      CHECK(counter.counts().outstanding_bytes == 4096 + 4096 + 64 + 1);
    } catch (allocation_error const&) { failed = true; }
    CHECK(failed == faulty.has_failed());
    CHECK(counter.counts().outstanding_bytes == 0);
    CHECK(counter.counts().outstanding_allocations == 0);
    CHECK(counter.counts().misuses == 0);
    CHECK(card.outstanding_bytes() == 0);
    if (!failed) { break; }
    CHECK(counter.counts().allocate_calls == k - 1);
  }
  CHECK(swept == 4);
}

TEST_CASE("any sequence of calls counts as it would by hand") {
  std::mt19937_64 random{7};
  host_resource heap;
  std::int64_t refused = 0;
  std::int64_t given = 0;
  for (int round = 0; round < 200; ++round) {
    auto const limit = static_cast<std::int64_t>(random() % 20'000);
    limited_resource card{heap, limit};
    counting_resource counter{card};
    std::vector<allocated_block> out;
    std::int64_t sum = 0;
    std::int64_t peak = 0;
    for (int step = 0; step < 500; ++step) {
      if (random() % 2 == 0 && !out.empty()) {
        auto const at = static_cast<std::ptrdiff_t>(random() % out.size());
        auto const& [memory, bytes] = out[static_cast<std::size_t>(at)];
        counter.deallocate(memory, bytes);
        sum -= bytes;
        out.erase(out.begin() + at);
      } else {
        auto const bytes = static_cast<std::int64_t>(random() % 3000);
        try {
          out.push_back({counter.allocate(bytes), bytes});
          sum += bytes;
          ++given;
          REQUIRE(sum <= limit);
        } catch (allocation_error const& error) {
          REQUIRE(sum + bytes > limit);
          REQUIRE(error.free_bytes() == limit - sum);
          ++refused;
        }
      }
      peak = std::max(peak, sum);
      REQUIRE(counter.counts().outstanding_bytes == sum);
      REQUIRE(counter.counts().peak_bytes == peak);
      REQUIRE(card.free_bytes() == limit - sum);
    }
    for (auto const& [memory, bytes] : out) {
      counter.deallocate(memory, bytes);
    }
    REQUIRE(counter.counts().outstanding_bytes == 0);
    REQUIRE(counter.counts().misuses == 0);
  }
  CHECK(given > 10'000);
  CHECK(refused > 1'000);
}
