// SPDX-License-Identifier: Apache-2.0
// Values as they are written, for messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace allot::json {

/// \returns  `written`, cut at a character when it is longer than `most` bytes
[[nodiscard]] inline std::string shortened(std::string_view written, std::size_t most = 80) {
  if (written.size() <= most) { return std::string{written}; }
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(written[end]) & 0xC0U) == 0x80U) {
    --end;
  }
  return std::string{written.substr(0, end)} + "…";
}

/// \returns  the same in quotes: the value of a string
[[nodiscard]] inline std::string quoted(std::string_view characters) {
  return '"' + shortened(characters) + '"';
}

}  // namespace allot::json
