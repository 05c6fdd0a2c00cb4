// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/solve/attempt.hpp>
#include <allot/solve/problem.hpp>

#include <cstdint>

namespace allot {

namespace detail {

constexpr bool solves(problem const& p, repair const& r) {
  problem const q = with_repair(p, r);
  return is_solvable(q.table, q.budget, q.demand, q.objective);
}

/// Finds repairs of one refusal, each tried before it is listed.
class repair_finder {
 public:
  constexpr repair_finder(problem const& p, refusal& into) : p_{p}, into_{into} {}

  constexpr void run() {
    switch (into_.error) {
      case solve_error::conflicting_pins:
        drop(setting::pages);
        drop(setting::tokens);
        break;
      case solve_error::not_a_page_multiple: whole_pages(); break;
      case solve_error::slot_cap_below_minimum: slot_cap(); break;
      case solve_error::slots_out_of_range: slot_pin(); break;
      case solve_error::bad_input: bad_input(); break;
      case solve_error::overflow:
      case solve_error::fixed_exceeds_budget:
      case solve_error::pins_exceed_budget:
      case solve_error::floors_exceed_budget: less(); break;
      case solve_error::none:
      case solve_error::misaligned_stride:
      case solve_error::kv_head_split: break;
    }
  }

 private:
  constexpr bool try_this(repair const& r) {
    if (!solves(p_, r)) { return false; }
    into_.add(r);
    return true;
  }
  constexpr bool drop(setting s) { return try_this({.set = s, .removes = true}); }

  /// The largest value below `now` that works, if one does. Every setting given to it only gets
  /// easier to satisfy downwards, from `lowest` on.
  constexpr bool lower(setting s, std::int64_t now, std::int64_t lowest, std::int64_t guess,
                       std::int32_t index = -1, std::int64_t unit = 1) {
    auto const at = [&](std::int64_t v) { return repair{s, false, index, v * unit}; };
    std::int64_t const from = divide_up(lowest, unit);
    std::int64_t const to = (now - 1) / unit;
    if (now <= lowest || from > to || !solves(p_, at(from))) { return false; }
    into_.add(at(largest(from, to, guess, [&](std::int64_t v) { return solves(p_, at(v)); })));
    return true;
  }

  /// The smallest value in (now, highest] that works, if one does.
  constexpr bool raise(setting s, std::int64_t now, std::int64_t highest, std::int64_t guess) {
    auto const at = [&](std::int64_t v) { return repair{s, false, -1, v}; };
    if (now >= highest || !solves(p_, at(highest))) { return false; }
    into_.add(
        at(smallest(now + 1, highest, guess, [&](std::int64_t v) { return solves(p_, at(v)); })));
    return true;
  }

  /// Everything that takes less: for the errors about bytes.
  constexpr void less() {
    demand const& d = p_.demand;
    table_view const& t = p_.table;
    std::int64_t const page = t.anchor.page_tokens;
    checked const net = p_.budget.net();
    raise_budget(net.overflowed || net.value < 0 ? -1 : net.value);
    if (d.pinned_pages) {
      lower(setting::pages, d.pinned_pages->count, 1, pages_that_fit());
    } else if (d.pinned_tokens) {
      if (d.pinned_tokens->count % page == 0) {
        lower(setting::tokens, d.pinned_tokens->count, page, pages_that_fit(), -1, page);
      }
    } else {
      std::int64_t const pages = pages_that_fit();
      checked const reach = checked{pages} * page;
      lower(setting::min_tokens, d.min_tokens.count, 0, reach.ok() ? reach.value : unlimited);
      lower(setting::min_usable_pages, d.min_usable_pages.count, 0, pages);
    }
    if (t.experts) {
      expert_terms const& e = *t.experts;
      if (e.pinned_slots) {
        lower(setting::slots, e.pinned_slots->count, fewest_slots(), slots_that_fit());
      }
      if (e.buffer == prefill_buffer::required) {
        try_this({.set = setting::prefill_buffer,
                  .to = static_cast<std::int64_t>(prefill_buffer::preferred)});
      }
    }
    if (t.state) {
      if (t.state->pinned_slots) {
        lower(setting::state_slots, t.state->pinned_slots->count, 1, t.state->pinned_slots->count);
      } else {
        lower(setting::max_running, t.state->max_running, 1, t.state->max_running / 2);
      }
    }
    lower_largest_charge();
    if (into_.repair_count == 0) { pin_what_fits(); }
  }

  /// Where no number that is stated can be lowered enough: a pin replaces both floors, or what
  /// max_running and the prefix cache ask of the state; without its pin a floor of 0 may do.
  constexpr void pin_what_fits() {
    if (p_.demand.pinned_pages || p_.demand.pinned_tokens) {
      drop(p_.demand.pinned_pages ? setting::pages : setting::tokens);
    } else {
      lower(setting::pages, unlimited, 1, pages_that_fit());
    }
    if (p_.table.state && !p_.table.state->pinned_slots) {
      lower(setting::state_slots, unlimited, 1, 1);
    }
  }

  constexpr void raise_budget(std::int64_t now) {
    checked const guess = needed();
    raise(setting::budget, now, unlimited, guess.ok() ? guess.value : unlimited);
  }

  /// Of the charges, the largest: if that cannot give enough, none can.
  constexpr void lower_largest_charge() {
    view<charge> const charges = p_.table.charges;
    std::int32_t best = -1;
    for (std::int32_t i = 0; i < charges.size; ++i) {
      if (best < 0 || charges[i].bytes.count > charges[best].bytes.count) { best = i; }
    }
    if (best < 0) { return; }
    std::int64_t const now = charges[best].bytes.count;
    checked const net = p_.budget.net();
    checked const guess = checked{now} - (needed() - net);
    lower(setting::charge, now, 0, guess.ok() ? guess.value : 0, best);
  }

  constexpr void whole_pages() {
    std::int64_t const page = p_.table.anchor.page_tokens;
    bool found = into_.low < into_.value && try_this({.set = setting::tokens, .to = into_.low});
    if (!found && into_.low < into_.value) {
      found = lower(setting::tokens, into_.low, page, pages_that_fit(), -1, page);
    }
    if (into_.high > into_.value) { found |= try_this({.set = setting::tokens, .to = into_.high}); }
    if (!found) { drop(setting::tokens); }
  }

  constexpr void slot_cap() {
    expert_terms const& e = *p_.table.experts;
    if (e.max_slots && e.max_slots->count < into_.low) {
      raise(setting::max_slots, e.max_slots->count, e.total().value, into_.low);
    }
    if (e.buffer == prefill_buffer::required) {
      try_this({.set = setting::prefill_buffer,
                .to = static_cast<std::int64_t>(prefill_buffer::preferred)});
    }
  }

  constexpr void slot_pin() {
    expert_terms const& e = *p_.table.experts;
    std::int64_t const slots = e.pinned_slots->count;
    bool found = false;
    if (slots < into_.low) {
      found = try_this({.set = setting::slots, .to = into_.low});
    } else {
      found = lower(setting::slots, slots, into_.low, slots_that_fit());
      if (e.max_slots) {
        found |= raise(setting::max_slots, e.max_slots->count, e.total().value, slots);
      }
    }
    if (e.buffer == prefill_buffer::required) {
      found |= try_this({.set = setting::prefill_buffer,
                         .to = static_cast<std::int64_t>(prefill_buffer::preferred)});
    }
    if (!found) { drop(setting::slots); }
  }

  constexpr void bad_input() {
    if (p_.table.found) { return; }  // only the request still knows: see request_repairs.hpp
    if (into_.binding.section == "budget") { raise_budget(-1); }
    struct field {
      setting set;
      std::int64_t least;  ///< the least that is no bad input
    };
    field const fields[] = {
        {setting::min_tokens, 0},    {setting::min_usable_pages, 0},
        {setting::target_tokens, 0}, {setting::max_tokens, 0},
        {setting::pages, 1},         {setting::tokens, p_.table.anchor.page_tokens}};
    for (field const& f : fields) {
      if (into_.binding == path_of(f.set, -1, false) && !drop(f.set)) {
        try_this({.set = f.set, .to = f.least});
      }
    }
    if (into_.binding == request_path{"objective"}) {
      try_this(
          {.set = setting::objective, .to = static_cast<std::int64_t>(objective::experts_first)});
    }
  }

  /// What the request needs: where the searches start.
  constexpr checked needed() const {
    maybe<expert_terms> const& e = p_.table.experts;
    std::int64_t const slots = e && e->pinned_slots ? e->pinned_slots->count : fewest_slots();
    return fixed_bytes(p_.table) + expert_bytes(p_.table, slots) +
           kv_bytes(p_.table, first_pages());
  }
  /// The fewest slots the buffer's mode allows.
  constexpr std::int64_t fewest_slots() const {
    if (!p_.table.experts) { return 0; }
    expert_terms const& e = *p_.table.experts;
    return e.fewest().ok() ? e.fewest().value : e.per_layer;
  }
  constexpr std::int64_t first_pages() const {
    demand const& d = p_.demand;
    if (d.pinned_pages) { return d.pinned_pages->count; }
    if (d.pinned_tokens) { return p_.table.anchor.pages_for(*d.pinned_tokens).count; }
    std::int64_t const floor = p_.table.anchor.pages_for(d.min_tokens).count;
    return floor > d.min_usable_pages.count ? floor : d.min_usable_pages.count;
  }

  /// Pages that fit beside the fewest slots, about: a guess for the searches.
  constexpr std::int64_t pages_that_fit() const {
    checked const room =
        p_.budget.net() - needed() + kv_bytes(p_.table, first_pages()) - kv_bytes(p_.table, 0);
    double const slope = page_slope(p_.table);
    if (room.overflowed || room.value < 0 || !(slope > 0)) { return 0; }
    double const pages = static_cast<double>(room.value) / slope;
    return pages < 9.2e18 ? static_cast<std::int64_t>(pages) : unlimited;
  }
  constexpr std::int64_t slots_that_fit() const {
    checked const room =
        p_.budget.net() - fixed_bytes(p_.table) - kv_bytes(p_.table, first_pages());
    return room.overflowed ? 0 : room.value / p_.table.experts->slot_bytes;
  }

  problem const& p_;
  refusal& into_;
};

}  // namespace detail

/// Adds to `r` the repairs of the problem it refuses.
///
/// \ensures  with_repair(p, r.repairs[i]) solves, for each
///           a number is the nearest to the asked one that does
/// \cost     two or three solves a setting
constexpr void add_repairs(problem const& p, refusal& r) {
  detail::repair_finder{p, r}.run();
}

}  // namespace allot
