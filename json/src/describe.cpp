// SPDX-License-Identifier: Apache-2.0
#include <allot/json/describe.hpp>

#include <charconv>

namespace allot::json {

namespace {

template <std::size_t N>
void add(std::string& out, char const (&words)[N]) {
  out.append(words, N - 1);
}
void add(std::string& out, std::string_view words) {
  out += words;
}
void add(std::string& out, text words) {
  out.append(words.data, static_cast<std::size_t>(words.size));
}
void add(std::string& out, std::int64_t number) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}
void add(std::string& out, request_path const& path) {
  append_path(out, path);
}
void add(std::string& out, bytes count) {
  append_bytes(out, count.count);
}

template <class... Part>
void say(std::string& out, Part const&... parts) {
  (add(out, parts), ...);
}

std::string_view plural(std::int64_t count) {
  return count == 1 ? "" : "s";
}

/// What a refusal with byte numbers says of the terms it added up.
struct priced_terms {
  bytes fixed{};
  std::int64_t slots = 0;
  bytes experts{};
  bytes kv{};
};

priced_terms terms_of_needed(refusal const& r, table_view const& t) {
  priced_terms x;
  x.fixed = {fixed_bytes(t).value};
  if (t.experts) {
    expert_terms const& e = *t.experts;
    x.slots = e.pinned_slots ? e.pinned_slots->count : e.fewest().value;
    x.experts = {expert_bytes(t, x.slots).value};
  }
  x.kv = {r.needed.count - x.fixed.count - x.experts.count};
  return x;
}

void describe_priced(std::string& out, refusal const& r, table_view const& t,
                     std::string_view subject) {
  priced_terms const x = terms_of_needed(r, t);
  say(out, subject, " ", r.needed, ": ");
  if (x.fixed.count > 0) { say(out, x.fixed, " of charges and state, "); }
  if (t.experts) { say(out, x.experts, " for ", x.slots, " expert slot", plural(x.slots), ", "); }
  say(out, x.kv, " for the KV cache; the budget is ", r.budget, ", ", r.shortfall, " short");
}

void describe_split(std::string& out, refusal const& r, request const& asked) {
  say(out, r.binding, " is ", r.value, ", which neither divides nor is a multiple of ");
  if (r.binding.index >= 0) {
    say(out, "the ", asked.kv[r.binding.index].split_heads().value_or(0), " kv_heads");
  } else if (asked.state) {
    auto const shared = asked.state->shared();
    say(out, "the ", shared.first, " ", shared.first_name);
    if (shared.second > 0) { say(out, " or the ", shared.second, " ", shared.second_name); }
  }
}

void describe_stride(std::string& out, refusal const& r) {
  say(out, r.binding, " is ", r.value, "; with page_major it must be ", r.expected);
  if (r.low > 0 || r.high > 0) {
    say(out, ": ");
    append_nearest(out, r.low, r.high);
  }
}

void describe_cap(std::string& out, refusal const& r, table_view const& t) {
  std::int64_t const layer = t.experts ? t.experts->per_layer : 0;
  bool const capped = r.binding == path_of(setting::max_slots, -1, true);
  if (capped) {
    say(out, r.binding, " is ", r.high, ", but the cache needs at least ", r.low, " slot",
        plural(r.low), ": ");
  } else {
    say(out, r.binding, " is required, which takes ", r.low, " slots, but the model has ", r.high,
        ": ");
  }
  say(out, r.low > layer ? "two layers" : "one layer", " of ", layer, " expert", plural(layer));
}

void describe_overflow(std::string& out, refusal const& r) {
  say(out, r.binding);
  if (r.binding.field.empty()) {
    say(out, ": the sum passes 2^63 - 1");
  } else {
    say(out, " is ", r.value, ": what it stands for passes 2^63 - 1");
  }
  if (!r.expected.empty()) { say(out, "; there must be ", r.expected); }
}

void describe_input(std::string& out, refusal const& r, request const& asked) {
  say(out, r.binding, " is ");
  if (r.binding == request_path{"objective"}) {
    say(out, name_of(asked.objective));
  } else if (r.binding == request_path{"granularity"}) {
    say(out, asked.granularity);
  } else if (r.binding.section == "kv" && r.binding.field == "family") {
    asked.kv[r.binding.index].visit([&](auto const& f) { say(out, f.name); });
  } else if (r.binding.field.empty()) {
    say(out, "incomplete");
  } else {
    say(out, r.value);
  }
  say(out, "; it must be ", r.expected);
}

}  // namespace

void append_bytes(std::string& out, std::int64_t bytes) {
  say(out, bytes, " byte", plural(bytes));
  constexpr std::string_view units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  bool const negative = bytes < 0;
  std::uint64_t const size =
      negative ? -static_cast<std::uint64_t>(bytes) : static_cast<std::uint64_t>(bytes);
  if (size < 1024) { return; }
  int unit = 0;
  while (unit < 5 && size >> (10 * (unit + 2)) != 0) {
    ++unit;
  }
  std::uint64_t const whole = size >> (10 * (unit + 1));
  std::uint64_t const rest = size >> (10 * unit) & 1023U;  // 1024ths of the unit
  auto const hundredths = static_cast<std::int64_t>(rest * 100 / 1024);
  say(out, negative ? " (-" : " (", static_cast<std::int64_t>(whole), ".");
  say(out, hundredths < 10 ? "0" : "", hundredths, " ", units[unit], ")");
}

void describe(std::string& out, refusal const& r, request const& asked, table_view const& table) {
  switch (r.error) {
    case solve_error::none: break;
    case solve_error::bad_input: describe_input(out, r, asked); break;
    case solve_error::overflow: describe_overflow(out, r); break;
    case solve_error::conflicting_pins:
      say(out, "demand.pages (", asked.demand.pinned_pages.value.count, ") and demand.tokens (",
          asked.demand.pinned_tokens.value.count, ") both pin the context; give one of them");
      break;
    case solve_error::not_a_page_multiple:
      say(out, r.binding, " is ", r.value, ", no whole number of pages of ",
          table.anchor.page_tokens, " tokens; ");
      append_nearest(out, r.low, r.high);
      break;
    case solve_error::misaligned_stride: describe_stride(out, r); break;
    case solve_error::kv_head_split: describe_split(out, r, asked); break;
    case solve_error::slot_cap_below_minimum: describe_cap(out, r, table); break;
    case solve_error::slots_out_of_range:
      say(out, r.binding, " is ", r.value, "; it must be from ", r.low, " to ", r.high);
      break;
    case solve_error::fixed_exceeds_budget:
      say(out, "charges and state take ", r.needed, " before anything is split; the budget is ",
          r.budget, ", ", r.shortfall, " short");
      break;
    case solve_error::pins_exceed_budget:
      describe_priced(out, r, table, "what is pinned needs");
      break;
    case solve_error::floors_exceed_budget:
      describe_priced(out, r, table, "the floors need");
      break;
  }
}

void describe(std::string& out, note const& n) {
  switch (n.code) {
    case note_code::prefill_buffer_dropped:
      say(out, "the prefill buffer needs ", n.asked, " slots, ", n.planned,
          " are planned: prefill goes without it");
      break;
    case note_code::target_reduced:
      say(out, "demand.target_tokens asks for ", n.asked, " tokens, ", n.planned, " fit");
      break;
    case note_code::max_tokens_raised:
      say(out, "demand.max_tokens is ", n.asked, ", below the floor: the cap is ", n.planned,
          " tokens");
      break;
  }
}

void describe(std::string& out, left_reason r) {
  switch (r) {
    case left_reason::next_step: say(out, "neither one more page nor one more slot fits"); break;
    case left_reason::max_tokens: say(out, "demand.max_tokens stops the pages"); break;
    case left_reason::pinned: say(out, "what is pinned takes no more"); break;
    case left_reason::all_resident:
      say(out, "every expert is resident, and no further page fits or may be taken");
      break;
    case left_reason::max_slots:
      say(out, "experts.max_slots stops the slots, and one more page does not fit");
      break;
  }
}

void describe(std::string& out, read_fault const& f) {
  switch (f.what) {
    case read_error::none: break;
    case read_error::not_json:
      say(out, "the line is not JSON: at byte ", f.at, ": ", f.value);
      break;
    case read_error::not_an_object:
      say(out, "the line is ", f.value, "; a request must be a JSON object");
      break;
    case read_error::unknown_field:
      say(out, f.path, " is not a field of ", f.value, ", which has ", f.expected);
      break;
    case read_error::repeated: say(out, f.path, " is given twice; give it once"); break;
    case read_error::wrong_value:
    case read_error::out_of_range:
    case read_error::too_big:
      say(out, f.path, " is ", f.value, "; it must be ", f.expected);
      if (f.what == read_error::too_big && f.removable) { say(out, " and at most 2^63 - 1"); }
      break;
    case read_error::missing:
      say(out, f.path, " is missing (", f.value, " needs it); it must be ", f.expected);
      break;
    case read_error::both_given:
      say(out, f.other, " and ", f.path, " are given together; give one of them");
      break;
  }
}

void describe(std::string& out, repair const& r, bool stated_budget) {
  request_path const path = path_of(r.set, r.index, stated_budget);
  if (r.removes) {
    say(out, "remove ", path);
  } else if (r.set == setting::prefill_buffer) {
    say(out, "set ", path, " to ", name_of(static_cast<prefill_buffer>(r.to)));
  } else if (r.set == setting::objective) {
    say(out, "set ", path, " to ", name_of(static_cast<objective>(r.to)));
  } else {
    say(out, "set ", path, " to ", r.to);
  }
}

}  // namespace allot::json
