// SPDX-License-Identifier: Apache-2.0
// JSON text, appended to a string: no document in between.
#pragma once

#include <allot/core/view.hpp>
#include <allot/json/answer_writer.hpp>

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace allot::json {

inline std::string_view characters_of(text t) {
  return {t.data, static_cast<std::size_t>(t.size)};
}

inline void append_number(std::string& out, std::int64_t value) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

/// Appends the shortest text that reads back as the same double.
inline void append_number(std::string& out, double value) {
  char digits[32];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

/// Appends `,"name":` (`"name":` after an opening brace) and the value.
///
/// \param name  needs no escapes
inline void append_name(std::string& out, std::string_view name) {
  if (out.empty() || (out.back() != '{' && out.back() != '[')) { out += ','; }
  out += '"';
  out += name;
  out += "\":";
}
inline void append_field(std::string& out, std::string_view name, std::int64_t value) {
  append_name(out, name);
  append_number(out, value);
}
inline void append_field(std::string& out, std::string_view name, double value) {
  append_name(out, name);
  append_number(out, value);
}
inline void append_field(std::string& out, std::string_view name, bool value) {
  append_name(out, name);
  out += value ? "true" : "false";
}
inline void append_field(std::string& out, std::string_view name, std::string_view value) {
  append_name(out, name);
  append_string(out, value);
}
void append_field(std::string& out, std::string_view name, char const* value) = delete;

/// Appends a comma, unless a list or an object has just been opened.
inline void append_separator(std::string& out) {
  if (out.back() != '{' && out.back() != '[') { out += ','; }
}

}  // namespace allot::json
