// SPDX-License-Identifier: Apache-2.0
// No input crashes the reader: each gives a geometry or a message.
#include "published.hpp"

#include <allot/model/config_error.hpp>
#include <allot/model/read.hpp>

#include <doctest/doctest.h>

#include <random>

using nlohmann::json;
using namespace allot::model_test;

namespace {

bool has(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

/// \returns 1 when the text is refused, 0 when it reads; anything else thrown fails the test
int refused(std::string const& text) {
  try {
    (void)allot::model::read_config(text, "config.json");
    return 0;
  } catch (allot::model::config_error const& error) {
    REQUIRE(has(error.what(), "config.json: "));
    return 1;
  }
}

}  // namespace

TEST_CASE("every truncation of a file is refused") {
  for (auto const* file : {"Qwen--Qwen3-0.6B.json", "Qwen--Qwen3.5-35B-A3B.json"}) {
    auto text = text_of(file);
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) {
      text.pop_back();
    }
    int count = 0;
    for (std::size_t length = 0; length < text.size(); ++length) {
      count += refused(text.substr(0, length));
    }
    CHECK(count == static_cast<int>(text.size()));
  }
}

TEST_CASE("duplicate keys are refused with their path") {
  CHECK(has(failure_of(R"({"hidden_size": 1, "hidden_size": 2})"),
            "config.json: hidden_size: the key appears twice"));
  CHECK(has(failure_of(R"({"text_config": {"a": 1, "b": {"c": 1, "c": 1}}})"),
            "text_config.b.c: the key appears twice"));
  CHECK(!has(failure_of(R"({"x": [{"a": 1}, {"a": 1}]})"), "twice"));
}

TEST_CASE("deep nesting is refused before it can exhaust anything") {
  std::string const deep(1'000'000, '[');
  CHECK(has(failure_of("{\"a\":" + deep), "nested deeper than 64 levels"));
  std::string objects;
  for (int i = 0; i < 100'000; ++i) {
    objects += "{\"a\":";
  }
  CHECK(has(failure_of(objects), "nested deeper than 64 levels"));
}

TEST_CASE("documents that are not an object are refused") {
  for (auto const* text : {"", " ", "null", "3", "\"x\"", "[]", "{} {}", "{\"a\": NaN}",
                           "{\"a\": Infinity}", "{\"a\": 1e999}", "{'a': 1}", "{\"a\": 01}",
                           "\xff\xfe{}", "{\"a\": \"\xc3\x28\"}", "{\"text_config\": 3}"}) {
    CAPTURE(text);
    CHECK(refused(text) == 1);
  }
}

TEST_CASE("a number that is no count is refused with its value and range") {
  for (auto const* value : {"-1", "0", "1.5", "4096.0", "\"4096\"", "true", "[]", "{}", "[1, 2]",
                            "[1, \"x\"]", "9223372036854775808", "18446744073709551616",
                            "9007199254740993", "-9223372036854775808", "1e300"}) {
    CAPTURE(value);
    auto config = config_of("Qwen--Qwen3-0.6B.json").dump();
    auto const at = config.find("\"hidden_size\":1024");
    REQUIRE(at != std::string::npos);
    config.replace(at, 18, std::string{"\"hidden_size\":"} + value);
    auto const said = failure_of(config);
    CAPTURE(said);
    CHECK(has(said, "hidden_size"));
  }
  CHECK(has(failure_of(R"({"model_type": "llama", "hidden_size": 8, "num_attention_heads": 1,
                           "num_hidden_layers": 9000000000000000})"),
            "num_hidden_layers = 9000000000000000: expected at most 65536"));
}

TEST_CASE("any field replaced by any other kind of value gives a geometry or a message") {
  json const kinds[] = {nullptr,
                        true,
                        false,
                        -1,
                        0,
                        1,
                        9007199254740992,
                        1.5,
                        "x",
                        "",
                        json::array(),
                        json::object(),
                        json::array({1, "x"}),
                        json::array({json::object()})};
  int tried = 0;
  int refusals = 0;
  for (auto const& entry : published()) {
    auto const config = config_of(entry["file"].get<std::string>());
    auto const flat = config.flatten();
    for (auto const& [path, ignored] : flat.items()) {
      for (auto const& kind : kinds) {
        auto changed = config;
        changed[json::json_pointer{path}] = kind;
        refusals += refused(changed.dump());
        ++tried;
      }
    }
  }
  CHECK(tried >= 10'000);
  CHECK(refusals >= tried / 100);
  CHECK(refusals <= tried * 99 / 100);
}

TEST_CASE("random bytes in a file give a geometry or a message") {
  std::mt19937 random{20260611};
  auto const text = text_of("nvidia--Qwen3.6-35B-A3B-NVFP4.json");
  int refusals = 0;
  constexpr int rounds = 20'000;
  for (int i = 0; i < rounds; ++i) {
    auto changed = text;
    for (int edits = 1 + static_cast<int>(random() % 3); edits > 0; --edits) {
      changed[random() % changed.size()] = static_cast<char>(random() % 256);
    }
    refusals += refused(changed);
  }
  CHECK(refusals >= rounds / 100);
  CHECK(refusals < rounds);
}
