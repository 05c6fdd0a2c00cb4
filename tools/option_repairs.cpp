// SPDX-License-Identifier: Apache-2.0
#include "option_repairs.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>

namespace allot::tools {
namespace {

constexpr std::int64_t mib = std::int64_t{1} << 20;

std::string view_text(text t) {
  return {t.data, static_cast<std::size_t>(t.size)};
}

checked net_of(plan_options const& options) {
  return budget::share_of({options.free_bytes}, options.ratio, {options.weights_bytes.value_or(0)})
      .net();
}

/// The smallest --free that leaves a budget of `net` bytes: the product is rounded, so the quotient
/// is only where to look.
std::optional<option_repair> with_free(plan_options options, std::int64_t net) {
  auto const wanted =
      static_cast<long double>(net) + static_cast<long double>(options.weights_bytes.value_or(0));
  auto const guess = std::ceil(wanted / static_cast<long double>(options.ratio));
  if (!(guess >= 0 && guess < 9.2e18L)) { return std::nullopt; }
  auto const enough = [&](std::int64_t free_bytes) {
    options.free_bytes = free_bytes;
    return checked{net} <= net_of(options);
  };
  if (!enough(unlimited)) { return std::nullopt; }
  options.free_bytes = smallest(0, unlimited, static_cast<std::int64_t>(guess), enough);
  if (options.exact_bytes) {
    return option_repair{"--free " + std::to_string(options.free_bytes), options};
  }
  auto const whole = options.free_bytes / mib + (options.free_bytes % mib != 0 ? 1 : 0);
  options.free_bytes = whole * mib;
  return option_repair{fmt::format("--free {}MiB", whole), options};
}

/// A larger share of the same GPU, in whole percents; the last few are never offered, because
/// graphs and activations live there.
std::optional<option_repair> with_ratio(plan_options options, std::int64_t net) {
  for (int percent = 1; percent <= 97; ++percent) {
    double const ratio = percent / 100.0;
    if (ratio <= options.ratio) { continue; }
    options.ratio = ratio;
    if (checked{net} <= net_of(options)) {
      return option_repair{fmt::format("--ratio {:.2f}", ratio), options};
    }
  }
  return std::nullopt;
}

char const* name_of(prefill_buffer mode) {
  switch (mode) {
    case prefill_buffer::off: return "off";
    case prefill_buffer::preferred: return "preferred";
    case prefill_buffer::required: return "required";
  }
  return "";
}

option_repair numbered(char const* option, std::optional<std::int64_t>& field, repair const& r,
                       plan_options& changed) {
  if (r.removes) {
    field.reset();
    return {std::string{"leave out "} + option, changed};
  }
  field = r.to < 1 ? 1 : r.to;  // an option's least; the floor is a page at least
  return {fmt::format("{} {}", option, *field), changed};
}

/// A repair of the request as one of the options; nothing when no option says it.
std::optional<option_repair> as_option(plan_options changed, repair const& r) {
  switch (r.set) {
    case setting::budget: return with_free(changed, r.to);
    case setting::max_running:
      changed.deployment.max_running = r.to;
      return option_repair{fmt::format("--max-running {}", r.to), changed};
    case setting::charge: {
      auto& charge = changed.charges[static_cast<std::size_t>(r.index)];
      charge.bytes = changed.exact_bytes ? r.to : r.to / mib * mib;
      auto const size = charge.bytes % mib == 0 && charge.bytes > 0
                            ? fmt::format("{}MiB", charge.bytes / mib)
                            : std::to_string(charge.bytes);
      return option_repair{fmt::format("--charge {}={}", charge.name, size), changed};
    }
    case setting::slots: return numbered("--slots", changed.slots, r, changed);
    case setting::prefill_buffer:
      changed.buffer = static_cast<prefill_buffer>(r.to);
      return option_repair{fmt::format("--prefill-buffer {}", name_of(changed.buffer)), changed};
    case setting::min_tokens:
    case setting::target_tokens: return numbered("--context", changed.context_tokens, r, changed);
    case setting::max_tokens: return numbered("--max-tokens", changed.max_tokens, r, changed);
    case setting::pages: return numbered("--pages", changed.pages, r, changed);
    case setting::tokens: return numbered("--tokens", changed.tokens, r, changed);
    case setting::objective:
      changed.objective = static_cast<objective>(r.to);
      return option_repair{"--objective experts_first", changed};
    case setting::tp:  // one option sets both, and the experts' share: see with_ranks
    case setting::state_tp:
    case setting::state_slots:
    case setting::max_slots:
    case setting::min_usable_pages:
    case setting::page_tokens:
    case setting::page_bytes:
    case setting::arrangement: break;
  }
  return std::nullopt;
}

/// Whether the command line with the change made is planned.
bool fits(model::model_geometry const& model, option_repair const& repair) {
  try {
    return solved_plan{model, repair.options}.answer().ok;
  } catch (
      std::runtime_error const&) {  // the change breaks another rule, such as an expert's width
    return false;
  }
}

/// The nearest numbers of ranks below and above the asked one that split everything there is.
std::vector<option_repair> with_ranks(model::model_geometry const& model,
                                      plan_options const& options) {
  constexpr std::int64_t most_ranks = 1024;
  std::vector<option_repair> out;
  auto const try_ranks = [&](std::int64_t ranks) {
    option_repair one{fmt::format("--tp {}", ranks), options};
    one.options.deployment.tp = ranks;
    if (!fits(model, one)) { return false; }
    out.push_back(one);
    return true;
  };
  auto const asked = options.deployment.tp;
  for (auto ranks = std::min(asked - 1, most_ranks); ranks >= 1; --ranks) {
    if (try_ranks(ranks)) { break; }
  }
  for (auto ranks = asked + 1; ranks <= most_ranks; ++ranks) {
    if (try_ranks(ranks)) { break; }
  }
  return out;
}

}  // namespace

std::vector<option_repair> option_repairs(model::model_geometry const& model,
                                          plan_options const& options, solved_plan const& refused) {
  std::vector<option_repair> out;
  auto const add = [&](std::optional<option_repair> const& one) {
    if (!one) { return; }
    for (auto const& known : out) {
      if (known.change == one->change) { return; }
    }
    if (fits(model, *one)) { out.push_back(*one); }
  };
  auto const& refusal = refused.answer().error;
  if (refusal.error == solve_error::kv_head_split) { return with_ranks(model, options); }
  for (std::int32_t i = 0; i < refusal.repair_count; ++i) {
    auto const& one = refusal.repairs[i];
    add(as_option(options, one));
    if (one.set == setting::budget) { add(with_ratio(options, one.to)); }
  }
  if (refusal.priced) {
    auto const& kv = refused.request().get().kv[0];
    auto const dtype = kv.kind == kv_kind::mla ? kv.mla.dtype : kv.gqa.dtype;
    if (bits_of(dtype) > 8) {
      auto changed = options;
      changed.deployment.kv_dtype = element::fp8;
      add(option_repair{"--kv-dtype fp8", changed});
    }
  }
  return out;
}

std::string dotted(request_path const& path) {
  auto out = view_text(path.section);
  if (path.index >= 0) { out += fmt::format("[{}]", path.index); }
  if (!path.field.empty()) { out += (out.empty() ? "" : ".") + view_text(path.field); }
  return out;
}

std::string option_of(request_path const& path) {
  auto const field = view_text(path.field);
  auto name = dotted(path);
  if (field == "tp") { return "--tp"; }
  if (field == "page_tokens") { return "--page-tokens"; }
  if (field == "max_running") { return "--max-running"; }
  if (name == "demand.pages") { return "--pages"; }
  if (name == "demand.tokens") { return "--tokens"; }
  if (name == "demand.max_tokens") { return "--max-tokens"; }
  if (name == "demand.min_tokens" || name == "demand.target_tokens") { return "--context"; }
  if (name == "experts.slots") { return "--slots"; }
  if (name == "experts.prefill_buffer") { return "--prefill-buffer"; }
  if (name == "objective") { return "--objective"; }
  if (name == "charges" || view_text(path.section) == "charges") { return "--charge"; }
  return name;
}

}  // namespace allot::tools
