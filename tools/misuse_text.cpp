// SPDX-License-Identifier: Apache-2.0
#include "option_repairs.hpp"
#include "plan_text.hpp"

#include <fmt/format.h>
#include <string_view>
#include <utility>

namespace allot::tools {
namespace {

/// The option whose number is too large, and that number. A refusal about a term of the plan names
/// no option: the largest of those that the term is made of is meant.
std::string overflowing(refusal const& error, plan_options const& options,
                        std::string const& option) {
  std::string_view const section{error.binding.section.data,
                                 static_cast<std::size_t>(error.binding.section.size)};
  if (section == "demand") { return fmt::format("{} {}", option, error.value); }
  std::pair<char const*, std::int64_t> largest{"", 0};
  auto const consider = [&](char const* name, std::int64_t value) {
    if (value > largest.second) { largest = {name, value}; }
  };
  if (section == "kv") {
    consider("--page-tokens", options.deployment.page_tokens);
    consider("--tokens", options.tokens.value_or(0));
    consider("--pages", options.pages.value_or(0));
    consider("--context", options.context_tokens.value_or(0));
  } else if (section == "experts") {
    consider("--slots", options.slots.value_or(0));
  } else if (section == "state") {
    consider("--max-running", options.deployment.max_running);
  }
  if (largest.second == 0) { return option; }
  return fmt::format("{} {}", largest.first, largest.second);
}

std::string reason(refusal const& error, plan_options const& options, request const& asked) {
  auto const option = option_of(error.binding);
  auto const expected =
      std::string{error.expected.data, static_cast<std::size_t>(error.expected.size)};
  switch (error.error) {
    case solve_error::conflicting_pins:
      return "--pages and --tokens: expected one of them, not both";
    case solve_error::not_a_page_multiple:
      return error.low == error.high
                 ? fmt::format("{} {}: not a multiple of --page-tokens; expected {}", option,
                               error.value, error.low)
                 : fmt::format("{} {}: not a multiple of --page-tokens; expected {} or {}", option,
                               error.value, error.low, error.high);
    case solve_error::slots_out_of_range:
      return fmt::format("{} {}: expected {} to {} expert slots", option, error.value, error.low,
                         error.high);
    case solve_error::slot_cap_below_minimum:
      return fmt::format(
          "--prefill-buffer required: needs {} slots, more than the {} experts of "
          "this model; expected preferred or off",
          error.low, error.high);
    case solve_error::kv_head_split:
      return error.binding.index >= 0
                 ? fmt::format(
                       "--tp {}: neither divides nor is a multiple of the {} KV heads; "
                       "expected one that does",
                       error.value, asked.kv[error.binding.index].gqa.kv_heads)
                 : fmt::format("--tp {} does not split the recurrent layers; expected {}",
                               error.value, expected);
    case solve_error::overflow:
      return fmt::format("{}: the numbers exceed 2^63{}", overflowing(error, options, option),
                         expected.empty() ? "; expected less" : "; expected " + expected);
    default:
      return fmt::format("{} {}: expected {}", option, error.value,
                         expected.empty() ? "another value" : expected);
  }
}

}  // namespace

std::string misuse_text(model::model_geometry const& model, plan_options const& options,
                        solved_plan const& refused) {
  auto out = reason(refused.answer().error, options, refused.request().get()) + "\n";
  auto const repairs = option_repairs(model, options, refused);
  if (!repairs.empty()) {
    out += "Any one of these makes it fit:\n";
    for (auto const& one : repairs) {
      out += "  " + one.change + "\n";
    }
  }
  return out;
}

}  // namespace allot::tools
