// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <new>
#include <string>

namespace allot::runtime {

/// Memory could not be had. Carries the call that failed, the bytes it asked for and the bytes that
/// were free, as numbers and in one sentence.
class allocation_error : public std::bad_alloc {
 public:
  static constexpr std::int64_t unknown = -1;  ///< bytes free, where the memory cannot tell

  /// \param call        as a reader would look for it: "cudaMalloc", "limited_resource(64 bytes)"
  /// \param free_bytes  or `unknown`
  /// \param why         what the call said: "cudaErrorMemoryAllocation: out of memory"; may be
  /// empty
  allocation_error(std::string call, std::int64_t asked_bytes, std::int64_t free_bytes,
                   std::string const& why);

  char const* what() const noexcept override { return text_.c_str(); }
  std::string const& call() const noexcept { return call_; }
  std::int64_t asked_bytes() const noexcept { return asked_bytes_; }
  std::int64_t free_bytes() const noexcept { return free_bytes_; }  ///< or `unknown`

 private:
  std::string call_;
  std::string text_;
  std::int64_t asked_bytes_;
  std::int64_t free_bytes_;
};

/// A call of a backend failed for another reason than memory.
class backend_error : public std::exception {
 public:
  /// \param call  "cudaMemcpyAsync"
  /// \param why   "cudaErrorInvalidValue: invalid argument"
  backend_error(std::string call, std::string const& why);

  char const* what() const noexcept override { return text_.c_str(); }
  std::string const& call() const noexcept { return call_; }

 private:
  std::string call_;
  std::string text_;
};

}  // namespace allot::runtime
