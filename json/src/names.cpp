// SPDX-License-Identifier: Apache-2.0
// The words of the contract.
#include <allot/json/describe.hpp>

namespace allot::json {

std::string_view name_of(solve_error e) {
  switch (e) {
    case solve_error::none: return "none";
    case solve_error::bad_input: return "bad_input";
    case solve_error::overflow: return "overflow";
    case solve_error::conflicting_pins: return "conflicting_pins";
    case solve_error::not_a_page_multiple: return "not_a_page_multiple";
    case solve_error::misaligned_stride: return "misaligned_stride";
    case solve_error::kv_head_split: return "kv_head_split";
    case solve_error::slot_cap_below_minimum: return "slot_cap_below_minimum";
    case solve_error::fixed_exceeds_budget: return "fixed_exceeds_budget";
    case solve_error::slots_out_of_range: return "slots_out_of_range";
    case solve_error::pins_exceed_budget: return "pins_exceed_budget";
    case solve_error::floors_exceed_budget: return "floors_exceed_budget";
  }
  return "";
}

std::string_view name_of(note_code c) {
  switch (c) {
    case note_code::prefill_buffer_dropped: return "prefill_buffer_dropped";
    case note_code::target_reduced: return "target_reduced";
    case note_code::max_tokens_raised: return "max_tokens_raised";
  }
  return "";
}

std::string_view name_of(left_reason r) {
  switch (r) {
    case left_reason::next_step:
    case left_reason::max_slots: return "next_step";
    case left_reason::max_tokens: return "max_tokens";
    case left_reason::pinned: return "pinned";
    case left_reason::all_resident: return "all_resident";
  }
  return "";
}

std::string_view name_of(pool_unit u) {
  switch (u) {
    case pool_unit::pages: return "pages";
    case pool_unit::tokens: return "tokens";
    case pool_unit::slots: return "slots";
  }
  return "";
}

std::string_view name_of(element e) {
  switch (e) {
    case element::fp32: return "fp32";
    case element::fp16: return "fp16";
    case element::bf16: return "bf16";
    case element::fp8: return "fp8";
    case element::int8: return "int8";
    case element::fp4: return "fp4";
  }
  return "";
}

std::string_view name_of(prefill_buffer b) {
  switch (b) {
    case prefill_buffer::off: return "off";
    case prefill_buffer::preferred: return "preferred";
    case prefill_buffer::required: return "required";
  }
  return "";
}

std::string_view name_of(arrangement a) {
  switch (a) {
    case arrangement::flat: return "flat";
    case arrangement::page_major: return "page_major";
    case arrangement::layer_major: return "layer_major";
  }
  return "";
}

std::string_view name_of(objective o) {
  switch (o) {
    case objective::experts_first: return "experts_first";
    case objective::context_first: return "context_first";
  }
  return "";
}

}  // namespace allot::json
