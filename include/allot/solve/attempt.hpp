// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/core/result.hpp>
#include <allot/solve/search.hpp>
#include <allot/solve/terms.hpp>

#include <cstdint>

namespace allot {

namespace detail {

/// Bytes one more anchor page costs, about: where the search for the most pages starts. Never
/// decides anything.
constexpr double page_slope(table_view const& t) {
  double slope = 0;
  for (std::int64_t i = 0; i < t.kv_pools; ++i) {
    pool const& p = t.pools[i];
    for (std::int32_t k = 0; k < p.extents; ++k) {
      extent const& e = t.extents[p.first_extent + k];
      if (e.rows.of != rows_of::anchor_pages && e.rows.of != rows_of::anchor_physical) { continue; }
      slope += static_cast<double>(e.row_bytes) * static_cast<double>(e.copies) * e.rows.ratio *
               static_cast<double>(e.rows.mul) / static_cast<double>(e.rows.per);
    }
  }
  return slope;
}

/// The most usable anchor pages in [from, x.n_cap] whose pools fit `room` bytes.
///
/// \requires  kv(from) fits
constexpr std::int64_t most_pages(table_view const& t, terms const& x, std::int64_t room,
                                  std::int64_t from, std::int64_t from_bytes) {
  if (from == x.n_cap) { return from; }
  double const slope = page_slope(t);
  std::int64_t const spread = x.n_cap - from;
  double const more = slope > 0 ? static_cast<double>(room - from_bytes) / slope : 0;
  std::int64_t const guess =
      more < static_cast<double>(spread) ? from + static_cast<std::int64_t>(more) : x.n_cap;
  return largest(from, x.n_cap, guess,
                 [&](std::int64_t n) { return kv_bytes(t, n) <= checked{room}; });
}

/// The most slots in [lo, hi] whose block fits `room` bytes.
///
/// \requires  lo slots fit
constexpr std::int64_t most_slots(table_view const& t, std::int64_t room, std::int64_t lo,
                                  std::int64_t hi) {
  if (lo == hi) { return lo; }
  std::int64_t const guess = room / t.experts->slot_bytes;
  return largest(lo, hi, guess,
                 [&](std::int64_t s) { return expert_bytes(t, s) <= checked{room}; });
}

constexpr left_reason why_left(table_view const& t, terms const& x, plan const& p) {
  checked const left = p.left.count;
  bool const page_fits =
      p.pages.count < unlimited && kv_bytes(t, p.pages.count + 1) - p.kv.count <= left;
  bool const all_resident = t.experts && p.slots.count == x.total_experts;
  bool const slot_fits =
      t.experts && !all_resident && expert_bytes(t, p.slots.count + 1) - p.experts.count <= left;
  if (!page_fits && !slot_fits) { return left_reason::next_step; }
  if (page_fits && !x.pages_pinned) { return left_reason::max_tokens; }
  if (all_resident && !x.slots_pinned) { return left_reason::all_resident; }
  if (page_fits || x.slots_pinned) { return left_reason::pinned; }
  return left_reason::max_slots;
}

/// What context_first reserves before any expert beyond the fewest; the floor or the pin otherwise.
constexpr std::int64_t wanted_pages(table_view const& t, terms const& x, demand const& d,
                                    objective o) {
  if (o == objective::experts_first || x.pages_pinned) { return x.n_first; }
  std::int64_t const target =
      d.target_tokens ? t.anchor.pages_for(*d.target_tokens).count : x.n_cap;
  std::int64_t const reached = target > x.n_floor ? target : x.n_floor;
  return reached < x.n_cap ? reached : x.n_cap;
}

/// Whether prefill gets its two layers of slots. Preferred, it is judged where it must hold: beside
/// the context that the objective puts first, so that it may cost slots but never context.
constexpr bool buffer_is_on(table_view const& t, terms const& x, std::int64_t room,
                            std::int64_t beside_kv) {
  expert_terms const& e = *t.experts;
  if (e.buffer != prefill_buffer::preferred) { return e.buffer == prefill_buffer::required; }
  checked const two_layers = e.two_layers();
  if (!(two_layers <= checked{x.hi})) { return false; }
  return x.slots_pinned || checked{beside_kv} + expert_bytes(t, two_layers.value) <= checked{room};
}

constexpr void add_notes(table_view const& t, terms const& x, demand const& d, objective o,
                         plan& p) {
  if (t.experts && t.experts->buffer == prefill_buffer::preferred && !p.prefill_buffer) {
    checked const two_layers = t.experts->two_layers();
    p.add_note({note_code::prefill_buffer_dropped, two_layers.ok() ? two_layers.value : unlimited,
                p.slots.count});
  }
  // A pin overrules a target, as experts_first does: nothing was tried that could fall short.
  bool const aimed = o == objective::context_first && d.target_tokens && !x.pages_pinned;
  if (aimed && p.usable_tokens < *d.target_tokens) {
    p.add_note({note_code::target_reduced, d.target_tokens->count, p.usable_tokens.count});
  }
  std::int64_t const page_tokens = t.anchor.page_tokens;
  if (d.max_tokens && !x.pages_pinned && d.max_tokens->count / page_tokens < x.n_floor) {
    p.add_note({note_code::max_tokens_raised, d.max_tokens->count, x.n_floor * page_tokens});
  }
}

/// Chooses slots and pages for a request that can be planned.
constexpr void choose(table_view const& t, terms const& x, demand const& d, objective o, plan& p) {
  std::int64_t const room = x.budget - x.fixed;
  std::int64_t const wanted = wanted_pages(t, x, d, o);
  // kv(wanted) may overflow, since a target is a wish: then it does not fit.
  checked const wanted_kv = wanted == x.n_first ? checked{x.kv_first} : kv_bytes(t, wanted);

  std::int64_t lo = x.lo;
  if (t.experts && wanted_kv.ok()) {
    p.prefill_buffer = buffer_is_on(t, x, room, wanted_kv.value);
  } else if (t.experts) {
    p.prefill_buffer = t.experts->buffer == prefill_buffer::required;
  }
  if (p.prefill_buffer && !x.slots_pinned) { lo = t.experts->two_layers().value; }

  std::int64_t n = x.n_first;
  std::int64_t kv = x.kv_first;
  if (wanted > n) {
    std::int64_t const beside_fewest = room - expert_bytes(t, lo).value;
    n = wanted_kv <= checked{beside_fewest} ? wanted : most_pages(t, x, beside_fewest, n, kv);
    kv = kv_bytes(t, n).value;
  }
  std::int64_t const slots = t.experts ? most_slots(t, room - kv, lo, x.hi) : 0;
  std::int64_t const experts = expert_bytes(t, slots).value;
  n = most_pages(t, x, room - experts, n, kv);
  kv = kv_bytes(t, n).value;

  p.slots = {slots};
  p.pages = {n};
  p.physical = {n + t.anchor.sentinel_pages};
  p.usable_tokens = {n * t.anchor.page_tokens};
  p.state = {x.state_slots};
  p.budget = {x.budget};
  p.fixed = {x.fixed};
  p.experts = {experts};
  p.kv = {kv};
  p.left = {room - experts - kv};
  p.reason = why_left(t, x, p);
  add_notes(t, x, d, o, p);
}

}  // namespace detail

/// One solve, refusals without their repairs.
constexpr result<plan, refusal> attempt(table_view const& t, budget const& b, demand const& d,
                                        objective o) {
  result<plan, refusal> out;
  terms x;
  out.ok = find_terms(t, b, d, o, x, out.error);
  if (out.ok) { detail::choose(t, x, d, o, out.value); }
  return out;
}

}  // namespace allot
