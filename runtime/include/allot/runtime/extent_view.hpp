// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/plan/layout.hpp>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace allot::runtime {

/// One extent in memory as a strided array: pointer, shape and strides, in the order of DLPack.
///
///     T[copies, blocks, block_rows, row_elements]
///
/// Row `r` is row `r % block_rows` of block `r / block_rows`. Arrays of their own have blocks of
/// one row; in a page_major arena block `p` of a pool's rows is what page `p` has of them, and
/// block `s` of the experts what the `s`-th resident slot has. Copies are the layers of page_major
/// and layer_major; a flat arena has one array for all of them, whose rows hold a page of every
/// layer. Borrowed from the arena.
template <class T>
struct extent_view {
  static constexpr int rank = 4;

  T* data = nullptr;
  std::int64_t shape[rank] = {};    ///< [copies, blocks, block_rows, row_elements]
  std::int64_t strides[rank] = {};  ///< elements; the last one is 1

  std::int64_t copies() const noexcept { return shape[0]; }
  std::int64_t rows() const noexcept { return shape[1] * shape[2]; }
  std::int64_t row_elements() const noexcept { return shape[3]; }

  /// First element of a row.
  ///
  /// \param copy  in [0, copies())
  /// \param row   in [0, rows())
  T* row(std::int64_t copy, std::int64_t row) const noexcept {
    assert(0 <= copy && copy < copies() && 0 <= row && row < rows());
    return data + copy * strides[0] + row / shape[2] * strides[1] + row % shape[2] * strides[2];
  }
};

/// The same memory as elements of `T`.
///
/// \errors  std::invalid_argument when rows or strides are no whole elements, or an address is not
///          aligned for `T`; the message names the number
template <class T>
extent_view<T> elements_of(extent_view<std::byte> const& bytes) {
  constexpr auto size = static_cast<std::int64_t>(sizeof(T));
  auto const whole = [](std::int64_t number, char const* what) {
    if (number % size != 0) {
      throw std::invalid_argument(std::string{what} + " of " + std::to_string(number) +
                                  " bytes is no multiple of the element's " +
                                  std::to_string(sizeof(T)));
    }
    return number / size;
  };
  auto const address = reinterpret_cast<std::uintptr_t>(bytes.data);
  if (address % alignof(T) != 0) {
    throw std::invalid_argument("the extent starts " + std::to_string(address % alignof(T)) +
                                " bytes past a multiple of the element's alignment, " +
                                std::to_string(alignof(T)));
  }
  extent_view<T> out;
  out.data = reinterpret_cast<T*>(bytes.data);
  for (int i = 0; i < 3; ++i) {
    out.shape[i] = bytes.shape[i];
    out.strides[i] = bytes.shape[i] > 1 ? whole(bytes.strides[i], "a stride") : 0;
  }
  out.shape[3] = whole(bytes.shape[3], "a row");
  out.strides[3] = 1;
  return out;
}

/// A placement in the arena that starts at `base`, as bytes.
inline extent_view<std::byte> bytes_of(std::byte* base, placement const& p) noexcept {
  return {base == nullptr ? nullptr : base + p.offset,
          {p.copies, p.rows / p.block_rows, p.block_rows, p.row_bytes},
          {p.copy_stride, p.block_stride, p.row_bytes, 1}};
}

}  // namespace allot::runtime
