// SPDX-License-Identifier: Apache-2.0
// Unknown and repeated fields, families and their fields, and which of several faults is named.
#include "rich_request.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace allot_test;

namespace {

std::string text_of(document const& answer) {
  return answer.at("text");
}

/// The rich request as text, with one piece of it replaced.
std::string replaced(std::string const& from, std::string const& to) {
  std::string text = rich_request().dump();
  auto const at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

void check_names(document const& answer, char const* binding, char const* words) {
  INFO(answer.dump());
  CHECK(answer.at("error") == "bad_input");
  CHECK(answer.at("binding") == binding);
  CHECK(text_of(answer).find(words) != std::string::npos);
  CHECK(answer.at("id") == 7);
}

}  // namespace

TEST_CASE("unknown fields, in every object") {
  document const rich = rich_request();
  for (char const* const section : {"", "budget.", "charges[0].", "kv[0].", "kv[0].index.",
                                    "kv[1].", "kv[2].", "state.", "experts.", "demand."}) {
    for (char const* const raw : {"1", "null", "\"x\"", "[[{\"a\":[]}]]", "{\"b\":{\"c\":1}}"}) {
      std::string const path = std::string{section} + "page_size";
      check_names(answer_to_text(with_raw(rich, path, raw)), path.c_str(),
                  (path + " is not a field of ").c_str());
    }
  }
  // What there is instead.
  CHECK(text_of(answer_to_text(with_raw(rich, "demand.min_token", "1")))
            .find("min_tokens, min_usable_pages, target_tokens, max_tokens, pages, tokens") !=
        std::string::npos);
}

TEST_CASE("a field of another family is not a field of this one") {
  document const rich = rich_request();
  check_names(answer_to_text(with_raw(rich, "kv[0].latent_dim", "1")), "kv[0].latent_dim",
              "of gqa");
  check_names(answer_to_text(with_raw(rich, "kv[0].page_bytes", "1")), "kv[0].page_bytes",
              "of gqa");
  check_names(answer_to_text(with_raw(rich, "kv[1].tp", "1")), "kv[1].tp", "of mla, which has");
  check_names(answer_to_text(with_raw(rich, "kv[2].dtype", "\"bf16\"")), "kv[2].dtype", "of raw");
  check_names(answer_to_text(with_raw(rich, "kv[0].window_tokens", "[{}]")), "kv[0].window_tokens",
              "of gqa");
  // However late the family is named.
  check_names(answer_to_text(replaced(R"({"family":"mla","layers":2,)",
                                      R"({"kv_heads":2,"layers":0,"family":"mla",)")),
              "kv[1].kv_heads", "of mla");
}

TEST_CASE("block_sparse is gqa with an index, and is called so") {
  document request = rich_request();
  request["kv"][0]["family"] = "block_sparse";
  request["kv"][0].erase("name");
  document const answer = answer_to(request);
  CHECK(answer.at("pools")[0].at("family") == "block_sparse");
  CHECK(answer.at("pools")[0].at("name") == "block_sparse");
  document gqa = request;
  gqa["kv"][0]["family"] = "gqa";
  CHECK(answer_to(gqa).at("bytes") == answer.at("bytes"));
  request["kv"][0].erase("index");
  check_names(answer_to(request), "kv[0].index", "block_sparse needs it");
}

TEST_CASE("repeated keys") {
  for (auto const& [piece, binding] : {
           std::pair{R"("bytes":8589934592)", "budget.bytes"},
           std::pair{R"("layers":4,"kv_heads":8)", "kv[0].layers"},
           std::pair{R"("head_dim":64,"layers":4)", "kv[0].index.head_dim"},
           std::pair{R"("page_bytes":4096)", "kv[2].page_bytes"},
           std::pair{R"("max_running":4)", "state.max_running"},
           std::pair{R"("min_tokens":1024)", "demand.min_tokens"},
           std::pair{R"("granularity":16)", "granularity"},
           std::pair{R"("id":7)", "id"},
       }) {
    std::string const twice = std::string{piece} + "," + piece;
    check_names(answer_to_text(replaced(piece, twice)), binding, "given twice");
  }
  check_names(answer_to_text(replaced(R"("objective":)", R"("kv":null,"objective":)")), "kv",
              "given twice");
  // The same key in two items is no repetition.
  CHECK(answer_to_text(rich_request().dump()).at("ok") == true);
}

TEST_CASE("of several faults the first in the order of the errors, then of the document") {
  std::string text = replaced(R"("min_tokens":1024)", R"("min_tokens":-1)");
  text.replace(text.find(R"("page_bytes":4096)"), 17, R"("page_bytes":0)");
  check_names(answer_to_text(text), "kv[2].page_bytes", "is 0");
  text.replace(text.find(R"("bytes":1048576)"), 15, R"("bytes":99999999999999999999)");
  check_names(answer_to_text(text), "kv[2].page_bytes", "is 0");  // bad_input before overflow
  text.replace(text.find(R"("name":"workspace")"), 18, R"("nome":"workspace")");
  check_names(answer_to_text(text), "charges[0].nome", "not a field");
  // The solver's own bad_input comes before the reader's overflow, too.
  document request = rich_request();
  request["demand"].erase("target_tokens");
  request["demand"].erase("max_tokens");
  check_names(answer_to_text(with_raw(request, "demand.min_tokens", "9223372036854775808")),
              "objective", "context_first");
}

TEST_CASE("ids come back as they were written") {
  for (char const* const id :
       {"7", "-7", "0", "1.50", "1e5", "1E400", "123456789012345678901234567890", "null", "\"\"",
        "\"a b\"", "\"\\u0001\\n\\\"\\\\\"", "\"é€😀\"", "true", "18446744073709551615"}) {
    std::string text = R"({"id":)" + std::string{id} + R"(,"budget":{},"kv":[]})";
    std::string const answer = answer_text(text);
    INFO(id, " ", answer);
    CHECK(answer.starts_with(
        R"({"id":)" +
        std::string{id == std::string{"\"\\u0001\\n\\\"\\\\\""} ? "\"\\u0001\\n\\\"\\\\\"" : id} +
        ","));
  }
  // Also when it comes last, behind a fault.
  CHECK(answer_text(R"({"budget":3,"kv":[],"nope":[{}],"id":"late"})")
            .starts_with(R"({"id":"late",)"));
  CHECK(answer_text(R"({"kv":[]})").starts_with(R"({"id":null,)"));
}

TEST_CASE("names and values in a text are shortened, never broken") {
  std::string const word(100'000, 'x');
  document const answer = answer_to_text(with_raw(rich_request(), "objective", '"' + word + '"'));
  CHECK(answer.at("binding") == "objective");
  CHECK(text_of(answer).size() < 300);
  std::string euros;
  for (int i = 0; i < 200; ++i) {
    euros += "€";
  }
  for (std::string const cut : {"", "a", "ab"}) {
    document const shortened =
        answer_to_text(with_raw(rich_request(), "objective", '"' + cut + euros + '"'));
    CHECK(text_of(shortened).find("�") == std::string::npos);
    CHECK(text_of(shortened).find("…") != std::string::npos);
  }
  std::string const key = replaced(R"("granularity")", '"' + word + '"');
  CHECK(text_of(answer_to_text(key)).size() < 500);
}
