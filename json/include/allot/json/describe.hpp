// SPDX-License-Identifier: Apache-2.0
// What people read: a sentence for every refusal, note and fault, and the words of the contract.
#pragma once

#include <allot/describe.hpp>
#include <allot/json/read_fault.hpp>
#include <allot/solve/request.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace allot::json {

/// \returns  the word of the contract: "floors_exceed_budget"
[[nodiscard]] std::string_view name_of(solve_error e);
[[nodiscard]] std::string_view name_of(note_code c);
/// \returns  next_step, max_tokens, pinned or all_resident. The contract has no word of its own for
///           `max_slots`: what is left is less than the next page, so it is next_step.
[[nodiscard]] std::string_view name_of(left_reason r);
[[nodiscard]] std::string_view name_of(pool_unit u);
[[nodiscard]] std::string_view name_of(element e);
[[nodiscard]] std::string_view name_of(prefill_buffer b);
[[nodiscard]] std::string_view name_of(objective o);
[[nodiscard]] std::string_view name_of(arrangement a);

/// Appends "12348030976 bytes (11.50 GiB)"; the parenthesis from 1 KiB on.
void append_bytes(std::string& out, std::int64_t bytes);

/// Appends a sentence: what is short and by how much, or which field holds what and what would be
/// right. No full stop at its end.
///
/// \param asked  the request that was refused
/// \param table  of `asked`
void describe(std::string& out, refusal const& r, request const& asked, table_view const& table);

/// Appends a sentence with both numbers of the note.
void describe(std::string& out, note const& n);

/// Appends a sentence: why the bytes that are left are left.
void describe(std::string& out, left_reason r);

/// Appends a sentence: where the line stops being a request, and what would be right there.
void describe(std::string& out, read_fault const& f);

/// Appends "set demand.min_tokens to 4096" or "remove demand.pages".
///
/// \param stated_budget  whether the request gives `budget.bytes`
void describe(std::string& out, repair const& r, bool stated_budget);

}  // namespace allot::json
