// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/plan/plan.hpp>
#include <allot/solve/demand.hpp>
#include <allot/solve/refusal.hpp>

#include <cstdint>

namespace allot {

/// A request reduced to the numbers that decide it (docs/contract.md uses the same names).
struct terms {
  std::int64_t budget = 0;
  std::int64_t fixed = 0;          ///< charges and the state pool
  std::int64_t state_slots = 0;    ///< usable
  std::int64_t total_experts = 0;  ///< T; 0 for a dense model
  std::int64_t hi = 0;             ///< most slots; the pin, if slots are pinned
  std::int64_t lo = 0;             ///< fewest slots the buffer's mode allows, or the pin
  bool pages_pinned = false;       ///< n_first is the only count allowed
  bool slots_pinned = false;
  std::int64_t n_floor = 0;   ///< n_min, pinned or not
  std::int64_t n_first = 0;   ///< the pin, or the floor
  std::int64_t n_cap = 0;     ///< bounds n; n_first when pinned
  std::int64_t kv_first = 0;  ///< bytes of kv(n_first)
};

namespace detail {

/// Checks a request in the order of `solve_error` and reduces it to its terms: a list of refusals,
/// each with its reason.
class term_finder {
 public:
  constexpr term_finder(table_view const& t, budget const& b, demand const& d, objective o,
                        terms& x, refusal& r)
      : t_{t}, b_{b}, d_{d}, o_{o}, x_{x}, r_{r} {}

  constexpr bool run() {
    if (!inputs_are_good() || !pools_are_good()) { return false; }
    count_slots();
    count_pages();
    return nothing_overflows() && pins_agree() && heads_split() && cap_holds_a_layer() &&
           fixed_fits() && pinned_slots_in_range() && all_fits() && bound_pages();
  }

 private:
  // Every refusal is written by one of these three and makes the check false.
  constexpr bool refuse(solve_error error, request_path const& binding, std::int64_t value = 0,
                        std::int64_t low = 0, std::int64_t high = 0) {
    r_.error = error;
    r_.binding = binding;
    r_.value = value;
    r_.low = low;
    r_.high = high;
    return false;
  }
  constexpr bool refuse(fault const& f) {
    r_.expected = f.expected;
    return refuse(f.error, f.at, f.value, f.low, f.high);
  }
  constexpr bool refuse_bytes(solve_error error, request_path const& binding, checked needed) {
    checked const shortfall = needed - x_.budget;
    if (shortfall.overflowed) { return refuse(solve_error::overflow, {"budget"}, x_.budget); }
    r_.priced = true;
    r_.needed = {needed.value};
    r_.budget = {x_.budget};
    r_.shortfall = {shortfall.value};
    return refuse(error, binding);
  }

  constexpr bool inputs_are_good() {
    if (fault const f = b_.check()) { return refuse(f); }
    if (t_.found.error == solve_error::bad_input) { return refuse(t_.found); }
    if (fault const f = d_.check()) { return refuse(f); }
    if (o_ == objective::context_first && !d_.target_tokens && !d_.max_tokens) {
      r_.expected =
          "experts_first, or context_first with demand.target_tokens or demand.max_tokens";
      return refuse(solve_error::bad_input, {"objective"});
    }
    return true;
  }

  constexpr bool pools_are_good() {
    if (t_.found.error == solve_error::overflow) { return refuse(t_.found); }
    checked const net = b_.net();
    if (net.overflowed) { return refuse(solve_error::overflow, {"budget"}); }
    x_.budget = net.value;
    state_ = state_bytes(t_);  // none, where the heads do not split
    fixed_ = t_.charge_bytes + state_;
    if (fixed_.overflowed) {
      return refuse(solve_error::overflow, {state_.overflowed ? text{"state"} : text{"charges"}});
    }
    x_.fixed = fixed_.value;
    x_.state_slots = state_slots(t_).value;
    return true;
  }

  constexpr void count_slots() {
    if (!t_.experts) { return; }
    expert_terms const& e = *t_.experts;
    x_.total_experts = e.total().value;
    x_.hi = x_.total_experts;
    if (e.max_slots && e.max_slots->count < x_.hi) { x_.hi = e.max_slots->count; }
    checked const fewest = e.fewest();
    x_.lo = fewest.ok() ? fewest.value : unlimited;  // either way above every hi
    x_.slots_pinned = e.pinned_slots.given;
    slots_ = x_.slots_pinned ? checked{e.pinned_slots->count} : fewest;
  }

  constexpr void count_pages() {
    std::int64_t const page_tokens = t_.anchor.page_tokens;
    std::int64_t const floor_pages = t_.anchor.pages_for(d_.min_tokens).count;
    x_.n_floor = floor_pages > d_.min_usable_pages.count ? floor_pages : d_.min_usable_pages.count;
    x_.n_first = x_.n_floor;
    x_.pages_pinned = d_.pinned_pages || d_.pinned_tokens;
    tokens_split_pages_ = !d_.pinned_tokens || d_.pinned_tokens->count % page_tokens == 0;
    if (d_.pinned_pages) { x_.n_first = d_.pinned_pages->count; }
    if (d_.pinned_tokens && tokens_split_pages_) {
      x_.n_first = d_.pinned_tokens->count / page_tokens;
    }
    // Pages that can be counted at all: their tokens and their physical pages stay below 2^63.
    std::int64_t const by_tokens = unlimited / page_tokens;
    std::int64_t const by_pages = unlimited - t_.anchor.sentinel_pages;
    countable_ = by_tokens < by_pages ? by_tokens : by_pages;
  }

  constexpr bool nothing_overflows() {
    bool const one_count = !(d_.pinned_pages && d_.pinned_tokens) && tokens_split_pages_;
    if (one_count) {  // a pool whose heads do not split has no bytes, the others have
      if (x_.n_first > countable_) {
        bool const by_tokens = x_.n_floor != d_.min_usable_pages.count;
        text const field = d_.pinned_pages    ? text{"pages"}
                           : d_.pinned_tokens ? text{"tokens"}
                           : by_tokens        ? text{"min_tokens"}
                                              : text{"min_usable_pages"};
        std::int64_t const asked = d_.pinned_tokens                ? d_.pinned_tokens->count
                                   : by_tokens && !d_.pinned_pages ? d_.min_tokens.count
                                                                   : x_.n_first;
        return refuse(solve_error::overflow, {"demand", -1, field}, asked);
      }
      checked const kv = kv_bytes(t_, x_.n_first);
      if (kv.overflowed) { return refuse(solve_error::overflow, {"kv"}); }
      x_.kv_first = kv.value;
    }
    experts_ = slots_.ok() ? expert_bytes(t_, slots_.value) : slots_;
    needed_ = fixed_ + experts_ + x_.kv_first;
    if (needed_.overflowed) {
      return refuse(solve_error::overflow, {experts_.overflowed ? text{"experts"} : text{"kv"}});
    }
    return true;
  }

  constexpr bool pins_agree() {
    if (!d_.pinned_tokens) { return true; }
    std::int64_t const asked = d_.pinned_tokens->count;
    request_path const at{"demand", -1, "tokens"};
    if (d_.pinned_pages) { return refuse(solve_error::conflicting_pins, at, asked); }
    if (tokens_split_pages_) { return true; }
    std::int64_t const below = round_down(asked, t_.anchor.page_tokens);
    checked const above = checked{below} + t_.anchor.page_tokens;
    std::int64_t const high = above.ok() ? above.value : below;
    return refuse(solve_error::not_a_page_multiple, at, asked, below > 0 ? below : high, high);
  }

  constexpr bool heads_split() { return !t_.found || refuse(t_.found); }

  constexpr bool cap_holds_a_layer() {
    if (x_.hi >= x_.lo) { return true; }
    text const field = x_.hi < x_.total_experts ? text{"max_slots"} : text{"prefill_buffer"};
    return refuse(solve_error::slot_cap_below_minimum, {"experts", -1, field}, x_.hi, x_.lo, x_.hi);
  }

  constexpr bool fixed_fits() {
    return x_.fixed <= x_.budget ||
           refuse_bytes(solve_error::fixed_exceeds_budget, binding_term(0, 0), fixed_);
  }

  constexpr bool pinned_slots_in_range() {
    if (!x_.slots_pinned || (slots_.value >= x_.lo && slots_.value <= x_.hi)) { return true; }
    return refuse(solve_error::slots_out_of_range, {"experts", -1, "slots"}, slots_.value, x_.lo,
                  x_.hi);
  }

  constexpr bool all_fits() {
    if (needed_ <= checked{x_.budget}) { return true; }
    request_path binding = binding_term(x_.kv_first, experts_.value);
    if (x_.pages_pinned && binding == request_path{"kv"}) {
      binding = {"demand", -1, d_.pinned_pages ? text{"pages"} : text{"tokens"}};
    }
    if (x_.slots_pinned && binding == request_path{"experts"}) {
      binding = {"experts", -1, "slots"};
    }
    return refuse_bytes(x_.pages_pinned || x_.slots_pinned ? solve_error::pins_exceed_budget
                                                           : solve_error::floors_exceed_budget,
                        binding, needed_);
  }

  constexpr bool bound_pages() {
    if (x_.slots_pinned) { x_.lo = x_.hi = slots_.value; }
    x_.n_cap = x_.pages_pinned ? x_.n_first : countable_;
    if (!x_.pages_pinned && d_.max_tokens) {
      std::int64_t const asked = d_.max_tokens->count / t_.anchor.page_tokens;
      std::int64_t const cap = asked > x_.n_floor ? asked : x_.n_floor;
      if (cap < x_.n_cap) { x_.n_cap = cap; }
    }
    return true;
  }

  /// The largest of the terms of what is needed, the first of equals; the budget itself when it is
  /// negative, since then no term is small enough.
  constexpr request_path binding_term(std::int64_t kv, std::int64_t experts) const {
    if (x_.budget < 0) { return {"budget"}; }
    std::int64_t const charges = t_.charge_bytes.value;
    std::int64_t const state = state_.value;
    if (charges >= state && charges >= kv && charges >= experts) { return {"charges"}; }
    if (state >= kv && state >= experts) { return {"state"}; }
    return kv >= experts ? request_path{"kv"} : request_path{"experts"};
  }

  table_view const& t_;
  budget const& b_;
  demand const& d_;
  objective o_;
  terms& x_;
  refusal& r_;
  checked state_{};
  checked fixed_{};
  checked slots_{};  ///< the fewest, or the pin
  checked experts_{};
  checked needed_{};
  bool tokens_split_pages_ = true;
  std::int64_t countable_ = 0;
};

}  // namespace detail

/// Reduces a request to its terms, or says why it is refused. A plan exists exactly when it
/// succeeds.
///
/// \param x  set when the request can be planned
/// \param r  set when it cannot, all but the repairs
constexpr bool find_terms(table_view const& t, budget const& b, demand const& d, objective o,
                          terms& x, refusal& r) {
  return detail::term_finder{t, b, d, o, x, r}.run();
}

/// Whether a request can be planned.
constexpr bool is_solvable(table_view const& t, budget const& b, demand const& d, objective o) {
  terms x;
  refusal r;
  return find_terms(t, b, d, o, x, r);
}

}  // namespace allot
