// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/table/pool.hpp>

#include <cstdint>

/// Which strides of a page_major arena are no multiples of `stride_bytes`, and what would be.
namespace allot::detail {

/// The first extent of a lowered pool whose rows of a page are misaligned; null when none are.
///
/// \param anchor_sentinels  sentinel pages of the anchor
constexpr extent const* crooked_page(lowering const& in, lowered const& l, extent const* out,
                                     std::int64_t anchor_sentinels) {
  if (in.arrangement != arrangement::page_major || l.found) { return nullptr; }
  for (std::int32_t k = 0; k < l.pool.extents; ++k) {
    checked const each = checked{rows_per_page(out[k], anchor_sentinels)} * out[k].row_bytes;
    if (each.ok() && out[k].copies > 0 && each.value % stride_bytes != 0) { return &out[k]; }
  }
  return nullptr;
}

/// Whether the family is aligned with other page tokens.
///
/// \param out  room for its extents
template <class F>
constexpr bool aligns_with(F family, lowering in, std::int64_t page_tokens,
                           std::int64_t anchor_sentinels, extent* out) {
  if constexpr (requires { family.set_page_tokens(page_tokens); }) {
    family.set_page_tokens(page_tokens);
  } else if constexpr (requires { family.page_tokens = page_tokens; }) {
    family.page_tokens = page_tokens;
  } else {
    return false;
  }
  if (in.index == 0) { in.anchor_page_tokens = page_tokens; }
  lowered const l = family.lower(in, out);
  return !l.found && crooked_page(in, l, out, anchor_sentinels) == nullptr;
}

/// Bytes can be padded, never cut: only the next multiple of `unit` would do.
constexpr void set_padded(fault& f, std::int64_t unit) {
  checked const padded = round_up(f.value, unit);
  f.high = padded.ok() ? padded.value : 0;
}

/// The fault of a pool whose pages are misaligned, with the nearest values below and above that
/// align them, if any do. Rows that grow with the page align within `stride_bytes` tokens.
///
/// \param crooked  what `crooked_page` found
/// \param rows     its rows in each page
/// \param aligns   whether so many page tokens would do
template <class Aligns>
constexpr fault misaligned_page(lowering const& in, lowered const& l, extent const& crooked,
                                std::int64_t rows, Aligns&& aligns) {
  fault f{solve_error::misaligned_stride,
          {"kv", in.index, l.stride_field},
          crooked.row_bytes,
          "such that the rows of a page are a multiple of 16 bytes"};
  if (l.stride_field == text{"page_bytes"}) {
    std::int64_t unit = stride_bytes;
    while (rows % 2 == 0 && unit > 1) {
      rows /= 2;
      unit /= 2;
    }
    set_padded(f, unit);
    return f;
  }
  if (!(l.stride_field == text{"page_tokens"})) { return f; }
  f.value = l.pool.page_tokens;
  for (std::int64_t by = 1; by <= stride_bytes; ++by) {
    checked const above = checked{f.value} + by;
    if (f.low == 0 && f.value > by && aligns(f.value - by)) { f.low = f.value - by; }
    if (f.high == 0 && above.ok() && aligns(above.value)) { f.high = above.value; }
  }
  return f;
}

/// The fault of expert slots that are misaligned.
constexpr fault misaligned_slot(lowered const& l, extent const* out) {
  for (std::int32_t k = 0; k < l.pool.extents; ++k) {
    checked const each = checked{rows_per_slot(out[k])} * out[k].row_bytes;
    if (each.overflowed || each.value % stride_bytes == 0) { continue; }
    fault f{solve_error::misaligned_stride,
            {"experts", -1, "slot_bytes"},
            out[k].row_bytes,
            "a multiple of 16 bytes"};
    set_padded(f, stride_bytes);
    return f;
  }
  return {};
}

}  // namespace allot::detail
