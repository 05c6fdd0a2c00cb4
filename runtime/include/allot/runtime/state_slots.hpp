// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/core/result.hpp>
#include <allot/policy/sentinel.hpp>
#include <allot/runtime/page_set.hpp>
#include <allot/runtime/slot_fault.hpp>

namespace allot::runtime {

/// Hands out the slots of a recurrent-state pool by number: the lowest free one first, and never
/// the sink, the slots [0, sentinel_slots) that padded rows of a batch write to. A slot has one
/// holder.
///
/// An operation does all it says or returns a `slot_fault` and changes nothing; none allocates. Not
/// thread-safe.
class state_slots {
 public:
  /// \param padding  that the pool was priced with
  /// \param usable   slots requests can be given: a plan's `state`; ids are int32
  /// \errors         std::invalid_argument, std::bad_alloc
  state_slots(slot_padding padding, usable_state_slots usable);

  // Two of them that hand out the same slots are never what somebody wants.
  state_slots(state_slots const&) = delete;
  state_slots& operator=(state_slots const&) = delete;
  state_slots(state_slots&&) noexcept = default;
  state_slots& operator=(state_slots&&) noexcept = default;
  ~state_slots() = default;

  slot_padding const& padding() const noexcept { return padding_; }
  usable_state_slots usable() const noexcept { return usable_; }
  physical_state_slots physical() const noexcept { return {free_.ids()}; }
  usable_state_slots free_slots() const noexcept { return {free_.count()}; }
  usable_state_slots used_slots() const noexcept { return {usable_.count - free_.count()}; }

  bool is_sink(slot_id slot) const noexcept { return 0 <= slot && slot < padding_.sentinel_slots; }

  /// Whether the slot is a usable one that somebody holds.
  bool is_used(slot_id slot) const noexcept {
    return padding_.sentinel_slots <= slot && slot < free_.ids() && !free_.contains(slot);
  }

  /// The lowest free slot.
  ///
  /// \errors  exhausted
  result<slot_id, slot_fault> allocate() noexcept {
    slot_id const slot = free_.take_first();
    if (slot == page_set::none) {
      return result<slot_id, slot_fault>::failure(
          {.code = slot_error::exhausted, .needed = {1}, .available = {0}});
    }
    return result<slot_id, slot_fault>::success(slot);
  }

  /// Gives a slot back.
  ///
  /// \returns  slots free now
  /// \errors   foreign_slot (also the sink), not_allocated (a double free)
  result<usable_state_slots, slot_fault> free(slot_id slot) noexcept {
    using outcome = result<usable_state_slots, slot_fault>;
    if (auto const held = require_used(slot); !held) { return outcome::failure(held.error); }
    free_.insert(slot);
    return outcome::success(free_slots());
  }

  /// The slot itself when somebody holds it.
  ///
  /// \errors  foreign_slot (also the sink), not_allocated
  result<slot_id, slot_fault> require_used(slot_id slot) const noexcept {
    using outcome = result<slot_id, slot_fault>;
    if (slot < padding_.sentinel_slots || slot >= free_.ids()) {
      return outcome::failure({.code = slot_error::foreign_slot, .slot = slot});
    }
    if (free_.contains(slot)) {
      return outcome::failure({.code = slot_error::not_allocated, .slot = slot});
    }
    return outcome::success(slot);
  }

 private:
  slot_padding padding_;
  usable_state_slots usable_;
  page_set free_;  // physical ids; the sink is never in
};

}  // namespace allot::runtime
