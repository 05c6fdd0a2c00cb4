// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/plan/admission.hpp>
#include <allot/solve/refusal.hpp>

#include <string>

/// Refusals in words, for the log of an engine: opt-in, since it needs `std::string`. The command
/// and the JSON form say more, as they have the request.
namespace allot {

inline std::string to_string(text t) {
  return {t.data, static_cast<std::string::size_type>(t.size)};
}

/// Appends "kv[0].page_tokens".
inline void append_path(std::string& out, request_path const& path) {
  out.append(path.section.data, static_cast<std::string::size_type>(path.section.size));
  if (path.index >= 0) { out += "[" + std::to_string(path.index) + "]"; }
  if (path.field.empty()) { return; }
  out += '.';
  out.append(path.field.data, static_cast<std::string::size_type>(path.field.size));
}

/// Appends "the nearest are 16 and 32", or the only one there is.
///
/// \param low, high  at least one of them above 0
inline void append_nearest(std::string& out, std::int64_t low, std::int64_t high) {
  bool const both = low > 0 && high > 0 && low != high;
  out += both ? "the nearest are " + std::to_string(low) + " and " : std::string{"the nearest is "};
  out += std::to_string(high > 0 ? high : low);
}

/// "kv[0].page_tokens"
inline std::string describe(request_path const& path) {
  std::string out;
  append_path(out, path);
  return out;
}

/// "kv[0].head_dim is -1; it must be an integer of at least 1"
inline std::string describe(fault const& f) {
  if (!f) { return "nothing is wrong"; }
  std::string out = describe(f.at);
  if (!f.at.field.empty() || f.at.section == "granularity") {
    out += " is " + std::to_string(f.value);
  }
  if (!f.expected.empty()) { out += "; it must be " + to_string(f.expected); }
  if (f.low > 0 || f.high > 0) {
    out += ": ";
    append_nearest(out, f.low, f.high);
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
    case solve_error::not_a_page_multiple: {
      std::string out = at + " is " + value + ", no whole number of pages; ";
      append_nearest(out, r.low, r.high);
      return out;
    }
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
  return what + std::to_string(r.needed.count) + " bytes" + ", the budget is " +
         std::to_string(r.budget.count) + " bytes" + ", " + std::to_string(r.shortfall.count) +
         " bytes" + " short; the largest part is " + at;
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
