// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/core/result.hpp>
#include <allot/plan/plan.hpp>
#include <allot/solve/demand.hpp>
#include <allot/solve/refusal.hpp>

#include <cstdint>

namespace allot {

/// A request reduced to the numbers that decide it (DESIGN §6 uses the same names).
struct terms {
  std::int64_t budget = 0;
  std::int64_t fixed = 0;          ///< charges and the state pool
  std::int64_t state_slots = 0;    ///< usable
  std::int64_t page_tokens = 1;    ///< P of the anchor
  std::int64_t layer_experts = 0;  ///< E; 0 for a dense model
  std::int64_t total_experts = 0;  ///< T
  std::int64_t hi = 0;             ///< most slots
  std::int64_t lo = 0;             ///< fewest slots the buffer's mode allows, or the pin
  bool pinned = false;             ///< pages are pinned: n_first is the only count allowed
  bool slots_pinned = false;
  std::int64_t n_first = 0;        ///< the pin, or the floor
  std::int64_t n_floor = 0;        ///< n_min, pinned or not
  std::int64_t n_cap = 0;          ///< bounds n; n_first when pinned
  std::int64_t max_tokens_cap = unlimited;  ///< what demand.max_tokens alone would allow, pages
  std::int64_t kv_first = 0;       ///< bytes of kv(n_first)
};

namespace detail {

constexpr refusal refuse(fault const& f) {
  refusal r;
  r.error = f.error;
  r.binding = f.at;
  r.value = f.value;
  r.expected = f.expected;
  return r;
}

constexpr refusal refuse(solve_error error, request_path const& binding, std::int64_t value = 0) {
  refusal r;
  r.error = error;
  r.binding = binding;
  r.value = value;
  return r;
}

/// The largest of the terms of `needed`, the first of equals; the budget itself when it is
/// negative, since then no term is small enough.
constexpr request_path binding_term(table_view const& t, std::int64_t budget, std::int64_t kv,
                                    std::int64_t experts) {
  if (budget < 0) { return {"budget"}; }
  std::int64_t const charges = t.charge_bytes.value;
  std::int64_t const state = state_bytes(t).value;
  if (charges >= state && charges >= kv && charges >= experts) { return {"charges"}; }
  if (state >= kv && state >= experts) { return {"state"}; }
  return kv >= experts ? request_path{"kv"} : request_path{"experts"};
}

constexpr refusal refuse_priced(solve_error error, request_path const& binding, checked needed,
                                std::int64_t budget) {
  checked const shortfall = needed - budget;
  if (shortfall.overflowed) { return refuse(solve_error::overflow, {"budget"}, budget); }
  refusal r = refuse(error, binding);
  r.priced = true;
  r.needed = {needed.value};
  r.budget = {budget};
  r.shortfall = {shortfall.value};
  return r;
}

constexpr fault input_fault(table_view const& t, budget const& b, demand const& d, objective o) {
  fault f = first_of(first_of(b.check(), t.found), d.check());
  if (!f && o == objective::context_first && !d.target_tokens && !d.max_tokens) {
    f = {solve_error::bad_input,
         {"objective"},
         0,
         "experts_first, or context_first with demand.target_tokens or demand.max_tokens"};
  }
  return f;
}

}  // namespace detail

/// Checks a request in the order of `solve_error` and reduces it to its terms.
///
/// \errors  every error of the contract but `kv_head_split`'s repair of tp: see solve()
constexpr result<terms, refusal> terms_of(table_view const& t, budget const& b, demand const& d,
                                          objective o) {
  using outcome = result<terms, refusal>;
  auto const fail = [](refusal const& r) { return outcome::failure(r); };

  fault const f = detail::input_fault(t, b, d, o);
  if (f.error == solve_error::bad_input || f.error == solve_error::overflow) {
    return fail(detail::refuse(f));
  }

  terms x;
  x.page_tokens = t.anchor.page_tokens;
  checked const net = b.net();
  if (net.overflowed) { return fail(detail::refuse(solve_error::overflow, {"budget"})); }
  x.budget = net.value;
  if (t.charge_bytes.overflowed) {
    return fail(detail::refuse(solve_error::overflow, {"charges"}));
  }
  bool const split_fails = f.error == solve_error::kv_head_split;
  checked const state = split_fails ? checked{} : state_bytes(t);
  checked const fixed = t.charge_bytes + state;
  if (fixed.overflowed) {
    return fail(detail::refuse(solve_error::overflow, {state.overflowed ? text{"state"} : text{"charges"}}));
  }
  x.fixed = fixed.value;
  x.state_slots = state_slots(t).value;

  checked needed_slots{};
  if (t.experts) {
    expert_terms const& e = *t.experts;
    x.layer_experts = e.per_layer;
    x.total_experts = e.total().value;
    x.hi = x.total_experts;
    if (e.max_slots && e.max_slots->count < x.hi) { x.hi = e.max_slots->count; }
    x.slots_pinned = e.pinned_slots.given;
    checked const fewest = checked{e.per_layer} * (e.buffer == prefill_buffer::required ? 2 : 1);
    x.lo = fewest.ok() ? fewest.value : unlimited;  // either way above every hi
    needed_slots = x.slots_pinned ? checked{e.pinned_slots->count} : fewest;
  }

  // Pages that can be counted at all: their tokens and their physical pages stay below 2^63.
  std::int64_t const countable_by_tokens = INT64_MAX / x.page_tokens;
  std::int64_t const countable_by_pages = INT64_MAX - t.anchor.sentinel_pages;
  std::int64_t const countable =
      countable_by_tokens < countable_by_pages ? countable_by_tokens : countable_by_pages;

  std::int64_t const floor_pages = t.anchor.pages_for(d.min_tokens).count;
  x.n_floor = floor_pages > d.min_usable_pages.count ? floor_pages : d.min_usable_pages.count;
  x.n_first = x.n_floor;
  bool const conflicting = d.pinned_pages && d.pinned_tokens;
  bool const whole = !d.pinned_tokens || d.pinned_tokens->count % x.page_tokens == 0;
  if (d.pinned_pages) { x.n_first = d.pinned_pages->count; }
  if (d.pinned_tokens && whole) { x.n_first = d.pinned_tokens->count / x.page_tokens; }
  x.pinned = d.pinned_pages || d.pinned_tokens;

  if (!conflicting && whole && !split_fails) {
    if (x.n_first > countable) {
      text const field = d.pinned_pages                ? text{"pages"}
                         : d.pinned_tokens             ? text{"tokens"}
                         : x.n_floor == floor_pages    ? text{"min_tokens"}
                                                       : text{"min_usable_pages"};
      return fail(detail::refuse(solve_error::overflow, {"demand", -1, field}, x.n_first));
    }
    checked const kv = kv_bytes(t, x.n_first);
    if (kv.overflowed) { return fail(detail::refuse(solve_error::overflow, {"kv"})); }
    x.kv_first = kv.value;
  }
  checked const experts =
      needed_slots.ok() ? expert_bytes(t, needed_slots.value) : needed_slots;
  checked const needed = fixed + experts + x.kv_first;
  if (needed.overflowed) {
    return fail(detail::refuse(solve_error::overflow, {experts.overflowed ? text{"experts"} : text{"kv"}}));
  }

  if (conflicting) {
    return fail(detail::refuse(solve_error::conflicting_pins, {"demand", -1, "tokens"},
                               d.pinned_tokens->count));
  }
  if (!whole) {
    refusal r = detail::refuse(solve_error::not_a_page_multiple, {"demand", -1, "tokens"},
                               d.pinned_tokens->count);
    std::int64_t const below = round_down(d.pinned_tokens->count, x.page_tokens);
    checked const above = checked{below} + x.page_tokens;
    r.high = above.ok() ? above.value : below;
    r.low = below > 0 ? below : r.high;
    return fail(r);
  }
  if (f) { return fail(detail::refuse(f)); }  // kv_head_split

  if (x.hi < x.lo) {
    bool const capped = x.hi < x.total_experts;
    refusal r = detail::refuse(
        solve_error::slot_cap_below_minimum,
        {"experts", -1, capped ? text{"max_slots"} : text{"prefill_buffer"}}, x.hi);
    r.low = x.lo;
    r.high = x.hi;
    return fail(r);
  }
  if (x.fixed > x.budget) {
    return fail(detail::refuse_priced(solve_error::fixed_exceeds_budget,
                                      detail::binding_term(t, x.budget, 0, 0), fixed, x.budget));
  }
  if (x.slots_pinned && (needed_slots < checked{x.lo} || needed_slots > checked{x.hi})) {
    refusal r = detail::refuse(solve_error::slots_out_of_range, {"experts", -1, "slots"},
                               needed_slots.value);
    r.low = x.lo;
    r.high = x.hi;
    return fail(r);
  }
  if (needed > checked{x.budget}) {
    bool const pinned = x.pinned || x.slots_pinned;
    request_path binding = detail::binding_term(t, x.budget, x.kv_first, experts.value);
    if (x.pinned && binding == request_path{"kv"}) {
      binding = {"demand", -1, d.pinned_pages ? text{"pages"} : text{"tokens"}};
    }
    if (x.slots_pinned && binding == request_path{"experts"}) { binding = {"experts", -1, "slots"}; }
    return fail(detail::refuse_priced(pinned ? solve_error::pins_exceed_budget
                                             : solve_error::floors_exceed_budget,
                                      binding, needed, x.budget));
  }

  if (x.slots_pinned) { x.lo = x.hi = needed_slots.value; }
  x.n_cap = countable;
  if (x.pinned) {
    x.n_cap = x.n_first;
  } else if (d.max_tokens) {
    x.max_tokens_cap = d.max_tokens->count / x.page_tokens;
    std::int64_t const cap = x.max_tokens_cap > x.n_floor ? x.max_tokens_cap : x.n_floor;
    if (cap < x.n_cap) { x.n_cap = cap; }
  }
  return outcome::success(x);
}

}  // namespace allot
