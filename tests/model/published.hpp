// SPDX-License-Identifier: Apache-2.0
// The published geometries in examples/models and the hand-checked facts of its index.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace allot::model_test {

/// \returns the text of a file under examples/models
[[nodiscard]] std::string text_of(std::string const& file);
/// \returns the path of a file under examples/models
[[nodiscard]] std::string path_of(std::string const& file);
/// \returns the entries of the index: {id, file, facts, note}
[[nodiscard]] std::vector<nlohmann::json> const& published();
/// \returns whether this version plans models of that family of the index
[[nodiscard]] bool is_planned(std::string const& family);
/// \returns a published configuration, to be changed by a test
[[nodiscard]] nlohmann::json config_of(std::string const& file);
/// \returns what reading `text` throws as its message, or "" when it reads
[[nodiscard]] std::string failure_of(std::string const& text);

}  // namespace allot::model_test
