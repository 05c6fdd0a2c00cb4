// SPDX-License-Identifier: Apache-2.0
// Every request of solve_wide.jsonl has exactly the stated answer, pool for pool.
#include "vectors.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>

using namespace allot_test;

TEST_CASE("several pools, windows, tiers, state and granularity") {
  std::map<std::string, int> covered;
  int exact = 0;
  for (document const& row : load_lines("solve_wide.jsonl")) {
    document const& request = row.at("req");
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
    for (document const& pool : request.at("kv")) {
      ++covered[pool.at("family")];
    }
    covered["index"] += request.at("kv").at(0).contains("index") ? 1 : 0;
  }
  CHECK(exact == 300);
  CHECK(covered["sliding_window"] == 121);
  CHECK(covered["compressed_tiers"] == 82);
  CHECK(covered["ok"] == 255);
  CHECK(covered["floors_exceed_budget"] == 39);
  CHECK(covered["fixed_exceeds_budget"] == 6);
  CHECK(covered["state"] == 126);
  CHECK(covered["granularity"] == 121);
  CHECK(covered["several pools"] >= 20);
  CHECK(covered["index"] >= 10);
}

TEST_CASE("every repair of the wide refusals repairs") {
  int repaired = 0;
  for (document const& row : load_lines("solve_wide.jsonl")) {
    document const& request = row.at("req");
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
