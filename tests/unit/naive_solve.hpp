// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "naive_refuse.hpp"

#include <cstdint>

/// A solver that counts slots down and pages up, one by one: slow, and too simple to be wrong in
/// the way a search can be.
namespace naive {

struct answer {
  verdict refused{};  ///< `error` is none when there is a plan
  std::int64_t slots = 0;
  bool prefill_buffer = false;
  std::int64_t pages = 0;
  wide left = 0;
  allot::left_reason reason{};
  allot::note notes[3] = {};
  int note_count = 0;

  void add(allot::note_code code, wide asked, wide planned) {
    notes[note_count++] = {code, static_cast<std::int64_t>(asked),
                           static_cast<std::int64_t>(planned)};
  }
};

inline allot::left_reason why_left(allot::request const& r, answer const& a) {
  bool const all = r.experts && a.slots == r.experts->per_layer * r.experts->layers;
  bool const page = kv_bytes(r, wide{a.pages} + 1) - kv_bytes(r, a.pages) <= a.left;
  bool const slot =
      r.experts && !all && expert_bytes(r, wide{a.slots} + 1) - expert_bytes(r, a.slots) <= a.left;
  if (!page && !slot) { return allot::left_reason::next_step; }
  if (page && !a.refused.pages_pinned) { return allot::left_reason::max_tokens; }
  if (all && !a.refused.slots_pinned) { return allot::left_reason::all_resident; }
  if (page || a.refused.slots_pinned) { return allot::left_reason::pinned; }
  return allot::left_reason::max_slots;
}

inline answer solve(allot::request const& r) {
  using allot::note_code;
  using allot::prefill_buffer;

  answer a;
  a.refused = refuse(r);
  verdict const& v = a.refused;
  if (v.error != solve_error::none) { return a; }
  allot::demand const& d = r.demand;
  wide const room = v.budget - fixed_bytes(r);
  auto const fits = [&](wide slots, wide pages) {
    return expert_bytes(r, slots) + kv_bytes(r, pages) <= room;
  };

  // Cap: bounds n in every step; ignored with pinned pages.
  wide cap = huge;
  if (d.max_tokens) { cap = d.max_tokens->count / v.page_tokens; }
  bool const raised = !v.pages_pinned && cap < v.n_min;
  if (cap < v.n_min) { cap = v.n_min; }
  if (v.pages_pinned) { cap = v.n_first; }

  bool const context_first = r.objective == allot::objective::context_first;
  wide t = v.n_first;
  if (context_first && !v.pages_pinned) {
    t = cap;
    if (d.target_tokens) {
      t = up(d.target_tokens->count, v.page_tokens);
      if (t < v.n_min) { t = v.n_min; }
      if (t > cap) { t = cap; }
    }
  }

  wide lo = v.lo;
  wide hi = v.hi;
  wide const two_layers = r.experts ? 2 * wide{r.experts->per_layer} : wide{0};
  prefill_buffer const mode = r.experts ? r.experts->buffer : prefill_buffer::off;
  if (v.slots_pinned) {
    lo = hi = r.experts->pinned_slots->count;
    a.prefill_buffer =
        mode == prefill_buffer::required || (mode == prefill_buffer::preferred && lo >= two_layers);
  } else if (mode == prefill_buffer::required) {
    a.prefill_buffer = true;
  } else if (mode == prefill_buffer::preferred && hi >= two_layers &&
             fits(two_layers, context_first ? t : v.n_first)) {
    a.prefill_buffer = true;
    lo = two_layers;
  }

  wide n = v.n_first;
  if (context_first) {
    while (n < t && fits(lo, n + 1)) {
      ++n;
    }
  }
  wide slots = hi;
  while (slots > lo && !fits(slots, n)) {
    --slots;
  }
  while (n < cap && fits(slots, n + 1)) {
    ++n;
  }

  a.slots = static_cast<std::int64_t>(slots);
  a.pages = static_cast<std::int64_t>(n);
  a.left = room - expert_bytes(r, slots) - kv_bytes(r, n);
  a.reason = why_left(r, a);
  if (mode == prefill_buffer::preferred && !a.prefill_buffer) {
    a.add(note_code::prefill_buffer_dropped, two_layers, slots);
  }
  bool const pinned = d.pinned_pages || d.pinned_tokens;
  if (context_first && !pinned && d.target_tokens && n * v.page_tokens < d.target_tokens->count) {
    a.add(note_code::target_reduced, d.target_tokens->count, n * v.page_tokens);
  }
  if (raised) { a.add(note_code::max_tokens_raised, d.max_tokens->count, v.n_min * v.page_tokens); }
  return a;
}

}  // namespace naive
