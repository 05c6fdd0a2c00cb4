// SPDX-License-Identifier: Apache-2.0
#include "text_output.hpp"

#include <allot/json/answer_writer.hpp>
#include <allot/json/describe.hpp>

namespace allot::json {

namespace {

/// How often each family occurs among the KV pools.
class family_counts {
 public:
  void add(std::string_view family) {
    for (entry& e : entries_) {
      if (e.count == 0) { e.family = family; }
      if (e.family == family) {
        ++e.count;
        return;
      }
    }
  }
  [[nodiscard]] bool repeats(std::string_view family) const {
    for (entry const& e : entries_) {
      if (e.family == family) { return e.count > 1; }
    }
    return false;
  }

 private:
  struct entry {
    std::string_view family;
    std::int64_t count = 0;
  };
  entry entries_[8];  // more than there are families
};

std::string_view family_of(answered const& a, std::int64_t index) {
  auto const i = static_cast<std::size_t>(index);
  if (index < a.table.kv_pools && i < a.families.size()) { return a.families[i]; }
  return characters_of(a.table.pools[index].family);
}

void append_pools(std::string& out, answered const& a) {
  table_view const& t = a.table;
  family_counts counts;
  for (std::int64_t i = 0; i < t.kv_pools; ++i) {
    counts.add(family_of(a, i));
  }
  append_name(out, "pools");
  out += '[';
  std::int64_t const pools = t.kv_pools + (t.state ? 1 : 0);
  for (std::int64_t i = 0; i < pools; ++i) {
    pool const& p = t.pools[i];
    std::string_view const family = family_of(a, i);
    append_separator(out);
    out += '{';
    append_name(out, "name");
    if (!(p.name == p.family)) {
      append_string(out, characters_of(p.name));
    } else {
      append_string(out, family);
      if (i < t.kv_pools && counts.repeats(family)) {
        out.back() = '#';
        append_number(out, i);
        out += '"';
      }
    }
    pool_share const share = share_of(t, a.found.value, i);
    append_field(out, "family", family);
    append_field(out, "unit", name_of(p.unit));
    append_field(out, "usable", share.usable);
    append_field(out, "physical", share.physical);
    if (p.family == text{"compressed_tiers"}) {
      checked const windows = rows(t.extents.data + p.first_extent, 1, a.found.value.at());
      append_field(out, "window_pages", windows.value);
    }
    append_field(out, "bytes", share.bytes.count);
    out += '}';
  }
  out += ']';
}

/// Appends a sentence as a JSON string.
template <class Describe>
void append_text(std::string& out, Describe&& describe_into) {
  append_name(out, "text");
  std::string sentence;
  describe_into(sentence);
  append_string(out, sentence);
}

void append_notes(std::string& out, plan const& p) {
  append_name(out, "notes");
  out += '[';
  for (std::int32_t i = 0; i < p.note_count; ++i) {
    note const& n = p.notes[i];
    append_separator(out);
    out += '{';
    append_field(out, "code", name_of(n.code));
    append_field(out, "asked", n.asked);
    append_field(out, "planned", n.planned);
    append_text(out, [&](std::string& sentence) { describe(sentence, n); });
    out += '}';
  }
  out += ']';
}

void append_plan(std::string& out, answered const& a) {
  plan const& p = a.found.value;
  append_field(out, "ok", true);
  append_field(out, "slots", p.slots.count);
  append_field(out, "prefill_buffer", p.prefill_buffer);
  append_field(out, "usable_pages", p.pages.count);
  append_field(out, "physical_pages", p.physical.count);
  append_field(out, "usable_tokens", p.usable_tokens.count);
  append_name(out, "bytes");
  out += '{';
  append_field(out, "budget", p.budget.count);
  append_field(out, "fixed", p.fixed.count);
  append_field(out, "experts", p.experts.count);
  append_field(out, "kv", p.kv.count);
  append_field(out, "left", p.left.count);
  out += '}';
  append_field(out, "left_reason", name_of(p.reason));
  append_pools(out, a);
  append_notes(out, p);
}

void append_repair(std::string& out, repair const& r, bool stated_budget) {
  append_separator(out);
  out += "{\"set\":\"";
  append_path(out, path_of(r.set, r.index, stated_budget));
  out += "\",\"to\":";
  if (r.removes) {
    out += "null";
  } else if (r.set == setting::prefill_buffer) {
    append_string(out, name_of(static_cast<prefill_buffer>(r.to)));
  } else if (r.set == setting::objective) {
    append_string(out, name_of(static_cast<objective>(r.to)));
  } else if (r.set == setting::budget && !stated_budget) {
    out += "{\"bytes\":";
    append_number(out, r.to);
    out += '}';
  } else {
    append_number(out, r.to);
  }
  out += '}';
}

void append_repairs(std::string& out, std::span<field_repair const> repairs) {
  for (field_repair const& r : repairs) {
    append_separator(out);
    out += '{';
    append_field(out, "set", std::string_view{r.path});
    append_name(out, "to");
    if (!r.to) {
      out += "null";
    } else if (r.path == "budget") {
      out += '{';
      append_field(out, "bytes", *r.to);
      out += '}';
    } else {
      append_number(out, *r.to);
    }
    out += '}';
  }
}

void append_refusal(std::string& out, answered const& a) {
  refusal const& r = a.found.error;
  append_field(out, "ok", false);
  append_field(out, "error", name_of(r.error));
  if (r.priced) {
    append_field(out, "needed_bytes", r.needed.count);
    append_field(out, "budget_bytes", r.budget.count);
    append_field(out, "shortfall_bytes", r.shortfall.count);
  }
  append_name(out, "binding");
  out += '"';
  append_path(out, r.binding);
  out += '"';
  append_text(out, [&](std::string& sentence) { describe(sentence, r, a.asked, a.table); });
  append_name(out, "repairs");
  out += '[';
  for (std::int32_t i = 0; i < r.repair_count; ++i) {
    append_repair(out, r.repairs[i], a.asked.budget.absolute.given);
  }
  append_repairs(out, a.more_repairs);
  out += ']';
}

}  // namespace

void append_answer_fields(std::string& out, answered const& a) {
  if (a.found) {
    append_plan(out, a);
  } else {
    append_refusal(out, a);
  }
}

void append_answer(std::string& out, answered const& a) {
  out += "{\"id\":";
  out += a.id;
  append_answer_fields(out, a);
  out += '}';
}

void append_fault(std::string& out, std::string_view id, read_fault const& fault,
                  std::span<field_repair const> repairs) {
  out += "{\"id\":";
  out += id;
  append_field(out, "ok", false);
  append_field(out, "error", name_of(fault.error));
  append_field(out, "binding", std::string_view{fault.path});
  append_text(out, [&](std::string& sentence) { describe(sentence, fault); });
  append_name(out, "repairs");
  out += '[';
  append_repairs(out, repairs);
  out += "]}";
}

}  // namespace allot::json
