// SPDX-License-Identifier: Apache-2.0
// JSON Lines: cut, answered in order and flushed as they come; lines that are hostile.
#include "rich_request.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

using namespace allot_test;
using allot::json::lines_answered;

namespace {

struct run_result {
  lines_answered counts;
  std::string out;
  std::vector<document> answers;
};

/// Feeds `in` in pieces of `piece` bytes.
run_result run(std::string_view in, std::size_t piece) {
  run_result r;
  r.counts = allot::json::solve_lines(
      [&](char* to, std::size_t size) {
        std::size_t const n = std::min({piece, size, in.size()});
        std::memcpy(to, in.data(), n);
        in.remove_prefix(n);
        return n;
      },
      [&](std::string_view answers) { r.out += answers; });
  std::string_view rest = r.out;
  while (!rest.empty()) {
    auto const end = rest.find('\n');
    REQUIRE(end != std::string_view::npos);
    r.answers.push_back(document::parse(rest.substr(0, end)));
    rest.remove_prefix(end + 1);
  }
  return r;
}

std::string line(int id) {
  return R"({"budget":{"bytes":100},"kv":[{"family":"raw","page_bytes":1}],"demand":{"pages":5},"id":)" +
         std::to_string(id) + "}";
}

}  // namespace

TEST_CASE("blank lines, carriage returns, no newline at the end; in pieces of any size") {
  std::string const in = "\n  \t\n" + line(1) + "\r\n\r\n" + line(2) + "\n\n\n  " + line(3) +
                         "  \n\xEF\xBB\xBF" + line(4);
  for (std::size_t const piece : {1UL, 2UL, 7UL, 64UL, 100'000UL}) {
    run_result const r = run(in, piece);
    CHECK(r.counts.lines == 4);
    CHECK(r.counts.not_requests == 0);
    REQUIRE(r.answers.size() == 4);
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(r.answers[i].at("id") == i + 1);
    }
  }
  CHECK(run("", 10).counts.lines == 0);
  CHECK(run("\n \n\r\n", 10).counts.lines == 0);
}

TEST_CASE("each line is answered before the next is read") {
  int next = 0;
  std::string got;
  lines_answered const counts = allot::json::solve_lines(
      [&](char* to, std::size_t) -> std::size_t {
        CHECK(std::count(got.begin(), got.end(), '\n') == next);
        if (next == 5) { return 0; }
        std::string const text = line(next++) + "\n";
        std::memcpy(to, text.data(), text.size());
        return text.size();
      },
      [&](std::string_view answers) { got += answers; });
  CHECK(counts.lines == 5);
}

TEST_CASE("which lines were no request") {
  std::string const refused =
      R"({"budget":{"bytes":1},"kv":[{"family":"raw","page_bytes":1}],"id":9})";
  std::string const too_big =
      R"({"budget":{"bytes":1},"kv":[{"family":"raw","page_bytes":1}],"demand":{"min_tokens":9223372036854775808}})";
  CHECK(run(line(1) + "\n" + refused + "\n" + too_big, 50).counts.not_requests == 0);
  for (char const* const bad : {"nope", "{", "[]", "3", "\"x\"", "null", "{}", R"({"id":1})", "{}}",
                                R"({"budget":{"bytes":1},"kv":[]})", "{\"a\":NaN}", "{'a':1}",
                                "{\"a\":1,}", "// x", "{\"a\":Infinity}", "{\"a\":01}"}) {
    run_result const r = run(line(1) + "\n" + bad + "\n" + line(2) + "\n", 33);
    INFO(bad);
    CHECK(r.counts.not_requests == 1);
    REQUIRE(r.answers.size() == 3);
    CHECK(r.answers[0].at("ok") == true);
    CHECK(r.answers[1].at("error") == "bad_input");
    CHECK(r.answers[2].at("ok") == true);
  }
}

TEST_CASE("what is not JSON is answered with the place, and without an id") {
  auto const answer = [](std::string_view text) { return answer_to_text(text); };
  for (auto const& [text, byte] : {
           std::pair{std::string{"nope"}, 1},
           std::pair{std::string{R"({"id":5,"budget":})"}, 17},
           std::pair{std::string{R"({"id":5,"budget":{"bytes":1)"}, 27},
           std::pair{std::string{"{\"id\":5,\0}", 10}, 8},
           std::pair{std::string{"{\"id\":5}\0", 9}, 8},
           std::pair{std::string{"{\"id\":\"\xC3(\"}"}, 8},
           std::pair{std::string{"{\"id\":5} x"}, 9},
       }) {
    document const a = answer(text);
    INFO(text, "\n", a.dump());
    CHECK(a.at("id") == nullptr);
    CHECK(a.at("error") == "bad_input");
    CHECK(a.at("binding") == "");
    CHECK(a.at("text").get<std::string>().find("at byte " + std::to_string(byte) + ":") !=
          std::string::npos);
    CHECK(a.at("repairs").empty());
  }
  CHECK(answer("[1]").at("text").get<std::string>().find("must be a JSON object") !=
        std::string::npos);
}

TEST_CASE("deep nesting, in every place") {
  for (std::size_t const depth : {10UL, 1000UL, 1'000'000UL}) {
    std::string const open(depth, '[');
    std::string const close(depth, ']');
    CHECK(answer_to_text(open).at("error") == "bad_input");
    CHECK(answer_to_text(open + close).at("error") == "bad_input");
    document const answer = answer_to_text(R"({"kv":)" + open + close + R"(,"id":3})");
    CHECK(answer.at("binding") == "kv[0]");
    CHECK(answer.at("id") == 3);
    std::string objects;
    for (std::size_t i = 0; i < depth; ++i) {
      objects += R"({"kv":)";
    }
    CHECK(answer_to_text(objects).at("error") == "bad_input");
  }
}

TEST_CASE("a line of 100 MB is read, whether it is a request or not") {
  std::size_t const size = std::size_t{100} << 20;
  std::string padded = line(1);
  padded.insert(1, std::string(size, ' '));
  run_result const r = run(padded + "\n" + std::string(size, 'x') + "\n" + line(2) + "\n", 1 << 20);
  REQUIRE(r.answers.size() == 3);
  CHECK(r.answers[0].at("id") == 1);
  CHECK(r.answers[0].at("ok") == true);
  CHECK(r.answers[1].at("error") == "bad_input");
  CHECK(r.answers[1].dump().size() < 1000);
  CHECK(r.answers[2].at("id") == 2);
  std::string const name = R"({"name":")" + std::string(size, 'n') + R"(","id":7})";
  CHECK(answer_text(name).size() < 1000);
}

TEST_CASE("a line past the limit is answered, and so is the next") {
  std::size_t left = allot::json::longest_line + (std::size_t{3} << 20);
  bool ended = false;
  std::string got;
  std::string const rest = "\n" + line(8) + "\n";
  lines_answered const counts = allot::json::solve_lines(
      [&](char* to, std::size_t size) -> std::size_t {
        if (left > 0) {
          std::size_t const n = std::min(size, left);
          std::memset(to, ' ', n);
          left -= n;
          return n;
        }
        if (ended) { return 0; }
        ended = true;
        std::memcpy(to, rest.data(), rest.size());
        return rest.size();
      },
      [&](std::string_view answers) { got += answers; });
  CHECK(counts.lines == 2);
  CHECK(counts.not_requests == 1);
  CHECK(got.find("longer than 256 MiB") != std::string::npos);
  CHECK(got.find("\"id\":8,\"ok\":true") != std::string::npos);
}

TEST_CASE("many pools and charges") {
  document request = rich_request();
  document const pool = request["kv"][2];
  document const charge = request["charges"][0];
  for (int i = 0; i < 20'000; ++i) {
    request["kv"].push_back(pool);
    request["charges"].push_back({{"name", "w"}, {"bytes", 1}});
  }
  document const answer = answer_to(request);
  CHECK(answer.at("ok") == true);
  CHECK(answer.at("pools").size() == 20'004);
  CHECK(answer.at("pools")[20'002].at("name") == "raw#20002");
}
