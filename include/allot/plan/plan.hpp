// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/core/units.hpp>
#include <allot/table/pool_table.hpp>

#include <cstdint>

namespace allot {

/// A difference between what was asked and what is planned. None is ever left out (law L7).
enum class note_code : std::uint8_t {
  prefill_buffer_dropped,  ///< asked: slots for the buffer, planned: slots         [expert slots]
  target_reduced,          ///< asked: demand.target_tokens, planned: usable_tokens [tokens]
  max_tokens_raised,       ///< asked: demand.max_tokens, planned: the floor        [tokens]
};

struct note {
  note_code code = note_code::prefill_buffer_dropped;
  std::int64_t asked = 0;
  std::int64_t planned = 0;

  friend constexpr bool operator==(note, note) = default;
};

/// Why the bytes that are left are left.
enum class left_reason : std::uint8_t {
  next_step,     ///< neither one more page nor one more slot fits
  max_tokens,    ///< demand.max_tokens stops the pages
  pinned,        ///< pinned pages or slots stop what would fit
  all_resident,  ///< every expert is resident and the pages are pinned
  max_slots,     ///< experts.max_slots stops the slots and one more page does not fit
};

/// How one budget is split: counts, and the bytes each term takes. `fixed + experts + kv + left ==
/// budget`, exactly.
struct plan {
  expert_slots slots{};
  bool prefill_buffer = false;  ///< prefill may borrow two layers of slots
  usable_pages pages{};         ///< of the anchor pool
  physical_pages physical{};    ///< of the anchor pool: pages + its sentinels
  tokens usable_tokens{};       ///< what the anchor's usable pages hold
  usable_state_slots state{};
  bytes budget{};
  bytes fixed{};    ///< charges and the state pool
  bytes experts{};  ///< the block of expert slots
  bytes kv{};       ///< all KV pools, sentinels and side arrays in
  bytes left{};     ///< not given to anything
  left_reason reason = left_reason::next_step;
  note notes[3] = {};
  std::int32_t note_count = 0;

  constexpr counts at() const { return {pages.count, physical.count, slots.count, state.count}; }

  constexpr void add_note(note n) { notes[note_count++] = n; }
  constexpr bool has_note(note_code code) const {
    for (std::int32_t i = 0; i < note_count; ++i) {
      if (notes[i].code == code) { return true; }
    }
    return false;
  }
};

/// What a plan gives to one pool of its table.
struct pool_share {
  std::int64_t usable = 0;    ///< in the pool's unit
  std::int64_t physical = 0;  ///< usable and the sentinels
  allot::bytes bytes{};       ///< all arrays of the pool
};

/// What `p` gives to pool `index` of the table it was solved for.
constexpr pool_share share_of(table_view const& t, plan const& p, std::int64_t index) {
  pool const& entry = t.pools[index];
  checked const physical = rows(t.extents.data + entry.first_extent, 0, p.at());
  return {physical.value - entry.sentinel, physical.value,
          bytes{pool_bytes(t, index, p.at()).value}};
}

}  // namespace allot
