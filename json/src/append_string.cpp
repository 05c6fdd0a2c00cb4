// SPDX-License-Identifier: Apache-2.0
#include <allot/json/answer_writer.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::json {

namespace {

/// Bytes of the UTF-8 character at the front of `s`; 0 when it is none.
std::size_t character_size(std::string_view s) {
  auto const at = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  auto const continues = [&](std::size_t i, unsigned from = 0x80, unsigned to = 0xBF) {
    return i < s.size() && at(i) >= from && at(i) <= to;
  };
  unsigned const first = at(0);
  if (first < 0x80) { return 1; }
  if (first >= 0xC2 && first <= 0xDF) { return continues(1) ? 2 : 0; }
  if (first >= 0xE0 && first <= 0xEF) {
    bool const second = continues(1, first == 0xE0 ? 0xA0 : 0x80, first == 0xED ? 0x9F : 0xBF);
    return second && continues(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    bool const second = continues(1, first == 0xF0 ? 0x90 : 0x80, first == 0xF4 ? 0x8F : 0xBF);
    return second && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

void append_escaped(std::string& out, unsigned char c) {
  constexpr char digits[] = "0123456789abcdef";
  switch (c) {
    case '"': out += "\\\""; break;
    case '\\': out += "\\\\"; break;
    case '\n': out += "\\n"; break;
    case '\r': out += "\\r"; break;
    case '\t': out += "\\t"; break;
    default:
      out += "\\u00";
      out += digits[c >> 4U];
      out += digits[c & 15U];
  }
}

bool is_plain(unsigned char c) {
  return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
}

}  // namespace

void append_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    std::size_t plain = 0;
    while (plain < text.size() && is_plain(static_cast<unsigned char>(text[plain]))) {
      ++plain;
    }
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) { break; }
    auto const c = static_cast<unsigned char>(text.front());
    if (c < 0x80) {
      append_escaped(out, c);
      text.remove_prefix(1);
      continue;
    }
    std::size_t const size = character_size(text);
    if (size == 0) {
      out += "\xEF\xBF\xBD";
    } else {
      out += text.substr(0, size);
    }
    text.remove_prefix(size == 0 ? 1 : size);
  }
  out += '"';
}

}  // namespace allot::json
