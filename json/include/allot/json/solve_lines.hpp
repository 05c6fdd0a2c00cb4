// SPDX-License-Identifier: Apache-2.0
// Requests in, answers out: JSON Lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace allot::json {

struct answered;

/// How lines are answered, where it is not as the contract's `solve`.
struct line_options {
  /// Every request's granularity is rounded up to a multiple of it: what an allocation is aligned
  /// to.                                                                                    [>= 1]
  std::int64_t least_granularity = 1;

  /// Appends the answer to a request that has a plan, `{…}` without a newline; empty: the plan.
  std::function<void(std::string& out, answered const& a)> answer_plan{};
};

/// Answers one line after another, with memory that is reused.
class line_solver {
 public:
  explicit line_solver(line_options options = {});
  ~line_solver();
  line_solver(line_solver const&) = delete;
  line_solver& operator=(line_solver const&) = delete;

  /// Appends the answer to `line` and a newline; nothing for a blank line.
  ///
  /// \param line  without its newline; a carriage return at its end is white space
  /// \returns     whether the line was a request: false when it is not JSON or its answer is
  ///              `bad_input`. Every other refusal is an answer like a plan.
  /// \errors      never throws: what goes wrong is in the answer, out of memory included. Without
  ///              memory for even that, nothing is appended and the line is no request.
  bool answer(std::string_view line, std::string& out) noexcept;

 private:
  struct workspace;
  line_options options_;
  std::unique_ptr<workspace> work_;
};

/// What came of the lines.
struct lines_answered {
  std::int64_t lines = 0;         ///< answered; blank lines are none
  std::int64_t not_requests = 0;  ///< of them, lines that were not a request: exit status 2
};

/// The longest line that is read whole; a longer one is answered `bad_input`.
inline constexpr std::size_t longest_line = std::size_t{256} << 20;

/// Answers JSON Lines as they come, in order.
///
/// \param read   fills up to `size` bytes, returns how many; 0 at the end. It should return what
///               there is instead of waiting for more, so that a peer that waits for its answer
///               gets it.
/// \param write  takes whole answers. It is called before every `read` that follows a line, so
///               flushing in it is enough.
/// \cost         memory for the longest line, not for all of them
lines_answered solve_lines(std::function<std::size_t(char* to, std::size_t size)> const& read,
                           std::function<void(std::string_view answers)> const& write,
                           line_options const& options = {});

}  // namespace allot::json
