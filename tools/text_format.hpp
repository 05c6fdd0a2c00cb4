// SPDX-License-Identifier: Apache-2.0
// Numbers, sizes and paragraphs as text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace allot::tools {

/// \returns 1234567 as "1,234,567"
[[nodiscard]] std::string grouped(std::int64_t value);

/// \param exact  every byte ("26,843,545,600 B"), else the unit that suits ("25.00 GiB")
[[nodiscard]] std::string size_text(std::int64_t bytes, bool exact);

/// \returns part of whole as "62.4 %"; "0.0 %" of nothing. Rounded down, so that only all is 100.0
[[nodiscard]] std::string share_text(std::int64_t part, std::int64_t whole);

/// \returns the columns a bar of `part` in `whole` fills; at least 1 from a tenth of a percent on
[[nodiscard]] std::size_t bar_length(std::int64_t part, std::int64_t whole, std::size_t columns);

/// \returns `text` in lines of at most `columns`, the first behind `first`, the others behind as
///          many spaces; a longer word keeps a line of its own
[[nodiscard]] std::string wrapped(std::string_view first, std::string_view text,
                                  std::size_t columns = 80);

/// \returns `left` and `right` in two columns; the lines of `right` stand below each other
/// \param width  columns of the left one, its indent of 2 included
[[nodiscard]] std::string two_columns(std::string left, std::string_view right, std::size_t width);

}  // namespace allot::tools
