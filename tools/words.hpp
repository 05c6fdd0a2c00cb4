// SPDX-License-Identifier: Apache-2.0
// The words of a command line, before anything takes them.
#pragma once

#include <string>
#include <vector>

namespace allot::tools {

/// \returns the word that at most two letters make of `word`; empty when none is that near
[[nodiscard]] std::string nearest_word(std::string const& word,
                                       std::vector<std::string> const& known);

/// \returns the words after the command's name. "--free -5" becomes "--free=-5": a value, not an
///          option, so that the message is about the value.
[[nodiscard]] std::vector<std::string> with_negative_values(int argc, char const* const* argv);

}  // namespace allot::tools
