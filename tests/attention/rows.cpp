// SPDX-License-Identifier: Apache-2.0
#include "rows.hpp"

#include <algorithm>
#include <array>

namespace attention_test {
namespace {

constexpr std::size_t run_length = 8191;  // of prepared numbers: a prime, so that steps wrap oddly

std::vector<code> prepared(element e, double gain) {
  dice d{20'261'212};
  std::vector<code> out(run_length);
  for (code& c : out) {
    c = nearest_code(e, gain * d.normal());
  }
  return out;
}

std::vector<code> const& run_of(element e, double gain) {
  struct run {
    element e;
    double gain;
    std::vector<code> codes;
  };
  static std::vector<run> runs;
  for (run const& r : runs) {
    if (r.e == e && r.gain == gain) { return r.codes; }
  }
  runs.reserve(64);  // what was returned stays where it is
  runs.push_back({e, gain, prepared(e, gain)});
  return runs.back().codes;
}

}  // namespace

std::vector<code> draw_row(dice& d, element e, std::int64_t dim, double gain) {
  std::vector<code> const& run = run_of(e, gain);
  auto at = static_cast<std::size_t>(d.roll(0, run_length - 1));
  auto const step = static_cast<std::size_t>(d.roll(1, 97));
  std::vector<code> out(static_cast<std::size_t>(dim));
  for (code& c : out) {
    c = run[at];
    at = (at + step) % run_length;
  }
  return out;
}

std::int64_t rows_place::bytes() const {
  if (rows == 0 || heads == 0) { return offset; }
  return at(rows - 1, heads - 1) + dim * unit();
}

rows_place packed(element e, std::int64_t rows, std::int64_t heads, std::int64_t dim) {
  std::int64_t const row = dim * allot::bits_of(e) / 8;
  return {e, rows, heads, dim, 0, heads * row, row};
}

rows_place scattered(dice& d, element e, std::int64_t rows, std::int64_t heads, std::int64_t dim) {
  rows_place p = packed(e, rows, heads, dim);
  std::int64_t const unit = p.unit();
  p.offset = d.roll(0, 9) * unit;
  if (d.chance(25)) {  // [heads, rows, dim]
    p.row_stride = (dim + d.roll(0, 11)) * unit;
    p.head_stride = rows * p.row_stride + d.roll(0, 7) * unit;
  } else {
    p.head_stride = (dim + d.roll(0, 11)) * unit;
    p.row_stride = heads * p.head_stride + d.roll(0, 7) * unit;
  }
  return p;
}

rows_on_card::rows_on_card(rows_place place)
    : place_{place}, image_(static_cast<std::size_t>(place.bytes()), filling), memory_{image_} {}

void rows_on_card::set(std::int64_t row, std::int64_t head, std::vector<code> const& values) {
  store_row(image_.data() + place_.at(row, head), place_.dtype, values);
}

std::string rows_on_card::changed_beside(std::vector<std::byte> got, std::int64_t first,
                                         std::int64_t end) const {
  for (std::int64_t row = first; row < end; ++row) {
    for (std::int64_t head = 0; head < place_.heads; ++head) {
      std::int64_t const at = place_.at(row, head);
      std::copy_n(image_.begin() + at, place_.dim * place_.unit(), got.begin() + at);
    }
  }
  auto const other = std::mismatch(got.begin(), got.end(), image_.begin()).first;
  if (other == got.end()) { return {}; }
  return "byte " + std::to_string(other - got.begin()) + " beside the rows was written to";
}

}  // namespace attention_test
