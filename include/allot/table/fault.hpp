// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/core/view.hpp>

#include <cstdint>

namespace allot {

/// Names one field of a request: `demand.min_tokens`, `kv[0].tp`, `charges[2].bytes`.
/// Kept as parts, so that naming a field costs nothing and needs no memory.
struct request_path {
  text section{};           ///< "demand"
  std::int32_t index = -1;  ///< of a list item; -1 for a section that is no list
  text field{};             ///< "min_tokens", "index.head_dim"; empty names the section itself

  friend constexpr bool operator==(request_path const& a, request_path const& b) {
    return a.section == b.section && a.index == b.index && a.field == b.field;
  }
};

/// What can be wrong with a description, in the order in which it is reported (docs/contract.md).
enum class solve_error : std::uint8_t {
  none,
  bad_input,
  overflow,
  conflicting_pins,
  not_a_page_multiple,
  misaligned_stride,
  kv_head_split,
  slot_cap_below_minimum,
  fixed_exceeds_budget,
  slots_out_of_range,
  pins_exceed_budget,
  floors_exceed_budget,
};

/// The first thing wrong with a description: which field, what it holds, what would be right.
/// A table keeps its fault, and solving it refuses with it.
struct fault {
  solve_error error = solve_error::none;
  request_path at{};       ///< the field
  std::int64_t value = 0;  ///< what it holds
  text expected{};         ///< "an integer of at least 1"
  std::int64_t low = 0;    ///< the nearest values that would do, of misaligned_stride; 0: none
  std::int64_t high = 0;

  constexpr explicit operator bool() const { return error != solve_error::none; }
};

/// The earlier of two faults in the order of `solve_error`; the first of equals.
constexpr fault first_of(fault const& a, fault const& b) {
  if (!a) { return b; }
  if (!b) { return a; }
  return b.error < a.error ? b : a;
}

/// Collects the faults of one description.
struct fault_check {
  text section{};
  std::int32_t index = -1;
  fault found{};

  constexpr void at_least(text field, std::int64_t value, std::int64_t lowest, text expected) {
    if (value < lowest) { report(solve_error::bad_input, field, value, expected); }
  }
  constexpr void positive(text field, std::int64_t value) {
    at_least(field, value, 1, "an integer of at least 1");
  }
  constexpr void not_negative(text field, std::int64_t value) {
    at_least(field, value, 0, "an integer of at least 0");
  }
  constexpr void report(solve_error error, text field, std::int64_t value, text expected) {
    found = first_of(found, fault{error, {section, index, field}, value, expected});
  }
  constexpr bool ok() const { return !found; }
};

}  // namespace allot
