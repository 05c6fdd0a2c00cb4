// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/family/family.hpp>

namespace allot {

/// Bytes of one expert that is kept as several tensors: what a slot must hold.
constexpr checked sum_of_banks(view<allot::bytes> rows_bytes) {
  checked sum{};
  for (allot::bytes const b : rows_bytes) {
    sum = sum + b.count;
  }
  return sum;
}

/// The cache of expert slots of a mixture-of-experts model, filled from host memory. One slot
/// holds one expert of one layer, all its banks.
struct expert_bank {
  static constexpr std::int32_t max_extents = 1;

  allot::bytes slot_bytes{};   ///< one expert: `expert_bytes(format, …)`, `sum_of_banks(…)` [>= 1]
  std::int64_t per_layer = 0;  ///< experts of one layer                                [>= 1]
  std::int64_t layers = 0;     ///< layers that have experts                            [>= 1]
  maybe<expert_slots> max_slots{};     ///< a kernel that addresses no more                 [>= 1]
  maybe<expert_slots> pinned_slots{};  ///< exactly this many                               [>= 1]
  allot::prefill_buffer buffer = allot::prefill_buffer::preferred;

  constexpr expert_terms terms() const {
    return {slot_bytes.count, per_layer, layers, max_slots, pinned_slots, buffer};
  }

  constexpr lowered lower(extent* out) const {
    fault_check check{"experts"};
    check.positive("slot_bytes", slot_bytes.count);
    check.positive("per_layer", per_layer);
    check.positive("layers", layers);
    if (max_slots) { check.positive("max_slots", max_slots->count); }
    if (pinned_slots) { check.positive("slots", pinned_slots->count); }
    if (!check.ok()) { return {.found = check.found}; }
    if (terms().total().overflowed) {
      check.report(solve_error::overflow, "layers", layers,
                   "layers * per_layer of less than 2^63 experts");
      return {.found = check.found};
    }
    out[0] = {
        .name = "slots", .row_bytes = slot_bytes.count, .rows = {.of = rows_of::expert_slots}};
    return {
        .pool = {.name = "experts", .family = "experts", .unit = pool_unit::slots, .extents = 1}};
  }
};
static_assert(describes_experts<expert_bank>);

}  // namespace allot
