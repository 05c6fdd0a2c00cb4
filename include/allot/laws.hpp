// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/plan/layout.hpp>
#include <allot/solve/solve.hpp>

#include <cstdint>

/// The promises of the library as predicates: an engine can static_assert them on its own table, a
/// test can throw random ones at them. Each recomputes what it judges from the table, not from what
/// the solver says of itself.
namespace allot::laws {

namespace detail {

/// The pool that extent `index` belongs to.
constexpr std::int64_t pool_of(table_view const& t, std::int64_t index) {
  std::int64_t i = 0;
  while (index >= t.pools[i].first_extent + t.pools[i].extents) {
    ++i;
  }
  return i;
}

}  // namespace detail

/// L1, one walk: the bytes carved for a plan are the bytes it was priced at, all in the arena.
/// Every array starts where the one before it ended, aligned; rows that share page blocks or expert
/// slots fill them without a gap, one block for each physical page and each slot.
constexpr bool carved_is_priced(table_view const& t, plan const& p) {
  bool const faces = t.arrangement == arrangement::page_major;
  std::int64_t const unit = array_unit(t);
  checked arrays{};
  checked page{};
  checked slot{};
  bool tight = true;
  auto const take = [&](std::int32_t index, placement const& place) {
    std::int64_t const i = detail::pool_of(t, index);
    std::int64_t const rows = block_rows(t, i, t.extents[index]);
    checked const size = checked{place.copy_stride} * place.copies;
    if (rows == 0) {
      std::int64_t const apart = place.offset - arrays.value;
      tight = tight && arrays <= checked{place.offset} && (faces || apart == 0) &&
              apart < face_unit(t) && place.offset % unit == 0 && place.copy_stride % unit == 0 &&
              checked{place.rows} * place.row_bytes <= checked{place.copy_stride};
      arrays = checked{place.offset} + size;
      return;
    }
    bool const paged = i < t.kv_pools;
    std::int64_t const blocks = paged ? p.physical.count : p.slots.count;
    checked& filled = paged ? page : slot;
    tight =
        tight && checked{blocks} * rows == checked{place.rows} && place.offset % stride_bytes == 0;
    filled = filled + size;
  };
  arena_map const map = lay_out(t, p, take);
  if (faces) {
    tight = tight && arrays <= checked{map.pages} && page == checked{map.page_stride} &&
            slot == checked{map.slot_stride} && map.pages_end <= map.slots &&
            checked{p.physical.count} * map.page_stride <= checked{map.pages_end - map.pages} &&
            checked{p.slots.count} * map.slot_stride <= checked{map.top - map.slots} &&
            p.slots.count <= map.most_slots && map.top <= map.arena.count;
  } else {
    tight = tight && arrays == checked{map.carved.count};
  }
  checked const priced = checked{p.kv.count} + p.experts.count + p.fixed.count - t.charge_bytes;
  return tight && map.fits() && priced == checked{map.carved.count};
}

/// L2, sentinels are counted: in every pool the rows allocated are those usable and the sentinels.
constexpr bool sentinels_are_priced(table_view const& t, plan const& p) {
  if (!(t.anchor.physical(p.pages) == p.physical)) { return false; }
  for (std::int64_t i = 0; i < t.kv_pools; ++i) {
    pool const& entry = t.pools[i];
    pool_share const share = share_of(t, p, i);
    if (share.physical != share.usable + entry.sentinel) { return false; }
    // The tokens the anchor promises exist in every paged pool.
    if (entry.unit == pool_unit::pages &&
        checked{share.usable} * entry.page_tokens < checked{p.usable_tokens.count}) {
      return false;
    }
  }
  return true;
}

/// L3, never over budget, and every byte is accounted for: in sum, and pool by pool.
constexpr bool never_over_budget(table_view const& t, plan const& p) {
  checked const taken =
      fixed_bytes(t) + expert_bytes(t, p.slots.count) + kv_bytes(t, p.pages.count);
  checked pools{};
  for (std::int64_t i = 0; i < t.kv_pools; ++i) {
    pools = pools + pool_bytes(t, i, p.at());
  }
  return pools == checked{p.kv.count} && taken <= checked{p.budget.count} && p.left.count >= 0 &&
         taken + p.left.count == checked{p.budget.count} &&
         checked{p.fixed.count} + p.experts.count + p.kv.count == taken;
}

/// L4, maximal: one more slot, or one more page, would not fit, unless a stated cap stops it.
constexpr bool is_maximal(table_view const& t, demand const& d, plan const& p) {
  checked const rest = checked{p.left.count};
  usable_pages const next{p.pages.count < unlimited ? p.pages.count + 1 : unlimited};
  bool const pages_stopped = d.pinned_pages || d.pinned_tokens || next == p.pages ||
                             (d.max_tokens && t.anchor.reachable(next) > *d.max_tokens) ||
                             !t.anchor.reachable(next) || !t.anchor.physical(next);
  if (!pages_stopped && kv_bytes(t, next.count) - p.kv.count <= rest) { return false; }
  if (!t.experts) { return true; }
  bool const slots_stopped = t.experts->pinned_slots ||
                             checked{p.slots.count} == t.experts->total() ||
                             (t.experts->max_slots && p.slots >= *t.experts->max_slots);
  return slots_stopped || !(expert_bytes(t, p.slots.count + 1) - p.experts.count <= rest);
}

/// L5, floors in reachable tokens: the pages for `t` tokens hold them, and one page less does not.
constexpr bool floor_is_reachable(paging const& policy, tokens t) {
  usable_pages const pages = policy.pages_for(t);
  auto const held = policy.reachable(pages);
  bool const holds = !held || *held >= t;
  return holds && (pages.count == 0 || *policy.reachable({pages.count - 1}) < t);
}

/// L5 of a plan: an unpinned plan holds both floors.
constexpr bool floors_hold(table_view const& t, demand const& d, plan const& p) {
  if (d.pinned_pages || d.pinned_tokens) { return true; }
  return p.usable_tokens >= d.min_tokens && p.pages >= d.min_usable_pages &&
         t.anchor.reachable(p.pages) == p.usable_tokens;
}

/// L6, pins are constraints: met exactly, never overridden, never ignored.
constexpr bool pins_hold(table_view const& t, demand const& d, plan const& p) {
  if (d.pinned_pages && p.pages != *d.pinned_pages) { return false; }
  if (d.pinned_tokens && p.usable_tokens != *d.pinned_tokens) { return false; }
  return !t.experts || !t.experts->pinned_slots || p.slots == *t.experts->pinned_slots;
}

/// The expert cache holds a whole layer, two when the prefill buffer is on, and never more experts
/// than the model has.
constexpr bool slots_in_range(table_view const& t, plan const& p) {
  if (!t.experts) { return p.slots.count == 0 && !p.prefill_buffer; }
  checked const layers = checked{t.experts->per_layer} * (p.prefill_buffer ? 2 : 1);
  return layers <= checked{p.slots.count} && checked{p.slots.count} <= t.experts->total() &&
         (t.experts->buffer != prefill_buffer::required || p.prefill_buffer) &&
         (t.experts->buffer != prefill_buffer::off || !p.prefill_buffer);
}

/// L7, no silent clamp: a wish that was not met is a note with both numbers, and nothing else is.
constexpr bool differences_are_noted(table_view const& t, demand const& d, objective o,
                                     plan const& p) {
  bool const dropped =
      t.experts && t.experts->buffer == prefill_buffer::preferred && !p.prefill_buffer;
  bool const pinned = d.pinned_pages || d.pinned_tokens;
  bool const reduced = o == objective::context_first && !pinned && d.target_tokens &&
                       p.usable_tokens < *d.target_tokens;
  bool const raised = d.max_tokens && !pinned && p.usable_tokens > *d.max_tokens;
  return p.has_note(note_code::prefill_buffer_dropped) == dropped &&
         p.has_note(note_code::target_reduced) == reduced &&
         p.has_note(note_code::max_tokens_raised) == raised;
}

/// L8, a refusal's numbers are true: what is short is what is needed less what there is.
constexpr bool shortfall_is_true(refusal const& r) {
  bool const about_bytes = r.error == solve_error::fixed_exceeds_budget ||
                           r.error == solve_error::pins_exceed_budget ||
                           r.error == solve_error::floors_exceed_budget;
  if (r.priced != about_bytes) { return false; }
  return !r.priced ||
         (r.needed - r.budget == r.shortfall && r.shortfall.count > 0 && r.needed > r.budget);
}

/// L8, repairs repair: each listed change, made alone, gives a plan. Changes that only the request
/// knows (ranks, and whatever a table could not be lowered from) are not judged here.
constexpr bool repairs_repair(problem const& p, refusal const& r) {
  if (p.table.found) { return true; }
  for (std::int32_t i = 0; i < r.repair_count; ++i) {
    if (is_of_request(r.repairs[i].set)) { continue; }
    problem const q = with_repair(p, r.repairs[i]);
    if (!attempt(q.table, q.budget, q.demand, q.objective)) { return false; }
  }
  return true;
}

/// All that must hold of one solve: a plan that keeps every law, or a refusal that is true.
constexpr bool hold(problem const& p, outcome const& out) {
  table_view const& t = p.table;
  if (!out) { return shortfall_is_true(out.error) && repairs_repair(p, out.error); }
  return carved_is_priced(t, *out) && sentinels_are_priced(t, *out) && never_over_budget(t, *out) &&
         is_maximal(t, p.demand, *out) && floors_hold(t, p.demand, *out) &&
         pins_hold(t, p.demand, *out) && slots_in_range(t, *out) &&
         differences_are_noted(t, p.demand, p.objective, *out);
}

/// L10, monotone: with a larger budget a plan stays a plan, and never has fewer slots under
/// experts_first, nor less of its target under context_first.
///
/// \requires  smaller.budget <= larger.budget, all else equal
constexpr bool is_monotone(demand const& d, objective o, outcome const& smaller,
                           outcome const& larger) {
  if (!smaller) { return true; }
  if (!larger) { return false; }
  if (o == objective::experts_first) { return smaller->slots <= larger->slots; }
  if (!d.target_tokens) { return smaller->usable_tokens <= larger->usable_tokens; }
  tokens const target = *d.target_tokens;
  tokens const before = smaller->usable_tokens < target ? smaller->usable_tokens : target;
  tokens const after = larger->usable_tokens < target ? larger->usable_tokens : target;
  return before <= after;
}

}  // namespace allot::laws
