// SPDX-License-Identifier: Apache-2.0
// Broken lines by the ten thousand: each has one answer, one line of JSON, and what it says of
// itself holds.
#include "../unit/random.hpp"
#include "rich_request.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

using namespace allot_test;

namespace {

std::vector<std::string> seeds() {
  std::vector<std::string> lines = {rich_request().dump()};
  std::ifstream in{std::string{ALLOT_VECTORS} + "/solve_contract.jsonl"};
  for (std::string line; std::getline(in, line);) {
    lines.push_back(document::parse(line).at("req").dump());
  }
  return lines;
}

constexpr char const* pieces[] = {"{",
                                  "}",
                                  "[",
                                  "]",
                                  ":",
                                  ",",
                                  "\"",
                                  "null",
                                  "true",
                                  "-1",
                                  "0",
                                  "1e9",
                                  "1e400",
                                  "0.5",
                                  "\\u00",
                                  "\\",
                                  "\xC3",
                                  "\xFF",
                                  "-",
                                  "\"kv\":",
                                  "\"id\":",
                                  "\"tokens\":",
                                  "\"bytes\":",
                                  "NaN",
                                  " ",
                                  "\t",
                                  "99999999999999999999",
                                  "-9223372036854775808",
                                  "9223372036854775807",
                                  "\"family\":\"mla\",",
                                  "{\"a\":[{}]}",
                                  "\"tp\":3,"};

/// Another number in place of the first one at or behind `at`.
void change_number(std::string& text, std::size_t at, bool wildly, dice& roll) {
  auto const digit = text.find_first_of("0123456789", at);
  if (digit == std::string::npos) { return; }
  auto const end = std::min(text.find_first_not_of("0123456789", digit), text.size());
  std::int64_t const number =
      std::strtoll(text.substr(digit, end - digit).c_str(), nullptr, 10) % (std::int64_t{1} << 60);
  std::int64_t const other =
      wildly ? roll.extreme() : number / roll.in(1, 4) * roll.in(0, 3) + roll.in(-1, 2);
  text.replace(digit, end - digit, std::to_string(other));
}

/// One to four edits: bytes changed, dropped, doubled, pieces put in, numbers made extreme, tails
/// cut off, spans moved. Half of the lines get other numbers only, and mostly stay requests.
std::string mutated(std::string text, dice& roll) {
  bool const numbers_only = roll.chance(50);
  for (std::int64_t edits = roll.in(1, 4); edits > 0 && !text.empty(); --edits) {
    auto const size = static_cast<std::int64_t>(text.size());
    auto const at = static_cast<std::size_t>(roll.in(0, size - 1));
    auto const span = static_cast<std::size_t>(roll.in(1, 12));
    if (numbers_only) {
      change_number(text, at, roll.chance(5), roll);
      continue;
    }
    switch (roll.in(0, 6)) {
      case 0: text[at] = static_cast<char>(roll.in(0, 255)); break;
      case 1: text.erase(at, span); break;
      case 2: text.insert(at, text.substr(at, span)); break;
      case 3: text.insert(at, roll.one_of(pieces)); break;
      case 4: change_number(text, at, true, roll); break;
      case 5:
        if (roll.chance(20)) { text.resize(at); }
        break;
      default: {
        std::string const moved = text.substr(at, span);
        text.erase(at, span);
        text.insert(static_cast<std::size_t>(roll.in(0, static_cast<std::int64_t>(text.size()))),
                    moved);
      }
    }
  }
  return text;
}

}  // namespace

TEST_CASE("mutated lines are answered") {
  dice roll{20251201};
  std::vector<std::string> const from = seeds();
  std::map<std::string, int> seen;
  int repaired = 0;
  constexpr int lines = 60'000;
  for (int i = 0; i < lines; ++i) {
    std::string text = mutated(
        from[static_cast<std::size_t>(roll.in(0, static_cast<std::int64_t>(from.size()) - 1))],
        roll);
    std::replace(text.begin(), text.end(), '\n', ' ');
    std::string const answer = answer_text(text);
    if (answer.empty()) {
      REQUIRE(text.find_first_not_of(" \t\r") == std::string::npos);
      continue;
    }
    INFO(text, "\n", answer);
    REQUIRE(answer.find('\n') == std::string::npos);
    // The package's parser holds no number past a double, and an id may be one.
    std::string const without_id = R"({"id":null)" + answer.substr(answer.find(R"(,"ok":)"));
    document const a = document::parse(without_id, nullptr, false);
    REQUIRE_FALSE(a.is_discarded());
    bool const plan = a.at("ok");
    seen[plan ? "ok" : a.at("error").get<std::string>()] += 1;
    bool const is_json = document::accept(text) && text.find('\0') == std::string::npos;
    if (plan) {
      auto const of = [&](char const* name) { return a.at("bytes").at(name).get<std::int64_t>(); };
      REQUIRE(of("fixed") + of("experts") + of("kv") + of("left") == of("budget"));
      REQUIRE(of("left") >= 0);
    } else if (is_json) {
      for (document const& repair : a.at("repairs")) {
        INFO(repair.dump());
        REQUIRE(answer_to(apply(document::parse(text), repair)).at("ok") == true);
        ++repaired;
      }
    }
  }
  int total = 0;
  for (auto const& [outcome, count] : seen) {
    MESSAGE(outcome, " ", count);
    total += count;
  }
  CHECK(total >= 59'000);
  CHECK(repaired >= 10'000);
  for (char const* const outcome :
       {"ok", "bad_input", "floors_exceed_budget", "pins_exceed_budget", "fixed_exceeds_budget"}) {
    CHECK_MESSAGE(seen[outcome] >= total / 100, outcome);
  }
  CHECK(seen["overflow"] > 0);
  CHECK(seen["conflicting_pins"] > 0);
}
