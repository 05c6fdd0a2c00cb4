// SPDX-License-Identifier: Apache-2.0
#include "row_tile.hpp"

#include <algorithm>
#include <limits>

namespace allot::runtime::host {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

float scale_at(kv_plane const& plane, std::int64_t page, std::int64_t token, std::int64_t head) {
  std::byte const* const at =
      plane.data + page + token * plane.token_stride + head * plane.head_stride;
  return *reinterpret_cast<float const*>(at);
}

}  // namespace

tile_shape tile_shape_of(kv_cache const& cache, std::int32_t query_heads) {
  std::int32_t const room = cache.head_dim <= 256 ? most_rows : most_rows / 2;
  std::int32_t const group = query_heads / cache.heads;
  std::int32_t const heads = std::min(group, room);
  return {.heads = heads, .queries = room / heads, .chunks = (group + heads - 1) / heads};
}

void row_tile::add(std::byte const* query, kv_range seen) {
  from_[rows_] = query;
  seen_[rows_] = seen;
  ++rows_;
}

void row_tile::list_tokens(std::int32_t const* pages, std::int32_t kv_head, kv_range span,
                           token_list& out) const {
  bool const fp8 = cache_.dtype == element::fp8;
  out.count = 0;
  for (std::int32_t at = span.first; at < span.end;) {
    std::int32_t const column = at / cache_.page_tokens;
    std::int32_t token = at % cache_.page_tokens;
    std::int32_t const end = std::min(cache_.page_tokens - token, span.end - at) + token;
    std::int32_t const page = pages[column];
    if (!cache_.holds(page)) {
      at += end - token;
      continue;
    }
    std::int64_t const offset = cache_.page_offset(page);
    std::byte const* const k = cache_.k.data + offset + kv_head * cache_.k.head_stride;
    std::byte const* const v = cache_.v.data + offset + kv_head * cache_.v.head_stride;
    for (; token < end; ++token, ++at) {
      std::int32_t const i = out.count++;
      out.k[i] = k + token * cache_.k.token_stride;
      out.v[i] = v + token * cache_.v.token_stride;
      out.positions[i] = at;
      if (!fp8) { continue; }
      out.k_scales[i] = cache_.k_scales.data == nullptr
                            ? cache_.k_scale
                            : scale_at(cache_.k_scales, offset, token, kv_head);
      out.v_scales[i] = cache_.v_scales.data == nullptr
                            ? cache_.v_scale
                            : scale_at(cache_.v_scales, offset, token, kv_head);
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

void row_tile::attend(element query_dtype, std::int32_t const* pages, std::int32_t kv_head,
                      kv_range span, float* accumulators, std::int64_t stride) {
  with_.rows.pack_queries(queries_, from_, rows_, cache_.head_dim, query_dtype);
  std::fill_n(maxima_, most_rows, -infinity);
  std::fill_n(sums_, most_rows, 0.0F);
  for (std::int32_t r = 0; r < rows_; ++r) {
    std::fill_n(accumulators + r * stride, cache_.v_head_dim, 0.0F);
  }
  if (span.first >= span.end) { return; }

  bool const fp8 = cache_.dtype == element::fp8;
  tile_work work{.v_is_k = cache_.v_is_k(),
                 .rows = rows_,
                 .scale = options_.scale,
                 .soft_cap = options_.soft_cap,
                 .queries = queries_,
                 .maxima = maxima_,
                 .sums = sums_,
                 .accumulators = accumulators,
                 .accumulator_stride = stride,
                 .tokens_fp32 = tokens_fp32_,
                 .weights = weights_};
  // Tiles begin at multiples of their length, so that a row is summed in the same order whatever
  // else is in the batch. The next one's addresses are found one tile ahead: it is fetched then.
  auto const tile_at = [&](std::int32_t at) -> kv_range {
    std::int64_t const end = (std::int64_t{at} / tile_tokens + 1) * tile_tokens;
    return {at, static_cast<std::int32_t>(std::min<std::int64_t>(end, span.end))};
  };
  kv_range tile = tile_at(span.first);
  token_list* now = &tokens_[0];
  token_list* next = &tokens_[1];
  list_tokens(pages, kv_head, tile, *now);
  while (tile.first < span.end) {
    tile = tile.end < span.end ? tile_at(tile.end) : kv_range{span.end, span.end};
    list_tokens(pages, kv_head, tile, *next);
    if (now->count > 0) {
      bool const bounded = bound_rows(*now);
      work.k = now->k;
      work.v = now->v;
      work.k_scales = fp8 ? now->k_scales : nullptr;
      work.v_scales = fp8 ? now->v_scales : nullptr;
      work.tokens = now->count;
      work.next_k = next->k;
      work.next_v = next->v;
      work.next_tokens = next->count;
      work.seen_first = bounded ? seen_first_ : nullptr;
      work.seen_end = bounded ? seen_end_ : nullptr;
      with_.attend_tile(work);
    }
    std::swap(now, next);
  }
}

}  // namespace allot::runtime::host
