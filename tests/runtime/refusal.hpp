// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/runtime/allocation_error.hpp>
#include <allot/runtime/memory_resource.hpp>

#include <doctest/doctest.h>

#include <cstdint>

/// What every test of a resource asks of it.
namespace allot_test {

inline bool is_aligned(void const* memory, std::int64_t alignment_bytes) {
  return reinterpret_cast<std::uintptr_t>(memory) % static_cast<std::uintptr_t>(alignment_bytes) ==
         0;
}

/// What `allocate(bytes)` refuses with; fails the test when it does not.
inline allot::runtime::allocation_error refusal(allot::runtime::memory_resource& resource,
                                                std::int64_t bytes) {
  try {
    resource.deallocate(resource.allocate(bytes), bytes);
  } catch (allot::runtime::allocation_error const& error) { return error; }
  FAIL("allocate(" << bytes << ") did not refuse");
  return {"", 0, 0, ""};
}

}  // namespace allot_test
