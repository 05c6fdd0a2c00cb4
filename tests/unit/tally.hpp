// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/solve/solve.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

/// What a sweep saw: how often each error, note, reason and repair. A sweep that claims to cover
/// something asks here whether it did.
namespace allot_test {

inline constexpr char const* error_names[] = {"none",
                                              "bad_input",
                                              "overflow",
                                              "conflicting_pins",
                                              "not_a_page_multiple",
                                              "misaligned_stride",
                                              "kv_head_split",
                                              "slot_cap_below_minimum",
                                              "fixed_exceeds_budget",
                                              "slots_out_of_range",
                                              "pins_exceed_budget",
                                              "floors_exceed_budget"};
inline constexpr char const* note_names[] = {"prefill_buffer_dropped", "target_reduced",
                                             "max_tokens_raised"};
inline constexpr char const* reason_names[] = {"next_step", "max_tokens", "pinned", "all_resident",
                                               "max_slots"};
inline constexpr char const* setting_names[] = {
    "budget",           "max_running",   "state_slots", "charge",         "tp",
    "state_tp",         "max_slots",     "slots",       "prefill_buffer", "min_tokens",
    "min_usable_pages", "target_tokens", "max_tokens",  "pages",          "tokens",
    "objective",        "page_tokens",   "page_bytes",  "arrangement"};

struct tally {
  std::int64_t total = 0;
  std::int64_t errors[12] = {};
  std::int64_t notes[3] = {};
  std::int64_t reasons[5] = {};
  std::int64_t repairs[19] = {};  ///< answers that list a repair of this setting

  void add(allot::outcome const& out) {
    ++total;
    ++errors[static_cast<int>(out.error.error)];
    if (out) {
      ++reasons[static_cast<int>(out->reason)];
      for (int i = 0; i < out->note_count; ++i) {
        ++notes[static_cast<int>(out->notes[i].code)];
      }
    }
    bool seen[19] = {};
    for (int i = 0; i < out.error.repair_count; ++i) {
      int const set = static_cast<int>(out.error.repairs[i].set);
      repairs[set] += !seen[set];
      seen[set] = true;
    }
  }

  /// Every entry of `counts` is at least one in a hundred, but those named in `except`.
  template <std::size_t N>
  void each_is_common(std::int64_t const (&counts)[N], char const* const (&names)[N],
                      std::initializer_list<std::string> except = {}) const {
    for (std::size_t i = 0; i < N; ++i) {
      std::string const name = names[i];
      bool expected = true;
      for (std::string const& other : except) {
        expected = expected && name != other;
      }
      if (!expected) { continue; }
      CAPTURE(name);
      CAPTURE(counts[i]);
      CHECK(counts[i] * 100 >= total);
    }
  }

  void every_outcome_is_common() const {
    each_is_common(errors, error_names);
    each_is_common(notes, note_names);
    each_is_common(reasons, reason_names);
  }

  std::string text() const {
    std::string out = std::to_string(total) + " solves:";
    auto const list = [&](auto const& counts, auto const& names) {
      int i = 0;
      for (char const* const name : names) {
        out += std::string{" "} + name + " " + std::to_string(counts[i++]);
      }
      out += ";";
    };
    list(errors, error_names);
    list(notes, note_names);
    list(reasons, reason_names);
    list(repairs, setting_names);
    return out;
  }
};

}  // namespace allot_test
