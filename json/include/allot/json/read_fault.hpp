// SPDX-License-Identifier: Apache-2.0
// Why a line is not a request: where, what stands there, what would be right.
#pragma once

#include <allot/core/maybe.hpp>
#include <allot/table/fault.hpp>

#include <cstdint>
#include <string>

namespace allot::json {

/// What is wrong with a line.
enum class read_error : std::uint8_t {
  none,
  not_json,       ///< `value`: the parser's reason, `at`: byte offset in the line
  not_an_object,  ///< JSON, but not `{…}`
  unknown_field,  ///< no such field, or not one of this family: `expected` lists those there are
  repeated,       ///< the same key twice in one object
  wrong_value,    ///< wrong type, or a word that means nothing
  out_of_range,   ///< a number too small or too large
  too_big,        ///< an integer that 64 signed bits cannot hold
  missing,        ///< a field that must be given
  both_given,     ///< two alternatives: `path` and `other`
};

/// The fault a line is refused for: the first in the order of the errors (`bad_input`, `overflow`),
/// then in the order of the document.
struct read_fault {
  read_error what = read_error::none;
  solve_error error = solve_error::none;  ///< bad_input, or overflow for `too_big`
  std::string path{};                     ///< "kv[0].layers"; empty for the line itself
  std::string value{};                    ///< as written, shortened when long
  std::string expected{};                 ///< what would be right
  std::string other{};                    ///< the path of the other alternative
  std::int64_t at = 0;      ///< of `not_json`: byte offset in the line; else the position among
                            ///< the line's tokens
  bool removable = false;   ///< whether `path` names a field that stands in the line
  std::int64_t faults = 0;  ///< how many the line has
  maybe<std::int64_t> nearest{};  ///< of a setting (not of geometry): the nearest legal value, as
                                  ///< which it was read

  explicit operator bool() const { return what != read_error::none; }
};

}  // namespace allot::json
