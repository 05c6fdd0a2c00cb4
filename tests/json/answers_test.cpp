// SPDX-License-Identifier: Apache-2.0
// Answers, character for character, and the sentences in them.
#include "rich_request.hpp"

#include <allot/json/answer_writer.hpp>
#include <allot/json/describe.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace allot_test;

TEST_CASE("the contract's example") {
  CHECK(
      answer_text(
          R"({"id":1,"budget":{"bytes":940},"kv":[{"family":"raw","page_bytes":10,"page_tokens":64,"sentinel_pages":1}],)"
          R"("experts":{"slot_bytes":100,"per_layer":2,"layers":25,"prefill_buffer":"preferred"},)"
          R"("demand":{"min_tokens":256},"objective":"experts_first"})") ==
      R"({"id":1,"ok":true,"slots":8,"prefill_buffer":true,"usable_pages":13,"physical_pages":14,"usable_tokens":832,)"
      R"("bytes":{"budget":940,"fixed":0,"experts":800,"kv":140,"left":0},"left_reason":"next_step",)"
      R"("pools":[{"name":"raw","family":"raw","unit":"pages","usable":13,"physical":14,"bytes":140}],"notes":[]})");
}

TEST_CASE("a refusal about bytes: numbers, the binding term, a sentence, repairs") {
  CHECK(
      answer_text(
          R"({"id":2,"budget":{"bytes":940},"kv":[{"family":"raw","page_bytes":10,"page_tokens":64}],)"
          R"("experts":{"slot_bytes":100,"per_layer":2,"layers":25}})") ==
      R"({"id":2,"ok":false,"error":"floors_exceed_budget","needed_bytes":1490,"budget_bytes":940,"shortfall_bytes":550,)"
      R"("binding":"kv","text":"the floors need 1490 bytes (1.45 KiB): 200 bytes for 2 expert slots, )"
      R"(1290 bytes (1.25 KiB) for the KV cache; the budget is 940 bytes, 550 bytes short",)"
      R"("repairs":[{"set":"budget.bytes","to":1490},{"set":"demand.min_tokens","to":4672}]})");
}

TEST_CASE("notes carry both numbers") {
  document const answer = answer_to(document::parse(
      R"({"budget":{"bytes":1000},"kv":[{"family":"raw","page_bytes":10}],
          "experts":{"slot_bytes":100,"per_layer":4,"layers":2},
          "demand":{"min_tokens":20,"target_tokens":70,"max_tokens":10},"objective":"context_first"})"));
  CHECK(answer.at("notes").dump() ==
        R"([{"code":"prefill_buffer_dropped","asked":8,"planned":7,)"
        R"("text":"the prefill buffer needs 8 slots, 7 are planned: prefill goes without it"},)"
        R"({"code":"target_reduced","asked":70,"planned":20,)"
        R"("text":"demand.target_tokens asks for 70 tokens, 20 fit"},)"
        R"({"code":"max_tokens_raised","asked":10,"planned":20,)"
        R"("text":"demand.max_tokens is 10, below the floor: the cap is 20 tokens"}])");
}

TEST_CASE("every refusal of the solver says what is wrong and what would be right") {
  struct expectation {
    char const* change;  // merged into the base
    char const* error;
    char const* binding;
    char const* words;
  };
  document const base = document::parse(
      R"({"budget":{"bytes":100000},"kv":[{"family":"gqa","layers":1,"kv_heads":6,"head_dim":1,
          "dtype":"int8","page_tokens":4}],
          "experts":{"slot_bytes":10,"per_layer":4,"layers":8},"demand":{"min_tokens":8}})");
  for (
      expectation const& e : {
          expectation{R"({"demand":{"pages":3,"tokens":8}})", "conflicting_pins", "demand.tokens",
                      "demand.pages (3) and demand.tokens (8) both pin the context; give one"},
          {R"({"demand":{"tokens":9}})", "not_a_page_multiple", "demand.tokens",
           "demand.tokens is 9, no whole number of pages of 4 tokens; the nearest are 8 and 12"},
          {R"({"demand":{"tokens":3}})", "not_a_page_multiple", "demand.tokens",
           "the nearest is 4"},
          {R"({"kv":[{"family":"gqa","layers":1,"kv_heads":6,"head_dim":1,"dtype":"int8","tp":4}]})",
           "kv_head_split", "kv[0].tp",
           "kv[0].tp is 4, which neither divides nor is a multiple of the 6 kv_heads"},
          {R"({"experts":{"max_slots":3}})", "slot_cap_below_minimum", "experts.max_slots",
           "experts.max_slots is 3, but the cache needs at least 4 slots: one layer of 4 experts"},
          {R"({"experts":{"max_slots":7,"prefill_buffer":"required"}})", "slot_cap_below_minimum",
           "experts.max_slots", "at least 8 slots: two layers of 4 experts"},
          {R"({"experts":{"layers":1,"prefill_buffer":"required"}})", "slot_cap_below_minimum",
           "experts.prefill_buffer", "required, which takes 8 slots, but the model has 4"},
          {R"({"experts":{"slots":33}})", "slots_out_of_range", "experts.slots",
           "experts.slots is 33; it must be from 4 to 32"},
          {R"({"charges":[{"bytes":100001}]})", "fixed_exceeds_budget", "charges",
           "charges and state take 100001 bytes (97.65 KiB) before anything is split; the budget "
           "is "
           "100000 bytes (97.65 KiB), 1 byte short"},
          {R"({"demand":{"pages":5000}})", "pins_exceed_budget", "demand.pages",
           "what is pinned needs"},
          {R"({"experts":{"slots":32,"slot_bytes":10000}})", "pins_exceed_budget", "experts.slots",
           "for 32 expert slots"},
          {R"({"objective":"context_first"})", "bad_input", "objective",
           "objective is context_first; it must be experts_first, or context_first with"},
          {R"({"demand":{"min_tokens":9223372036854775807}})", "overflow", "demand.min_tokens",
           "demand.min_tokens is 9223372036854775807: what it stands for passes 2^63 - 1"},
      }) {
    document request = base;
    request.merge_patch(document::parse(e.change));
    document const answer = answer_to(request);
    INFO(answer.dump());
    CHECK(answer.at("error") == e.error);
    CHECK(answer.at("binding") == e.binding);
    CHECK(answer.at("text").get<std::string>().find(e.words) != std::string::npos);
  }
}

TEST_CASE("a share of a baseline is repaired as a whole, a stated budget by its bytes") {
  document request = document::parse(
      R"({"budget":{"baseline_bytes":1000,"ratio":0.5,"resident_bytes":490},
          "kv":[{"family":"raw","page_bytes":10}],"demand":{"pages":4}})");
  document const answer = answer_to(request);
  CHECK(answer.at("budget_bytes") == 10);
  CHECK(answer.at("repairs")[0].dump() == R"({"set":"budget","to":{"bytes":50}})");
  CHECK(answer_to(apply(request, answer.at("repairs")[0])).at("ok") == true);
}

TEST_CASE("pools: their names are the families', numbered where one repeats, or as given") {
  document request = document::parse(
      R"({"budget":{"bytes":1000000},"kv":[{"family":"raw","page_bytes":1},
          {"family":"mla","layers":1,"latent_dim":1,"dtype":"fp8"},{"family":"raw","page_bytes":2},
          {"family":"raw","page_bytes":3,"name":"draft \"x\""}],
          "state":{"layers":1,"key_heads":1,"value_heads":1,"key_head_dim":1,"value_head_dim":1,
                   "conv_kernel":2,"dtype":"fp8","max_running":3},"demand":{"pages":2}})");
  document const pools = answer_to(request).at("pools");
  REQUIRE(pools.size() == 5);
  CHECK(pools[0].at("name") == "raw#0");
  CHECK(pools[1].at("name") == "mla");
  CHECK(pools[2].at("name") == "raw#2");
  CHECK(pools[3].at("name") == "draft \"x\"");
  CHECK(pools[4].dump() ==
        R"({"name":"state","family":"state","unit":"slots","usable":3,"physical":4,"bytes":28})");
}

TEST_CASE("left_reason is one of the four words") {
  auto const reason = [](char const* rest) {
    return answer_to(document::parse(
                         R"({"budget":{"bytes":1000},"kv":[{"family":"raw","page_bytes":10}],)" +
                         std::string{rest} + "}"))
        .at("left_reason");
  };
  std::string const experts = R"("experts":{"slot_bytes":100,"per_layer":1,"layers":4},)";
  CHECK(reason(R"("demand":{"min_tokens":1})") == "next_step");
  CHECK(reason(R"("demand":{"min_tokens":1,"max_tokens":5})") == "max_tokens");
  CHECK(reason(R"("demand":{"pages":5})") == "pinned");
  CHECK(reason((experts + R"("demand":{"pages":5})").c_str()) == "all_resident");
  CHECK(reason(R"("experts":{"slot_bytes":300,"per_layer":1,"layers":4,"max_slots":2},)"
               R"("demand":{"pages":10})") == "pinned");
}

TEST_CASE("bytes are written in full, and in the unit that people use") {
  auto const shown = [](std::int64_t bytes) {
    std::string out;
    allot::json::append_bytes(out, bytes);
    return out;
  };
  CHECK(shown(0) == "0 bytes");
  CHECK(shown(1) == "1 byte");
  CHECK(shown(1023) == "1023 bytes");
  CHECK(shown(1024) == "1024 bytes (1.00 KiB)");
  CHECK(shown(12348030976) == "12348030976 bytes (11.50 GiB)");
  CHECK(shown(-1536) == "-1536 bytes (-1.50 KiB)");
  CHECK(shown(INT64_MAX) == "9223372036854775807 bytes (7.99 EiB)");
  CHECK(shown(INT64_MIN) == "-9223372036854775808 bytes (-8.00 EiB)");
}

TEST_CASE("strings are valid JSON whatever they hold") {
  auto const written = [](std::string_view text) {
    std::string out;
    allot::json::append_string(out, text);
    return out;
  };
  CHECK(written("a\"\\\b\n\t\r\x01\x7f") == R"("a\"\\\u0008\n\t\r\u0001\u007f")");
  CHECK(written("é€😀") == "\"é€😀\"");
  for (char const* const broken : {"\x80", "\xC3", "\xC0\x80", "\xE2\x82", "\xED\xA0\x80",
                                   "\xF0\x9F\x98", "\xF5\x80\x80\x80", "\xFF"}) {
    std::string const out = written("a" + std::string{broken} + "b");
    CHECK(out.find("�") != std::string::npos);
    CHECK(document::accept(out));
  }
}
