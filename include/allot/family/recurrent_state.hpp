// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/family/family.hpp>
#include <allot/policy/element.hpp>
#include <allot/policy/sharding.hpp>

namespace allot {

/// State of gated-delta-net layers: a convolution tail and a recurrent matrix per request, kept in
/// a pool of fixed size.
///
///     convolution bytes = layers * (2 * key_heads * key_head_dim + value_heads * value_head_dim)
///                         * (conv_kernel - 1) elements of `dtype`
///     recurrent bytes   = layers * value_heads * key_head_dim * value_head_dim of `state_dtype`
///
/// with the heads of one rank.
///
/// \source  docs/formulas.md
struct recurrent_state {
  static constexpr std::int32_t max_extents = 2;

  std::int64_t layers = 0;              ///< linear-attention layers                          [>= 1]
  std::int64_t key_heads = 0;           ///< of the whole model                               [>= 1]
  std::int64_t value_heads = 0;         ///< of the whole model                               [>= 1]
  std::int64_t key_head_dim = 0;        ///< elements                                         [>= 1]
  std::int64_t value_head_dim = 0;      ///< elements                                         [>= 1]
  std::int64_t conv_kernel = 0;         ///< taps of the short convolution                    [>= 1]
  element dtype = element::bf16;        ///< of the convolution tail
  element state_dtype = element::fp32;  ///< of the recurrent matrix
  std::int64_t tp = 1;                  ///< tensor-parallel ranks                            [>= 1]
  std::int64_t max_running = 1;         ///< requests that run at once                        [>= 1]
  double snapshot_ratio = 0;            ///< snapshots per running request, with a prefix cache
  bool prefix_cached = false;
  std::int64_t sentinel_slots = 1;  ///< padding sinks                                    [>= 0]
  maybe<usable_state_slots> pinned_slots{};  ///< overrides max_running
  text name = "state";

  constexpr state_slots_rule slots() const {
    return {max_running, prefix_cached, snapshot_ratio, pinned_slots, {sentinel_slots}};
  }

  /// Bytes of the convolution tail of one slot, all layers, on one rank.
  constexpr checked conv_bytes() const {
    checked const channels = checked{2} * local_heads(key_heads, tp).value * key_head_dim +
                             checked{local_heads(value_heads, tp).value} * value_head_dim;
    return row_bytes(dtype, channels * (conv_kernel - 1)) * layers;
  }

  /// Bytes of the recurrent matrices of one slot, all layers, on one rank.
  constexpr checked recurrent_bytes() const {
    checked const cells =
        checked{local_heads(value_heads, tp).value} * key_head_dim * value_head_dim;
    return row_bytes(state_dtype, cells) * layers;
  }

  constexpr lowered lower(lowering const& in, extent* out) const {
    fault_check check{"state"};
    check.positive("layers", layers);
    check.positive("key_heads", key_heads);
    check.positive("value_heads", value_heads);
    check.positive("key_head_dim", key_head_dim);
    check.positive("value_head_dim", value_head_dim);
    check.positive("conv_kernel", conv_kernel);
    check.positive("tp", tp);
    check.positive("max_running", max_running);
    if (!(snapshot_ratio >= 0 && snapshot_ratio < 1e18)) {
      check.report(solve_error::bad_input, "snapshot_ratio", 0, "a number of at least 0");
    }
    check.not_negative("sentinel_slots", sentinel_slots);
    if (pinned_slots) { check.positive("slots", pinned_slots->count); }
    if (!check.ok()) { return {.found = check.found}; }
    if (!local_heads(key_heads, tp) || !local_heads(value_heads, tp)) {
      check.report(solve_error::kv_head_split, "tp", tp,
                   "a divisor or a multiple of key_heads and of value_heads");
      return {.found = check.found};
    }
    checked const conv = conv_bytes();
    checked const recurrent = recurrent_bytes();
    if (conv.overflowed || recurrent.overflowed) {
      check.report(solve_error::overflow, "", 0, "a state of less than 2^63 bytes");
      return {.found = check.found};
    }
    rows_rule const every_slot{.of = rows_of::state_slots, .plus = sentinel_slots};
    out[0] = {.name = "convolution", .row_bytes = conv.value, .rows = every_slot};
    out[1] = {.name = "recurrent", .row_bytes = recurrent.value, .rows = every_slot};
    if (in.arrangement == arrangement::layer_major) {
      for (std::int32_t k = 0; k < max_extents; ++k) {
        out[k].row_bytes /= layers;
        out[k].copies = layers;
      }
    }
    return {.pool = {.name = name,
                     .family = "state",
                     .unit = pool_unit::slots,
                     .sentinel = sentinel_slots,
                     .extents = 2}};
  }
};
static_assert(describes_state_pool<recurrent_state>);

}  // namespace allot
