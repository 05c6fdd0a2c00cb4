// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/attention/calls.hpp>

#include <cstdint>
#include <string>

namespace allot::runtime::detail {

/// Refuses a call of attention by the field that is wrong: "decode: q.row_stride is 3; it must be a
/// multiple of 2". What passes costs a few comparisons, and no memory.
///
/// \errors  std::invalid_argument, of every check
class call_check {
 public:
  explicit call_check(char const* call) : call_{call} {}

  void at_least(char const* field, std::int64_t value, std::int64_t least) const {
    if (value < least) { refuse(field, std::to_string(value), at_least_words(least)); }
  }
  void at_most(char const* field, std::int64_t value, std::int64_t most) const {
    if (value > most) { refuse(field, std::to_string(value), "at most " + std::to_string(most)); }
  }
  void multiple_of(char const* field, std::int64_t value, std::int64_t unit) const {
    if (value % unit != 0) {
      refuse(field, std::to_string(value), "a multiple of " + std::to_string(unit));
    }
  }
  void finite(char const* field, float value) const;

  /// An address that is there and starts on a multiple of `unit` bytes.
  void address(char const* field, void const* value, std::int64_t unit) const;

  /// A stride along which rows are counted.
  struct extent_of_rows {
    char const* field;
    std::int64_t stride;  ///< bytes
    std::int64_t count;
  };

  /// Rows that do not overlap, whichever of the two strides is the smaller one: those that are
  /// written.
  void apart(extent_of_rows const& one, extent_of_rows const& other, std::int64_t row_bytes) const;

  /// Rows that are further than their length from the next one; a stride of 0 was forgotten.
  void not_closer(extent_of_rows const& rows, std::int64_t row_bytes) const;

  [[noreturn]] void refuse(std::string const& field, std::string const& value,
                           std::string const& right) const;

 private:
  static std::string at_least_words(std::int64_t least) {
    return "at least " + std::to_string(least);
  }

  char const* call_;
};

/// A cache that kernels can be pointed at. What needs an instance is asked for one by itself.
void check_cache(call_check const& check, kv_cache const& cache);

}  // namespace allot::runtime::detail
