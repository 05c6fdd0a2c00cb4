// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/core/rounding.hpp>

#include <cstdint>

namespace allot {

/// Element type of a cache row.
enum class element : std::uint8_t { fp32, fp16, bf16, fp8, int8, fp4 };

constexpr std::int64_t bits_of(element e) {
  switch (e) {
    case element::fp32: return 32;
    case element::fp16:
    case element::bf16: return 16;
    case element::fp8:
    case element::int8: return 8;
    case element::fp4: return 4;
  }
  return 0;
}

/// Bytes of one row of `count` elements, rounded up to whole bytes (fp4 packs two a byte).
///
/// \param count  elements, >= 0
constexpr checked row_bytes(element e, checked count) {
  std::int64_t const bits = bits_of(e);
  if (bits >= 8) { return count * (bits / 8); }
  if (count.overflowed) { return count; }
  return divide_up(count.value, 8 / bits);
}

}  // namespace allot
