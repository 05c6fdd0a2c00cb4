// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "solving.hpp"

#include <cstdint>
#include <string_view>

/// A request with every field that can be given together, and a list of its fields.
namespace allot_test {

inline document rich_request() {
  return document::parse(R"({"id":7,
    "budget":{"bytes":8589934592},
    "charges":[{"name":"workspace","bytes":1048576}],
    "kv":[{"family":"gqa","layers":4,"kv_heads":8,"head_dim":128,"v_head_dim":64,"dtype":"bf16",
           "tp":2,"scale_bytes":4,"index":{"head_dim":64,"layers":4,"dtype":"fp8"},
           "page_tokens":16,"sentinel_pages":2,"name":"anchor"},
          {"family":"mla","layers":2,"latent_dim":576,"dtype":"fp8","page_tokens":16},
          {"family":"raw","page_bytes":4096,"page_tokens":16,"sentinel_pages":0}],
    "state":{"kind":"gated_delta","layers":2,"key_heads":4,"value_heads":8,"key_head_dim":64,
             "value_head_dim":64,"conv_kernel":4,"dtype":"bf16","state_dtype":"fp32","tp":2,
             "max_running":4,"snapshot_ratio":1.5,"prefix_cached":true,"sentinel_slots":2},
    "experts":{"slot_bytes":1048576,"per_layer":8,"layers":4,"max_slots":32,
               "prefill_buffer":"preferred"},
    "demand":{"min_tokens":1024,"min_usable_pages":2,"target_tokens":4096,"max_tokens":65536},
    "objective":"context_first","granularity":16,"arrangement":"flat"})");
}

struct whole_field {
  char const* path;
  std::int64_t lowest;
  bool required;
};

/// Every field that takes an integer.
inline constexpr whole_field whole_fields[] = {
    {"budget.bytes", INT64_MIN, true},
    {"charges[0].bytes", 0, true},
    {"kv[0].layers", 1, true},
    {"kv[0].kv_heads", 1, true},
    {"kv[0].head_dim", 1, true},
    {"kv[0].v_head_dim", 0, false},
    {"kv[0].tp", 1, false},
    {"kv[0].scale_bytes", 0, false},
    {"kv[0].index.head_dim", 1, true},
    {"kv[0].index.layers", 1, true},
    {"kv[0].page_tokens", 1, false},
    {"kv[0].sentinel_pages", 0, false},
    {"kv[1].layers", 1, true},
    {"kv[1].latent_dim", 1, true},
    {"kv[2].page_bytes", 1, true},
    {"kv[2].page_tokens", 1, false},
    {"state.layers", 1, true},
    {"state.key_heads", 1, true},
    {"state.value_heads", 1, true},
    {"state.key_head_dim", 1, true},
    {"state.value_head_dim", 1, true},
    {"state.conv_kernel", 1, true},
    {"state.tp", 1, false},
    {"state.max_running", 1, true},
    {"state.sentinel_slots", 0, false},
    {"state.slots", 1, false},
    {"experts.slot_bytes", 1, true},
    {"experts.per_layer", 1, true},
    {"experts.layers", 1, true},
    {"experts.max_slots", 1, false},
    {"experts.slots", 1, false},
    {"demand.min_tokens", 0, false},
    {"demand.min_usable_pages", 0, false},
    {"demand.target_tokens", 0, false},
    {"demand.max_tokens", 0, false},
    {"demand.pages", 1, false},
    {"demand.tokens", 1, false},
    {"granularity", 1, false},
};

/// The request's text with the value at `path` written as `raw`: what no document can hold.
inline std::string with_raw(document request, std::string_view path, std::string_view raw) {
  at_path(request, path) = "@@";
  std::string text = request.dump();
  text.replace(text.find("\"@@\""), 4, raw);
  return text;
}

inline document answer_to_text(std::string_view line) {
  return document::parse(answer_text(line));
}

}  // namespace allot_test
