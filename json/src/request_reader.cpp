// SPDX-License-Identifier: Apache-2.0
#include "request_builder.hpp"

#include <allot/json/request_reader.hpp>

#include <nlohmann/json.hpp>

namespace allot::json {

namespace {

/// Numbers past every double that are looked at; a text with more of them is not worth reading on.
constexpr std::size_t most_huge_numbers = 16;

}  // namespace

bool request_reader::read(std::string_view text, owned_request& into, std::string_view ignoring) {
  huge_.clear();
  if (auto const zero = text.find('\0'); zero != std::string_view::npos) {
    // The parser would take it for the end of the text.
    request_builder const cleared{into, fault_, 0, huge_, {}};
    fault_ = {.what = read_error::not_json, .error = solve_error::bad_input};
    fault_.value = "a zero byte";
    fault_.at = static_cast<std::int64_t>(zero);
    return false;
  }
  for (;;) {
    request_builder builder{into, fault_, text.size(), huge_, ignoring};
    nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
    auto const& stop = builder.stopped_at();
    if (!stop) { break; }
    // JSON puts no bound on numbers, the parser does. It is given 0 instead, and the builder what
    // was written, so that the fault names it and the rest is read as well.
    std::size_t const size = stop->text.size();
    if (huge_.size() == most_huge_numbers || size > stop->end) {
      fault_ = {.what = read_error::not_json, .error = solve_error::bad_input};
      fault_.value = "too many numbers out of range";
      fault_.at = static_cast<std::int64_t>(stop->end - size);
      break;
    }
    if (huge_.empty()) { patched_ = text; }
    huge_.emplace_back(stop->at, stop->text);
    patched_.replace(stop->end - size, size, size, ' ');
    patched_[stop->end - size] = '0';
    text = patched_;
  }
  return !fault_;
}

}  // namespace allot::json
