// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "naive_refuse.hpp"
#include "random.hpp"

#include <cstddef>
#include <cstdint>

/// Random requests: one to four pools, with and without state, experts and charges, every mode of
/// pin, cap, target, buffer and granularity, valid unless a flaw is asked for.
namespace allot_test {

/// A request and the lists it borrows.
struct drawn {
  allot::kv_family kv[4];
  allot::charge charges[3];
  allot::request request;

  drawn() = default;
  drawn(drawn const&) = delete;
  drawn& operator=(drawn const&) = delete;
};

enum class size : std::uint8_t {
  small,  ///< a few slots, a few pages: what a linear scan can solve
  real,   ///< geometries and budgets of published models and cards
};

class drawer {
 public:
  drawer(dice& draw, size how) : draw_{draw}, small_{how == size::small} {}

  /// Everything but the budget, which is left at 0.
  void request(drawn& out) {
    allot::request& r = out.request;
    r = {};
    std::int64_t const pools = draw_.chance(50) ? 1 : draw_.in(1, 4);
    for (std::int64_t i = 0; i < pools; ++i) {
      out.kv[i] = pool();
    }
    r.kv = {out.kv, pools};
    std::int64_t const charges = draw_.chance(40) ? draw_.in(1, 3) : 0;
    for (std::int64_t i = 0; i < charges; ++i) {
      bool const empty = draw_.chance(10);
      out.charges[i] = {"charge", {empty ? 0 : draw_.in(1, small_ ? 60 : 600'000'000)}};
    }
    r.charges = {out.charges, charges};
    if (draw_.chance(35)) { r.state = state(); }
    if (draw_.chance(80)) { r.experts = experts(); }
    r.granularity = granularity();
    if (draw_.chance(45)) { arrange(out); }
    r.budget = allot::bytes{0};
    demand(r);
    if (r.experts && draw_.chance(20)) { pin_slots(*r.experts); }
  }

  /// A net budget where something is decided: at what the fewest slots and the floor need, at the
  /// prefill buffer, at the target, or amid plans; one byte off, or one page or slot off.
  std::int64_t budget(allot::request const& r) {
    using naive::wide;
    naive::verdict const v = naive::refuse(r);
    std::int64_t const layer = r.experts ? r.experts->per_layer : 0;
    allot::maybe<allot::expert_slots> const pin =
        r.experts ? r.experts->pinned_slots : allot::maybe<allot::expert_slots>{};
    wide target = v.n_first;
    if (r.demand.target_tokens) {
      target = naive::up(r.demand.target_tokens->count, v.page_tokens);
    }
    if (r.demand.max_tokens && draw_.chance(50)) {
      target = r.demand.max_tokens->count / v.page_tokens;
    }
    if (target < v.n_first) { target = v.n_first; }

    wide slots = draw_.chance(50) ? layer : 2 * layer;
    wide pages = v.n_first;
    switch (draw_.in(0, 9)) {
      case 0: return toward(naive::fixed_bytes(r) + draw_.in(-1, 1));
      case 1:
      case 2: break;
      case 3:
      case 4: pages = target; break;
      case 5: pages += draw_.in(0, small_ ? 12 : 4096); break;
      default:
        if (v.hi > layer) { slots = draw_.in(layer, static_cast<std::int64_t>(v.hi)); }
        if (draw_.chance(50)) { pages = target; }
        break;
    }
    if (pin) { slots = pin->count; }
    if (v.pages_pinned) { pages = v.n_first; }
    bool const all_that_may = v.pages_pinned && !pin && v.hi > 0 && draw_.chance(40);
    if (all_that_may) { slots = v.hi; }  // and a page too many: only a stop keeps bytes back
    wide const page = naive::kv_bytes(r, pages + 1) - naive::kv_bytes(r, pages);
    wide const slot = naive::expert_bytes(r, slots + 1) - naive::expert_bytes(r, slots);
    wide const base =
        naive::fixed_bytes(r) + naive::expert_bytes(r, slots) + naive::kv_bytes(r, pages);
    if (all_that_may) { return toward(base + page * draw_.in(1, 3) - draw_.in(0, 1)); }
    switch (draw_.in(0, 7)) {
      case 0: return toward(base - 1);
      case 1: return toward(base);
      case 2: return toward(base + 1);
      case 3: return toward(base + page - draw_.in(0, 1));
      case 4: return toward(base + slot - draw_.in(0, 1));
      case 5: return toward(base - page - draw_.in(0, 1));
      case 6: return toward(base - slot - draw_.in(0, 1));
      default: return toward(base + page * draw_.in(-2, 3) + slot * draw_.in(-2, 3));
    }
  }

  /// States a net budget, sometimes as a share of a baseline that comes to about the same.
  allot::budget state_budget(std::int64_t net) {
    if (net < 0 || draw_.chance(85)) { return allot::bytes{net}; }
    double const ratios[] = {1.0, 0.9, 0.85, 0.57, 0.5, 0.29};
    double const ratio = draw_.one_of(ratios);
    std::int64_t const resident = draw_.chance(50) ? 0 : draw_.in(0, small_ ? 50 : 5'000'000'000);
    double const baseline = (static_cast<double>(net) + static_cast<double>(resident)) / ratio;
    if (!(baseline < 9e18)) { return allot::bytes{net}; }
    return allot::budget::share_of({static_cast<std::int64_t>(baseline) + draw_.in(0, 1)}, ratio,
                                   {resident});
  }

  /// A page_major arena, with pages and slots that are aligned, or one with an array a layer.
  void arrange(drawn& out) {
    allot::request& r = out.request;
    if (draw_.chance(30)) {
      r.arrangement = allot::arrangement::layer_major;
      return;
    }
    r.arrangement = allot::arrangement::page_major;
    if (r.granularity % 16 != 0 && r.granularity > 1) { r.granularity = 1; }
    for (std::int64_t i = 0; i < r.kv.size; ++i) {
      allot::kv_family& f = out.kv[i];
      std::int64_t const page = f.paging().page_tokens;
      f.set_page_tokens(i > 0 && draw_.chance(50) ? r.kv[0].paging().page_tokens
                        : page % 16 == 0          ? page
                        : draw_.chance(70)        ? 16
                                                  : 32);
      f.raw.page_bytes = {(f.raw.page_bytes.count + 15) / 16 * 16};
    }
    if (r.experts) { r.experts->slot_bytes = {(r.experts->slot_bytes.count + 15) / 16 * 16}; }
  }

 private:
  static std::int64_t toward(naive::wide v) {
    return static_cast<std::int64_t>(v >= naive::limit ? naive::limit - 1 : v);
  }

  template <std::size_t N>
  std::int64_t of(std::int64_t most_if_small, std::int64_t const (&published)[N]) {
    return small_ ? draw_.in(1, most_if_small) : draw_.one_of(published);
  }

  allot::element element() { return static_cast<allot::element>(draw_.in(0, 5)); }

  std::int64_t sentinel() { return draw_.chance(70) ? 1 : draw_.in(0, 3); }

  std::int64_t page_tokens() {
    if (small_) { return draw_.chance(30) ? 1 : draw_.in(1, 9); }
    return draw_.one_of<std::int64_t>({1, 1, 16, 32, 64, 64, 128, 256, 1600});
  }

  /// A tensor-parallel size that splits `heads`.
  std::int64_t ranks(std::int64_t heads) {
    for (;;) {
      std::int64_t const tp = draw_.chance(50) ? 1 : draw_.in(1, small_ ? 6 : 16);
      if (naive::splits(heads, tp)) { return tp; }
    }
  }

  allot::maybe<allot::index_slab> index() {
    if (draw_.chance(65)) { return {}; }
    return allot::index_slab{of(4, {64, 128, 132}), of(3, {3, 9, 21, 61}), element()};
  }

  allot::kv_family pool() {
    std::int64_t const page = page_tokens();
    switch (draw_.in(0, 2)) {
      case 0: {
        allot::raw_pages f;
        f.page_bytes = {of(40, {10, 20480, 61448, 253952, 765952, 1622016})};
        f.page_tokens = page;
        f.sentinel_pages = sentinel();
        return f;
      }
      case 1: {
        allot::gqa f;
        f.layers = of(3, {1, 12, 28, 36, 48, 61, 94});
        f.kv_heads = of(6, {1, 2, 4, 8, 16, 32});
        f.head_dim = of(6, {64, 80, 96, 128, 192, 256});
        if (draw_.chance(25)) { f.v_head_dim = draw_.in(0, small_ ? 5 : 128); }
        f.dtype = element();
        f.tp = ranks(f.kv_heads);
        f.scale_bytes = draw_.chance(75) ? 0 : draw_.in(1, 4);
        f.index = index();
        f.page_tokens = page;
        f.sentinel_pages = sentinel();
        return f;
      }
      default: {
        allot::mla f;
        f.layers = of(3, {1, 27, 60, 61, 78});
        f.latent_dim = of(12, {512, 576, 656});
        f.dtype = element();
        f.index = index();
        f.page_tokens = page;
        f.sentinel_pages = sentinel();
        return f;
      }
    }
  }

  allot::recurrent_state state() {
    allot::recurrent_state s;
    s.layers = of(2, {12, 24, 30, 36, 48});
    s.kind = static_cast<allot::state_kind>(draw_.in(0, 3));
    std::int64_t const first = of(4, {8, 16, 32});
    std::int64_t const second = first * draw_.in(1, 3);  // what splits the first splits these
    switch (s.kind) {
      case allot::state_kind::gated_delta:
        s.key_heads = first;
        s.value_heads = second;
        s.key_head_dim = of(3, {64, 128});
        s.value_head_dim = of(3, {64, 128});
        break;
      case allot::state_kind::kda:
        s.heads = first;
        s.head_dim = of(3, {64, 128});
        break;
      case allot::state_kind::mamba1:
        s.inner_dim = first;
        s.state_dim = of(3, {16, 64});
        break;
      case allot::state_kind::mamba2:
        s.heads = second;
        s.groups = first;
        s.head_dim = of(3, {64, 128});
        s.state_dim = of(3, {64, 128});
        break;
    }
    s.conv_kernel = draw_.in(1, 4);
    s.dtype = element();
    s.state_dtype = element();
    do {
      s.tp = ranks(first);
    } while (!naive::splits(naive::shared_of(s).first, s.tp) ||
             !naive::splits(naive::shared_of(s).second, s.tp));
    s.max_running = draw_.in(1, small_ ? 5 : 64);
    s.prefix_cached = draw_.chance(40);
    s.snapshot_ratio = draw_.one_of({0.0, 0.0, 0.5, 1.3, 2.0, 7.25});
    s.sentinel_slots = sentinel();
    if (draw_.chance(25)) { s.pinned_slots = allot::usable_state_slots{draw_.in(1, 20)}; }
    return s;
  }

  allot::expert_bank experts() {
    allot::expert_bank e;
    e.slot_bytes = {of(60, {100, 1769472, 2772480, 7974912, 14172160, 45641229})};
    e.per_layer = of(4, {2, 8, 16, 64, 128, 256, 512});
    e.layers = small_ ? draw_.in(1, 5) : draw_.in(1, 62);
    e.buffer = static_cast<allot::prefill_buffer>(draw_.in(0, 2));
    if (e.buffer == allot::prefill_buffer::required && e.layers == 1) { e.layers = 2; }
    if (draw_.chance(40)) { e.max_slots = allot::expert_slots{draw_.in(fewest(e), most(e) + 2)}; }
    return e;
  }

  static std::int64_t fewest(allot::expert_bank const& e) {
    return e.per_layer * (e.buffer == allot::prefill_buffer::required ? 2 : 1);
  }
  static std::int64_t most(allot::expert_bank const& e) { return e.per_layer * e.layers; }

  void pin_slots(allot::expert_bank& e) {
    std::int64_t const hi =
        e.max_slots && e.max_slots->count < most(e) ? e.max_slots->count : most(e);
    e.pinned_slots = allot::expert_slots{draw_.in(fewest(e), hi)};
  }

  std::int64_t granularity() {
    if (draw_.chance(50)) { return 1; }
    if (small_) { return draw_.one_of<std::int64_t>({2, 7, 16, 32, 45}); }
    return draw_.chance(70) ? draw_.one_of<std::int64_t>({16, 256, 512, 2 << 20})
                            : draw_.in(1, 3'000'000);
  }

  std::int64_t some_tokens() {
    if (small_) { return draw_.in(0, 60); }
    return draw_.chance(50) ? draw_.one_of<std::int64_t>({0, 256, 8192, 32768, 131072, 262144})
                            : draw_.in(0, 400'000);
  }

  void demand(allot::request& r) {
    allot::demand& d = r.demand;
    std::int64_t const page = r.kv[0].paging().page_tokens;
    if (small_ || draw_.chance(60)) { d.min_tokens = {some_tokens()}; }
    if (draw_.chance(30)) { d.min_usable_pages = {draw_.in(0, small_ ? 9 : 3000)}; }
    if (draw_.chance(40)) { d.target_tokens = allot::tokens{some_tokens()}; }
    if (draw_.chance(30)) { d.max_tokens = allot::tokens{some_tokens()}; }
    if (draw_.chance(12)) {
      d.pinned_pages = allot::usable_pages{draw_.in(1, small_ ? 15 : 8192)};
    } else if (draw_.chance(12)) {
      d.pinned_tokens = allot::tokens{draw_.in(1, small_ ? 15 : 8192) * page};
    }
    if ((d.target_tokens || d.max_tokens) && draw_.chance(60)) {
      r.objective = allot::objective::context_first;
    }
  }

  dice& draw_;
  bool small_;
};

}  // namespace allot_test
