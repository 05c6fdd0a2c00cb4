// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "drawn.hpp"

#include <cstdint>

/// Spoils valid requests: one flaw each, so that every refusal of the contract is met often. The
/// flaw may be hidden by an earlier one, or turn out not to hurt; tests count outcomes, not flaws.
namespace allot_test {

enum class flaw : std::uint8_t {
  bad_number,
  overflow,
  conflicting_pins,
  not_a_page_multiple,
  kv_head_split,
  slot_cap,
  slots_out_of_range,
  short_of_fixed,
  misaligned,
};
inline constexpr int flaws = 9;

class spoiler {
 public:
  explicit spoiler(dice& draw) : draw_{draw} {}

  void spoil(drawn& d, flaw what) {
    allot::request& r = d.request;
    switch (what) {
      case flaw::bad_number: bad_number(d); break;
      case flaw::overflow: overflow(d); break;
      case flaw::conflicting_pins: pin_twice(r); break;
      case flaw::not_a_page_multiple: break_page(d); break;
      case flaw::kv_head_split: break_split(d); break;
      case flaw::slot_cap: cap_slots(r); break;
      case flaw::slots_out_of_range: misplace_slots(r); break;
      case flaw::short_of_fixed: starve(r); break;
      case flaw::misaligned: misalign(d); break;
    }
  }

 private:
  std::int64_t below_one() { return draw_.chance(50) ? 0 : -draw_.in(1, 1000); }

  /// One field of the description or the demand below what it may be.
  void bad_number(drawn& d) {
    allot::request& r = d.request;
    allot::demand& wish = r.demand;
    std::int64_t const negative = -draw_.in(1, 1000);
    switch (draw_.in(0, 15)) {
      case 0: wish.min_tokens = {negative}; break;
      case 1: wish.min_usable_pages = {negative}; break;
      case 2: wish.target_tokens = allot::tokens{negative}; break;
      case 3: wish.max_tokens = allot::tokens{negative}; break;
      case 4: wish.pinned_pages = allot::usable_pages{below_one()}; break;
      case 5: wish.pinned_tokens = allot::tokens{below_one()}; break;
      case 6: r.granularity = below_one(); break;
      case 7: r.budget = allot::budget{}; break;
      case 8: r.budget = allot::budget::share_of({negative}, .9, {0}); break;
      case 9:
        r.budget = allot::budget::share_of({1000}, draw_.one_of({0.0, -1.0, 1.01}), {0});
        break;
      case 10:
        d.charges[0] = {"refund", {negative}};
        r.charges = {d.charges, 1};
        break;
      case 11:
        wish.target_tokens = {};
        wish.max_tokens = {};
        r.objective = allot::objective::context_first;
        break;
      case 12: bad_pool(d.kv[0]); break;
      case 13:
        if (r.state) { bad_state(*r.state); }
        break;
      default:
        if (r.experts) { bad_experts(*r.experts); }
        break;
    }
  }

  void bad_pool(allot::kv_family& f) {
    std::int64_t* const raw[] = {&f.raw.page_bytes.count, &f.raw.page_tokens};
    std::int64_t* const gqa[] = {&f.gqa.layers, &f.gqa.kv_heads, &f.gqa.head_dim, &f.gqa.tp,
                                 &f.gqa.page_tokens};
    std::int64_t* const mla[] = {&f.mla.layers, &f.mla.latent_dim, &f.mla.page_tokens};
    switch (f.kind) {
      case allot::kv_kind::raw: *draw_.one_of(raw) = below_one(); break;
      case allot::kv_kind::gqa: *draw_.one_of(gqa) = below_one(); break;
      case allot::kv_kind::mla: *draw_.one_of(mla) = below_one(); break;
      case allot::kv_kind::sliding_window:
      case allot::kv_kind::compressed_tiers: break;  // not drawn
    }
  }

  void bad_state(allot::recurrent_state& s) {
    switch (draw_.in(0, 3)) {
      case 0: s.max_running = below_one(); break;
      case 1: s.pinned_slots = allot::usable_state_slots{below_one()}; break;
      case 2: s.snapshot_ratio = draw_.one_of({-0.5, 1e19}); break;
      default: s.conv_kernel = below_one(); break;
    }
  }

  void bad_experts(allot::expert_bank& e) {
    switch (draw_.in(0, 3)) {
      case 0: e.slot_bytes = {below_one()}; break;
      case 1: e.max_slots = allot::expert_slots{below_one()}; break;
      case 2: e.pinned_slots = allot::expert_slots{below_one()}; break;
      default: e.per_layer = below_one(); break;
    }
  }

  std::int64_t large() { return INT64_MAX >> draw_.in(0, 6); }

  /// One or two numbers near the end of 63 bits.
  void overflow(drawn& d) {
    allot::request& r = d.request;
    for (std::int64_t times = draw_.in(1, 2); times > 0; --times) {
      switch (draw_.in(0, 7)) {
        case 0: r.demand.min_usable_pages = {large()}; break;
        case 1: r.demand.pinned_pages = allot::usable_pages{large()}; break;
        case 2:
          d.charges[0] = {"hole", {large()}};
          d.charges[1] = {"hole", {large()}};
          r.charges = {d.charges, 2};
          break;
        case 3:
          if (r.experts) { r.experts->slot_bytes = {large()}; }
          break;
        case 4:
          if (r.experts) { r.experts->per_layer = large(); }
          break;
        case 5:
          if (r.state) { r.state->max_running = large(); }
          break;
        case 6:
          d.kv[0] = allot::raw_pages{.page_bytes = {large()}, .page_tokens = draw_.in(1, 4)};
          break;
        default: d.kv[0] = allot::mla{.layers = large(), .latent_dim = draw_.in(1, 5)}; break;
      }
    }
  }

  void pin_twice(allot::request& r) {
    r.demand.pinned_pages = allot::usable_pages{draw_.in(1, 12)};
    r.demand.pinned_tokens =
        allot::tokens{draw_.in(1, 12) * (draw_.chance(80) ? r.kv[0].paging().page_tokens : 1)};
  }

  void break_page(drawn& d) {
    allot::kv_family& anchor = d.kv[0];
    std::int64_t page = anchor.paging().page_tokens;
    if (page == 1) {
      page = 16;
      anchor.raw.page_tokens = anchor.gqa.page_tokens = anchor.mla.page_tokens = page;
    }
    d.request.demand.pinned_pages = {};
    d.request.demand.pinned_tokens = allot::tokens{page * draw_.in(0, 12) + draw_.in(1, page - 1)};
  }

  void break_split(drawn& d) {
    allot::request& r = d.request;
    if (r.state && draw_.chance(75)) {
      r.state->tp = draw_.one_of<std::int64_t>({3, 5, 6, 7, 12});
      return;
    }
    if (d.kv[0].kind != allot::kv_kind::gqa) { d.kv[0] = allot::gqa{1, 8, 4}; }
    allot::gqa& f = d.kv[0].gqa;
    if (f.kv_heads < 3) { f.kv_heads += 2; }
    do {
      f.tp = draw_.in(2, 3 * f.kv_heads);
    } while (naive::splits(f.kv_heads, f.tp));
  }

  void cap_slots(allot::request& r) {
    if (!r.experts) { return; }
    allot::expert_bank& e = *r.experts;
    if (draw_.chance(35)) {
      e.layers = 1;
      e.buffer = allot::prefill_buffer::required;
      if (draw_.chance(60)) { return; }
    }
    std::int64_t const least = e.per_layer * (e.buffer == allot::prefill_buffer::required ? 2 : 1);
    if (least > 1) { e.max_slots = allot::expert_slots{draw_.in(1, least - 1)}; }
  }

  void misplace_slots(allot::request& r) {
    if (!r.experts) { return; }
    allot::expert_bank& e = *r.experts;
    std::int64_t const least = e.per_layer * (e.buffer == allot::prefill_buffer::required ? 2 : 1);
    std::int64_t hi = e.per_layer * e.layers;
    if (e.max_slots && e.max_slots->count < hi) { hi = e.max_slots->count; }
    bool const below = draw_.chance(50) && least > 1;
    e.pinned_slots = allot::expert_slots{below ? draw_.in(1, least - 1) : hi + draw_.in(1, 9)};
  }

  void misalign(drawn& d) {
    allot::request& r = d.request;
    r.arrangement = allot::arrangement::page_major;
    if (draw_.chance(90)) { r.granularity = 1; }
    if (r.experts && draw_.chance(20)) {
      r.experts->slot_bytes.count += draw_.in(1, 15);
      return;
    }
    allot::kv_family& f = d.kv[draw_.in(0, r.kv.size - 1)];
    std::int64_t const near = f.paging().page_tokens + draw_.in(-7, 7);
    f.set_page_tokens(near > 0 && draw_.chance(60) ? near : draw_.in(1, 40));
    if (r.budget.absolute && draw_.chance(60)) { r.budget = allot::bytes{draw_.in(0, 20'000)}; }
    if (draw_.chance(70)) { f.raw.page_bytes.count += draw_.in(1, 15); }
  }

  void starve(allot::request& r) {
    auto const fixed = static_cast<std::int64_t>(naive::fixed_bytes(r));
    r.budget = allot::bytes{fixed - draw_.in(1, draw_.chance(50) ? 3 : 1'000'000)};
  }

  dice& draw_;
};

}  // namespace allot_test
