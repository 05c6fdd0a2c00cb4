// SPDX-License-Identifier: Apache-2.0
#include "terminal.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace allot::tools {

std::string painter::operator()(colour which, std::string const& text) const {
  if (!on_ || text.empty()) { return text; }
  char const* code = "";
  switch (which) {
    case colour::none: return text;
    case colour::good: code = "1;32"; break;
    case colour::bad: code = "1;31"; break;
    case colour::warning: code = "33"; break;
    case colour::dim: code = "2"; break;
    case colour::strong: code = "1"; break;
  }
  return std::string{"\033["} + code + "m" + text + "\033[0m";
}

bool wants_colour() {
  auto const* const no_colour = std::getenv("NO_COLOR");
  if (no_colour != nullptr && *no_colour != '\0') { return false; }
  auto const* const terminal = std::getenv("TERM");
  if (terminal != nullptr && std::strcmp(terminal, "dumb") == 0) { return false; }
  return isatty(fileno(stdout)) != 0;
}

}  // namespace allot::tools
