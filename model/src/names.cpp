// SPDX-License-Identifier: Apache-2.0
#include <allot/model/deployment.hpp>

#include <utility>

namespace allot::model {
namespace {

constexpr std::pair<element, char const*> elements[] = {
    {element::fp32, "fp32"}, {element::fp16, "fp16"}, {element::bf16, "bf16"},
    {element::fp8, "fp8"},   {element::int8, "int8"}, {element::fp4, "fp4"},
};

constexpr std::pair<expert_format, char const*> formats[] = {
    {expert_format::bf16, "bf16"},   {expert_format::fp8_block128, "fp8_block128"},
    {expert_format::nvfp4, "nvfp4"}, {expert_format::mxfp4, "mxfp4"},
    {expert_format::q4_0, "q4_0"},   {expert_format::q4_k, "q4_k"},
    {expert_format::q8_0, "q8_0"},
};

template <class Table, class Value>
std::string name_in(Table const& table, Value value) {
  for (auto const& [one, name] : table) {
    if (one == value) { return name; }
  }
  return {};
}

template <class Value, class Table>
std::optional<Value> value_in(Table const& table, std::string const& name) {
  for (auto const& [one, known] : table) {
    if (name == known) { return one; }
  }
  return std::nullopt;
}

template <class Table>
std::string names_in(Table const& table) {
  std::string out;
  for (auto const& one : table) {
    out += (out.empty() ? "" : ", ") + std::string{one.second};
  }
  return out;
}

}  // namespace

std::string name_of(element type) {
  return name_in(elements, type);
}
std::string name_of(expert_format format) {
  return name_in(formats, format);
}

std::optional<element> element_named(std::string const& name) {
  return value_in<element>(elements, name);
}
std::optional<expert_format> expert_format_named(std::string const& name) {
  return value_in<expert_format>(formats, name);
}

std::string element_names() {
  return names_in(elements);
}
std::string expert_format_names() {
  return names_in(formats);
}

}  // namespace allot::model
