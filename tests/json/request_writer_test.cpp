// SPDX-License-Identifier: Apache-2.0
// A request that is written reads as the same request.
#include "rich_request.hpp"

#include <allot/json/answer_writer.hpp>
#include <allot/json/request_reader.hpp>

#include <doctest/doctest.h>

#include <fstream>
#include <string>

using namespace allot_test;

namespace {

std::string rewritten(std::string const& text) {
  allot::json::request_reader reader;
  allot::json::owned_request request;
  INFO(text);
  REQUIRE(reader.read(text, request));
  std::string out;
  allot::json::append_request(out, request.get(), request.families());
  return out;
}

/// The answer without the id, which a request does not keep.
std::string answer_of(document request) {
  request.erase("id");
  return answer_text(request.dump());
}

}  // namespace

TEST_CASE("the rich request, and every pin") {
  document request = rich_request();
  std::string const once = rewritten(request.dump());
  CHECK(rewritten(once) == once);
  CHECK(answer_of(request) == answer_text(once));
  document const written = document::parse(once);
  for (auto const& [name, value] : request.items()) {
    if (name == "id") { continue; }
    INFO(name);
    REQUIRE(written.contains(name));
  }
  for (char const* const other : {"page_major", "layer_major"}) {
    document coarse = request;
    coarse["granularity"] = 4096;  // what is rounded, and how often, tells them apart
    document arranged = coarse;
    arranged["arrangement"] = other;
    std::string const text = rewritten(arranged.dump());
    CHECK(rewritten(text) == text);
    CHECK(answer_of(arranged) == answer_text(text));
    CHECK(answer_of(arranged) != answer_of(coarse));
  }
  for (char const* const path : {"demand.pages", "demand.tokens", "experts.slots", "state.slots"}) {
    document pinned = request;
    at_path(pinned, path) = 16;
    std::string const text = rewritten(pinned.dump());
    CHECK(rewritten(text) == text);
    CHECK(answer_of(pinned) == answer_text(text));
  }
}

TEST_CASE("every request of the contract") {
  int compared = 0;
  for (char const* const file : {"/solve_contract.jsonl", "/solve_wide.jsonl"}) {
    std::ifstream in{std::string{ALLOT_VECTORS} + file};
    for (std::string line; std::getline(in, line);) {
      document const request = document::parse(line).at("req");
      std::string const text = rewritten(request.dump());
      // A ratio is written so that it reads as the same double, a charge keeps its name.
      CHECK(answer_of(request) == answer_text(text));
      CHECK(rewritten(text) == text);
      ++compared;
    }
  }
  CHECK(compared == 400 + 300);
}
