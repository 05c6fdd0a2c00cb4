// SPDX-License-Identifier: Apache-2.0
#include "ledger.hpp"
#include "ledger_text.hpp"
#include "option_repairs.hpp"
#include "plan_text.hpp"
#include "text_format.hpp"

#include <fmt/format.h>

namespace allot::tools {
namespace {

std::string label(std::string const& name) {
  return fmt::format("  {:<9} ", name);
}

/// "21.15 GiB = 0.9 x 23.50 GiB free - 4.00 GiB weights"
std::string budget_text(plan_options const& options, std::int64_t budget) {
  auto const size = [&](std::int64_t bytes) { return size_text(bytes, options.exact_bytes); };
  return fmt::format("{} = {} x {} free - {} weights", size(budget), options.ratio,
                     size(options.free_bytes), size(options.weights_bytes.value_or(0)));
}

std::string context_text(model::model_geometry const& model, solved_plan const& planned) {
  auto const& plan = *planned.answer();
  auto const& anchor = planned.table().anchor;
  auto out = fmt::format("{} tokens: {} usable pages of {}, and {} sentinel",
                         grouped(plan.usable_tokens.count), grouped(plan.pages.count),
                         grouped(anchor.page_tokens), grouped(anchor.sentinel_pages));
  if (model.max_positions && plan.usable_tokens.count >= *model.max_positions) {
    out += fmt::format(
        " ({:.1f} x the longest sequence, {})",
        static_cast<double>(plan.usable_tokens.count) / static_cast<double>(*model.max_positions),
        grouped(*model.max_positions));
  } else if (model.max_positions) {
    out += fmt::format(" (the longest sequence is {})", grouped(*model.max_positions));
  }
  return wrapped(label("context"), out);
}

std::string experts_text(plan_options const& options, solved_plan const& planned) {
  auto const& plan = *planned.answer();
  auto const& experts = *planned.table().experts;
  auto const total = experts.total().value;
  auto out = fmt::format("{} slots for {} experts ({} layers of {}): {} resident",
                         grouped(plan.slots.count), grouped(total), grouped(experts.layers),
                         grouped(experts.per_layer), share_text(plan.slots.count, total));
  auto const buffer = plan.prefill_buffer ? fmt::format("on: prefill borrows {} of those slots",
                                                        grouped(experts.two_layers().value))
                                          : std::string{options.buffer == prefill_buffer::off
                                                            ? "off"
                                                            : "off: no room, see the note"};
  return wrapped(label("experts"), out) + wrapped(label("buffer"), buffer);
}

/// What one more of each costs.
std::string unit_text(solved_plan const& planned) {
  auto const& pools = planned.request().pools();
  auto out = fmt::format("token {} B", grouped(pools.kv_bytes_per_token));
  if (pools.state) { out += fmt::format(", request {} B", grouped(pools.state_bytes_per_slot)); }
  if (pools.experts) {
    out += fmt::format(", expert {} B ({})", grouped(pools.experts->slot_bytes.count),
                       model::name_of(pools.experts_stored));
  }
  return wrapped(label("each"), out);
}

std::string left_text(solved_plan const& planned, plan_options const& options) {
  auto const& plan = *planned.answer();
  auto const& table = planned.table();
  auto const page = kv_bytes(table, plan.pages.count + 1) - plan.kv.count;
  auto const size = [&](std::int64_t bytes) { return size_text(bytes, options.exact_bytes); };
  bool const all = table.experts && plan.slots.count == table.experts->total().value;
  switch (plan.reason) {
    case left_reason::next_step:
      return fmt::format("one more page needs {}{}", size(page.value),
                         !table.experts ? std::string{}
                         : all          ? std::string{", every expert is resident"}
                                        : ", one more expert " + size(table.experts->slot_bytes));
    case left_reason::max_tokens:
      return fmt::format("--max-tokens {} stops the pages",
                         grouped(options.max_tokens.value_or(0)));
    case left_reason::pinned: return "what is pinned stops here";
    case left_reason::all_resident: return "every expert is resident and the pages are pinned";
    case left_reason::max_slots: return "no more slots are allowed";
  }
  return {};
}

std::string notes_text(solved_plan const& solved, painter const& paint) {
  std::string out;
  auto const add = [&](std::string const& text) {
    auto lines = wrapped("  note: ", text);
    out += "  " + paint(colour::warning, "note:") + lines.substr(7);
  };
  if (solved.answer()) {
    auto const& plan = *solved.answer();
    for (std::int32_t i = 0; i < plan.note_count; ++i) {
      auto const& one = plan.notes[i];
      switch (one.code) {
        case note_code::prefill_buffer_dropped:
          add(
              fmt::format("the prefill buffer asks for {} slots and {} are planned: prefill runs "
                          "without it",
                          grouped(one.asked), grouped(one.planned)));
          break;
        case note_code::target_reduced:
          add(fmt::format("the context aims at {} tokens and {} are planned", grouped(one.asked),
                          grouped(one.planned)));
          break;
        case note_code::max_tokens_raised:
          add(fmt::format("--max-tokens {} is below the floor: {} are planned at least",
                          grouped(one.asked), grouped(one.planned)));
          break;
      }
    }
  }
  for (auto const& one : solved.request().notes()) {
    add(one);
  }
  return out;
}

/// What the largest term of a refusal is, in words.
std::string binding_text(solved_plan const& refused) {
  auto const& error = refused.answer().error;
  auto const& asked = refused.request().get();
  auto const name = dotted(error.binding);
  if (name == "budget") { return "the budget is negative: the weights alone do not fit"; }
  bool const alone = error.error == solve_error::fixed_exceeds_budget;
  if (name == "charges") {
    return alone ? "the charges alone do not fit" : "the charges are the largest term";
  }
  if (name == "state") {
    return alone ? "the recurrent states alone do not fit"
                 : "the recurrent states are the largest term";
  }
  if (name == "kv") {
    return fmt::format("the KV cache of the floor, {} tokens, is the largest term",
                       grouped(asked.demand.min_tokens.count));
  }
  if (name == "experts") {
    bool const required = asked.experts->buffer == prefill_buffer::required;
    return fmt::format("the fewest experts that work, {} layer{} of {}, are the largest term",
                       required ? 2 : 1, required ? "s" : "", grouped(asked.experts->per_layer));
  }
  return "what " + option_of(error.binding) + " pins is the largest term";
}

/// Names come from paths: what a terminal would obey is not printed.
std::string printable(std::string name) {
  for (char& c : name) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) { c = '?'; }
  }
  return name;
}

/// "32,768 tokens", or "8,192 of 131,072 tokens" when more was aimed at.
std::string tokens_text(solved_plan const& planned) {
  auto const& plan = *planned.answer();
  auto const usable = grouped(plan.usable_tokens.count);
  if (!plan.has_note(note_code::target_reduced)) { return usable + " tokens"; }
  auto const& target = planned.request().get().demand.target_tokens;
  return usable + " of " + grouped(target->count) + " tokens";
}

}  // namespace

std::string plan_text(model::model_geometry const& model, plan_options const& options,
                      solved_plan const& planned, painter const& paint) {
  auto const& plan = *planned.answer();
  auto const id = printable(model.id);
  std::string const caveat = options.weights_bytes ? "" : ", weights not counted";
  auto rest = ": " + tokens_text(planned);
  if (planned.table().experts) {
    rest += fmt::format(", {} of its experts",
                        share_text(plan.slots.count, planned.table().experts->total().value));
  }
  constexpr std::size_t columns = 80;
  if (id.size() + sizeof " fits" - 1 + caveat.size() + rest.size() > columns) {
    rest.replace(0, 2, ":\n");
  }
  auto out = paint(colour::strong, id) + " " + paint(colour::good, "fits") +
             paint(colour::warning, caveat) + rest + "\n\n" + context_text(model, planned);
  if (planned.table().experts) { out += experts_text(options, planned); }
  if (planned.table().state) {
    auto const padding = planned.table().state->padding.sentinel_slots;
    out += wrapped(label("states"), fmt::format("{} usable slots, and {} padding sink",
                                                grouped(plan.state.count), grouped(padding)));
  }
  out += unit_text(planned);
  out += "\n" + wrapped(label("budget"), budget_text(options, plan.budget.count));
  out += ledger_text(ledger_of(planned), plan.budget.count, options.exact_bytes, paint);
  out += wrapped(label("left"), size_text(plan.left.count, options.exact_bytes) + ": " +
                                    left_text(planned, options));
  auto const notes = notes_text(planned, paint);
  return out + (notes.empty() ? "" : "\n" + notes);
}

std::string shortage_text(model::model_geometry const& model, plan_options const& options,
                          solved_plan const& refused, painter const& paint) {
  auto const& error = refused.answer().error;
  auto const size = [&](std::int64_t bytes) { return size_text(bytes, options.exact_bytes); };
  auto const needed = whole_need(refused);
  auto out = fmt::format("{} {}: {} short\n\n", paint(colour::strong, printable(model.id)),
                         paint(colour::bad, "does not fit"), size(needed - error.budget.count));
  out += wrapped(label("budget"), budget_text(options, error.budget.count));
  out += wrapped(label("needed"), size(needed) + " at least: " + binding_text(refused));
  out += ledger_text(needs_of(refused, needed), needed, options.exact_bytes, paint);
  auto const repairs = option_repairs(model, options, refused);
  out += repairs.empty() ? "\n  No single option makes it fit.\n"
                         : "\n  Any one of these makes it fit:\n";
  for (auto const& one : repairs) {
    out += "    " + paint(colour::strong, one.change) + "\n";
  }
  auto const notes = notes_text(refused, paint);
  return out + (notes.empty() ? "" : "\n" + notes);
}

}  // namespace allot::tools
