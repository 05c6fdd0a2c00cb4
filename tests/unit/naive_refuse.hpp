// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "naive_price.hpp"

#include <cstdint>

/// The refusals of docs/contract.md in their order, from the text and nothing else.
namespace naive {

using allot::solve_error;

/// The quantities §6 names, and the first refusal among those it lists.
struct verdict {
  solve_error error = solve_error::none;
  wide needed = 0;  ///< of the three *exceed* errors
  wide budget = 0;
  std::int64_t page_tokens = 1;
  wide n_min = 0;    ///< the floor
  wide n_first = 0;  ///< the floor, or the pin that replaces it
  wide hi = 0;
  wide lo = 0;  ///< one layer of experts, or two if the buffer is required
  bool pages_pinned = false;
  bool slots_pinned = false;
};

inline bool bad_index(allot::maybe<allot::index_slab> const& index) {
  return index && (index->head_dim < 1 || index->layers < 1);
}

inline bool bad_kv(allot::kv_family const& f) {
  if (f.paging().page_tokens < 1 || f.paging().sentinel_pages < 0) { return true; }
  switch (f.kind) {
    case allot::kv_kind::raw: return f.raw.page_bytes.count < 1;
    case allot::kv_kind::mla:
      return f.mla.layers < 1 || f.mla.latent_dim < 1 || bad_index(f.mla.index);
    case allot::kv_kind::gqa: break;
    case allot::kv_kind::sliding_window:
    case allot::kv_kind::compressed_tiers: return true;  // not drawn
  }
  allot::gqa const& g = f.gqa;
  return g.layers < 1 || g.kv_heads < 1 || g.head_dim < 1 || (g.v_head_dim && *g.v_head_dim < 0) ||
         g.tp < 1 || g.scale_bytes < 0 || bad_index(g.index);
}

inline bool bad_state(allot::recurrent_state const& s) {
  using allot::state_kind;
  bool const snapshots = s.snapshot_ratio >= 0 && s.snapshot_ratio < 1e18;
  bool dims = true;
  switch (s.kind) {
    case state_kind::gated_delta:
      dims = s.key_heads > 0 && s.value_heads > 0 && s.key_head_dim > 0 && s.value_head_dim > 0;
      break;
    case state_kind::kda: dims = s.heads > 0 && s.head_dim > 0; break;
    case state_kind::mamba1: dims = s.inner_dim > 0 && s.state_dim > 0; break;
    case state_kind::mamba2:
      dims = s.heads > 0 && s.head_dim > 0 && s.groups > 0 && s.state_dim > 0;
      break;
  }
  return s.layers < 1 || !dims || s.conv_kernel < 1 || s.tp < 1 || s.max_running < 1 ||
         !snapshots || s.sentinel_slots < 0 || (s.pinned_slots && s.pinned_slots->count < 1);
}

inline bool bad_experts(allot::expert_bank const& e) {
  return e.slot_bytes.count < 1 || e.per_layer < 1 || e.layers < 1 ||
         (e.max_slots && e.max_slots->count < 1) || (e.pinned_slots && e.pinned_slots->count < 1);
}

inline bool bad_budget(allot::budget const& b) {
  if (b.absolute.given == b.baseline.given) { return true; }
  if (b.absolute) { return false; }
  return b.baseline->count < 0 || !(b.ratio > 0) || !(b.ratio <= 1) || b.resident.count < 0;
}

inline bool bad_demand(allot::demand const& d) {
  return d.min_tokens.count < 0 || d.min_usable_pages.count < 0 ||
         (d.target_tokens && d.target_tokens->count < 0) ||
         (d.max_tokens && d.max_tokens->count < 0) ||
         (d.pinned_pages && d.pinned_pages->count < 1) ||
         (d.pinned_tokens && d.pinned_tokens->count < 1);
}

inline bool bad_input(allot::request const& r) {
  if (bad_budget(r.budget) || bad_demand(r.demand) || r.granularity < 1 || r.kv.size == 0) {
    return true;
  }
  if (r.arrangement == allot::arrangement::page_major && r.granularity > 1 &&
      r.granularity % 16 != 0) {
    return true;
  }
  for (allot::charge const& c : r.charges) {
    if (c.bytes.count < 0) { return true; }
  }
  for (allot::kv_family const& f : r.kv) {
    if (bad_kv(f)) { return true; }
  }
  bool const aimless = r.objective == allot::objective::context_first && !r.demand.target_tokens &&
                       !r.demand.max_tokens;
  return aimless || (r.state && bad_state(*r.state)) || (r.experts && bad_experts(*r.experts));
}

inline bool state_splits(allot::request const& r) {
  return !r.state || (splits(shared_of(*r.state).first, r.state->tp) &&
                      splits(shared_of(*r.state).second, r.state->tp));
}

inline bool heads_split(allot::request const& r) {
  for (allot::kv_family const& f : r.kv) {
    if (f.kind == allot::kv_kind::gqa && !splits(f.gqa.kv_heads, f.gqa.tp)) { return false; }
  }
  return state_splits(r);
}

/// A single number of the description that 64 bits do not hold.
inline bool sizes_overflow(allot::request const& r) {
  for (allot::kv_family const& f : r.kv) {
    page_size const page = page_of(f);
    if (page.all_rows() >= limit || page.all_keys() >= limit) { return true; }
  }
  if (r.state && state_slots(r) >= limit) { return true; }
  if (r.state && state_splits(r)) {
    page_size const slot = state_of(*r.state);
    if (slot.all_rows() >= limit || slot.all_keys() >= limit) { return true; }
  }
  return r.experts && times(r.experts->per_layer, r.experts->layers) >= limit;
}

inline verdict refuse(allot::request const& r) {
  verdict v;
  if (bad_input(r)) {
    v.error = solve_error::bad_input;
    return v;
  }
  allot::demand const& d = r.demand;
  v.page_tokens = r.kv[0].paging().page_tokens;
  v.budget = net_budget(r.budget);
  wide const floor = up(d.min_tokens.count, v.page_tokens);
  v.n_min = floor > d.min_usable_pages.count ? floor : wide{d.min_usable_pages.count};
  v.n_first = v.n_min;
  bool const whole = !d.pinned_tokens || d.pinned_tokens->count % v.page_tokens == 0;
  if (d.pinned_tokens) { v.n_first = d.pinned_tokens->count / v.page_tokens; }
  if (d.pinned_pages) { v.n_first = d.pinned_pages->count; }
  v.pages_pinned = d.pinned_pages || d.pinned_tokens;

  wide fewest = 0;
  if (r.experts) {
    wide const layer = r.experts->per_layer;
    v.hi = times(layer, r.experts->layers);
    if (r.experts->max_slots && r.experts->max_slots->count < v.hi) {
      v.hi = r.experts->max_slots->count;
    }
    v.lo = r.experts->buffer == allot::prefill_buffer::required ? 2 * layer : layer;
    v.slots_pinned = r.experts->pinned_slots.given;
    fewest = v.slots_pinned ? wide{r.experts->pinned_slots->count} : v.lo;
  }
  // What a later refusal of the list leaves undefined takes no part in the overflow check: two pins
  // or part of a page are no count, and heads that do not split have no bytes.
  bool const split = heads_split(r);
  bool const counted = whole && !(d.pinned_pages && d.pinned_tokens);
  wide const fixed = fixed_bytes(r);
  wide const kv = counted ? kv_bytes(r, v.n_first) : wide{0};
  wide const needed = plus(plus(fixed, expert_bytes(r, fewest)), kv);
  bool const uncountable = counted && (times(v.n_first, v.page_tokens) >= limit ||
                                       plus(v.n_first, r.kv[0].paging().sentinel_pages) >= limit);

  auto const exceeds = [&](solve_error error, wide what) {
    v.error = what - v.budget >= limit ? solve_error::overflow : error;  // no shortfall to name
    v.needed = what;
  };
  if (v.budget >= limit || v.budget < -limit || sizes_overflow(r) || fixed >= limit ||
      needed >= limit || uncountable) {
    v.error = solve_error::overflow;
  } else if (d.pinned_pages && d.pinned_tokens) {
    v.error = solve_error::conflicting_pins;
  } else if (!whole) {
    v.error = solve_error::not_a_page_multiple;
  } else if (is_misaligned(r)) {
    v.error = solve_error::misaligned_stride;
  } else if (!split) {
    v.error = solve_error::kv_head_split;
  } else if (v.hi < v.lo) {
    v.error = solve_error::slot_cap_below_minimum;
  } else if (fixed > v.budget) {
    exceeds(solve_error::fixed_exceeds_budget, fixed);
  } else if (v.slots_pinned && (fewest < v.lo || fewest > v.hi)) {
    v.error = solve_error::slots_out_of_range;
  } else if (needed > v.budget) {
    bool const pinned = v.pages_pinned || v.slots_pinned;
    exceeds(pinned ? solve_error::pins_exceed_budget : solve_error::floors_exceed_budget, needed);
  }
  return v;
}

}  // namespace naive
