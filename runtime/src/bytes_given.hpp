// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/runtime/allocation_error.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace allot::runtime::detail {

/// A number of bytes below 0 is a sum that went wrong in the caller, and would be a huge one as
/// size_t.
inline void refuse_negative_allocation(std::string call, std::int64_t bytes) {
  if (bytes < 0) {
    throw allocation_error{std::move(call), bytes, allocation_error::unknown, "fewer than none"};
  }
}

/// The same for the calls of a backend.
inline void refuse_negative_range(char const* call, std::int64_t bytes) {
  if (bytes < 0) { throw backend_error{call, std::to_string(bytes) + " bytes, fewer than none"}; }
}

}  // namespace allot::runtime::detail
