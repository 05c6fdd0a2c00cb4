// SPDX-License-Identifier: Apache-2.0
#include "text_format.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace allot::tools {

std::string grouped(std::int64_t value) {
  auto digits = std::to_string(value);
  std::size_t const first = value < 0 ? 1 : 0;
  for (auto at = digits.size(); at > first + 3; at -= 3) {
    digits.insert(at - 3, 1, ',');
  }
  return digits;
}

std::string size_text(std::int64_t bytes, bool exact) {
  if (exact) { return grouped(bytes) + " B"; }
  struct unit {
    char const* name;
    double size;
  };
  constexpr unit units[] = {
      {"TiB", 1099511627776.0}, {"GiB", 1073741824.0}, {"MiB", 1048576.0}, {"KiB", 1024.0}};
  auto const value = static_cast<double>(bytes);
  for (auto const& one : units) {
    if (value >= one.size || value <= -one.size) {
      return fmt::format("{:.2f} {}", value / one.size, one.name);
    }
  }
  return std::to_string(bytes) + " B";
}

std::string share_text(std::int64_t part, std::int64_t whole) {
  if (whole <= 0 || part <= 0) { return "0.0 %"; }
  auto const tenths = static_cast<long double>(part) * 1000.0L / static_cast<long double>(whole);
  auto const down = static_cast<std::int64_t>(tenths);
  return fmt::format("{}.{} %", down / 10, down % 10);
}

std::size_t bar_length(std::int64_t part, std::int64_t whole, std::size_t columns) {
  if (whole <= 0 || part <= 0) { return 0; }
  auto const share = static_cast<double>(part) / static_cast<double>(whole);
  if (share < 0.001) { return 0; }
  auto const length = static_cast<std::size_t>(std::lround(share * static_cast<double>(columns)));
  return length < 1 ? 1 : length > columns ? columns : length;
}

std::string wrapped(std::string_view first, std::string_view text, std::size_t columns) {
  std::string out{first};
  std::string const indent(first.size(), ' ');
  std::size_t used = first.size();
  bool at_start = true;
  while (!text.empty()) {
    auto const end = text.find(' ');
    auto const word = text.substr(0, end);
    if (!at_start && used + 1 + word.size() > columns) {
      out += "\n" + indent;
      used = indent.size();
      at_start = true;
    }
    if (!at_start) {
      out += ' ';
      ++used;
    }
    out += word;
    used += word.size();
    at_start = false;
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
  return out + "\n";
}

std::string two_columns(std::string left, std::string_view right, std::size_t width) {
  left.insert(0, "  ");
  left.resize(std::max(width, left.size() + 1), ' ');
  for (char const c : right) {
    left += c;
    if (c == '\n') { left.append(width, ' '); }
  }
  return left + "\n";
}

}  // namespace allot::tools
