// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "card.hpp"
#include "dice.hpp"
#include "floats.hpp"

#include <allot/attention/calls.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace attention_test {

/// Numbers that rows are made of, as codes of each format; drawing a row copies a run of them.
///
/// \param gain  of a normal distribution
std::vector<code> draw_row(dice& d, element e, std::int64_t dim, double gain = 1.0);

/// Where rows of heads lie in a block of memory.
struct rows_place {
  element dtype = element::bf16;
  std::int64_t rows = 0, heads = 1, dim = 1;
  std::int64_t offset = 0;  ///< bytes to row 0; the strides are bytes, too
  std::int64_t row_stride = 0, head_stride = 0;

  std::int64_t unit() const { return allot::bits_of(dtype) / 8; }
  std::int64_t at(std::int64_t row, std::int64_t head) const {
    return offset + row * row_stride + head * head_stride;
  }
  std::int64_t bytes() const;  ///< to the end of the last row
};

/// Rows one behind the other.
rows_place packed(element e, std::int64_t rows, std::int64_t heads, std::int64_t dim);

/// Rows with gaps between them, anywhere on their elements, heads or rows first.
rows_place scattered(dice& d, element e, std::int64_t rows, std::int64_t heads, std::int64_t dim);

/// Rows on the card. What lies between them is watched.
class rows_on_card {
 public:
  static constexpr std::byte filling{0xB7};

  /// Rows that hold nothing yet: all bytes are `filling`.
  explicit rows_on_card(rows_place place);

  rows_place const& place() const { return place_; }

  /// Before `upload`.
  void set(std::int64_t row, std::int64_t head, std::vector<code> const& values);
  void upload() { memory_.write(image_); }

  allot::head_rows<std::byte const> in() const {
    return {memory_.data() + place_.offset, place_.row_stride, place_.head_stride, place_.dtype};
  }
  allot::head_rows<std::byte> out() const {
    return {memory_.data() + place_.offset, place_.row_stride, place_.head_stride, place_.dtype};
  }

  /// What `upload` brought.
  std::vector<float> row(std::int64_t row, std::int64_t head) const {
    return load_row(image_.data() + place_.at(row, head), place_.dtype, place_.dim);
  }

  /// All bytes, as the card has them now.
  std::vector<std::byte> read() const { return memory_.read(); }

  /// The first byte beside rows [first, end) that is not as it was, in words; "" when all are.
  std::string changed_beside(std::vector<std::byte> got, std::int64_t first,
                             std::int64_t end) const;

 private:
  rows_place place_;
  std::vector<std::byte> image_;
  on_card<std::byte> memory_;
};

}  // namespace attention_test
