// SPDX-License-Identifier: Apache-2.0
#include <allot/runtime/state_pool.hpp>

#include <stdexcept>

namespace allot::runtime {

namespace {

using outcome = result<slot_id, slot_fault>;

std::int64_t checked_slots(slot_padding padding, usable_state_slots usable) {
  auto const all = padding.physical(usable);
  if (padding.sentinel_slots < 0 || usable.count < 0 || !(all <= physical_state_slots{INT32_MAX})) {
    throw std::invalid_argument("state_slots: " + std::to_string(usable.count) + " usable and " +
                                std::to_string(padding.sentinel_slots) +
                                " sentinel slots; counts start at 0 and together are at most "
                                "2147483647");
  }
  return (*all).count;
}

std::vector<state_extent> checked_extents(std::span<state_extent const> extents,
                                          physical_state_slots slots) {
  if (extents.empty()) { throw std::invalid_argument("state_pool: no extents"); }
  for (std::size_t i = 0; i < extents.size(); ++i) {
    state_extent const& e = extents[i];
    auto const start = [i] { return "state_pool: extent " + std::to_string(i); };
    if (e.slots != slots) {
      throw std::invalid_argument(start() + " has " + std::to_string(e.slots.count) +
                                  " slots, the pool has " + std::to_string(slots.count) +
                                  ", sentinels included");
    }
    if (e.slot_bytes < 0 || e.slot_stride < e.slot_bytes || e.copies < 1) {
      throw std::invalid_argument(start() + " has slots of " + std::to_string(e.slot_bytes) +
                                  " bytes, " + std::to_string(e.slot_stride) + " apart, in " +
                                  std::to_string(e.copies) + " arrays");
    }
    checked const array = checked{slots.count} * e.slot_stride;
    bool const apart = e.copies == 1 || slots.count == 0 ||
                       checked{e.copy_stride} >= array - e.slot_stride + e.slot_bytes;
    if (array.ok() && !apart) {
      throw std::invalid_argument(start() + " has arrays of " + std::to_string(array.value) +
                                  " bytes, " + std::to_string(e.copy_stride) + " apart");
    }
    if (array.overflowed || (array * e.copies).overflowed) {
      throw std::invalid_argument(start() + " is of 2^63 bytes or more");
    }
    if (e.base == nullptr && slots.count > 0) {
      throw std::invalid_argument(start() + " has no memory");
    }
  }
  std::vector<state_extent> out;
  for (state_extent const& e : extents) {
    if (e.slot_bytes > 0) { out.push_back(e); }  // a convolution of one tap keeps nothing
  }
  return out;
}

/// Calls `use(array, extent)` for every array of every extent.
template <class Use>
void each_array(std::vector<state_extent> const& extents, Use&& use) {
  for (state_extent const& e : extents) {
    for (std::int64_t copy = 0; copy < e.copies; ++copy) {
      use(e.base + copy * e.copy_stride, e);
    }
  }
}

}  // namespace

std::vector<state_extent> state_extents(arena const& a, std::string_view pool) {
  std::vector<state_extent> out;
  for (std::int64_t const e : a.extents_of(pool)) {
    out.push_back(state_extent::at(a.data(), a.place(e)));
  }
  return out;
}

state_slots::state_slots(slot_padding padding, usable_state_slots usable)
    : padding_{padding}, usable_{usable}, free_{checked_slots(padding, usable)} {
  free_.insert_range(static_cast<slot_id>(padding.sentinel_slots), free_.ids());
}

state_pool::state_pool(backend& on, slot_padding padding, usable_state_slots usable,
                       std::span<state_extent const> extents)
    : on_{&on}, slots_{padding, usable}, extents_{checked_extents(extents, slots_.physical())} {}

void state_pool::fill_with_zeros(slot_id slot) {
  each_array(extents_, [&](std::byte* array, state_extent const& e) {
    on_->fill(array + slot * e.slot_stride, std::byte{0}, e.slot_bytes);
  });
}

outcome state_pool::allocate() {
  auto const slot = slots_.allocate();
  if (!slot) { return slot; }
  try {
    fill_with_zeros(*slot);
  } catch (...) {
    static_cast<void>(slots_.free(*slot));
    throw;
  }
  return slot;
}

outcome state_pool::clear(slot_id slot) {
  if (!slots_.is_sink(slot)) {
    if (auto const held = slots_.require_used(slot); !held) { return held; }
  }
  fill_with_zeros(slot);
  return outcome::success(slot);
}

outcome state_pool::copy(slot_id from, slot_id to) {
  if (auto const held = slots_.require_used(from); !held) { return held; }
  if (auto const held = slots_.require_used(to); !held) { return held; }
  if (from == to) { return outcome::success(to); }
  each_array(extents_, [&](std::byte* array, state_extent const& e) {
    on_->copy(array + to * e.slot_stride, array + from * e.slot_stride, e.slot_bytes);
  });
  return outcome::success(to);
}

std::string describe(slot_fault const& fault) {
  std::string const slot = "slot " + std::to_string(fault.slot);
  switch (fault.code) {
    case slot_error::exhausted:
      return "needs " + std::to_string(fault.needed.count) + " slots, " +
             std::to_string(fault.available.count) + " are free";
    case slot_error::foreign_slot: return slot + " is none that this pool hands out";
    case slot_error::not_allocated: return slot + " is not in use: freed twice, or never allocated";
  }
  return "unknown fault";
}

}  // namespace allot::runtime
