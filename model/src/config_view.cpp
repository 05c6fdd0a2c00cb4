// SPDX-License-Identifier: Apache-2.0
#include "config_view.hpp"
#include "json_document.hpp"

#include <allot/model/config_error.hpp>

namespace allot::model {
namespace {

using nlohmann::json;

/// Counts beyond this are no model: every dimension and token count fits, every product is checked.
constexpr std::int64_t largest = std::int64_t{1} << 53;

std::string joined(config_view::names aliases) {
  std::string out;
  for (auto const name : aliases) {
    if (!out.empty()) { out += " or "; }
    out += name;
  }
  return out;
}

}  // namespace

config_view::config_view(json const& document, std::string file)
    : top_{document}, text_{&document}, file_{std::move(file)} {
  auto const nested = document.find("text_config");
  if (nested == document.end() || nested->is_null()) { return; }
  if (!nested->is_object()) {
    fail({&*nested, "text_config"}, "expected an object: the configuration of the text model");
  }
  text_ = &*nested;
  prefix_ = "text_config.";
}

config_view::found config_view::look(json const& object, std::string_view name,
                                     std::string_view prefix) {
  auto const at = object.find(name);
  if (at == object.end() || at->is_null()) { return {}; }
  return {&*at, std::string{prefix} + std::string{name}};
}

config_view::found config_view::find(std::string_view name) const {
  return look(*text_, name, prefix_);
}

config_view::found config_view::find_anywhere(std::string_view name) const {
  if (auto const inner = find(name)) { return inner; }
  return look(top_, name, "");
}

std::int64_t config_view::as_integer(found const& field, std::int64_t least) const {
  auto const right = "expected an integer from " + std::to_string(least) + " to 2^53";
  auto const& value = *field.value;
  if (!value.is_number_integer()) { fail(field, right); }
  if (value.is_number_unsigned()) {
    auto const number = value.get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(largest)) { fail(field, right); }
  }
  auto const number = value.get<std::int64_t>();
  if (number < least || number > largest) { fail(field, right); }
  return number;
}

std::optional<std::int64_t> config_view::integer(names aliases, std::int64_t least) const {
  std::optional<std::int64_t> out;
  std::string first;
  for (auto const name : aliases) {
    auto const field = find(name);
    if (!field) { continue; }
    std::int64_t number = 0;
    if (field.value->is_array()) {
      if (field.value->empty()) { fail(field, "expected an integer, or a list with one a layer"); }
      bool begun = false;
      std::size_t index = 0;
      for (auto const& element : *field.value) {
        found const one{&element, field.path + "[" + std::to_string(index++) + "]"};
        auto const value = as_integer(one, least);
        if (begun && value != number) {
          fail(one, "differs from the layers before it (" + std::to_string(number) +
                        "); a plan needs one value for all layers");
        }
        number = value;
        begun = true;
      }
    } else {
      number = as_integer(field, least);
    }
    if (out && *out != number) {
      fail(field, "contradicts " + first + " = " + std::to_string(*out) + "; they are one fact");
    }
    out = number;
    first = field.path;
  }
  return out;
}

std::int64_t config_view::require(names aliases, std::string_view why, std::int64_t least) const {
  if (auto const value = integer(aliases, least)) { return *value; }
  fail_missing(joined(aliases), "missing; needed for " + std::string{why});
}

std::optional<std::string> config_view::text(std::string_view name) const {
  auto const field = find_anywhere(name);
  if (!field) { return std::nullopt; }
  if (!field.value->is_string()) { fail(field, "expected a string"); }
  return field.value->get<std::string>();
}

std::optional<bool> config_view::flag(std::string_view name) const {
  auto const field = find_anywhere(name);
  if (!field) { return std::nullopt; }
  if (!field.value->is_boolean()) { fail(field, "expected true or false"); }
  return field.value->get<bool>();
}

void config_view::fail(found const& field, std::string const& right) const {
  throw config_error(file_, field.path, shown(*field.value), right);
}

void config_view::fail_missing(std::string_view name, std::string const& right) const {
  throw config_error(file_, path(name), "", right);
}

std::string config_view::path(std::string_view name) const {
  return prefix_ + std::string{name};
}

}  // namespace allot::model
