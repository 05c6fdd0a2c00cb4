// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/family/family.hpp>
#include <allot/policy/element.hpp>
#include <allot/policy/sharding.hpp>

namespace allot {

// g++ 12 counts a scoped enumerator as shadowing a type of its name.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"

/// Layers that keep a state of fixed size instead of a cache of every token.
enum class state_kind : std::uint8_t {
  gated_delta,  ///< gated delta net (Qwen3-Next)
  kda,          ///< Kimi delta attention: its heads have keys and values of the same size
  mamba1,
  mamba2,
};

#pragma GCC diagnostic pop

/// State of recurrent layers: a convolution tail and a recurrent matrix per request, kept in a pool
/// of fixed size.
///
///     convolution bytes = layers * channels * (conv_kernel - 1) elements of `dtype`
///     recurrent bytes   = layers * cells of `state_dtype`
///
///     kind          channels                            cells
///     gated_delta   2 key_heads key_head_dim            value_heads key_head_dim value_head_dim
///                     + value_heads value_head_dim
///     kda           3 heads head_dim                    heads head_dim head_dim
///     mamba1        inner_dim                           inner_dim state_dim
///     mamba2        heads head_dim + 2 groups state_dim heads head_dim state_dim
///
/// with the heads, groups or inner channels of one rank.
///
/// \source  docs/formulas.md
struct recurrent_state {
  static constexpr std::int32_t max_extents = 2;

  state_kind kind = state_kind::gated_delta;
  std::int64_t layers = 0;              ///< layers that keep such a state                    [>= 1]
  std::int64_t key_heads = 0;           ///< gated_delta: of the whole model                  [>= 1]
  std::int64_t value_heads = 0;         ///< gated_delta: of the whole model                  [>= 1]
  std::int64_t key_head_dim = 0;        ///< gated_delta: elements                            [>= 1]
  std::int64_t value_head_dim = 0;      ///< gated_delta: elements                            [>= 1]
  std::int64_t heads = 0;               ///< kda, mamba2: of the whole model                  [>= 1]
  std::int64_t head_dim = 0;            ///< kda, mamba2: elements                            [>= 1]
  std::int64_t groups = 0;              ///< mamba2: of B and C, of the whole model           [>= 1]
  std::int64_t inner_dim = 0;           ///< mamba1: channels of the whole model              [>= 1]
  std::int64_t state_dim = 0;           ///< mamba1, mamba2: elements a channel               [>= 1]
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

  /// What tensor-parallel ranks share, of the whole model; `second` is 0 where it is one thing.
  struct shared_counts {
    std::int64_t first = 0;
    std::int64_t second = 0;
    text first_name{};  ///< "key_heads"
    text second_name{};
    text right{};  ///< what `tp` must be
  };
  constexpr shared_counts shared() const {
    switch (kind) {
      case state_kind::gated_delta:
        return {key_heads, value_heads, "key_heads", "value_heads",
                "a divisor or a multiple of key_heads and of value_heads"};
      case state_kind::kda: return {heads, 0, "heads", {}, "a divisor or a multiple of heads"};
      case state_kind::mamba1:
        return {inner_dim, 0, "inner_dim", {}, "a divisor or a multiple of inner_dim"};
      case state_kind::mamba2:
        return {heads, groups, "heads", "groups", "a divisor or a multiple of heads and of groups"};
    }
    return {};
  }

  /// Whether so many ranks share them evenly, or replicate them evenly.
  constexpr bool splits(std::int64_t ranks) const {
    shared_counts const s = shared();
    return local_heads(s.first, ranks) && (s.second == 0 || local_heads(s.second, ranks));
  }

  /// Channels of the short convolution in one layer, on one rank.
  ///
  /// \requires  splits(tp), here and in the next ones
  constexpr checked channels() const {
    checked const first = local(shared().first);
    switch (kind) {
      case state_kind::gated_delta:
        return checked{2} * first * key_head_dim + local(value_heads) * value_head_dim;
      case state_kind::kda: return checked{3} * first * head_dim;
      case state_kind::mamba1: return first;
      case state_kind::mamba2: return first * head_dim + checked{2} * local(groups) * state_dim;
    }
    return {};
  }

  /// Elements of the recurrent matrices of one layer, on one rank.
  constexpr checked cells() const {
    switch (kind) {
      case state_kind::gated_delta: return local(value_heads) * key_head_dim * value_head_dim;
      case state_kind::kda: return local(heads) * head_dim * head_dim;
      case state_kind::mamba1: return local(inner_dim) * state_dim;
      case state_kind::mamba2: return local(heads) * head_dim * state_dim;
    }
    return {};
  }

  /// Bytes of the convolution tail of one slot, all layers, on one rank.
  constexpr checked conv_bytes() const {
    return row_bytes(dtype, channels() * (conv_kernel - 1)) * layers;
  }

  /// Bytes of the recurrent matrices of one slot, all layers, on one rank.
  constexpr checked recurrent_bytes() const { return row_bytes(state_dtype, cells()) * layers; }

  constexpr lowered lower(lowering const& in, extent* out) const {
    fault_check check{"state"};
    check.positive("layers", layers);
    check_dims(check);
    check.positive("conv_kernel", conv_kernel);
    check.positive("tp", tp);
    check.positive("max_running", max_running);
    if (!(snapshot_ratio >= 0 && snapshot_ratio < 1e18)) {
      check.report(solve_error::bad_input, "snapshot_ratio", 0, "a number of at least 0");
    }
    check.not_negative("sentinel_slots", sentinel_slots);
    if (pinned_slots) { check.positive("slots", pinned_slots->count); }
    if (!check.ok()) { return {.found = check.found}; }
    if (!splits(tp)) {
      check.report(solve_error::kv_head_split, "tp", tp, shared().right);
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

 private:
  constexpr checked local(std::int64_t count) const { return local_heads(count, tp).value; }

  /// The dimensions of the kind are given, and those of others are not.
  constexpr void check_dims(fault_check& check) const {
    bool const gated = kind == state_kind::gated_delta;
    bool const mamba2 = kind == state_kind::mamba2;
    bool const headed = kind == state_kind::kda || mamba2;
    auto const dim = [&](text field, std::int64_t value, bool wanted) {
      if (wanted) {
        check.positive(field, value);
      } else if (value != 0) {
        check.report(solve_error::bad_input, field, value, "absent: it is of another kind");
      }
    };
    dim("key_heads", key_heads, gated);
    dim("value_heads", value_heads, gated);
    dim("key_head_dim", key_head_dim, gated);
    dim("value_head_dim", value_head_dim, gated);
    dim("heads", heads, headed);
    dim("head_dim", head_dim, headed);
    dim("groups", groups, mamba2);
    dim("inner_dim", inner_dim, kind == state_kind::mamba1);
    dim("state_dim", state_dim, mamba2 || kind == state_kind::mamba1);
  }
};
static_assert(describes_state_pool<recurrent_state>);

}  // namespace allot
