// SPDX-License-Identifier: Apache-2.0
// Every repair of every refusal, made on the JSON and asked again.
#include "vectors.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <string>

using namespace allot_test;

namespace {

bool solves(document const& request) {
  return answer_to(request).at("ok");
}

/// The number a repair changes: the one that is asked, or what stands for an absent one.
std::int64_t asked_number(document const& request, std::string const& path,
                          document const& answer) {
  if (path == "budget" || path == "budget.bytes") { return answer.at("budget_bytes"); }
  document copy = request;
  document const& field = at_path(copy, path);
  if (!field.is_null()) { return field; }
  if (path == "demand.min_tokens") { return 8192; }
  if (path == "demand.min_usable_pages") { return 1; }
  FAIL("nothing is asked at ", path);
  return 0;
}

document with_number(document const& request, std::string const& path, std::int64_t to) {
  document value = to;
  if (path == "budget") { value = {{"bytes", to}}; }
  return apply(request, {{"set", path}, {"to", value}});
}

/// How many values lie between the asked one and the repair, and whether one of them, the next to
/// the repair, solves too.
void check_tight(document const& request, document const& repair, document const& answer) {
  std::string const path = repair.at("set");
  document const& value = repair.at("to");
  std::int64_t const to =
      value.is_object() ? value.at("bytes").get<std::int64_t>() : value.get<std::int64_t>();
  std::int64_t const asked = asked_number(request, path, answer);
  std::int64_t const step =
      path == "demand.tokens" ? request.at("kv")[0].value("page_tokens", std::int64_t{1}) : 1;
  std::int64_t const towards = to < asked ? step : -step;
  bool const passes = to < asked ? to + towards >= asked : to + towards <= asked;
  if (!passes) { CHECK_FALSE(solves(with_number(request, path, to + towards))); }
  if (path.ends_with(".tp")) {
    for (std::int64_t tp = to + towards; tp != asked; tp += towards) {
      CHECK_FALSE(solves(with_number(request, path, tp)));
    }
  }
}

}  // namespace

TEST_CASE("every repair of the contract's refusals repairs, and no nearer number does") {
  std::map<std::string, int> made;
  int refusals = 0;
  int numbers = 0;
  int without = 0;
  for (document const& row : load_lines("solve_contract.jsonl")) {
    document const& request = row.at("req");
    document const answer = answer_to(request);
    if (answer.at("ok")) { continue; }
    ++refusals;
    if (answer.at("repairs").empty()) { ++without; }
    for (document const& repair : answer.at("repairs")) {
      INFO(request.dump(), "\n", repair.dump());
      CHECK(solves(apply(request, repair)));
      ++made[repair.at("set")];
      if (repair.at("to").is_number() || repair.at("to").is_object()) {
        check_tight(request, repair, answer);
        ++numbers;
      }
    }
    // Whatever is short of bytes has at least one repair: more of them.
    if (answer.contains("needed_bytes")) { CHECK_FALSE(answer.at("repairs").empty()); }
  }
  CHECK(refusals == 212);
  CHECK(numbers >= 250);
  CHECK(without <= 24);
  for (char const* const path :
       {"budget", "budget.bytes", "demand.min_tokens", "demand.pages", "demand.tokens",
        "charges[0].bytes", "kv[0].tp", "experts.prefill_buffer", "experts.slots"}) {
    CHECK_MESSAGE(made[path] > 0, path, " was never repaired");
  }
}

TEST_CASE("no single change repairs a refusal that lists none") {
  // Brute force over what a user may set, far and near values alike.
  int tried = 0;
  for (document const& row : load_lines("solve_contract.jsonl")) {
    document const& request = row.at("req");
    document const answer = answer_to(request);
    if (answer.at("ok") || !answer.at("repairs").empty()) { continue; }
    auto const fails = [&](char const* path, document const& to) {
      INFO(request.dump(), "\n", path, " to ", to.dump());
      CHECK_FALSE(solves(apply(request, {{"set", path}, {"to", to}})));
      ++tried;
    };
    for (std::int64_t const bytes : {std::int64_t{0}, std::int64_t{1} << 30, std::int64_t{1} << 50,
                                     std::int64_t{1} << 62, INT64_MAX}) {
      fails("budget", {{"bytes", bytes}});
    }
    std::int64_t const page = request.at("kv")[0].value("page_tokens", std::int64_t{1});
    for (std::int64_t const n : {0, 1, 2, 5, 64, 1024}) {
      fails("demand.min_tokens", n);
      fails("demand.min_usable_pages", n);
      if (n > 0) { fails("demand.pages", n); }
      if (n > 0) { fails("demand.tokens", n * page); }
    }
    for (char const* const path : {"demand.pages", "demand.tokens", "demand.target_tokens",
                                   "demand.max_tokens", "demand", "objective"}) {
      fails(path, nullptr);
    }
    if (request.contains("charges")) { fails("charges", nullptr); }
    if (request.contains("experts")) {
      for (char const* const mode : {"off", "preferred"}) {
        fails("experts.prefill_buffer", mode);
      }
      for (char const* const path : {"experts.slots", "experts.max_slots"}) {
        fails(path, nullptr);
      }
      std::int64_t const layer = request.at("experts").at("per_layer");
      for (std::int64_t const slots : {layer, 2 * layer}) {
        fails("experts.slots", slots);
        fails("experts.max_slots", slots);
      }
    }
    if (request.at("kv")[0].contains("tp")) {
      for (std::int64_t tp = 1; tp <= 64; ++tp) {
        fails("kv[0].tp", tp);
      }
    }
  }
  CHECK(tried > 1000);
}
