// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../json/solving.hpp"

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace allot_test {

inline std::string vector_path(char const* name) {
  return std::string{ALLOT_VECTORS} + '/' + name;
}

/// One document.
inline document load(char const* name) {
  std::ifstream in{vector_path(name)};
  if (!in) { throw std::runtime_error{vector_path(name) + " is not there"}; }
  return document::parse(in);
}

/// One document a line.
inline std::vector<document> load_lines(char const* name) {
  std::ifstream in{vector_path(name)};
  if (!in) { throw std::runtime_error{vector_path(name) + " is not there"}; }
  std::vector<document> rows;
  for (std::string line; std::getline(in, line);) {
    rows.push_back(document::parse(line));
  }
  return rows;
}

/// What of an answer a vector states, in the words and the order of `want`.
inline document as_wanted(document const& answer, document const& want) {
  document out = document::object();
  for (auto const& [name, value] : want.items()) {
    if (name == "shortfall") {
      out[name] = answer.contains("shortfall_bytes") ? answer["shortfall_bytes"] : document{};
    } else if (name == "notes") {
      out[name] = document::array();
      for (document const& note : answer.value("notes", document::array())) {
        out[name].push_back(note.at("code"));
      }
    } else if (name == "pools") {
      out[name] = answer.value("pools", document::array());
      for (document& pool : out[name]) {
        pool.erase("name");
      }
    } else if (answer.contains(name)) {
      out[name] = answer[name];
    } else if (answer.contains("bytes") && answer["bytes"].contains(name)) {
      out[name] = answer["bytes"][name];
    } else {
      out[name] = nullptr;
    }
  }
  return out;
}

}  // namespace allot_test
