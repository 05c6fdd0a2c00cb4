// SPDX-License-Identifier: Apache-2.0
#include "published.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace allot_test {

namespace {

using json = nlohmann::json;

std::vector<json> const& reports() {
  static std::vector<json> const all = [] {
    std::vector<json> lines;
    std::ifstream file{ALLOT_CASES};
    for (std::string line; std::getline(file, line);) {
      lines.push_back(json::parse(line));
    }
    return lines;
  }();
  return all;
}

/// Takes the fields of an object one by one, so that what nobody took is noticed.
class fields {
 public:
  fields(json const& object, std::string where) : object_{object}, where_{std::move(where)} {}
  ~fields() {
    INFO("in ", where_);
    CHECK(taken_ == object_.size());
  }
  fields(fields const&) = delete;
  fields& operator=(fields const&) = delete;

  json const* take(char const* name) {
    auto const found = object_.find(name);
    if (found == object_.end()) { return nullptr; }
    ++taken_;
    return &*found;
  }
  template <class T>
  void count(char const* name, T& into) {
    if (json const* const v = take(name)) { into = {v->get<std::int64_t>()}; }
  }
  template <class Unit>
  void maybe_count(char const* name, allot::maybe<allot::quantity<Unit>>& into) {
    if (json const* const v = take(name)) { into = allot::quantity<Unit>{v->get<std::int64_t>()}; }
  }

 private:
  json const& object_;
  std::string where_;
  std::size_t taken_ = 0;
};

}  // namespace

struct published::document {
  json row;
};

published::published(std::string const& id) : json_{std::make_unique<document>()} {
  for (json const& row : reports()) {
    if (row.at("id") == id) { json_->row = row; }
  }
  INFO("case ", id);
  REQUIRE_FALSE(json_->row.is_null());
  kind_ = json_->row.at("kind").get<std::string>();
  if (has("/given/budget")) { read_request(); }
}

published::~published() = default;

bool published::has(std::string const& pointer) const {
  return json_->row.contains(json::json_pointer{pointer});
}

std::int64_t published::number(std::string const& pointer) const {
  INFO(pointer);
  REQUIRE(has(pointer));
  return json_->row.at(json::json_pointer{pointer}).get<std::int64_t>();
}

std::vector<std::int64_t> published::numbers(std::string const& pointer) const {
  INFO(pointer);
  REQUIRE(has(pointer));
  return json_->row.at(json::json_pointer{pointer}).get<std::vector<std::int64_t>>();
}

std::string published::text(std::string const& pointer) const {
  INFO(pointer);
  REQUIRE(has(pointer));
  return json_->row.at(json::json_pointer{pointer}).get<std::string>();
}

void published::read_request() {
  fields given{json_->row.at("given"), "given"};
  if (json const* const b = given.take("budget")) {
    fields budget{*b, "budget"};
    budget.maybe_count("bytes", request_.budget.absolute);
  }
  if (json const* const list = given.take("charges")) {
    names_.reserve(list->size());
    for (json const& entry : *list) {
      fields charge{entry, "charges"};
      if (json const* const name = charge.take("name")) {
        names_.push_back(name->get<std::string>());
      }
      allot::charge c;
      c.name = {names_.back().data(), static_cast<std::int64_t>(names_.back().size())};
      charge.count("bytes", c.bytes);
      charges_.push_back(c);
    }
  }
  if (json const* const list = given.take("kv")) {
    for (json const& entry : *list) {
      fields pool{entry, "kv"};
      json const* const family = pool.take("family");
      REQUIRE((family != nullptr && *family == "raw"));
      allot::raw_pages raw;
      pool.count("page_bytes", raw.page_bytes);
      pool.count("page_tokens", raw.page_tokens);
      kv_.emplace_back(raw);
    }
  }
  if (json const* const e = given.take("experts")) {
    fields experts{*e, "experts"};
    allot::expert_bank bank;
    experts.count("slot_bytes", bank.slot_bytes);
    experts.count("per_layer", bank.per_layer);
    experts.count("layers", bank.layers);
    experts.maybe_count("max_slots", bank.max_slots);
    if (json const* const buffer = experts.take("prefill_buffer")) {
      REQUIRE(*buffer == "preferred");
    }
    request_.experts = bank;
  }
  if (json const* const d = given.take("demand")) {
    fields demand{*d, "demand"};
    demand.count("min_tokens", request_.demand.min_tokens);
    demand.maybe_count("tokens", request_.demand.pinned_tokens);
  }
  request_.kv = {kv_.data(), static_cast<std::int64_t>(kv_.size())};
  request_.charges = {charges_.data(), static_cast<std::int64_t>(charges_.size())};
}

allot::outcome published::solve() {
  return allot::solve(request_, storage_, table_);
}

std::vector<std::string> published::ids() {
  std::vector<std::string> out;
  for (json const& row : reports()) {
    out.push_back(row.at("id").get<std::string>());
  }
  return out;
}

}  // namespace allot_test
