// SPDX-License-Identifier: Apache-2.0
// Repairs of a line that is not a request, and of refusals whose cause the solver cannot change.
#pragma once

#include <allot/json/answer_writer.hpp>
#include <allot/json/read_fault.hpp>
#include <allot/json/request_reader.hpp>

#include <span>
#include <string_view>
#include <vector>

namespace allot::json {

/// The request with its granularity rounded up to a multiple of `least`; one that is not legal, or
/// would overflow, is left for `solve` to refuse.
request with_granularity(request r, std::int64_t least);

/// Finds single changes that make a line solvable. Each is tried before it is listed, on the line
/// itself: read without the field, solved with another number in it. The model's geometry is never
/// changed.
class fault_repairs {
 public:
  explicit fault_repairs(std::int64_t least_granularity) : least_granularity_{least_granularity} {}

  /// Of a line with a fault. Listed is, first of all that works:
  /// the nearest number, of a setting out of range, and the line without the field, or without the
  /// alternative that excludes it;
  /// a number for a setting that is missing or of the wrong type; a budget; the line without
  /// `demand`, without `charges`.
  ///
  /// \param as_read  what the line was read as
  /// \returns        valid until the next call
  std::span<field_repair const> of(std::string_view line, request const& as_read,
                                   read_fault const& fault);

  /// Of a refusal without repairs of its own: a granularity that takes too much.
  std::span<field_repair const> of(request const& refused);

 private:
  outcome solve(request const& r);
  bool is_clean_without(std::string_view line, std::string_view path);
  void add_number(std::string_view line, request const& as_read, read_fault const& fault);
  void add_removal(std::string_view line, std::string_view path);
  void add_budget(std::string_view line, request const& as_read);

  std::int64_t least_granularity_;
  request_reader reader_;
  owned_request changed_;
  table_storage storage_;
  table_view table_;
  std::vector<field_repair> found_;
};

}  // namespace allot::json
