// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/attention/kv_page.hpp>
#include <allot/attention/split_kv.hpp>

#include <cstdint>

/// The promises of <allot/attention/…> as predicates.
namespace allot::laws {

/// L1 within a page: it has the bytes that the family was priced at.
///
/// \param f  gqa or mla
template <class Family>
constexpr bool page_is_priced(Family const& f, kv_page const& page) {
  return page.bytes == f.layer_token_bytes() * page.page_tokens;
}

/// The rows of a page fill it: each byte belongs to one row of K, of V or of their scales, or to
/// one of each where V is K.
///
/// \param painted  [page.bytes], room to count in
/// \cost           O(bytes)
constexpr bool rows_fill_the_page(kv_page const& page, std::uint8_t* painted) {
  for (std::int64_t i = 0; i < page.bytes.value; ++i) {
    painted[i] = 0;
  }
  bool inside = true;
  auto const paint = [&](kv_rows const& rows) {
    for (std::int64_t t = 0; t < page.page_tokens; ++t) {
      for (std::int64_t h = 0; h < page.heads; ++h) {
        std::int64_t const at = rows.offset + t * rows.token_stride + h * rows.head_stride;
        inside = inside && 0 <= at && at + rows.row_bytes <= page.bytes.value;
        for (std::int64_t i = 0; inside && i < rows.row_bytes; ++i) {
          ++painted[at + i];
        }
      }
    }
  };
  paint(page.k);
  paint(page.k_scales);
  if (page.v != page.k) {
    paint(page.v);
    paint(page.v_scales);
  }
  for (std::int64_t i = 0; inside && i < page.bytes.value; ++i) {
    inside = painted[i] == 1;
  }
  return inside;
}

/// A cut gives every block of every request to one part, in order, none twice; there is room for
/// the pieces in the workspace; and where shares are even, no part has more than its share.
///
/// \param blocks  [s.requests] that each request sees
/// \cost          O(requests + parts)
constexpr bool split_covers(split_kv const& s, std::int32_t const* blocks) {
  bool good = true;
  std::int64_t cost = 0;
  for (std::int64_t r = 0; r < s.requests; ++r) {
    cost += blocks[r] > 0 ? blocks[r] + split_overhead_blocks : 0;
  }
  std::int64_t const share = divide_up(cost, s.parts) + split_overhead_blocks;

  std::int32_t parts = 0;
  std::int32_t request = 0;  // the next block to be given out: of this request
  std::int32_t block = 0;
  std::int32_t pieces_of = 0;  // of it, so far
  std::int32_t pieces = 0;
  auto const skip_empty = [&] {
    while (request < s.requests && block == blocks[request]) {
      ++request;
      block = pieces_of = 0;
    }
  };
  auto const take_part = [&](std::int32_t index, split_part const& part) {
    good = good && index == parts++;
    if (!good || part.last_request < part.first_request) { return; }
    skip_empty();
    good = part.first_request == request && part.first_block == block &&
           part.first_piece == pieces_of && part.last_request < s.requests;
    std::int64_t used = 0;
    while (good && request <= part.last_request) {
      std::int32_t const end = request == part.last_request ? part.end_block : blocks[request];
      good = block < end && end <= blocks[request];
      used += end - block + split_overhead_blocks;
      ++pieces;
      ++pieces_of;
      block = end;
      if (request == part.last_request) { break; }
      skip_empty();
    }
    good =
        good && (s.splits_per_request > 0 ? part.first_request == part.last_request &&
                                                index / s.splits_per_request == part.first_request
                                          : used <= share);
  };
  // Told before the parts of its request, so of the pieces before it only the sum is known yet.
  std::int32_t firsts = 0;
  std::int32_t last_first = 0;
  auto const take_first = [&](std::int32_t r, std::int32_t before) {
    good = good && r == firsts++ && before >= last_first && before <= s.requests + s.parts &&
           (r == 0 || blocks[r - 1] > 0 || before == last_first);
    last_first = before;
  };
  split_batch(s, [&](std::int32_t r) { return blocks[r]; }, take_part, take_first);
  skip_empty();
  return good && parts == s.parts && request == s.requests && firsts == s.requests + 1 &&
         last_first == pieces && pieces <= s.requests + s.parts;
}

}  // namespace allot::laws
