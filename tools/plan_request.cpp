// SPDX-License-Identifier: Apache-2.0
#include "plan_request.hpp"
#include "text_format.hpp"

#include <algorithm>

namespace allot::tools {
namespace {

text borrowed(std::string const& s) {
  return {s.data(), static_cast<std::int64_t>(s.size())};
}

/// Options about experts mean nothing for a dense model; those that demand something are refused.
void check_dense(plan_options const& options) {
  constexpr char none[] = "this model has no experts; leave it out";
  if (options.slots) { throw option_error("--slots", std::to_string(*options.slots), none); }
  if (options.buffer == prefill_buffer::required) {
    throw option_error("--prefill-buffer", "required", none);
  }
  if (options.deployment.experts_stored) {
    throw option_error("--expert-format", model::name_of(*options.deployment.experts_stored), none);
  }
}

}  // namespace

plan_request::plan_request(model::model_geometry const& model, plan_options const& options)
    : pools_{model::describe(model, options.deployment)} {
  request_.budget =
      budget::share_of({options.free_bytes}, options.ratio, {options.weights_bytes.value_or(0)});
  names_.reserve(options.charges.size());
  for (auto const& one : options.charges) {
    names_.push_back(one.name);
    charges_.push_back({borrowed(names_.back()), {one.bytes}});
  }
  request_.charges = {charges_.data(), static_cast<std::int64_t>(charges_.size())};
  std::visit([this](auto const& family) { kv_.emplace_back(family); }, pools_.kv);
  request_.kv = {kv_.data(), static_cast<std::int64_t>(kv_.size())};
  if (pools_.state) { request_.state = *pools_.state; }
  if (pools_.experts) {
    request_.experts = *pools_.experts;
    request_.experts->buffer = options.buffer;
    if (options.slots) { request_.experts->pinned_slots = expert_slots{*options.slots}; }
  } else {
    check_dense(options);
  }
  request_.objective = options.objective;
  set_demand(model, options);
  add_notes(model, options);
}

void plan_request::set_demand(model::model_geometry const& model, plan_options const& options) {
  auto& demand = request_.demand;
  bool const context_first = options.objective == objective::context_first;
  if (context_first) {
    auto const target = options.context_tokens ? options.context_tokens : model.max_positions;
    if (target) {
      demand.target_tokens = tokens{*target};
      demand.min_tokens = {std::min(demand.min_tokens.count, *target)};
    } else if (!options.max_tokens) {
      throw option_error("--context", "",
                         "missing, and the configuration has no max_position_embeddings; "
                         "expected the tokens that --objective context_first aims at");
    }
  } else if (options.context_tokens) {
    demand.min_tokens = {*options.context_tokens};
  }
  if (options.max_tokens) { demand.max_tokens = tokens{*options.max_tokens}; }
  if (options.pages) { demand.pinned_pages = usable_pages{*options.pages}; }
  if (options.tokens) { demand.pinned_tokens = tokens{*options.tokens}; }
}

void plan_request::add_notes(model::model_geometry const& model, plan_options const& options) {
  if (!options.weights_bytes) {
    notes_.emplace_back(
        "--weights is not given: 0 bytes of resident weights are counted. The plan holds only if "
        "the weights are already outside --free");
  }
  constexpr std::int64_t mib = 1 << 20;
  if (options.free_bytes < mib) {
    notes_.push_back("--free " + grouped(options.free_bytes) +
                     " is that many bytes; 24GiB is 24 gibibytes");
  }
  notes_.insert(notes_.end(), pools_.notes.begin(), pools_.notes.end());
  if (options.context_tokens && model.max_positions &&
      *options.context_tokens > *model.max_positions) {
    notes_.push_back("--context asks for " + grouped(*options.context_tokens) +
                     " tokens in the cache; one sequence of this model has at most " +
                     grouped(*model.max_positions));
  }
  bool const pinned = options.pages || options.tokens;
  std::string const pin = options.pages ? "--pages " + grouped(options.pages.value_or(0))
                                        : "--tokens " + grouped(options.tokens.value_or(0));
  if (pinned && options.context_tokens) {
    notes_.push_back("--context " + grouped(*options.context_tokens) + " has no effect: " + pin +
                     " replaces it");
  }
  if (pinned && options.max_tokens) {
    notes_.push_back("--max-tokens " + grouped(*options.max_tokens) + " has no effect: " + pin +
                     " replaces it");
  }
  if (options.max_running_given && !pools_.state) {
    notes_.push_back("--max-running " + grouped(options.deployment.max_running) +
                     " changes nothing: this model keeps no state for each request");
  }
}

}  // namespace allot::tools
