// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/policy/sharding.hpp>
#include <allot/solve/lower.hpp>
#include <allot/solve/search.hpp>
#include <allot/solve/terms.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::detail {

/// How far from the asked tensor-parallel size a repair is looked for. No rig comes near.
inline constexpr std::int64_t tp_reach = 4096;

/// How many page tokens below and above the asked ones are tried.
inline constexpr std::int64_t page_reach = 256;

/// Pools lowered in search of one repair: bounds the time a request of very many pools can take.
inline constexpr std::int64_t most_lowerings = 1 << 18;

/// Finds repairs of what a table has forgotten or could not be lowered from: it makes each change
/// in a copy of the request, and lowers that.
class request_repair_finder {
 public:
  constexpr request_repair_finder(request const& r, refusal& into)
      : asked_{r},
        changed_{r},
        into_{into},
        extents_{new extent[room(r.extent_room())]{}},
        pools_{new pool[room(r.pool_room())]{}},
        families_{new kv_family[room(r.kv.size)]{}},
        charges_{new charge[room(r.charges.size)]{}} {}
  request_repair_finder(request_repair_finder const&) = delete;
  request_repair_finder& operator=(request_repair_finder const&) = delete;
  constexpr ~request_repair_finder() {
    delete[] charges_;
    delete[] families_;
    delete[] pools_;
    delete[] extents_;
  }

  constexpr void run() {
    request_path const at = into_.binding;
    if (into_.error == solve_error::misaligned_stride) {
      align(at);
    } else if (at.section == "charges") {
      lower_charge(at.index);
    } else if (at.section == "experts" && at.field == "slots") {
      try_this({.set = setting::slots, .removes = true});
    } else if (at.section == "experts" && at.field == "max_slots") {
      try_this({.set = setting::max_slots, .removes = true});
    } else if (at.section == "state" && at.field == "slots") {
      if (!try_this({.set = setting::state_slots, .removes = true})) {
        try_this({.set = setting::state_slots, .to = 1});
      }
    } else if (at.section == "state" && at.field == "max_running") {
      try_this({.set = setting::max_running, .to = 1});
    } else if (at.field == "tp") {
      other_ranks(at.index, into_.value);
    } else if (into_.error == solve_error::overflow) {
      more_ranks();
    }
  }

 private:
  /// Never 0: nvcc 13 does not evaluate `new T[0]{}`.
  static constexpr std::size_t room(std::int64_t items) {
    return static_cast<std::size_t>(items) + 1;
  }

  constexpr bool works(repair const& r) {
    left_ -= asked_.kv.size + asked_.charges.size + 1;
    if (left_ < 0 && ++over_ > 1) { return false; }  // the first is always tried
    for (std::int64_t i = 0; i < asked_.kv.size; ++i) {
      families_[i] = asked_.kv[i];
    }
    for (std::int64_t i = 0; i < asked_.charges.size; ++i) {
      charges_[i] = asked_.charges[i];
    }
    changed_ = asked_;
    changed_.kv = view<kv_family>(families_, asked_.kv.size);
    changed_.charges = view<charge>(charges_, asked_.charges.size);
    switch (r.set) {
      case setting::charge: charges_[r.index].bytes = {r.to}; break;
      case setting::tp: families_[r.index].set_tp(r.to); break;
      case setting::state_tp: changed_.state->tp = r.to; break;
      case setting::max_running: changed_.state->max_running = r.to; break;
      case setting::state_slots:
        changed_.state->pinned_slots =
            r.removes ? maybe<usable_state_slots>{} : maybe<usable_state_slots>{{r.to}};
        break;
      case setting::slots: changed_.experts->pinned_slots = {}; break;
      case setting::max_slots: changed_.experts->max_slots = {}; break;
      case setting::page_tokens: families_[r.index].set_page_tokens(r.to); break;
      case setting::page_bytes: families_[r.index].raw.page_bytes = {r.to}; break;
      case setting::arrangement: changed_.arrangement = {}; break;
      default: return false;
    }
    table_view const t = lower(changed_, extents_, pools_);
    return is_solvable(t, asked_.budget, asked_.demand, asked_.objective);
  }
  constexpr bool try_this(repair const& r) {
    if (!works(r)) { return false; }
    into_.add(r);
    return true;
  }

  /// A negative charge to 0; of charges that overflow, the largest to the most that works.
  constexpr void lower_charge(std::int32_t index) {
    if (into_.error == solve_error::bad_input) {
      try_this({.set = setting::charge, .index = index, .to = 0});
      return;
    }
    std::int32_t best = 0;
    for (std::int32_t i = 1; i < asked_.charges.size; ++i) {
      if (asked_.charges[i].bytes > asked_.charges[best].bytes) { best = i; }
    }
    auto const to = [&](std::int64_t v) { return repair{setting::charge, false, best, v}; };
    if (!works(to(0))) { return; }
    into_.add(to(largest(0, asked_.charges[best].bytes.count - 1, 0,
                         [&](std::int64_t v) { return works(to(v)); })));
  }

  /// The nearest page tokens, downwards or upwards, with which the request solves.
  constexpr bool nearest_page(std::int32_t index, std::int64_t direction) {
    checked to = asked_.kv[index].paging().page_tokens;
    for (std::int64_t tries = 0; tries < page_reach; ++tries) {
      to = to + direction;
      if (to.overflowed || to.value < 1) { return false; }
      if (try_this({setting::page_tokens, false, index, to.value})) { return true; }
    }
    return false;
  }

  /// A page that is aligned, the nearest below and above; else an arrangement that needs none.
  constexpr void align(request_path const& at) {
    bool found = false;
    if (at.section == "kv" && at.field == "page_bytes") {
      found = into_.high > 0 && try_this({setting::page_bytes, false, at.index, into_.high});
    } else if (at.section == "kv" && at.field == "page_tokens") {
      found = nearest_page(at.index, -1);
      found |= nearest_page(at.index, 1);
    }
    if (!found) { try_this({.set = setting::arrangement, .removes = true}); }
  }

  constexpr bool splits(std::int32_t index, std::int64_t tp) const {
    if (index < 0) { return asked_.state->splits(tp); }
    return local_heads(*asked_.kv[index].split_heads(), tp).given;
  }
  constexpr bool try_ranks(std::int32_t index, std::int64_t tp) {
    return try_this({index < 0 ? setting::state_tp : setting::tp, false, index, tp});
  }
  /// Whether so many ranks leave one head each: more of them take no fewer bytes.
  constexpr bool is_one_head(std::int32_t index, std::int64_t tp) const {
    if (index < 0) {
      auto const shared = asked_.state->shared();
      return tp >= shared.first && tp >= shared.second;
    }
    return tp >= *asked_.kv[index].split_heads();
  }

  /// The nearest tensor-parallel size below and the nearest above that split the heads and with
  /// which the request solves. `index` is of the pool, or -1 for the state.
  constexpr void other_ranks(std::int32_t index, std::int64_t asked) {
    std::int64_t const from = asked > 0 ? asked : 0;
    std::int64_t const lowest = from > tp_reach ? from - tp_reach : 1;
    std::int64_t const highest = from < unlimited - tp_reach ? from + tp_reach : unlimited;
    std::int64_t below = from - 1;
    while (below >= lowest && !splits(index, below)) {
      --below;
    }
    if (below >= lowest) { try_ranks(index, below); }  // fewer ranks hold more heads each
    for (std::int64_t tp = from; tp < highest;) {
      ++tp;
      if (splits(index, tp) && (try_ranks(index, tp) || is_one_head(index, tp))) { break; }
    }
  }

  /// What overflows on one rank may fit when more share it.
  constexpr void more_ranks() {
    for (std::int32_t i = 0; i < asked_.kv.size; ++i) {
      if (asked_.kv[i].split_heads()) { other_ranks(i, asked_.kv[i].tp()); }
    }
    if (asked_.state) { other_ranks(-1, asked_.state->tp); }
  }

  request const& asked_;
  request changed_;
  refusal& into_;
  extent* extents_;
  pool* pools_;
  kv_family* families_;
  charge* charges_;
  std::int64_t left_ = most_lowerings;
  std::int64_t over_ = 0;
};

/// Adds the repairs that only the whole request can be tried with.
///
/// \ensures  solving the request with one of them made gives a plan
constexpr void add_request_repairs(request const& r, refusal& into) {
  request_repair_finder{r, into}.run();
}

}  // namespace allot::detail
