// SPDX-License-Identifier: Apache-2.0
// Lines in from a file or the standard input, answers out to the standard output.
#pragma once

#include <allot/json/solve_lines.hpp>

#include <string>

namespace allot::tools {

/// Answers the lines of `file`, or of the standard input when it is "-", as they come.
///
/// \errors  std::runtime_error that names the file: it cannot be opened, read or written
json::lines_answered answer_lines(std::string const& file, json::line_options const& options = {});

}  // namespace allot::tools
