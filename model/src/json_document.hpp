// SPDX-License-Identifier: Apache-2.0
// One JSON document, parsed strictly: a duplicate key or absurd nesting is an error, not a guess.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace allot::model {

/// Parses `text` into an object.
/// \errors throws `config_error` on malformed JSON, duplicate keys, nesting deeper than 64, numbers
///         no double holds, or a document that is not an object
[[nodiscard]] nlohmann::json parse_document(std::string_view text, std::string const& file);

/// \returns `value` as JSON on one line, at most 48 characters
[[nodiscard]] std::string shown(nlohmann::json const& value);

}  // namespace allot::model
