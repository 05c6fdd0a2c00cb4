// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/json/solve_lines.hpp>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

/// Asking the solver what a user asks it: JSON in, JSON out.
namespace allot_test {

using document = nlohmann::ordered_json;

/// The text of the answer to one line, without its newline.
inline std::string answer_text(std::string_view line) {
  static thread_local allot::json::line_solver solver;
  std::string out;
  solver.answer(line, out);
  if (!out.empty() && out.back() == '\n') { out.pop_back(); }
  return out;
}

inline document answer_to(document const& request) {
  return document::parse(answer_text(request.dump()));
}

/// A list of one: braces would leave it to the compiler whether that is a list.
inline document only(document const& item) {
  document list = document::array();
  list.push_back(item);
  return list;
}

/// The parts of "kv[0].index.head_dim": names as strings, positions as numbers.
inline std::vector<document> parts_of(std::string_view path) {
  std::vector<document> parts;
  while (!path.empty()) {
    if (path.front() == '.') { path.remove_prefix(1); }
    if (path.front() == '[') {
      auto const end = path.find(']');
      parts.emplace_back(std::strtoull(std::string{path.substr(1, end - 1)}.c_str(), nullptr, 10));
      path.remove_prefix(end + 1);
    } else {
      auto const end = std::min(path.find_first_of(".["), path.size());
      parts.emplace_back(std::string{path.substr(0, end)});
      path.remove_prefix(end);
    }
  }
  return parts;
}

/// Where a path leads; objects on the way are created.
inline document& at_path(document& request, std::string_view path) {
  document* at = &request;
  for (document const& part : parts_of(path)) {
    if (part.is_string()) {
      if (at->is_null()) { *at = document::object(); }
      at = &(*at)[part.get<std::string>()];
    } else {
      at = &at->at(part.get<std::size_t>());
    }
  }
  return *at;
}

/// The request with `{"set": path, "to": value}` made; null removes the field.
inline document apply(document request, document const& repair) {
  std::string const path = repair.at("set");
  if (!repair.at("to").is_null()) {
    at_path(request, path) = repair.at("to");
    return request;
  }
  auto const cut = path.rfind('.');
  document& parent = cut == std::string::npos ? request : at_path(request, path.substr(0, cut));
  parent.erase(cut == std::string::npos ? path : path.substr(cut + 1));
  return request;
}

}  // namespace allot_test
