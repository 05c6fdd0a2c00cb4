// SPDX-License-Identifier: Apache-2.0
// Every request of solve_wide.jsonl whose families can be read has exactly the stated answer, pool
// for pool; the others are refused by name.
#include "vectors.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>

using namespace allot_test;

namespace {

bool can_be_read(document const& request) {
  auto const& pools = request.at("kv");
  return std::all_of(pools.begin(), pools.end(), [](document const& pool) {
    std::string const family = pool.at("family");
    return family != "sliding_window" && family != "compressed_tiers";
  });
}

}  // namespace

TEST_CASE("several pools, state and granularity") {
  std::map<std::string, int> covered;
  int exact = 0;
  for (document const& row : load_lines("solve_wide.jsonl")) {
    document const& request = row.at("req");
    if (!can_be_read(request)) { continue; }
    document const& want = row.at("want");
    document const answer = answer_to(request);
    INFO(request.dump(), "\n", answer.dump());
    CHECK(as_wanted(answer, want).dump() == want.dump());
    CHECK(answer.at("id") == request.at("id"));
    exact += as_wanted(answer, want) == want ? 1 : 0;
    ++covered[want.value("error", std::string{"ok"})];
    covered["state"] += request.contains("state") ? 1 : 0;
    covered["granularity"] += request.contains("granularity") ? 1 : 0;
    covered["several pools"] += request.at("kv").size() > 1 ? 1 : 0;
    covered["index"] += request.at("kv")[0].contains("index") ? 1 : 0;
  }
  CHECK(exact == 97);
  CHECK(covered["ok"] == 84);
  CHECK(covered["floors_exceed_budget"] == 11);
  CHECK(covered["fixed_exceeds_budget"] == 2);
  CHECK(covered["state"] == 38);
  CHECK(covered["granularity"] == 31);
  CHECK(covered["several pools"] >= 20);
  CHECK(covered["index"] >= 10);
}

TEST_CASE("a family of a later version is refused by name, never guessed") {
  int refused = 0;
  for (document const& row : load_lines("solve_wide.jsonl")) {
    document const& request = row.at("req");
    if (can_be_read(request)) { continue; }
    document const answer = answer_to(request);
    INFO(request.dump(), "\n", answer.dump());
    CHECK(answer.at("error") == "bad_input");
    CHECK(answer.at("binding").get<std::string>().ends_with("].family"));
    CHECK(answer.at("id") == request.at("id"));
    ++refused;
  }
  CHECK(refused == 203);
}

TEST_CASE("every repair of the wide refusals repairs") {
  int repaired = 0;
  for (document const& row : load_lines("solve_wide.jsonl")) {
    document const& request = row.at("req");
    if (!can_be_read(request)) { continue; }
    document const answer = answer_to(request);
    if (answer.at("ok")) { continue; }
    for (document const& repair : answer.at("repairs")) {
      INFO(request.dump(), "\n", repair.dump());
      CHECK(answer_to(apply(request, repair)).at("ok") == true);
      ++repaired;
    }
  }
  CHECK(repaired >= 13);
}
