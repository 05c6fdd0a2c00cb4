// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/core/maybe.hpp>
#include <allot/core/rounding.hpp>
#include <allot/core/units.hpp>
#include <allot/core/view.hpp>
#include <allot/policy/sentinel.hpp>

#include <cstdint>

namespace allot {

/// A named fixed line: a workspace, a draft model, whatever else lives beside the pools.
struct charge {
  text name{};
  allot::bytes bytes{};  ///< >= 0
};

/// How many recurrent states are kept: one a running request, and with a prefix cache the
/// snapshots that let a prefix be resumed.
///
/// \source  docs/formulas.md: plain `mr`; prefix-cached `4 mr + max(4, trunc(ratio mr))`
struct state_slots_rule {
  std::int64_t max_running = 1;  ///< requests that run at once               [>= 1]
  bool prefix_cached = false;
  double snapshot_ratio = 0;                 ///< snapshots per running request           [>= 0]
  maybe<usable_state_slots> pinned_slots{};  ///< overrides the rule
  slot_padding padding{};

  constexpr checked usable() const {
    if (pinned_slots) { return pinned_slots->count; }
    if (!prefix_cached) { return max_running; }
    checked const snapshots = scale(snapshot_ratio, max_running, rounding::down);
    return checked{max_running} * 4 + (snapshots < checked{4} ? checked{4} : snapshots);
  }
};

/// Whether prefill may borrow two layers of expert slots to stream weights through.
enum class prefill_buffer : std::uint8_t { off, preferred, required };

/// The expert cache as the solver sees it.
struct expert_terms {
  std::int64_t slot_bytes = 0;             ///< bytes of one expert, all its banks           [>= 1]
  std::int64_t per_layer = 0;              ///< experts of one layer                         [>= 1]
  std::int64_t layers = 0;                 ///< layers that have experts                     [>= 1]
  maybe<allot::expert_slots> max_slots{};  ///< a kernel that addresses no more
  maybe<allot::expert_slots> pinned_slots{};  ///< exactly this many
  allot::prefill_buffer buffer = allot::prefill_buffer::preferred;

  /// Experts of the whole model: more slots than this are no use.
  constexpr checked total() const { return checked{per_layer} * layers; }

  /// Slots that prefill borrows when it has its buffer.
  constexpr checked two_layers() const { return checked{per_layer} * 2; }

  /// The fewest slots the buffer's mode allows: a preferred buffer may be dropped.
  constexpr checked fewest() const {
    return buffer == allot::prefill_buffer::required ? two_layers() : checked{per_layer};
  }
};

}  // namespace allot
