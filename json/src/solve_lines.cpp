// SPDX-License-Identifier: Apache-2.0
#include "fault_repairs.hpp"

#include <allot/json/answer_writer.hpp>
#include <allot/json/describe.hpp>
#include <allot/json/request_reader.hpp>
#include <allot/json/solve_lines.hpp>

#include <cstring>
#include <exception>
#include <utility>
#include <vector>

namespace allot::json {

struct line_solver::workspace {
  explicit workspace(line_options const& options)
      : how{options}, repairs{options.least_granularity} {}

  line_options const& how;
  request_reader reader;
  owned_request asked;
  table_storage storage;
  table_view table;
  fault_repairs repairs;

  bool answer(std::string_view line, std::string& out);
  bool answer_fault(std::string_view line, std::string& out);
};

line_solver::line_solver(line_options options) : options_{std::move(options)} {}
line_solver::~line_solver() = default;

namespace {

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

/// Answers a line that was not even looked at. Returns false: it is no request.
bool refuse_line(std::string& out, std::string_view why) noexcept {
  std::size_t const before = out.size();
  try {
    out += R"({"id":null,"ok":false,"error":"bad_input","binding":"","text":)";
    append_string(out, why);
    out += ",\"repairs\":[]}\n";
  } catch (std::exception const&) {
    out.resize(before);  // not even that: the caller sees that there is no answer
  }
  return false;
}

}  // namespace

bool line_solver::workspace::answer(std::string_view line, std::string& out) {
  if (!reader.read(line, asked)) { return answer_fault(line, out); }
  request const r = with_granularity(asked.get(), how.least_granularity);
  outcome const found = solve(r, storage, table);
  answered a{asked.id(), r, table, found, asked.families()};
  if (!found && found.error.repair_count == 0) { a.more_repairs = repairs.of(asked.get()); }
  if (found && how.answer_plan) {
    how.answer_plan(out, a);
  } else {
    append_answer(out, a);
  }
  return found || found.error.error != solve_error::bad_input;
}

bool line_solver::workspace::answer_fault(std::string_view line, std::string& out) {
  read_fault const& fault = reader.fault();
  if (fault.what == read_error::not_json || fault.what == read_error::not_an_object) {
    append_fault(out, asked.id(), fault, {});
    return false;
  }
  if (fault.error == solve_error::overflow) {
    // Every field was read, this one as the nearest number there is: what comes before `overflow`
    // in the order of the errors can be judged, and is reported instead of it.
    outcome found = solve(with_granularity(asked.get(), how.least_granularity), storage, table);
    if (!found && found.error.error == solve_error::bad_input) {
      found.error.repair_count = 0;  // the number that is too big would still be there
      append_answer(out, {asked.id(), asked.get(), table, found, asked.families()});
      return false;
    }
  }
  append_fault(out, asked.id(), fault, repairs.of(line, asked.get(), fault));
  return fault.error != solve_error::bad_input;
}

bool line_solver::answer(std::string_view line, std::string& out) noexcept {
  std::size_t const before = out.size();
  try {
    if (is_blank(line)) { return true; }
    if (!work_) { work_ = std::make_unique<workspace>(options_); }
    bool const request = work_->answer(line, out);
    out += '\n';
    return request;
  } catch (std::exception const&) {
    // Out of memory: nothing else throws.
    out.resize(before);
    work_.reset();
  }
  return refuse_line(out, "the line needs more memory than there is");
}

namespace {

constexpr std::size_t chunk = std::size_t{64} << 10;

/// Cuts what is read into lines, in place, and collects the answers.
class line_cutter {
 public:
  line_cutter(std::function<void(std::string_view)> const& write, line_options const& options)
      : write_{write}, solver_{options} {}

  /// Where the next bytes go, at least one.
  [[nodiscard]] char* free() {
    if (buffer_.size() - used_ < chunk / 2) { buffer_.resize(buffer_.size() * 2); }
    return buffer_.data() + used_;
  }
  [[nodiscard]] std::size_t free_size() const { return buffer_.size() - used_; }

  void take(std::size_t size) {
    std::size_t start = 0;
    std::size_t seen = used_;  // no newline before it
    used_ += size;
    for (;;) {
      auto const* const from = buffer_.data() + seen;
      auto const* const end = static_cast<char const*>(std::memchr(from, '\n', used_ - seen));
      if (end == nullptr) { break; }
      auto const stop = static_cast<std::size_t>(end - buffer_.data());
      answer({buffer_.data() + start, stop - start});
      start = seen = stop + 1;
    }
    std::memmove(buffer_.data(), buffer_.data() + start, used_ - start);
    used_ -= start;
    if (used_ > longest_line) {
      too_long_ = true;
      used_ = 0;
    }
    if (used_ < chunk && buffer_.size() > 64 * chunk) {  // a long line is over: give it back
      buffer_.resize(2 * chunk);
      buffer_.shrink_to_fit();
    }
    flush();
  }

  lines_answered finish() {
    if (used_ > 0 || too_long_) { answer({buffer_.data(), used_}); }
    flush();
    return result_;
  }

 private:
  void answer(std::string_view line) {
    std::size_t const before = answers_.size();
    bool const request = too_long_ ? refuse_line(answers_, "the line is longer than 256 MiB")
                                   : solver_.answer(line, answers_);
    too_long_ = false;
    if (!request) { ++result_.not_requests; }
    if (!request || answers_.size() > before) { ++result_.lines; }
    if (answers_.size() > 4 * chunk) { flush(); }
  }

  void flush() {
    if (answers_.empty()) { return; }
    write_(answers_);
    answers_.clear();
  }

  std::function<void(std::string_view)> const& write_;
  line_solver solver_;
  std::vector<char> buffer_ = std::vector<char>(2 * chunk);
  std::size_t used_ = 0;
  bool too_long_ = false;
  std::string answers_;
  lines_answered result_;
};

}  // namespace

lines_answered solve_lines(std::function<std::size_t(char*, std::size_t)> const& read,
                           std::function<void(std::string_view)> const& write,
                           line_options const& options) {
  line_cutter cutter{write, options};
  for (;;) {
    char* const to = cutter.free();
    std::size_t const size = read(to, cutter.free_size());
    if (size == 0) { return cutter.finish(); }
    cutter.take(size);
  }
}

}  // namespace allot::json
