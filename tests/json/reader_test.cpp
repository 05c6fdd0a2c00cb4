// SPDX-License-Identifier: Apache-2.0
// Every field: what it refuses, and that the answer names the field, the value and what is right.
#include "rich_request.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace allot_test;

namespace {

bool contains(document const& answer, std::string const& words) {
  return answer.at("text").get<std::string>().find(words) != std::string::npos;
}

/// The answer to the rich request with one raw value is a fault at that path, with both the value
/// and what would be right in its text.
void check_fault(document const& request, std::string const& path, std::string const& raw,
                 char const* error, std::string const& right) {
  document const answer = answer_to_text(with_raw(request, path, raw));
  INFO(path, " = ", raw, "\n", answer.dump());
  CHECK(answer.at("id") == 7);
  CHECK(answer.at("ok") == false);
  CHECK(answer.at("error") == error);
  CHECK(answer.at("binding") == path);
  bool const shown_as_is = raw[0] != '[' && raw[0] != '{';
  CHECK(contains(answer, path + " is " + (shown_as_is ? raw : raw.substr(0, 1))));
  CHECK(contains(answer, right));
}

document rich_with(char const* path, document const& value) {
  document request = rich_request();
  at_path(request, path) = value;
  return request;
}

}  // namespace

TEST_CASE("the rich request is one, and each of its fields counts") {
  document const answer = answer_to(rich_request());
  INFO(answer.dump());
  CHECK(answer.at("ok") == true);
  CHECK(answer.at("pools").size() == 4);
  CHECK(answer.at("pools")[0].at("name") == "anchor");
}

TEST_CASE("integers: the lowest is accepted, one less is not") {
  int checked = 0;
  for (whole_field const& field : whole_fields) {
    std::string const right = field.lowest == INT64_MIN
                                  ? std::string{"an integer"}
                                  : "an integer of at least " + std::to_string(field.lowest);
    document const at_lowest = answer_to(rich_with(field.path, field.lowest));
    INFO(field.path, "\n", at_lowest.dump());
    CHECK((at_lowest.at("ok") == true || at_lowest.at("error") != "bad_input"));
    if (field.lowest > INT64_MIN) {
      check_fault(rich_request(), field.path, std::to_string(field.lowest - 1), "bad_input", right);
      check_fault(rich_request(), field.path, "-9223372036854775808", "bad_input", right);
    }
    // A float is no count, whatever its value; nor is anything else.
    for (char const* const raw : {"1.0", "1.5", "1e3", "1E400", "true", "\"8\"", "[1]", "{}"}) {
      check_fault(rich_request(), field.path, raw, "bad_input", right);
      ++checked;
    }
    for (char const* const raw :
         {"9223372036854775808", "18446744073709551615", "18446744073709551616",
          "-9223372036854775809", "123456789012345678901234567890"}) {
      check_fault(rich_request(), field.path, raw, "overflow", right);
      ++checked;
    }
  }
  CHECK(checked == 13 * 38);
}

TEST_CASE("integers of hundreds of digits are too big, not broken JSON") {
  std::string const digits(400, '9');
  document const answer = answer_to_text(with_raw(rich_request(), "demand.min_tokens", digits));
  CHECK(answer.at("error") == "overflow");
  CHECK(answer.at("binding") == "demand.min_tokens");
  CHECK(answer.at("id") == 7);
  // Even a dozen of them, and the fault named is the first.
  std::string text = with_raw(rich_request(), "budget.bytes", digits);
  text.replace(text.find("\"layers\":4"), 10, "\"layers\":1e999");
  document const mixed = answer_to_text(text);
  CHECK(mixed.at("error") == "bad_input");  // comes before overflow
  CHECK(mixed.at("binding") == "kv[0].layers");
}

TEST_CASE("null is absent: required fields are missing, the others have their default") {
  for (whole_field const& field : whole_fields) {
    document const answer = answer_to(rich_with(field.path, nullptr));
    INFO(field.path, "\n", answer.dump());
    if (!field.required) {
      CHECK((answer.at("ok") == true || answer.at("error") != "bad_input"));
      continue;
    }
    CHECK(answer.at("error") == "bad_input");
    if (std::string{field.path} == "budget.bytes") {
      CHECK(answer.at("binding") == "budget");
      CHECK(contains(answer, "baseline_bytes"));
    } else {
      CHECK(answer.at("binding") == field.path);
      CHECK(contains(answer, std::string{field.path} + " is missing"));
    }
  }
  CHECK(answer_to(rich_with("budget", nullptr)).at("binding") == "budget");
  CHECK(answer_to(rich_with("kv", nullptr)).at("binding") == "kv");
  CHECK(answer_to(rich_with("kv[0].family", nullptr)).at("binding") == "kv[0].family");
  CHECK(answer_to(rich_with("kv[0].dtype", nullptr)).at("binding") == "kv[0].dtype");
  CHECK(answer_to(rich_with("state.dtype", nullptr)).at("binding") == "state.dtype");
  for (char const* const path : {"state", "experts", "charges", "id", "arrangement", "kv[0].index",
                                 "kv[0].name", "state.kind", "state.prefix_cached",
                                 "state.snapshot_ratio", "kv[0].latent_dim", "kv[2].layers"}) {
    INFO(path);
    CHECK(answer_to(rich_with(path, nullptr)).at("ok") == true);
  }
  document pinned = rich_request();  // a stated number of slots needs no running requests
  pinned["state"]["slots"] = 4;
  pinned["state"].erase("max_running");
  CHECK(answer_to(pinned).at("ok") == true);
}

TEST_CASE("words, flags, names, objects and lists") {
  document const rich = rich_request();
  char const* const elements = "one of fp32, fp16, bf16, fp8, int8, fp4";
  for (char const* const path :
       {"kv[0].dtype", "kv[0].index.dtype", "kv[1].dtype", "state.dtype", "state.state_dtype"}) {
    for (char const* const raw : {"\"bf 16\"", "\"\"", "2", "true", "[]"}) {
      check_fault(rich, path, raw, "bad_input", elements);
    }
  }
  for (char const* const raw : {"\"window\"", "\"tiers\"", "\"GQA\"", "3"}) {
    check_fault(rich, "kv[0].family", raw, "bad_input",
                "one of raw, gqa, block_sparse, mla, sliding_window, compressed_tiers");
  }
  check_fault(rich, "state.kind", "\"mamba3\"", "bad_input",
              "one of gated_delta, kda, mamba1, mamba2");
  check_fault(rich, "experts.prefill_buffer", "\"on\"", "bad_input",
              "one of off, preferred, required");
  check_fault(rich, "objective", "\"max\"", "bad_input", "one of experts_first, context_first");
  check_fault(rich, "arrangement", "\"diagonal\"", "bad_input",
              "one of flat, page_major, layer_major");
  for (char const* const raw : {"1", "\"true\"", "[]"}) {
    check_fault(rich, "state.prefix_cached", raw, "bad_input", "true or false");
  }
  for (char const* const path : {"charges[0].name", "kv[0].name", "state.name"}) {
    check_fault(rich, path, "3", "bad_input", "a string");
  }
  for (char const* const path : {"budget", "state", "experts", "demand", "kv[0].index"}) {
    for (char const* const raw : {"3", "\"x\"", "[3]", "false"}) {
      check_fault(rich, path, raw, "bad_input", "an object");
    }
  }
  for (char const* const path : {"charges", "kv", "experts.banks"}) {
    for (char const* const raw : {"3", "{\"a\":[1]}", "true"}) {
      check_fault(rich, path, raw, "bad_input", "a list of objects");
    }
  }
  for (char const* const path : {"charges[0]", "kv[1]"}) {
    for (char const* const raw : {"3", "[3]", "null", "\"x\"", "2.5", "true"}) {
      check_fault(rich, path, raw, "bad_input", "an object");
    }
  }
  check_fault(rich, "kv", "[]", "bad_input", "at least one pool");
  CHECK(answer_to(rich_with("id", document::object())).at("binding") == "id");
}

TEST_CASE("ratios") {
  document share = rich_request();
  share["budget"] = {{"baseline_bytes", 8589934592}, {"ratio", 0.5}, {"resident_bytes", 0}};
  for (char const* const raw : {"0", "0.0", "-0.5", "1.0000001", "2", "1e400", "\"1\"", "true"}) {
    check_fault(share, "budget.ratio", raw, "bad_input", "a number above 0 and at most 1");
  }
  for (char const* const raw : {"-1", "-0.1", "1e18", "1e400", "\"1\""}) {
    check_fault(share, "state.snapshot_ratio", raw, "bad_input", "a number of at least 0");
  }
  for (char const* const raw : {"1", "1.0", "1e-300", "0.999999"}) {
    CHECK(answer_to_text(with_raw(share, "budget.ratio", raw)).value("error", "") != "bad_input");
  }
  // One product, truncated: 0.57 of 100 is 56.
  share["budget"] = {{"baseline_bytes", 100}, {"ratio", 0.57}, {"resident_bytes", 7}};
  CHECK(answer_to(share).at("budget_bytes") == 49);
  share["budget"].erase("resident_bytes");
  CHECK(answer_to(share).at("budget_bytes") == 56);
  share["budget"].erase("ratio");
  CHECK(answer_to(share).at("binding") == "budget.ratio");
  share["budget"] = {{"ratio", 0.5}};
  CHECK(answer_to(share).at("binding") == "budget.baseline_bytes");
  for (char const* const path : {"budget.baseline_bytes", "budget.resident_bytes"}) {
    document request = rich_request();
    request["budget"] = {{"baseline_bytes", 100}, {"ratio", 0.5}, {"resident_bytes", 7}};
    check_fault(request, path, "-1", "bad_input", "an integer of at least 0");
    check_fault(request, path, "9223372036854775808", "overflow", "an integer of at least 0");
  }
}

TEST_CASE("two alternatives together") {
  for (char const* const other : {"baseline_bytes", "resident_bytes", "ratio"}) {
    document const answer = answer_to(rich_with(("budget." + std::string{other}).c_str(), 1));
    CHECK(answer.at("error") == "bad_input");
    CHECK(answer.at("binding") == "budget." + std::string{other});
    CHECK(
        contains(answer, "budget.bytes and budget." + std::string{other} + " are given together"));
  }
  document banks = rich_request();
  banks["experts"]["banks"] = document::parse(R"([{"rows_bytes":3},{"rows_bytes":4}])");
  document const both = answer_to(banks);
  CHECK(both.at("binding") == "experts.banks");
  CHECK(contains(both, "experts.slot_bytes and experts.banks"));
  banks["experts"].erase("slot_bytes");
  document const answer = answer_to(banks);
  CHECK(answer.at("ok") == true);
  CHECK(answer.at("bytes").at("experts") == 32 * 7);
  banks["experts"].erase("banks");
  CHECK(answer_to(banks).at("binding") == "experts.slot_bytes");
  banks["experts"]["banks"] = document::array();
  CHECK(answer_to(banks).at("binding") == "experts.banks");
  banks["experts"]["banks"] = document::parse(R"([{"rows_bytes":3},{"rows_bytes":0}])");
  CHECK(answer_to(banks).at("binding") == "experts.banks[1].rows_bytes");
  banks["experts"]["banks"] =
      document::parse(R"([{"rows_bytes":9223372036854775807},{"rows_bytes":1}])");
  CHECK(answer_to(banks).at("error") == "overflow");
  CHECK(answer_to(banks).at("binding") == "experts.banks[1].rows_bytes");
}
