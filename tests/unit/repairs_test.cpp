// SPDX-License-Identifier: Apache-2.0
#include "apply.hpp"
#include "drawn.hpp"
#include "flaws.hpp"
#include "show.hpp"
#include "tally.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>

// Repairs by brute force: every setting, every value of a small range, judged by the refusals of
// naive_refuse.hpp. What is listed works and is the nearest that does; where nothing is listed,
// nothing works.

using allot::repair;
using allot::setting;
using allot::solve_error;
using allot_test::dice;
using allot_test::drawn;

namespace {

constexpr int settings = 19;
constexpr std::int64_t past_small = 260;  ///< above every number of a small request but budgets

/// Whether the request with one change made has a plan.
class trial {
 public:
  trial(drawn const& d, allot::refusal const& refused) : from_{d}, refused_{refused} {}

  bool works(repair const& r) {
    allot_test::copy(from_, changed_);
    allot_test::apply(changed_, r);
    return naive::refuse(changed_.request).error == solve_error::none;
  }

  /// Whether the request has the setting at all: a repair does not add a pool or a charge.
  bool exists(setting s, std::int32_t index) const {
    allot::request const& r = from_.request;
    switch (s) {
      case setting::max_running:
      case setting::state_slots:
      case setting::state_tp: return r.state.given && index == 0;
      case setting::charge: return index < r.charges.size;
      case setting::tp: return index < r.kv.size && r.kv[index].kind == allot::kv_kind::gqa;
      case setting::max_slots:
      case setting::slots:
      case setting::prefill_buffer: return r.experts.given && index == 0;
      case setting::page_tokens: return is_stride_of(index, "page_tokens");
      case setting::page_bytes: return is_stride_of(index, "page_bytes");
      case setting::arrangement:
        return index == 0 && refused_.error == solve_error::misaligned_stride;
      default: return index == 0;
    }
  }

  /// The value the request has now; absent for a field that is not there, or is no number.
  allot::maybe<std::int64_t> asked(setting s, std::int32_t index) const {
    allot::request const& r = from_.request;
    auto const count = [](auto const& m) {
      return m ? allot::maybe<std::int64_t>{m->count} : allot::maybe<std::int64_t>{};
    };
    switch (s) {
      case setting::max_running: return r.state->max_running;
      case setting::state_slots: return count(r.state->pinned_slots);
      case setting::state_tp: return r.state->tp;
      case setting::charge: return r.charges[index].bytes.count;
      case setting::tp: return r.kv[index].gqa.tp;
      case setting::max_slots: return count(r.experts->max_slots);
      case setting::slots: return count(r.experts->pinned_slots);
      case setting::min_tokens: return r.demand.min_tokens.count;
      case setting::min_usable_pages: return r.demand.min_usable_pages.count;
      case setting::target_tokens: return count(r.demand.target_tokens);
      case setting::max_tokens: return count(r.demand.max_tokens);
      case setting::pages: return count(r.demand.pinned_pages);
      case setting::tokens: return count(r.demand.pinned_tokens);
      case setting::page_tokens: return r.kv[index].paging().page_tokens;
      case setting::page_bytes: return r.kv[index].raw.page_bytes.count;
      default: return {};
    }
  }

  /// Some single change that works, as text; empty when there is none.
  std::string any() {
    for (int s = 0; s < settings; ++s) {
      auto const set = static_cast<setting>(s);
      for (std::int32_t index = 0; index < 4; ++index) {
        if (!exists(set, index)) { continue; }
        std::int64_t const values = set == setting::prefill_buffer ? 2
                                    : set == setting::objective    ? 1
                                                                   : past_small;
        if (can_be_removed(set) && works({set, true, index, 0})) { return name(set, "removed"); }
        if (set == setting::arrangement) { continue; }
        std::int64_t const least = set == setting::page_bytes ? *asked(set, index) : 0;  // padding
        for (std::int64_t v = least; v <= values; ++v) {
          if (works({set, false, index, v})) { return name(set, std::to_string(v)); }
        }
        if (set == setting::budget && works({set, false, index, std::int64_t{1} << 50})) {
          return name(set, "2^50");
        }
      }
    }
    return {};
  }

 private:
  static bool can_be_removed(setting s) {
    return s != setting::budget && s != setting::max_running && s != setting::charge &&
           s != setting::tp && s != setting::state_tp && s != setting::prefill_buffer &&
           s != setting::objective && s != setting::page_tokens && s != setting::page_bytes;
  }
  /// What the size of another page would do, or of this one in another trouble, is not for a repair
  /// to say.
  bool is_stride_of(std::int32_t index, char const* field) const {
    return refused_.error == solve_error::misaligned_stride && refused_.binding.section == "kv" &&
           refused_.binding.index == index &&
           std::string_view{refused_.binding.field.data,
                            static_cast<std::size_t>(refused_.binding.field.size)} == field;
  }
  static std::string name(setting s, std::string const& value) {
    return allot_test::setting_names[static_cast<int>(s)] + (" " + value);
  }

  drawn const& from_;
  allot::refusal const& refused_;
  drawn changed_;
};

/// What is wrong with the list of repairs of one refusal; empty when nothing is.
std::string complaint(drawn const& d, allot::refusal const& refused) {
  trial attempt{d, refused};
  for (int i = 0; i < refused.repair_count; ++i) {
    repair const& r = refused.repairs[i];
    std::string const name = allot_test::setting_names[static_cast<int>(r.set)];
    if (!attempt.works(r)) { return name + " does not repair; "; }
    if (r.removes) { continue; }
    std::int32_t const index = r.index < 0 ? 0 : r.index;
    if (r.set == setting::budget) {
      std::int64_t const less[] = {1, 2, 3, 17, 400};
      for (std::int64_t const step : less) {
        if (attempt.works({r.set, false, -1, r.to - step})) { return "budget is not tight; "; }
      }
      continue;
    }
    auto const asked = attempt.asked(r.set, index);
    if (!asked) { continue; }
    std::int64_t const toward = r.to < *asked ? 1 : -1;
    for (std::int64_t v = r.to + toward; v != *asked && v <= past_small; v += toward) {
      if (attempt.works({r.set, false, index, v})) {
        return name + " " + std::to_string(r.to) + " is not the nearest: " + std::to_string(v) +
               "; ";
      }
    }
  }
  // Of several charges only the largest is tried: when one alone can give enough, that one can.
  for (std::int32_t i = 0; i < d.request.charges.size; ++i) {
    if (d.request.charges[i].bytes.count == 0 || !attempt.works({setting::charge, false, i, 0})) {
      continue;
    }
    bool listed = false;
    for (int k = 0; k < refused.repair_count; ++k) {
      listed = listed || refused.repairs[k].set == setting::charge;
    }
    if (!listed) { return "a charge alone can repair and none is listed; "; }
  }
  if (refused.repair_count > 0) { return {}; }
  std::string const missed = attempt.any();
  return missed.empty() ? missed : "nothing is listed, but this repairs: " + missed + "; ";
}

/// Refuses `refusals` requests, `percent` of them spoiled by what `pick` says, and complains.
template <class Pick>
allot_test::tally refuse_many(std::int64_t refusals, std::uint64_t seed, int percent, Pick pick) {
  dice draw{seed};
  allot_test::drawer make{draw, allot_test::size::small};
  allot_test::spoiler harm{draw};
  allot_test::tally seen;
  drawn d;
  allot::table_storage storage;
  allot::table_view table;
  std::int64_t wrong = 0;
  std::int64_t empty = 0;
  while (seen.total < refusals) {
    make.request(d);
    d.request.budget = make.state_budget(make.budget(d.request));
    if (draw.chance(percent)) { harm.spoil(d, pick(draw)); }
    allot::outcome const got = allot::solve(d.request, storage, table);
    if (got) { continue; }
    seen.add(got);
    empty += got.error.repair_count == 0;
    std::string const problem = complaint(d, got.error);
    if (problem.empty()) { continue; }
    std::string const error = allot_test::error_names[static_cast<int>(got.error.error)];
    if (++wrong <= 5) { MESSAGE(error << ": " << problem << allot_test::show(d.request)); }
  }
  CHECK(wrong == 0);
  REQUIRE(seen.total >= refusals);
  CHECK(empty * 100 >= seen.total);  // the claim about empty lists was tested
  MESSAGE(empty << " without a repair; " << seen.text());
  return seen;
}

}  // namespace

TEST_CASE("listed repairs work and are the nearest, and an empty list means there is none") {
  auto const any = [](dice& draw) {
    return static_cast<allot_test::flaw>(draw.in(0, allot_test::flaws - 1));
  };
  auto const seen = refuse_many(40'000, 99, 70, any);
  // The fields that can only be wrong by their value have the generator below.
  seen.each_is_common(seen.errors, allot_test::error_names, {"none"});
  seen.each_is_common(seen.repairs, allot_test::setting_names,
                      {"target_tokens", "max_tokens", "objective", "page_bytes"});
}

TEST_CASE("so do the repairs of fields that may not have their value") {
  auto const bad = [](dice&) { return allot_test::flaw::bad_number; };
  auto const seen = refuse_many(15'000, 100, 95, bad);
  seen.each_is_common(seen.repairs, allot_test::setting_names,
                      {"max_running", "state_slots", "tp", "state_tp", "prefill_buffer",
                       "page_tokens", "page_bytes", "arrangement"});
}
