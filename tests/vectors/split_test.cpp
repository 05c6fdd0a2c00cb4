// SPDX-License-Identifier: Apache-2.0
// The reference engine's splits: with its rules spelled as a request (pages without sentinel, the
// buffer required exactly when it honours it), allot gives every accepted split.
#include "vectors.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>

using namespace allot_test;

namespace {

/// The reference honours the buffer only when the slots could hold two layers, and then requires
/// it.
char const* buffer(bool wanted, std::int64_t total, std::int64_t max_slots, std::int64_t layer) {
  return wanted && std::min(total, max_slots) >= 2 * layer ? "required" : "off";
}

struct counts {
  int accepted = 0;
  int refused = 0;
  int too_few_pages = 0;
};

/// \param too_few_pages  the reference also refuses what leaves it at most one page; allot has no
///                       such rule, so it may have a plan there, of one page or none
void compare(document const& request, document const& want, counts& n) {
  document const answer = answer_to(request);
  INFO(request.dump(), "\n", answer.dump(), "\n", want.dump());
  if (want.contains("slots")) {
    REQUIRE(answer.at("ok") == true);
    CHECK(answer.at("slots") == want.at("slots"));
    CHECK(answer.at("usable_pages") == want.at("pages"));
    CHECK(answer.at("prefill_buffer") == want.at("overlap"));
    ++n.accepted;
  } else if (want.at("error") == "kv_too_small") {
    CHECK((answer.at("ok") == false || answer.at("usable_pages") <= 1));
    ++n.too_few_pages;
  } else {
    CHECK(answer.at("ok") == false);
    if (want.at("error") == "slot_cap_below_minimum") {
      CHECK(answer.at("error") == want.at("error"));
    } else {
      CHECK(answer.contains("shortfall_bytes"));
    }
    ++n.refused;
  }
}

}  // namespace

TEST_CASE("plan rows: budget, slot, page, experts, cap, buffer and reserve as they are") {
  counts n;
  document const rows = load("split.json").at("plan");
  for (document const& row : rows) {
    document const& in = row[0];
    std::int64_t const layer = in[3];
    std::int64_t const total = in[4];
    compare({{"budget", {{"bytes", in[0]}}},
             {"kv", only({{"family", "raw"}, {"page_bytes", in[2]}, {"sentinel_pages", 0}})},
             {"experts",
              {{"slot_bytes", in[1]},
               {"per_layer", layer},
               {"layers", total / layer},
               {"max_slots", in[7]},
               {"prefill_buffer", buffer(in[5], total, in[7], layer)}}},
             {"demand", {{"min_tokens", 0}, {"min_usable_pages", in[6]}}}},
            row[1], n);
    REQUIRE(total % layer == 0);
  }
  CHECK(rows.size() == 1500);
  CHECK(n.accepted == 1167);
  CHECK(n.refused == 273);
  CHECK(n.too_few_pages == 60);
}

TEST_CASE("resolve rows: a share of a baseline, charges, reserve in tokens") {
  counts n;
  document const rows = load("split.json").at("resolve");
  for (document const& row : rows) {
    document const& in = row[0];
    std::int64_t const layer = in[6];
    std::int64_t const total = in[7];
    // One kernel family pads its slots to 32 and addresses fewer than 1024.
    std::int64_t const cap = in[11] == "nvfp4_marlin" ? std::int64_t{992} : total;
    compare({{"budget", {{"baseline_bytes", in[0]}, {"ratio", in[2]}, {"resident_bytes", in[1]}}},
             {"charges", only({{"name", "fixed cache"}, {"bytes", in[4]}})},
             {"kv", only({{"family", "raw"},
                          {"page_bytes", in[3]},
                          {"page_tokens", in[10]},
                          {"sentinel_pages", 0}})},
             {"experts",
              {{"slot_bytes", in[5]},
               {"per_layer", layer},
               {"layers", total / layer},
               {"max_slots", cap},
               {"prefill_buffer", buffer(in[8], total, cap, layer)}}},
             {"demand", {{"min_tokens", in[9]}, {"min_usable_pages", 0}}}},
            row[1], n);
    REQUIRE(total % layer == 0);
  }
  CHECK(rows.size() == 500);
  CHECK(n.accepted == 381);
  CHECK(n.refused == 113);
  CHECK(n.too_few_pages == 6);
}
