// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/plan/admission.hpp>
#include <allot/solve/refusal.hpp>

#include <string>

/// Refusals in words, for the log of an engine: opt-in, since it needs `std::string`. The command
/// and the JSON form say more, as they have the request.
namespace allot {

namespace detail {

inline std::string string_of(text t) {
  return {t.data, static_cast<std::string::size_type>(t.size)};
}

inline std::string bytes_in_words(bytes b) {
  return std::to_string(b.count) + " bytes";
}

}  // namespace detail

/// "kv[0].page_tokens"
inline std::string describe(request_path const& path) {
  std::string out = detail::string_of(path.section);
  if (path.index >= 0) { out += "[" + std::to_string(path.index) + "]"; }
  if (!path.field.empty()) { out += "." + detail::string_of(path.field); }
  return out;
}

/// "kv[0].head_dim is -1; it must be an integer of at least 1"
inline std::string describe(fault const& f) {
  if (!f) { return "nothing is wrong"; }
  std::string out = describe(f.at);
  if (!f.at.field.empty() || f.at.section == "granularity") {
    out += " is " + std::to_string(f.value);
  }
  if (!f.expected.empty()) { out += "; it must be " + detail::string_of(f.expected); }
  if (f.low > 0 || f.high > 0) {
    out += ": the nearest ";
    out += f.low > 0 && f.high > 0 ? "are " + std::to_string(f.low) + " and " : std::string{"is "};
    out += std::to_string(f.high > 0 ? f.high : f.low);
  }
  return out;
}

/// What is short and by how much, or which field holds what and what would be right.
inline std::string describe(refusal const& r) {
  std::string const at = describe(r.binding);
  std::string const value = std::to_string(r.value);
  std::string const range = std::to_string(r.low) + " to " + std::to_string(r.high);
  switch (r.error) {
    case solve_error::none: return "nothing is refused";
    case solve_error::bad_input:
    case solve_error::misaligned_stride:
    case solve_error::kv_head_split:
      return describe(fault{r.error, r.binding, r.value, r.expected, r.low, r.high});
    case solve_error::overflow: return at + ": what it stands for passes 2^63 - 1";
    case solve_error::conflicting_pins:
      return "demand.pages and demand.tokens both pin the context; give one of them";
    case solve_error::not_a_page_multiple:
      return at + " is " + value + ", no whole number of pages; the nearest are " +
             std::to_string(r.low) + " and " + std::to_string(r.high);
    case solve_error::slot_cap_below_minimum:
      return at + ": at most " + std::to_string(r.high) + " slots, but the cache needs " +
             std::to_string(r.low);
    case solve_error::slots_out_of_range: return at + " is " + value + "; it must be " + range;
    case solve_error::fixed_exceeds_budget:
    case solve_error::pins_exceed_budget:
    case solve_error::floors_exceed_budget: break;
  }
  std::string const what = r.error == solve_error::fixed_exceeds_budget ? "charges and state need "
                           : r.error == solve_error::pins_exceed_budget ? "what is pinned needs "
                                                                        : "the floors need ";
  return what + detail::bytes_in_words(r.needed) + ", the budget is " +
         detail::bytes_in_words(r.budget) + ", " + detail::bytes_in_words(r.shortfall) +
         " short; the largest part is " + at;
}

/// "set demand.min_tokens to 4096", "remove demand.pages"
inline std::string describe(repair const& r) {
  std::string const at = describe(path_of(r.set, r.index, true));
  if (r.removes) { return "remove " + at; }
  if (r.set == setting::prefill_buffer) { return "make " + at + " preferred"; }
  if (r.set == setting::objective) { return "make " + at + " experts_first"; }
  return "set " + at + " to " + std::to_string(r.to);
}

/// "needs 6250 pages, the pool has 257"
inline std::string describe(admission_refusal const& r) {
  return "needs " + std::to_string(r.needed.count) + " pages, the pool has " +
         std::to_string(r.available.count);
}

}  // namespace allot
