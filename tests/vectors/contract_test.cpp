// SPDX-License-Identifier: Apache-2.0
// Every request of solve_contract.jsonl has exactly the answer that is stated for it.
#include "vectors.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>

using namespace allot_test;

TEST_CASE("the 400 requests of the contract") {
  std::map<std::string, int> seen;
  int exact = 0;
  for (document const& row : load_lines("solve_contract.jsonl")) {
    document const& want = row.at("want");
    document const answer = answer_to(row.at("req"));
    INFO(row.at("req").dump(), "\n", answer.dump());
    CHECK(as_wanted(answer, want).dump() == want.dump());
    CHECK(answer.at("id") == row.at("req").at("id"));
    CHECK(answer.at("ok") == !want.contains("error"));
    // Byte numbers belong to the three errors about bytes, and to no other.
    CHECK(answer.contains("shortfall_bytes") == want.contains("shortfall"));
    CHECK(answer.contains("needed_bytes") == want.contains("shortfall"));
    ++seen[want.value("error", std::string{"ok"})];
    exact += as_wanted(answer, want) == want ? 1 : 0;
  }
  CHECK(exact == 400);
  std::map<std::string, int> const all = {{"ok", 188},
                                          {"floors_exceed_budget", 55},
                                          {"pins_exceed_budget", 55},
                                          {"kv_head_split", 9},
                                          {"fixed_exceeds_budget", 54},
                                          {"slot_cap_below_minimum", 20},
                                          {"conflicting_pins", 16},
                                          {"not_a_page_multiple", 3}};
  CHECK(seen == all);
}

TEST_CASE("what an answer adds up to") {
  int plans = 0;
  int refusals = 0;
  for (document const& row : load_lines("solve_contract.jsonl")) {
    document const answer = answer_to(row.at("req"));
    INFO(answer.dump());
    if (answer.at("ok")) {
      document const& bytes = answer.at("bytes");
      auto const of = [&](char const* name) { return bytes.at(name).get<std::int64_t>(); };
      CHECK(of("fixed") + of("experts") + of("kv") + of("left") == of("budget"));
      CHECK(answer.at("pools").size() == 1);
      CHECK(answer.at("pools")[0].at("bytes") == bytes.at("kv"));
      ++plans;
    } else if (answer.contains("needed_bytes")) {
      CHECK(answer.at("needed_bytes").get<std::int64_t>() -
                answer.at("budget_bytes").get<std::int64_t>() ==
            answer.at("shortfall_bytes").get<std::int64_t>());
      ++refusals;
    }
  }
  CHECK(plans == 188);
  CHECK(refusals == 164);
}

TEST_CASE("a null is as good as an absent field") {
  int compared = 0;
  char const* const optional[] = {"target_tokens", "max_tokens", "pages",
                                  "tokens",        "min_tokens", "min_usable_pages"};
  for (document const& row : load_lines("solve_contract.jsonl")) {
    document request = row.at("req");
    std::string const before = answer_text(request.dump());
    for (char const* const name : optional) {
      if (!request.at("demand").contains(name)) { request["demand"][name] = nullptr; }
    }
    for (char const* const name : {"experts", "state", "charges", "objective", "granularity"}) {
      if (!request.contains(name)) { request[name] = nullptr; }
    }
    CHECK(answer_text(request.dump()) == before);
    ++compared;
  }
  CHECK(compared == 400);
}
