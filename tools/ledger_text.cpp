// SPDX-License-Identifier: Apache-2.0
#include "ledger_text.hpp"
#include "text_format.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace allot::tools {
namespace {

constexpr std::size_t most_charges = 8;   ///< lines; a screen has room for no more
constexpr std::size_t longest_name = 20;  ///< columns

/// Sums the smallest charges into one line when there are too many.
void fold_charges(std::vector<ledger_line>& lines) {
  auto const is_charge = [](ledger_line const& one) { return one.origin == "declared"; };
  auto const charges = static_cast<std::size_t>(std::ranges::count_if(lines, is_charge));
  if (charges <= most_charges) { return; }
  std::vector<std::int64_t> sizes;
  for (auto const& one : lines) {
    if (is_charge(one)) { sizes.push_back(one.bytes); }
  }
  std::ranges::sort(sizes);
  auto const bound = sizes[charges - most_charges];
  ledger_line rest{"", 0, "declared"};
  std::size_t folded = 0;
  std::vector<ledger_line> kept;
  for (auto const& one : lines) {
    if (is_charge(one) && one.bytes <= bound) {
      rest.bytes += one.bytes;
      ++folded;
    } else {
      kept.push_back(one);
    }
  }
  rest.name = fmt::format("{} other charges", folded);
  auto const at = std::ranges::find_if_not(kept, is_charge);
  kept.insert(at, rest);
  lines = kept;
}

/// Cuts between characters, not inside one.
std::string shortened(std::string name) {
  if (name.size() <= longest_name) { return name; }
  std::size_t end = longest_name - 1;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0U) == 0x80U) {
    --end;
  }
  return name.substr(0, end) + "~";
}

}  // namespace

std::string ledger_text(std::vector<ledger_line> lines, std::int64_t whole, bool exact,
                        painter const& paint) {
  fold_charges(lines);
  std::size_t name_columns = 0;
  std::size_t size_columns = 0;
  for (auto& one : lines) {
    one.name = shortened(one.is_kv ? "kv cache (" + one.name + ")" : one.name);
    name_columns = std::max(name_columns, one.name.size());
    size_columns = std::max(size_columns, size_text(one.bytes, exact).size());
  }
  constexpr std::size_t origin_columns = 8;  // "modelled", "declared"
  auto const bar_columns =
      80 - 4 - name_columns - 2 - size_columns - 2 - 7 - 2 - 2 - origin_columns;
  std::string out;
  for (auto const& one : lines) {
    auto const bar = std::string(bar_length(one.bytes, whole, bar_columns), '#');
    auto const gap = std::string(bar_columns - bar.size(), ' ');
    out += fmt::format("    {:<{}}  {:>{}}  {:>7}  {}{}  {}\n", one.name, name_columns,
                       size_text(one.bytes, exact), size_columns, share_text(one.bytes, whole),
                       paint(colour::dim, bar), gap, one.origin);
  }
  return out;
}

}  // namespace allot::tools
