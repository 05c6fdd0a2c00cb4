// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/plan/layout.hpp>
#include <allot/runtime/arena.hpp>
#include <allot/runtime/backend.hpp>
#include <allot/runtime/state_slots.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace allot::runtime {

/// One tensor of the state of all slots: `copies` arrays, of which each has a row for every slot.
struct state_extent {
  std::byte* base = nullptr;     ///< slot 0 of the first array, in the backend's memory
  physical_state_slots slots{};  ///< rows of each array
  std::int64_t slot_bytes = 0;   ///< bytes of one row; of 0 it is passed over           [>= 0]
  std::int64_t slot_stride = 0;  ///< bytes from one row to the next            [>= slot_bytes]
  std::int64_t copies = 1;       ///< arrays: 1, or one a layer                          [>= 1]
  std::int64_t copy_stride = 0;  ///< bytes from one array to the next; of one array, anything

  /// The extent that a layout put at `place` of an arena: an array of its own, as state always is.
  static constexpr state_extent at(std::byte* arena, placement const& place) {
    return {.base = arena + place.offset,
            .slots = {place.rows},
            .slot_bytes = place.row_bytes,
            .slot_stride = place.block_stride,
            .copies = place.copies,
            .copy_stride = place.copy_stride};
  }
};

/// All extents of a state pool in an arena: what a state_pool needs, none left out.
///
/// \param pool  its name in the table
/// \errors      std::out_of_range that names the pools there are
std::vector<state_extent> state_extents(arena const& a, std::string_view pool = "state");

/// Recurrent state of the running requests: which slot is whose, and the bytes in them. Clearing
/// and copying act on every extent (the convolution tail and the recurrent matrix, all layers), so
/// that a state is never half of one request and half of another.
///
/// Work on bytes is issued to the backend and not waited for, in order with what is issued later.
/// The memory is the caller's. An operation does all it says or returns a `slot_fault` and changes
/// nothing. Not thread-safe.
///
///     state_pool states{gpu, family.slots().padding, plan.state, state_extents(arena)};
class state_pool {
 public:
  /// \param padding  that the pool was priced with
  /// \param usable   slots requests can be given: a plan's `state`
  /// \param extents  each with a row for every physical slot; at least one
  /// \errors         std::invalid_argument with the numbers, std::bad_alloc
  state_pool(backend& on, slot_padding padding, usable_state_slots usable,
             std::span<state_extent const> extents);

  state_slots const& slots() const noexcept { return slots_; }

  /// The lowest free slot, filled with zeros: what a fresh request starts from.
  ///
  /// \errors  exhausted; backend_error: then the slot is free again
  result<slot_id, slot_fault> allocate();

  /// The same without the zeros, for who copies a snapshot over it: it holds what its last user
  /// left.
  ///
  /// \errors  exhausted
  result<slot_id, slot_fault> allocate_as_it_is() noexcept { return slots_.allocate(); }

  /// \returns  slots free now
  /// \errors   foreign_slot (also the sink), not_allocated
  result<usable_state_slots, slot_fault> free(slot_id slot) noexcept { return slots_.free(slot); }

  /// Fills a slot with zeros. The sink may be cleared too: what padding left there can be NaN.
  ///
  /// \returns  the slot
  /// \errors   foreign_slot, not_allocated; backend_error
  /// \cost     a fill for each array of each extent
  result<slot_id, slot_fault> clear(slot_id slot);

  /// Overwrites the state in `to` with the one in `from`: a fork, or taking and restoring a
  /// snapshot.
  ///
  /// \returns  `to`
  /// \errors   foreign_slot (also the sink), not_allocated; backend_error
  /// \ensures  after a backend_error `to` holds some of either: clear or copy it again
  /// \cost     a copy for each array of each extent; none when both are the same slot
  result<slot_id, slot_fault> copy(slot_id from, slot_id to);

 private:
  void fill_with_zeros(slot_id slot);

  backend* on_;
  state_slots slots_;
  std::vector<state_extent> extents_;
};

}  // namespace allot::runtime
