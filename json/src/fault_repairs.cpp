// SPDX-License-Identifier: Apache-2.0
#include "fault_repairs.hpp"

#include <allot/json/describe.hpp>

#include <string>

namespace allot::json {

request with_granularity(request r, std::int64_t least) {
  if (check_granularity(r.arrangement, r.granularity)) { return r; }
  checked const rounded = round_up(r.granularity, least);
  if (rounded.ok()) { r.granularity = rounded.value; }
  return r;
}

outcome fault_repairs::solve(request const& r) {
  return allot::solve(with_granularity(r, least_granularity_), storage_, table_);
}

std::span<field_repair const> fault_repairs::of(std::string_view line, request const& as_read,
                                                read_fault const& fault) {
  found_.clear();
  bool const numeric = fault.what == read_error::out_of_range || fault.what == read_error::too_big;
  if (numeric) { add_number(line, as_read, fault); }
  if (fault.removable) { add_removal(line, fault.path); }
  if (!fault.other.empty()) { add_removal(line, fault.other); }
  if (found_.empty() && !numeric) { add_number(line, as_read, fault); }
  if (found_.empty() && fault.path.starts_with("budget")) { add_budget(line, as_read); }
  if (found_.empty() && fault.path.starts_with("state.")) { add_removal(line, "state.kind"); }
  for (std::string_view const section : {"demand", "charges"}) {
    if (found_.empty() && fault.path.starts_with(section)) { add_removal(line, section); }
  }
  return found_;
}

std::span<field_repair const> fault_repairs::of(request const& refused) {
  found_.clear();
  if (refused.granularity == 1) { return found_; }
  request changed = refused;
  changed.granularity = 1;
  outcome const solved = solve(changed);
  if (solved) { found_.push_back({"granularity", {}}); }
  return found_;
}

/// Whether nothing else is wrong with the line than what is or is not at `path`.
bool fault_repairs::is_clean_without(std::string_view line, std::string_view path) {
  if (reader_.read(line, changed_, path)) { return true; }
  read_fault const& left = reader_.fault();
  bool const missing = (left.what == read_error::missing && left.path == path) ||
                       (path == "budget.bytes" && left.path == "budget");
  return missing && left.faults == 1;
}

/// The field is a setting and was read as the nearest legal number. If that is not good enough, the
/// solver knows which is.
void fault_repairs::add_number(std::string_view line, request const& as_read,
                               read_fault const& fault) {
  if (!fault.nearest || !is_clean_without(line, fault.path)) { return; }
  outcome const solved = solve(as_read);
  if (solved) {
    found_.push_back({fault.path, fault.nearest});
    return;
  }
  for (std::int32_t i = 0; i < solved.error.repair_count; ++i) {
    repair const& r = solved.error.repairs[i];
    std::string path;
    append_path(path, path_of(r.set, r.index, true));
    if (path == fault.path && !r.removes) { found_.push_back({path, r.to}); }
  }
}

void fault_repairs::add_removal(std::string_view line, std::string_view path) {
  if (!reader_.read(line, changed_, path)) { return; }
  if (solve(changed_.get())) { found_.push_back({std::string{path}, {}}); }
}

/// The least budget that works, in place of one that says nothing.
void fault_repairs::add_budget(std::string_view line, request const& as_read) {
  if (!is_clean_without(line, "budget")) { return; }
  request changed = as_read;
  changed.budget = bytes{-1};
  outcome const refused = solve(changed);
  for (std::int32_t i = 0; i < refused.error.repair_count; ++i) {
    repair const& r = refused.error.repairs[i];
    if (r.set == setting::budget) { found_.push_back({"budget", maybe<std::int64_t>{r.to}}); }
  }
}

}  // namespace allot::json
