// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/policy/element.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

/// What the bits of a stored element mean, from the definitions of the formats: nothing here, and
/// nothing else that judges a result, uses the conversions of the library.
namespace attention_test {

using allot::element;
using code = std::uint32_t;  ///< bits of one element, in its low bits

/// \param e  fp32, fp16, bf16 or fp8 (e4m3: no infinity, 0x7F and 0xFF are NaN)
double number_of(element e, code bits);

/// The code whose number is nearest, of two the even one. fp8 saturates at 448; beyond the others
/// lies their infinity. NaN gives a NaN.
code nearest_code(element e, double value);

bool is_nan(element e, code bits);

/// The numbers of all codes of a format of at most 16 bits.  // [2^bits]
float const* numbers(element e);

inline code load(std::byte const* from, element e) {
  code out = 0;
  std::memcpy(&out, from, static_cast<std::size_t>(allot::bits_of(e) / 8));  // little-endian
  return out;
}

inline void store(std::byte* to, element e, code bits) {
  std::memcpy(to, &bits, static_cast<std::size_t>(allot::bits_of(e) / 8));
}

/// A row as numbers; a row of codes.
std::vector<float> load_row(std::byte const* from, element e, std::int64_t dim);
void store_row(std::byte* to, element e, std::vector<code> const& row);

}  // namespace attention_test
