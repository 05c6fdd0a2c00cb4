// SPDX-License-Identifier: Apache-2.0
// The repairs of lines that are no request: each, made on the JSON, gives a plan.
#include "rich_request.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace allot_test;

namespace {

/// Asks, makes every repair, and returns them as text.
std::string repairs_of(std::string const& text) {
  document const answer = answer_to_text(text);
  INFO(text, "\n", answer.dump());
  CHECK(answer.at("ok") == false);
  for (document const& repair : answer.at("repairs")) {
    INFO(repair.dump());
    // A document cannot hold what is too big for a double; there such a value stands for it.
    document const request = document::parse(text, nullptr, false);
    REQUIRE_FALSE(request.is_discarded());
    CHECK(answer_to(apply(request, repair)).at("ok") == true);
  }
  return answer.at("repairs").dump();
}

std::string repairs_with(std::string_view path, std::string_view raw) {
  return repairs_of(with_raw(rich_request(), path, raw));
}

}  // namespace

TEST_CASE("an optional field that is wrong can be left out") {
  CHECK(repairs_with("objective", "\"fast\"") == R"([{"set":"objective","to":null}])");
  CHECK(repairs_with("arrangement", "\"diagonal\"") == R"([{"set":"arrangement","to":null}])");
  CHECK(repairs_with("granularity", "0") == R"([{"set":"granularity","to":null}])");
  CHECK(repairs_with("granularity", "9223372036854775808") ==
        R"([{"set":"granularity","to":null}])");
  CHECK(repairs_with("experts.prefill_buffer", "true") ==
        R"([{"set":"experts.prefill_buffer","to":null}])");
  CHECK(repairs_with("kv[0].scale_bytes", "\"4\"") == R"([{"set":"kv[0].scale_bytes","to":null}])");
  CHECK(repairs_with("kv[0].index.dtype", "\"fp9\"") ==
        R"([{"set":"kv[0].index.dtype","to":null}])");
  CHECK(repairs_with("demand.foo", "1") == R"([{"set":"demand.foo","to":null}])");
  CHECK(repairs_with("state.kind", "\"kda\"") == R"([{"set":"state.kind","to":null}])");
  CHECK(repairs_with("charges", "3") == R"([{"set":"charges","to":null}])");
  CHECK(repairs_with("charges[0]", "3") == R"([{"set":"charges","to":null}])");
  CHECK(repairs_with("id", "[]") == R"([{"set":"id","to":null}])");
}

TEST_CASE("a setting out of range has the nearest number that works, and may be left out") {
  CHECK(repairs_with("demand.min_tokens", "-5") ==
        R"([{"set":"demand.min_tokens","to":0},{"set":"demand.min_tokens","to":null}])");
  CHECK(repairs_with("demand.pages", "0") ==
        R"([{"set":"demand.pages","to":1},{"set":"demand.pages","to":null}])");
  CHECK(repairs_with("demand.tokens", "0") ==
        R"([{"set":"demand.tokens","to":16},{"set":"demand.tokens","to":null}])");
  CHECK(repairs_with("experts.slots", "0") ==
        R"([{"set":"experts.slots","to":8},{"set":"experts.slots","to":null}])");
  CHECK(repairs_with("state.max_running", "0") == R"([{"set":"state.max_running","to":1}])");
  CHECK(repairs_with("charges[0].bytes", "-1") == R"([{"set":"charges[0].bytes","to":0}])");
  CHECK(repairs_with("kv[0].tp", "0") ==
        R"([{"set":"kv[0].tp","to":1},{"set":"kv[0].tp","to":null}])");
}

TEST_CASE("a number that is too big") {
  // The largest number that works; where any does, the largest there is.
  std::string const big = "9223372036854775808";
  CHECK(repairs_with("budget.bytes", big) ==
        R"([{"set":"budget.bytes","to":9223372036854775807}])");
  CHECK(
      repairs_with("experts.max_slots", big) ==
      R"([{"set":"experts.max_slots","to":9223372036854775807},{"set":"experts.max_slots","to":null}])");
  document const tokens = document::parse(repairs_with("demand.min_tokens", big));
  REQUIRE(tokens.size() == 2);
  std::int64_t const most = tokens[0].at("to");
  document request = rich_request();
  request["demand"]["min_tokens"] = most;
  CHECK(answer_to(request).at("ok") == true);
  request["demand"]["min_tokens"] = most + 1;
  CHECK(answer_to(request).at("error") == "floors_exceed_budget");
  document const charge = document::parse(repairs_with("charges[0].bytes", big));
  REQUIRE(charge.size() == 1);
  CHECK(charge[0].at("set") == "charges[0].bytes");
}

TEST_CASE("two alternatives: each that can go alone") {
  document request = rich_request();
  request["budget"] =
      document::parse(R"({"bytes":8589934592,"baseline_bytes":9000000000,"ratio":0.9})");
  CHECK(repairs_of(request.dump()) == R"([{"set":"budget.bytes","to":null}])");
  request["budget"] = document::parse(R"({"bytes":8589934592,"ratio":0.9})");
  CHECK(repairs_of(request.dump()) == R"([{"set":"budget.ratio","to":null}])");
  request = rich_request();
  request["experts"]["banks"] = document::parse(R"([{"rows_bytes":1000}])");
  CHECK(repairs_of(request.dump()) ==
        R"([{"set":"experts.banks","to":null},{"set":"experts.slot_bytes","to":null}])");
}

TEST_CASE("a budget that says nothing is replaced by the least that works") {
  for (char const* const raw : {"null", "{}", "3", "{\"bytes\":\"8 GiB\"}", "{\"bytes\":8.5}",
                                "{\"baseline_bytes\":5}", "{\"baseline_bytes\":5,\"ratio\":2}"}) {
    document const repairs = document::parse(repairs_with("budget", raw));
    REQUIRE(repairs.size() == 1);
    document const repaired = apply(rich_request(), repairs[0]);
    document request = rich_request();
    request["budget"] = {{"bytes", repaired.at("budget").at("bytes").get<std::int64_t>() - 1}};
    CHECK(answer_to(request).at("error") == "floors_exceed_budget");
  }
}

TEST_CASE("nothing is listed that would not be enough, nor the model's geometry") {
  for (char const* const path : {"kv[0].layers", "kv[0].head_dim", "kv[1].latent_dim",
                                 "kv[2].page_bytes", "state.layers", "experts.layers"}) {
    for (char const* const raw : {"0", "\"4\"", "9223372036854775808", "null"}) {
      CHECK(repairs_with(path, raw) == "[]");
    }
  }
  CHECK(repairs_with("kv[0].dtype", "\"fp9\"") == "[]");
  CHECK(repairs_with("kv[0].family", "\"compressed_rows\"") == "[]");
  // Two faults: neither change alone is enough.
  document request = rich_request();
  request["objective"] = "fast";
  request["arrangement"] = "slow";
  CHECK(repairs_of(request.dump()) == "[]");
  // Nor one where what remains is refused.
  request = rich_request();
  request["objective"] = "fast";
  request["budget"]["bytes"] = 5;
  CHECK(repairs_of(request.dump()) == "[]");
  // Nor where a name could not be found again.
  request = rich_request();
  request["a.b"] = 1;
  CHECK(repairs_of(request.dump()) == "[]");
}

TEST_CASE("a page that is misaligned has the nearest that is not") {
  document request = rich_request();
  request["arrangement"] = "page_major";
  CHECK(answer_to(request).at("ok") == true);
  request["kv"][0]["scale_bytes"] = 2;  // (64 + 128 elements + scales) of 4 heads: 1552 B a token
  request["kv"][1]["latent_dim"] = 577;
  request["kv"][1]["page_tokens"] = 24;
  CHECK(answer_to(request).at("ok") == true);  // pages of 24 tokens are no part of pages of 16
  request["kv"][1]["page_tokens"] = 16;
  request["kv"][1]["sentinel_pages"] = 2;
  CHECK(answer_to(request).at("ok") == true);
  request["kv"][0]["page_tokens"] = request["kv"][1]["page_tokens"] = 23;
  document const answer = answer_to(request);
  CHECK(answer.at("error") == "misaligned_stride");
  CHECK(answer.at("binding") == "kv[1].page_tokens");
  CHECK(answer.at("text") ==
        "kv[1].page_tokens is 23; with page_major it must be such that the rows of a page are a "
        "multiple of 16 bytes: the nearest are 22 and 24");
  CHECK(repairs_of(request.dump()) ==
        R"([{"set":"kv[1].page_tokens","to":22},{"set":"kv[1].page_tokens","to":24}])");

  request["kv"] = document::parse(R"([{"family":"raw","page_bytes":4090,"page_tokens":16}])");
  CHECK(repairs_of(request.dump()) == R"([{"set":"kv[0].page_bytes","to":4096}])");
  request["kv"][0]["page_bytes"] = 4096;
  request["experts"]["slot_bytes"] = 1048577;
  CHECK(answer_to(request).at("binding") == "experts.slot_bytes");
  CHECK(repairs_of(request.dump()) == R"([{"set":"arrangement","to":null}])");
}

TEST_CASE("faces are rounded to multiples of 16") {
  document request = rich_request();
  request["arrangement"] = "page_major";
  request["granularity"] = 24;
  document const answer = answer_to(request);
  CHECK(answer.at("error") == "bad_input");
  CHECK(answer.at("text") ==
        "granularity is 24; it must be 1, or with page_major a multiple of 16");
  CHECK(repairs_of(request.dump()) == R"([{"set":"granularity","to":null}])");
}

TEST_CASE("a granularity that takes everything can be left out") {
  document request = rich_request();
  request["granularity"] = std::int64_t{1} << 62;
  document const answer = answer_to(request);
  INFO(answer.dump());
  CHECK(answer.at("error") == "overflow");
  CHECK(answer.at("repairs").dump() == R"([{"set":"granularity","to":null}])");
  CHECK(answer_to(apply(request, answer.at("repairs")[0])).at("ok") == true);
}
