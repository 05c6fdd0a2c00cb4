// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/core/maybe.hpp>
#include <allot/core/rounding.hpp>
#include <allot/core/units.hpp>
#include <allot/table/fault.hpp>

#include <cstdint>

namespace allot {

/// The net bytes a plan may use: stated, or a share of what was free before the model was loaded,
/// less what the model then took. May be negative: that is a refusal, not an error.
struct budget {
  maybe<bytes> absolute{};
  maybe<bytes> baseline{};  ///< free bytes before anything was loaded                    [>= 0]
  double ratio = 1.0;       ///< share of the baseline                                    (0, 1]
  bytes resident{};         ///< taken from the share: weights                            [>= 0]

  constexpr budget() = default;
  constexpr budget(bytes net) : absolute{net} {}  // NOLINT(google-explicit-constructor)

  /// `trunc(ratio * baseline) - resident`: one IEEE double product, truncated, applied once.
  static constexpr budget share_of(bytes baseline, double ratio, bytes resident) {
    budget b;
    b.baseline = baseline;
    b.ratio = ratio;
    b.resident = resident;
    return b;
  }

  constexpr checked net() const {
    if (absolute) { return absolute->count; }
    return scale(ratio, baseline->count, rounding::down) - resident.count;
  }

  constexpr fault check() const {
    fault_check c{"budget"};
    if (absolute && baseline) {
      c.report(solve_error::bad_input, "", 0, "bytes, or baseline_bytes and ratio, not both");
    } else if (!absolute && !baseline) {
      c.report(solve_error::bad_input, "", 0, "bytes, or baseline_bytes and ratio");
    } else if (baseline) {
      c.not_negative("baseline_bytes", baseline->count);
      if (!(ratio > 0 && ratio <= 1)) {
        c.report(solve_error::bad_input, "ratio", 0, "a number above 0 and at most 1");
      }
      c.not_negative("resident_bytes", resident.count);
    }
    return c.found;
  }
};

/// What the context asks for. Pins replace the floor; a target is a wish; a cap stops growth.
struct demand {
  tokens min_tokens{8192};             ///< floor: refuse rather than hold fewer          [>= 0]
  usable_pages min_usable_pages{1};    ///< floor in pages                                [>= 0]
  maybe<tokens> target_tokens{};       ///< context_first: reserve this before experts    [>= 0]
  maybe<tokens> max_tokens{};          ///< no more pages than these tokens fill          [>= 0]
  maybe<usable_pages> pinned_pages{};  ///< exactly this many                             [>= 1]
  maybe<tokens> pinned_tokens{};       ///< exactly these tokens, a multiple of the page  [>= 1]

  constexpr fault check() const {
    fault_check c{"demand"};
    c.not_negative("min_tokens", min_tokens.count);
    c.not_negative("min_usable_pages", min_usable_pages.count);
    if (target_tokens) { c.not_negative("target_tokens", target_tokens->count); }
    if (max_tokens) { c.not_negative("max_tokens", max_tokens->count); }
    if (pinned_pages) { c.positive("pages", pinned_pages->count); }
    if (pinned_tokens) { c.positive("tokens", pinned_tokens->count); }
    return c.found;
  }
};

/// Who is served first with what the floors leave.
enum class objective : std::uint8_t {
  experts_first,  ///< as many experts resident as fit beside the floor, the rest to context
  context_first,  ///< the target context first, the rest to experts
};

}  // namespace allot
