// SPDX-License-Identifier: Apache-2.0
// Typed access to the fields of a config.json. Every failure names the field by its path.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace allot::model {

/// The text part of a configuration: the document itself, or its nested `text_config`.
class config_view {
 public:
  /// A field that is present and not null.
  struct found {
    nlohmann::json const* value = nullptr;  ///< null: absent
    std::string path;                       ///< dotted path from the top of the file
    explicit operator bool() const { return value != nullptr; }
  };
  using names = std::initializer_list<std::string_view>;

  /// \param document  must outlive the view
  config_view(nlohmann::json const& document, std::string file);

  /// \returns the field of the text part
  [[nodiscard]] found find(std::string_view name) const;
  /// \returns the field of the text part, else of the top of the file (for the few fields that
  ///          describe the whole model, such as its quantisation)
  [[nodiscard]] found find_anywhere(std::string_view name) const;

  /// \param aliases  names that different publishers give one fact; all present ones must agree
  /// \param least    smallest value that makes sense
  /// \returns the integer, or nothing when no alias is present. A list of equal integers (one a
  ///          layer) reads as that integer.
  [[nodiscard]] std::optional<std::int64_t> integer(names aliases, std::int64_t least = 1) const;
  /// As `integer`, but the field must be there. \param why  what it is needed for
  [[nodiscard]] std::int64_t require(names aliases, std::string_view why,
                                     std::int64_t least = 1) const;
  /// \returns the text, or nothing when absent
  [[nodiscard]] std::optional<std::string> text(std::string_view name) const;
  /// \returns the flag, or nothing when absent
  [[nodiscard]] std::optional<bool> flag(std::string_view name) const;

  /// Throws `config_error` for a field that was found.
  [[noreturn]] void fail(found const& field, std::string const& right) const;
  /// Throws `config_error` for a field that is missing; `path(name)` is how it would be spelled.
  [[noreturn]] void fail_missing(std::string_view name, std::string const& right) const;
  /// \returns the dotted path a field of the text part has
  [[nodiscard]] std::string path(std::string_view name) const;
  [[nodiscard]] std::string const& file() const { return file_; }

  /// \returns the field as an integer between `least` and 2^53
  [[nodiscard]] std::int64_t as_integer(found const& field, std::int64_t least) const;

 private:
  [[nodiscard]] static found look(nlohmann::json const& object, std::string_view name,
                                  std::string_view prefix);

  nlohmann::json const& top_;
  nlohmann::json const* text_;
  std::string prefix_;  ///< "text_config." or empty
  std::string file_;
};

}  // namespace allot::model
