// SPDX-License-Identifier: Apache-2.0
// Option values with units: sizes, tokens, counts, shares. Each reads exactly or says what is
// wrong.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace allot::tools {

/// A command-line option that cannot be used; `what()` names it, its value and what would be right.
class option_error : public std::runtime_error {
 public:
  /// \param option  "--free"
  /// \param value   as given; empty when the option is missing
  /// \param right   what would be right
  option_error(std::string_view option, std::string_view value, std::string_view right);
};

/// Reads a size: plain bytes, or a number with B, kB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB,
/// TiB (powers of 1024), in any case. A fraction of a unit is rounded to the nearest byte: 1.5GiB
/// is 1,610,612,736, and 2.9GiB is 3,113,851,290. "24G" is refused: it means either.
/// \returns bytes, >= 0
/// \errors throws `option_error`
[[nodiscard]] std::int64_t parse_bytes(std::string_view option, std::string_view text);

/// Reads a number of tokens: plain, or with k, M as model cards write them: 32k = 32,768,
/// 128K = 131,072, 1M = 1,048,576.
/// \returns tokens, >= 1
/// \errors throws `option_error`
[[nodiscard]] std::int64_t parse_tokens(std::string_view option, std::string_view text);

/// Reads a plain count. \returns a count, >= 1 \errors throws `option_error`
[[nodiscard]] std::int64_t parse_count(std::string_view option, std::string_view text);

/// Reads a share. \returns a number above 0 and at most 1 \errors throws `option_error`
[[nodiscard]] double parse_share(std::string_view option, std::string_view text);

/// One named fixed line.
struct named_bytes {
  std::string name;        ///< not empty
  std::int64_t bytes = 0;  ///< >= 0
};

/// Reads NAME=BYTES. \errors throws `option_error`
[[nodiscard]] named_bytes parse_charge(std::string_view option, std::string_view text);

}  // namespace allot::tools
