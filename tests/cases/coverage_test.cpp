// SPDX-License-Identifier: Apache-2.0
#include "published.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

// Every report has a test that names it or a step that will: the table of README.md is held to the
// data and to the sources.

using allot_test::published;

namespace {

std::string read(std::filesystem::path const& path) {
  std::ifstream file{path};
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

struct entry {
  std::string kind;
  std::string where;
};

/// Rows `| id | kind | where |` of README.md.
std::map<std::string, entry> table() {
  std::map<std::string, entry> rows;
  std::istringstream lines{read(std::filesystem::path{ALLOT_CASE_TESTS} / "README.md")};
  for (std::string line; std::getline(lines, line);) {
    std::string cells[3];
    std::istringstream parts{line};
    std::string part;
    if (!std::getline(parts, part, '|') || !part.empty()) { continue; }
    for (std::string& cell : cells) {
      std::getline(parts, part, '|');
      std::size_t const from = part.find_first_not_of(' ');
      std::size_t const to = part.find_last_not_of(' ');
      if (from != std::string::npos) { cell = part.substr(from, to - from + 1); }
    }
    if (cells[0] == "case" || cells[0].starts_with("---")) { continue; }
    CAPTURE(cells[0]);
    CHECK(rows.emplace(cells[0], entry{cells[1], cells[2]}).second);
  }
  return rows;
}

}  // namespace

TEST_CASE("every report is in the table, with its kind and a test that names it or a step") {
  auto rows = table();
  int tested = 0;
  int later = 0;
  for (std::string const& id : published::ids()) {
    CAPTURE(id);
    auto const row = rows.find(id);
    REQUIRE(row != rows.end());
    CHECK(row->second.kind == published{id}.kind());
    std::string const& where = row->second.where;
    if (where.starts_with("step ")) {
      ++later;
    } else {
      auto const source = std::filesystem::path{ALLOT_CASE_TESTS} / where;
      CAPTURE(where);
      REQUIRE(std::filesystem::exists(source));
      CHECK(read(source).find('"' + id + '"') != std::string::npos);
      ++tested;
    }
    rows.erase(row);
  }
  CHECK(rows.empty());  // and nothing else is
  CHECK(tested >= 44);
  CHECK(tested + later == 49);
}
