// SPDX-License-Identifier: Apache-2.0
// What a misspelled word was meant to be.
#pragma once

#include <string>
#include <vector>

namespace allot::tools {

/// \returns the word that at most two letters make of `word`; empty when none is that near
[[nodiscard]] std::string nearest_word(std::string const& word,
                                       std::vector<std::string> const& known);

}  // namespace allot::tools
