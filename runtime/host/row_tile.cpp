// SPDX-License-Identifier: Apache-2.0
#include "row_tile.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>
#include <utility>

namespace allot::runtime::host {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

constexpr std::int32_t rounded_up(std::int32_t x, std::int32_t to) {
  return (x + to - 1) / to * to;
}

/// Rows with the padding of `pack_queries`.
std::int32_t packed_rows(std::int32_t rows) {
  return rows > block_rows ? rounded_up(rows, block_rows)
                           : static_cast<std::int32_t>(std::bit_ceil(static_cast<unsigned>(rows)));
}

/// What to fetch of the next tile while a KV head of this one is worked on: the share of the heads
/// that it is, so that together they fetch all, in the order of addresses.
rows_ahead share_of(kv_plane const& plane, std::byte const* const* rows, std::int32_t count,
                    std::int64_t row_bytes, std::int32_t first_head, std::int32_t heads,
                    std::int32_t head) {
  bool const heads_together = plane.head_stride == row_bytes;
  if (!heads_together) {
    return {.rows = rows,
            .offset = (first_head + head) * plane.head_stride,
            .count = count,
            .row_bytes = static_cast<std::int32_t>(row_bytes)};
  }
  std::int32_t const from = count * head / heads;
  return {.rows = rows + from,
          .offset = first_head * plane.head_stride,
          .count = count * (head + 1) / heads - from,
          .row_bytes = static_cast<std::int32_t>(heads * row_bytes)};
}

}  // namespace

tile_shape tile_shape_of(kv_cache const& cache, std::int32_t query_heads) {
  std::int32_t const room = cache.head_dim <= 256 ? most_rows : most_rows / 2;
  std::int32_t const group = query_heads / cache.heads;
  std::int32_t const heads = std::min(group, room);
  return {.heads = heads, .queries = room / heads, .chunks = (group + heads - 1) / heads};
}

std::int32_t kv_heads_at_once(kv_cache const& cache, std::int32_t rows) {
  constexpr std::int32_t query_floats = 18'432;
  constexpr std::int32_t states = 512;
  std::int32_t const of_queries = query_floats / (packed_rows(rows) * cache.head_dim);
  std::int32_t const of_states = states / rounded_up(rows, block_rows);
  return std::min({of_queries, of_states, cache.heads});
}

void row_tile::add(std::byte const* query, kv_range seen) {
  queries_of_[rows_] = query;
  seen_[rows_] = seen;
  ++rows_;
}

void row_tile::list_tokens(std::int32_t const* pages, kv_range span, token_list& out) const {
  out.count = 0;
  for (std::int32_t at = span.first; at < span.end;) {
    std::int32_t token = at % cache_.page_tokens;
    std::int32_t const end = std::min(cache_.page_tokens - token, span.end - at) + token;
    std::int32_t const page = pages[at / cache_.page_tokens];
    if (!cache_.holds(page)) {
      at += end - token;
      continue;
    }
    std::int64_t const offset = cache_.page_offset(page);
    for (; token < end; ++token, ++at) {
      std::int32_t const i = out.count++;
      out.k[i] = cache_.k.data + offset + token * cache_.k.token_stride;
      out.v[i] = cache_.v.data + offset + token * cache_.v.token_stride;
      out.pages[i] = offset;
      out.positions[i] = at;
    }
  }
}

/// Finds which of the tokens each row sees.
///
/// \returns  whether there is a row that does not see all
bool row_tile::bound_rows(token_list const& tokens) {
  std::int32_t const first = tokens.positions[0];
  std::int32_t const last = tokens.positions[tokens.count - 1];
  bool bounded = false;
  for (std::int32_t r = 0; r < rows_; ++r) {
    bounded |= seen_[r].first > first || seen_[r].end <= last;
  }
  if (!bounded) { return false; }
  std::int32_t const* const end = tokens.positions + tokens.count;
  for (std::int32_t r = 0; r < rows_; ++r) {
    auto const from = std::lower_bound(tokens.positions, end, seen_[r].first) - tokens.positions;
    auto const to = std::lower_bound(tokens.positions, end, seen_[r].end) - tokens.positions;
    seen_first_[r] = static_cast<std::int32_t>(from);
    seen_end_[r] = static_cast<std::int32_t>(to);
  }
  return true;
}

void row_tile::load_scales(kv_plane const& plane, token_list const& tokens, std::int32_t kv_head,
                           float* scales) const {
  for (std::int32_t i = 0; i < tokens.count; ++i) {
    std::int32_t const token = tokens.positions[i] % cache_.page_tokens;
    std::byte const* const at =
        plane.data + tokens.pages[i] + token * plane.token_stride + kv_head * plane.head_stride;
    scales[i] = *reinterpret_cast<float const*>(at);
  }
}

void row_tile::attend(batch const& what, kv_range span) {
  std::int32_t const queries_per_head = packed_rows(rows_) * cache_.head_dim;
  states_per_head_ = rounded_up(rows_, block_rows);
  for (std::int32_t h = 0; h < what.kv_heads; ++h) {
    with_.rows.pack_queries(queries_ + h * queries_per_head, queries_of_, h * what.query_stride,
                            rows_, cache_.head_dim, what.dtype);
    std::fill_n(what.accumulators + h * what.accumulator_stride, rows_ * cache_.v_head_dim, 0.0F);
  }
  std::fill_n(maxima_, what.kv_heads * states_per_head_, -infinity);
  std::fill_n(sums_, what.kv_heads * states_per_head_, 0.0F);
  if (span.first >= span.end) { return; }

  bool const fp8 = cache_.dtype == element::fp8;
  bool const k_plane = fp8 && cache_.k_scales.data != nullptr;
  bool const v_plane = fp8 && cache_.v_scales.data != nullptr;
  bool const v_scale = fp8 && !v_plane && cache_.v_scale != 1.0F;
  if (v_scale) { std::fill(std::begin(v_scales_), std::end(v_scales_), cache_.v_scale); }
  tile_work work{.k_scales = k_plane ? k_scales_ : nullptr,
                 .v_scales = v_plane || v_scale ? v_scales_ : nullptr,
                 .v_is_k = cache_.v_is_k(),
                 .rows = rows_,
                 .scale = fp8 && !k_plane ? options_.scale * cache_.k_scale : options_.scale,
                 .soft_cap = options_.soft_cap,
                 .accumulator_stride = cache_.v_head_dim,
                 .tokens_fp32 = tokens_fp32_,
                 .weights = weights_};
  std::int64_t const element_bytes = fp8 ? 1 : 2;
  std::int64_t const k_bytes = cache_.head_dim * element_bytes;
  std::int64_t const v_bytes = cache_.v_head_dim * element_bytes;
  // Tiles begin at multiples of their length, so that a row is summed in the same order whatever
  // else is in the batch. The next one's addresses are found one tile ahead: it is fetched then.
  auto const tile_at = [&](std::int32_t at) -> kv_range {
    std::int64_t const end = (std::int64_t{at} / tile_tokens + 1) * tile_tokens;
    return {at, static_cast<std::int32_t>(std::min<std::int64_t>(end, span.end))};
  };
  kv_range tile = tile_at(span.first);
  token_list* now = &tokens_[0];
  token_list* next = &tokens_[1];
  list_tokens(what.pages, tile, *now);
  while (tile.first < span.end) {
    tile = tile.end < span.end ? tile_at(tile.end) : kv_range{span.end, span.end};
    list_tokens(what.pages, tile, *next);
    if (now->count > 0) {
      bool const bounded = bound_rows(*now);
      work.k = now->k;
      work.v = now->v;
      work.tokens = now->count;
      work.seen_first = bounded ? seen_first_ : nullptr;
      work.seen_end = bounded ? seen_end_ : nullptr;
      for (std::int32_t h = 0; h < what.kv_heads; ++h) {
        std::int32_t const kv_head = what.first_kv_head + h;
        if (k_plane) { load_scales(cache_.k_scales, *now, kv_head, k_scales_); }
        if (v_plane) { load_scales(cache_.v_scales, *now, kv_head, v_scales_); }
        work.k_offset = kv_head * cache_.k.head_stride;
        work.v_offset = kv_head * cache_.v.head_stride;
        work.next_k =
            share_of(cache_.k, next->k, next->count, k_bytes, what.first_kv_head, what.kv_heads, h);
        work.next_v =
            share_of(cache_.v, next->v, next->count, v_bytes, what.first_kv_head, what.kv_heads, h);
        work.queries = queries_ + h * queries_per_head;
        work.maxima = maxima_ + h * states_per_head_;
        work.sums = sums_ + h * states_per_head_;
        work.accumulators = what.accumulators + h * what.accumulator_stride;
        with_.attend_tile(work);
      }
    }
    std::swap(now, next);
  }
}

}  // namespace allot::runtime::host
