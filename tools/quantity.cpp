// SPDX-License-Identifier: Apache-2.0
#include "quantity.hpp"

#include <charconv>
#include <limits>
#include <optional>

namespace allot::tools {
namespace {

__extension__ typedef __int128 wide;  // NOLINT(modernize-use-using): `using` would warn

constexpr auto most = std::numeric_limits<std::int64_t>::max();

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

char lowered(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) { return false; }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (lowered(a[i]) != lowered(b[i])) { return false; }
  }
  return true;
}

struct unit {
  std::string_view name;
  std::int64_t times;
};

constexpr std::int64_t kilo = 1000;
constexpr std::int64_t kibi = 1024;
constexpr unit byte_units[] = {
    {"", 1},
    {"B", 1},
    {"kB", kilo},
    {"KiB", kibi},
    {"MB", kilo* kilo},
    {"MiB", kibi* kibi},
    {"GB", kilo* kilo* kilo},
    {"GiB", kibi* kibi* kibi},
    {"TB", kilo* kilo* kilo* kilo},
    {"TiB", kibi* kibi* kibi* kibi},
};
constexpr unit token_units[] = {{"", 1}, {"k", kibi}, {"M", kibi* kibi}};

/// A decimal number as digits and a power of ten, and the text behind it.
struct decimal {
  std::string whole;      ///< digits before the point, leading zeros removed
  std::string fraction;   ///< digits after the point, trailing zeros removed
  std::string_view rest;  ///< what follows the number
};

std::optional<decimal> split(std::string_view text) {
  decimal out;
  std::size_t at = 0;
  while (at < text.size() && is_digit(text[at])) {
    ++at;
  }
  if (at == 0) { return std::nullopt; }
  out.whole = text.substr(0, at);
  if (at < text.size() && text[at] == '.') {
    auto const first = ++at;
    while (at < text.size() && is_digit(text[at])) {
      ++at;
    }
    if (at == first) { return std::nullopt; }
    out.fraction = text.substr(first, at - first);
  }
  out.whole.erase(0, out.whole.find_first_not_of('0'));
  out.fraction.erase(out.fraction.find_last_not_of('0') + 1);
  if (at < text.size() && text[at] == ' ') { ++at; }
  out.rest = text.substr(at);
  return out;
}

enum class outcome : std::uint8_t { exact, too_large, not_whole };

struct product {
  outcome how = outcome::exact;
  std::int64_t value = 0;    ///< exact, or rounded down when it is not whole
  std::int64_t nearest = 0;  ///< the nearest whole number
};

/// number * unit_size, exactly. Of a fraction, 18 digits are carried; a longer one reads as not
/// whole.
product times(decimal const& number, std::int64_t unit_size) {
  if (number.whole.size() > 19) { return {outcome::too_large, 0, 0}; }
  wide whole = 0;
  for (char const c : number.whole) {
    whole = whole * 10 + (c - '0');
  }
  whole *= unit_size;
  if (whole > most) { return {outcome::too_large, 0, 0}; }
  bool exact = true;
  wide numerator = 0;
  wide denominator = 1;
  for (std::size_t i = 0; i < number.fraction.size(); ++i) {
    if (i == 18) {
      exact = false;
      break;
    }
    numerator = numerator * 10 + (number.fraction[i] - '0');
    denominator *= 10;
  }
  numerator *= unit_size;
  exact = exact && numerator % denominator == 0;
  whole += numerator / denominator;
  auto const nearest = whole + (numerator % denominator * 2 >= denominator ? 1 : 0);
  if (nearest > most) { return {outcome::too_large, 0, 0}; }
  return {exact ? outcome::exact : outcome::not_whole, static_cast<std::int64_t>(whole),
          static_cast<std::int64_t>(nearest)};
}

std::string text_of(std::int64_t value) {
  return std::to_string(value);
}

/// Reads a number that is all of the text.
template <class Number>
std::errc read_whole(std::string_view text, Number& value) {
  char const* const first = text.data();
  char const* const last = first + text.size();
  auto const [stop, error] = std::from_chars(first, last, value);
  return error == std::errc{} && stop != last ? std::errc::invalid_argument : error;
}

constexpr std::string_view size_form =
    "expected a size: plain bytes, or a number with MiB, GiB, TiB (powers of 1024) or MB, GB, TB "
    "(powers of 1000), such as 24GiB";
constexpr std::string_view token_form =
    "expected a number of tokens of at least 1, plain or with k (1024) or M, such as 8192 or 128k";

}  // namespace

option_error::option_error(std::string_view option, std::string_view value, std::string_view right)
    : std::runtime_error(std::string{option} + (value.empty() ? "" : " ") + std::string{value} +
                         ": " + std::string{right}) {}

std::int64_t parse_bytes(std::string_view option, std::string_view text) {
  if (text.empty()) { throw option_error(option, "\"\"", size_form); }
  auto const number = split(text);
  if (!number) { throw option_error(option, text, size_form); }
  for (auto const& one : byte_units) {
    if (!equal_ignoring_case(number->rest, one.name)) { continue; }
    auto const result = times(*number, one.times);
    if (result.how == outcome::too_large) {
      throw option_error(option, text, "expected at most 9223372036854775807 bytes");
    }
    if (result.how == outcome::not_whole && one.times == 1) {
      throw option_error(option, text,
                         "not a whole number of bytes; expected " + text_of(result.value) + " or " +
                             text_of(result.value + 1));
    }
    return result.nearest;
  }
  for (std::string_view const prefix : {"k", "M", "G", "T"}) {
    if (!equal_ignoring_case(number->rest, prefix)) { continue; }
    std::string const binary = prefix == "k" ? "K" : std::string{prefix};
    auto right = std::string{"ambiguous; expected "};
    auto const digits = text.substr(0, text.size() - number->rest.size());
    right.append(digits).append(binary).append("iB (powers of 1024) or ");
    right.append(digits).append(prefix).append("B (powers of 1000)");
    throw option_error(option, text, right);
  }
  throw option_error(option, text, size_form);
}

std::int64_t parse_tokens(std::string_view option, std::string_view text) {
  if (text.empty()) { throw option_error(option, "\"\"", token_form); }
  auto const number = split(text);
  if (!number) { throw option_error(option, text, token_form); }
  for (auto const& one : token_units) {
    if (!equal_ignoring_case(number->rest, one.name)) { continue; }
    auto const result = times(*number, one.times);
    if (result.how == outcome::too_large) {
      throw option_error(option, text, "expected at most 9223372036854775807 tokens");
    }
    if (result.how == outcome::not_whole) {
      throw option_error(option, text,
                         "not a whole number of tokens; expected " + text_of(result.value) +
                             " or " + text_of(result.value + 1));
    }
    if (result.value < 1) { throw option_error(option, text, token_form); }
    return result.value;
  }
  throw option_error(option, text, token_form);
}

std::int64_t parse_count(std::string_view option, std::string_view text) {
  std::int64_t value = 0;
  auto const error = read_whole(text, value);
  if (error == std::errc::result_out_of_range) {
    throw option_error(option, text, "expected an integer from 1 to 9223372036854775807");
  }
  if (error != std::errc{} || value < 1) {
    throw option_error(option, text.empty() ? "\"\"" : text, "expected an integer of at least 1");
  }
  return value;
}

double parse_share(std::string_view option, std::string_view text) {
  double value = 0;
  if (read_whole(text, value) != std::errc{} || !(value > 0 && value <= 1)) {
    throw option_error(option, text.empty() ? "\"\"" : text,
                       "expected a number above 0 and at most 1, such as 0.9");
  }
  return value;
}

named_bytes parse_charge(std::string_view option, std::string_view text) {
  auto const at = text.rfind('=');
  if (at == std::string_view::npos || at == 0) {
    throw option_error(option, text.empty() ? "\"\"" : text,
                       "expected NAME=BYTES, such as workspace=512MiB");
  }
  auto const name = text.substr(0, at);
  for (char const c : name) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      throw option_error(option, "\"...\"", "a name is printable text, such as workspace=512MiB");
    }
  }
  return {std::string{name},
          parse_bytes(std::string{option} + " " + std::string{name}, text.substr(at + 1))};
}

}  // namespace allot::tools
