// SPDX-License-Identifier: Apache-2.0
// The C boundary: nothing is thrown across it.
#define ALLOT_JSON_BUILD
#include <allot/allot_json.h>
#include <allot/json/solve_lines.hpp>

#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>

namespace {

std::string answers_to(std::string_view lines) {
  std::string out;
  allot::json::line_solver solver;
  while (!lines.empty()) {
    std::size_t const end = lines.find('\n');
    std::size_t const before = out.size();
    bool const request = solver.answer(lines.substr(0, end), out);
    if (!request && out.size() == before) { throw std::bad_alloc{}; }
    if (end == std::string_view::npos) { break; }
    lines.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace

extern "C" ptrdiff_t allot_solve_json(char const* in, size_t in_len, char* out, size_t out_cap) {
  bool const missing = (in == nullptr && in_len > 0) || (out == nullptr && out_cap > 0);
  if (missing) { return ALLOT_JSON_BAD_ARGUMENT; }
  try {
    std::string const answers = in_len > 0 ? answers_to({in, in_len}) : std::string{};
    std::size_t const size = answers.size();
    if (size <= out_cap) {
      if (size > 0) { std::memcpy(out, answers.data(), size); }
      if (size < out_cap) { out[size] = '\0'; }
    } else if (out_cap > 0) {
      out[0] = '\0';
    }
    return static_cast<ptrdiff_t>(size);
  } catch (std::exception const&) { return ALLOT_JSON_NO_MEMORY; }
}
