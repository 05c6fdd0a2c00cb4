// SPDX-License-Identifier: Apache-2.0
// Tokens of PTX text.
#pragma once

#include "common.hpp"

namespace ptxemu {

struct Token {
  string text;
  int line;
};

vector<Token> tokenize(string const& t);  // ends with an empty token
u64 parse_number(string s);
bool is_digit(char c);
vector<string> split_dots(string const& s);

}  // namespace ptxemu
