// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/core/units.hpp>
#include <allot/table/fault.hpp>
#include <allot/table/tenants.hpp>

#include <cstdint>

namespace allot {

// g++ 12 counts a scoped enumerator as shadowing a type of its name.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"

/// A setting of a request that a repair may change. Never the model's geometry.
enum class setting : std::uint8_t {
  budget,            ///< to: net bytes
  max_running,       ///< state.max_running
  state_slots,       ///< state.slots
  charge,            ///< charges[index].bytes
  tp,                ///< kv[index].tp
  state_tp,          ///< state.tp
  max_slots,         ///< experts.max_slots
  slots,             ///< experts.slots
  prefill_buffer,    ///< experts.prefill_buffer; to: a prefill_buffer
  min_tokens,        ///< demand.min_tokens
  min_usable_pages,  ///< demand.min_usable_pages
  target_tokens,     ///< demand.target_tokens
  max_tokens,        ///< demand.max_tokens
  pages,             ///< demand.pages
  tokens,            ///< demand.tokens
  objective,         ///< to: an objective
  page_tokens,       ///< kv[index].page_tokens
  page_bytes,        ///< kv[index].page_bytes
  arrangement,       ///< only ever removed: flat
};

#pragma GCC diagnostic pop

/// Whether only the request knows the setting: a table is lowered with it and forgets it.
constexpr bool is_of_request(setting s) {
  return s == setting::tp || s == setting::state_tp || s == setting::page_tokens ||
         s == setting::page_bytes || s == setting::arrangement;
}

/// One change that alone makes the request solvable.
struct repair {
  setting set = setting::budget;
  bool removes = false;     ///< drop the field; `to` is then 0
  std::int32_t index = -1;  ///< of a list item
  std::int64_t to = 0;      ///< the new value, nearest to the asked one that works

  friend constexpr bool operator==(repair, repair) = default;
};

/// Where a setting stands in a request. A stated budget is `budget.bytes`; a share is replaced as a
/// whole, so its path is `budget`.
constexpr request_path path_of(setting s, std::int32_t index, bool stated_budget) {
  switch (s) {
    case setting::budget: return {"budget", -1, stated_budget ? text{"bytes"} : text{}};
    case setting::max_running: return {"state", -1, "max_running"};
    case setting::state_slots: return {"state", -1, "slots"};
    case setting::charge: return {"charges", index, "bytes"};
    case setting::tp: return {"kv", index, "tp"};
    case setting::state_tp: return {"state", -1, "tp"};
    case setting::max_slots: return {"experts", -1, "max_slots"};
    case setting::slots: return {"experts", -1, "slots"};
    case setting::prefill_buffer: return {"experts", -1, "prefill_buffer"};
    case setting::min_tokens: return {"demand", -1, "min_tokens"};
    case setting::min_usable_pages: return {"demand", -1, "min_usable_pages"};
    case setting::target_tokens: return {"demand", -1, "target_tokens"};
    case setting::max_tokens: return {"demand", -1, "max_tokens"};
    case setting::pages: return {"demand", -1, "pages"};
    case setting::tokens: return {"demand", -1, "tokens"};
    case setting::objective: return {"objective"};
    case setting::page_tokens: return {"kv", index, "page_tokens"};
    case setting::page_bytes: return {"kv", index, "page_bytes"};
    case setting::arrangement: return {"arrangement"};
  }
  return {};
}

/// Why there is no plan: a value, with the numbers and with the repairs that work (law L8).
struct refusal {
  static constexpr std::int32_t max_repairs = 10;

  solve_error error = solve_error::none;
  request_path binding{};  ///< a request's path, or a term: budget, charges, state, kv, experts
  std::int64_t value = 0;  ///< what the field at `binding` holds, for errors about one field
  text expected{};         ///< what would be right, for `bad_input` and the splits
  std::int64_t low = 0;    ///< the range or the two nearest values, for errors about a count:
  std::int64_t high = 0;   ///< not_a_page_multiple, misaligned_stride, slots_out_of_range,
                           ///< slot_cap_below_minimum
  bool priced = false;     ///< whether the bytes below mean something: the three *exceed* errors
  bytes needed{};
  bytes budget{};
  bytes shortfall{};  ///< needed - budget
  repair repairs[max_repairs] = {};
  std::int32_t repair_count = 0;

  constexpr void add(repair const& r) {
    if (repair_count < max_repairs) { repairs[repair_count++] = r; }
  }
};

}  // namespace allot
