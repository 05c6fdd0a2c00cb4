// SPDX-License-Identifier: Apache-2.0
// Splits PTX text into tokens and parses numbers.
#include "lex.hpp"

#include <cctype>

namespace ptxemu {
namespace {

bool is_word(char c) {
  return isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%' || c == '.';
}

}  // namespace

bool is_digit(char c) {
  return isdigit(static_cast<unsigned char>(c)) != 0;
}

vector<Token> tokenize(string const& t) {
  vector<Token> out;
  int line = 1;
  size_t i = 0, n = t.size();
  while (i < n) {
    char c = t[i];
    if (c == '\n') {
      line++;
      i++;
    } else if (isspace(static_cast<unsigned char>(c))) {
      i++;
    } else if (c == '/' && t[i + 1] == '/') {
      while (i < n && t[i] != '\n')
        i++;
    } else if (c == '/' && t[i + 1] == '*') {
      while (!(t[i] == '*' && t[i + 1] == '/')) {
        if (t[i] == '\n') line++;
        i++;
      }
      i += 2;
    } else if (c == '"') {
      size_t j = t.find('"', i + 1);
      out.push_back({t.substr(i, j - i + 1), line});
      i = j + 1;
    } else if (is_word(c)) {
      size_t j = i;
      while (j < n && (is_word(t[j]) || (t[j] == ':' && t[j + 1] == ':' && (j += 1))))
        j++;
      string word = t.substr(i, j - i);
      if (word.rfind(".reg.", 0) == 0) {  // ".reg.b32" is written without a space by some tools
        out.push_back({".reg", line});
        word = word.substr(4);
      }
      out.push_back({word, line});
      i = j;
    } else {
      out.push_back({string(1, c), line});
      i++;
    }
  }
  out.push_back({"", 0});
  return out;
}

// Integer (any base), 0f/0d hexadecimal float, or decimal float (taken as f64).
u64 parse_number(string s) {
  if (s.size() > 1 && s[0] == '0' && strchr("fFdD", s[1]))
    return strtoull(s.c_str() + 2, nullptr, 16);
  if (s.find('.') != string::npos) return bit_cast<u64>(atof(s.c_str()));
  if (s.back() == 'U') s.pop_back();
  if (s.size() > 1 && s[0] == '0' && (s[1] == 'b' || s[1] == 'B')) {
    return strtoull(s.c_str() + 2, nullptr, 2);
  }
  return strtoull(s.c_str(), nullptr, 0);
}

vector<string> split_dots(string const& s) {
  vector<string> parts(1);
  for (char c : s) {
    if (c == '.') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

}  // namespace ptxemu
