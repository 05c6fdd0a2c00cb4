// SPDX-License-Identifier: Apache-2.0
#include "bytes_given.hpp"

#include <allot/runtime/host_backend.hpp>

#include <cstring>
#include <stdexcept>
#include <string>

namespace allot::runtime {

void require_reach(char const* who, backend const& on, memory_resource const& memory) {
  if (on.reaches(memory.space())) { return; }
  throw std::invalid_argument(std::string{who} + ": the backend \"" + on.name() +
                              "\" cannot work on the memory of " + memory.name());
}

void host_backend::fill(void* memory, std::byte value, std::int64_t bytes) {
  detail::refuse_negative_range("fill", bytes);
  if (bytes > 0) {
    std::memset(memory, std::to_integer<int>(value), static_cast<std::size_t>(bytes));
  }
}

void host_backend::copy(void* to, void const* from, std::int64_t bytes) {
  detail::refuse_negative_range("copy", bytes);
  if (bytes > 0) { std::memcpy(to, from, static_cast<std::size_t>(bytes)); }
}

std::int64_t host_backend::find_other(void const* memory, std::byte value, std::int64_t bytes) {
  detail::refuse_negative_range("find_other", bytes);
  auto const* const all = static_cast<std::byte const*>(memory);
  // Eight words at a time, without a branch between them, then the bytes of the first lot that
  // differs.
  constexpr std::int64_t words = 8;
  constexpr std::int64_t lot_bytes = words * std::int64_t{sizeof(std::uint64_t)};
  std::uint64_t const same = std::to_integer<std::uint64_t>(value) * 0x0101010101010101U;
  std::int64_t at = 0;
  for (; bytes - at >= lot_bytes; at += lot_bytes) {
    std::uint64_t lot[words];
    std::memcpy(lot, all + at, sizeof lot);
    std::uint64_t differs = 0;
    for (std::uint64_t const word : lot) {
      differs |= word ^ same;
    }
    if (differs != 0) { break; }
  }
  for (; at < bytes; ++at) {
    if (all[at] != value) { return at; }
  }
  return -1;
}

}  // namespace allot::runtime
