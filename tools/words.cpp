// SPDX-License-Identifier: Apache-2.0
#include "words.hpp"

#include <algorithm>

namespace allot::tools {
namespace {

/// \returns the letters to insert, delete or replace to make one word the other
std::size_t distance(std::string const& a, std::string const& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    row[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto corner = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      auto const changed = corner + (a[i - 1] == b[j - 1] ? 0 : 1);
      corner = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest_word(std::string const& word, std::vector<std::string> const& known) {
  constexpr std::size_t longest = 64;  // letters; no option is that long
  if (word.size() > longest) { return {}; }
  std::string nearest;
  std::size_t least = 3;
  for (auto const& one : known) {
    if (auto const far = distance(word, one); far < least) {
      least = far;
      nearest = one;
    }
  }
  return nearest;
}

std::vector<std::string> with_negative_values(int argc, char const* const* argv) {
  std::vector<std::string> out;
  for (int i = 1; i < argc; ++i) {
    std::string const word = argv[i];
    bool const number =
        word.size() > 1 && word[0] == '-' && ((word[1] >= '0' && word[1] <= '9') || word[1] == '.');
    if (number && !out.empty() && out.back().starts_with("--") &&
        out.back().find('=') == std::string::npos) {
      out.back() += "=" + word;
    } else {
      out.push_back(word);
    }
  }
  return out;
}

}  // namespace allot::tools
