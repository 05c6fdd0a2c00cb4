// SPDX-License-Identifier: Apache-2.0
// Why a model could not be read.
#pragma once

#include <stdexcept>
#include <string>

namespace allot::model {

/// Thrown by the readers; `what()` is one sentence naming the file, the field, its value and what
/// would be right.
class config_error : public std::runtime_error {
 public:
  /// \param file   name of the file as the user gave it
  /// \param field  dotted path of the field, empty when the file itself is the problem
  /// \param value  the value as JSON, shortened; empty when the field is missing
  /// \param right  what would be right
  config_error(std::string const& file, std::string field, std::string const& value,
               std::string const& right)
      : std::runtime_error(
            file + ": " +
            (field.empty() ? "" : field + (value.empty() ? "" : " = " + value) + ": ") + right),
        field_{std::move(field)} {}

  /// \returns the dotted path of the field, empty when the file itself is the problem
  [[nodiscard]] std::string const& field() const { return field_; }

 private:
  std::string field_;
};

}  // namespace allot::model
