// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/core/units.hpp>

#include <cstdint>
#include <string>

namespace allot::runtime {

/// The number of a physical slot of recurrent state.
using slot_id = std::int32_t;

inline constexpr slot_id no_state_slot = -1;

enum class slot_error : std::uint8_t {
  exhausted,      ///< no slot is free
  foreign_slot,   ///< the id is no slot of this pool, or the sink where that is not allowed
  not_allocated,  ///< nobody holds the slot: freed twice, or never allocated
};

/// Why an operation on state slots was refused. Then nothing has changed.
struct slot_fault {
  slot_error code = slot_error::exhausted;
  slot_id slot = no_state_slot;    ///< the slot refused; none when exhausted
  usable_state_slots needed{};     ///< exhausted: slots asked for
  usable_state_slots available{};  ///< exhausted: slots free

  friend bool operator==(slot_fault const&, slot_fault const&) = default;
};

/// One sentence with the numbers: "slot 4 is not in use: freed twice, or never allocated".
std::string describe(slot_fault const& fault);

}  // namespace allot::runtime
