// SPDX-License-Identifier: Apache-2.0
// Answers of the solve contract as JSON text.
#pragma once

#include <allot/json/read_fault.hpp>
#include <allot/solve/request.hpp>

#include <span>
#include <string>
#include <string_view>

namespace allot::json {

/// A repair of a field that the solver does not know: it is set to a number, or removed.
struct field_repair {
  std::string path{};        ///< "budget" is set to {"bytes": to}
  maybe<std::int64_t> to{};  ///< absent: removed
};

/// What an answer is about. Everything is borrowed.
struct answered {
  std::string_view id = "null";  ///< JSON text
  request const& asked;
  table_view const& table;  ///< of `asked`
  outcome const& found;
  std::span<std::string_view const> families{};  ///< [kv pools] as spelled; empty: the table's
  std::span<field_repair const> more_repairs{};  ///< beside those of a refusal
};

/// Appends one answer, `{…}` without a newline, fields in the order of the contract.
void append_answer(std::string& out, answered const& a);

/// Appends the fields of an answer without the braces and without `id`: for an answer that has
/// more of them (`allot plan --json`).
void append_answer_fields(std::string& out, answered const& a);

/// Appends the answer to a line that is not a request.
///
/// \param id  JSON text; "null" when it is not known
void append_fault(std::string& out, std::string_view id, read_fault const& fault,
                  std::span<field_repair const> repairs);

/// Appends `request` as JSON: what `allot solve` reads as the same request.
void append_request(std::string& out, request const& r,
                    std::span<std::string_view const> families = {});

/// Appends `text` as a JSON string, quotes included. What is not UTF-8 becomes U+FFFD.
void append_string(std::string& out, std::string_view text);

}  // namespace allot::json
