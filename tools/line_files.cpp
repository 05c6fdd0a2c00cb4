// SPDX-License-Identifier: Apache-2.0
#include "line_files.hpp"

#include <cerrno>
#include <fcntl.h>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <unistd.h>

namespace allot::tools {
namespace {

std::string reason() {
  return std::generic_category().message(errno);
}

/// A file descriptor, closed at the end unless it is the standard input.
class input {
 public:
  explicit input(std::string const& file)
      : name_{file == "-" ? "the standard input" : file},
        descriptor_{file == "-" ? STDIN_FILENO : open(file.c_str(), O_RDONLY | O_CLOEXEC)} {
    if (descriptor_ < 0) { throw std::runtime_error(name_ + ": could not be opened: " + reason()); }
  }
  ~input() {
    if (descriptor_ != STDIN_FILENO) { close(descriptor_); }
  }
  input(input const&) = delete;
  input& operator=(input const&) = delete;

  /// \returns what there is, without waiting for `size` bytes; 0 at the end
  std::size_t read_some(char* to, std::size_t size) {
    for (;;) {
      auto const got = read(descriptor_, to, size);
      if (got >= 0) { return static_cast<std::size_t>(got); }
      if (errno != EINTR) {
        throw std::runtime_error(name_ + ": could not be read to its end: " + reason());
      }
    }
  }

 private:
  std::string name_;
  int descriptor_;
};

void write_all(std::string_view answers) {
  while (!answers.empty()) {
    auto const written = write(STDOUT_FILENO, answers.data(), answers.size());
    if (written >= 0) {
      answers.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      throw std::runtime_error("the standard output could not be written: " + reason());
    }
  }
}

}  // namespace

json::lines_answered answer_lines(std::string const& file, json::line_options const& options) {
  input from{file};
  return json::solve_lines([&from](char* to, std::size_t size) { return from.read_some(to, size); },
                           write_all, options);
}

}  // namespace allot::tools
