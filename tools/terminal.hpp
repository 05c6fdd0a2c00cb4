// SPDX-License-Identifier: Apache-2.0
// Colour, only where a person looks.
#pragma once

#include <cstdint>
#include <string>

namespace allot::tools {

enum class colour : std::uint8_t { none, good, bad, warning, dim, strong };

/// Colours words, or leaves them alone.
class painter {
 public:
  explicit painter(bool on) : on_{on} {}

  /// \returns `text`, coloured when colours are on
  [[nodiscard]] std::string operator()(colour which, std::string const& text) const;

 private:
  bool on_;
};

/// \returns whether the standard output is a terminal that wants colours: NO_COLOR is not set (or
///          empty) and TERM is not "dumb"
[[nodiscard]] bool wants_colour();

}  // namespace allot::tools
