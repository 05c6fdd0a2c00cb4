// SPDX-License-Identifier: Apache-2.0
#include "host_attention.hpp"
#include "parallel.hpp"
#include "row_tile.hpp"

#include <allot/attention/split_kv.hpp>
#include <allot/attention/visible.hpp>
#include <allot/core/rounding.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

// Decode and prefill: which rows attend to which keys, and what becomes of the sums.
namespace allot::runtime::host {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr std::int32_t most_v_head_dim = 512;

/// Items of work that keep all threads busy: several each, for some are longer than others.
std::int64_t wanted_items() {
  return thread_count() == 1 ? 1 : thread_count() * 4;
}

/// A softmax with its sink, if it has one.
struct normalised {
  float maximum;  ///< that the sum is of
  float sum;
  float lse;
};

/// \param part  has attended to something
normalised add_sink(row_tile::softmax part, float const* sinks, std::int32_t head) {
  float maximum = part.maximum;
  float sum = part.sum;
  if (sinks != nullptr) {
    float const sink = sinks[head];
    maximum = std::max(part.maximum, sink);
    sum = part.sum * std::exp(part.maximum - maximum) + std::exp(sink - maximum);
  }
  return {maximum, sum, maximum + std::log(sum)};
}

/// Where a decode step keeps its pieces.
struct pieces {
  float* accumulators;  // [pieces, query_heads, v_head_dim]
  float* maxima;        // [pieces, query_heads]
  float* sums;          // [pieces, query_heads]
  split_part* parts;    // [parts]
  std::int32_t* first;  // [requests + 1]

  explicit pieces(decode_call const& call) {
    split_workspace const at =
        split_workspace_of(call.split, call.query_heads, call.cache.v_head_dim);
    std::byte* const start = call.workspace;
    accumulators = reinterpret_cast<float*>(start);
    maxima = reinterpret_cast<float*>(start + at.maxima);
    sums = reinterpret_cast<float*>(start + at.sums);
    parts = reinterpret_cast<split_part*>(start + at.parts);
    first = reinterpret_cast<std::int32_t*>(start + at.first_piece);
  }
};

/// Keys that the last token of a request sees.
kv_range seen_of(decode_call const& call, std::int32_t request) {
  std::int32_t const length = call.tables.kv_len[request];
  if (length <= 0) { return {}; }
  return visible_keys(length - 1,
                      reachable_len(length, call.tables.columns, call.cache.page_tokens),
                      call.options.window_tokens, true);
}

/// Query heads that one item of work has: of some KV heads, so many of each one's group.
struct head_block {
  std::int32_t first_kv_head = 0;
  std::int32_t kv_heads = 1;
  std::int32_t first = 0;  // of the first KV head's group, of all query heads
  std::int32_t heads = 1;
};

/// The pieces that a part has, of some heads.
void attend_part(decode_call const& call, pieces const& out, split_part const& part,
                 head_block const& block, row_tile& tile) {
  std::int32_t const group = call.query_heads / call.cache.heads;
  std::int64_t const v_dim = call.cache.v_head_dim;
  for (std::int32_t r = part.first_request; r <= part.last_request; ++r) {
    kv_range const seen = seen_of(call, r);
    std::int32_t const blocks = visible_blocks(seen);
    bool const is_first = r == part.first_request;
    std::int32_t const from = is_first ? part.first_block : 0;
    std::int32_t const end = r == part.last_request ? std::min(part.end_block, blocks) : blocks;
    if (from >= end) { continue; }
    std::int64_t const piece = out.first[r] + (is_first ? part.first_piece : 0);
    std::int64_t const row = piece * call.query_heads + block.first;

    tile.clear();
    for (std::int32_t head = block.first; head < block.first + block.heads; ++head) {
      tile.add(call.q.data + r * call.q.row_stride + head * call.q.head_stride, seen);
    }
    tile.attend({.dtype = call.q.dtype,
                 .query_stride = group * call.q.head_stride,
                 .pages = call.tables.pages + r * call.tables.row_stride,
                 .first_kv_head = block.first_kv_head,
                 .kv_heads = block.kv_heads,
                 .accumulators = out.accumulators + row * v_dim,
                 .accumulator_stride = group * v_dim},
                keys_of_blocks(seen, from, end));
    for (std::int32_t h = 0; h < block.kv_heads; ++h) {
      for (std::int32_t i = 0; i < block.heads; ++i) {
        out.maxima[row + h * group + i] = tile.row(h, i).maximum;
        out.sums[row + h * group + i] = tile.row(h, i).sum;
      }
    }
  }
}

/// Joins the pieces of a request's head.
void combine(decode_call const& call, pieces const& from, row_kernels const& with,
             std::int32_t request, std::int32_t head) {
  std::int32_t const v_dim = call.cache.v_head_dim;
  std::byte* const out =
      call.out.data + request * call.out.row_stride + head * call.out.head_stride;
  float* const lse =
      call.lse == nullptr ? nullptr : call.lse + std::int64_t{request} * call.query_heads + head;

  float maximum = -infinity;
  bool attended = false;
  for (std::int32_t p = from.first[request]; p < from.first[request + 1]; ++p) {
    std::int64_t const row = std::int64_t{p} * call.query_heads + head;
    if (from.sums[row] == 0) { continue; }
    attended = true;
    maximum = std::max(maximum, from.maxima[row]);
  }
  float joined[most_v_head_dim];
  std::fill_n(joined, v_dim, 0.0F);
  if (!attended) {
    with.store(out, joined, v_dim, call.out.dtype, 1.0F);
    if (lse != nullptr) { *lse = -infinity; }
    return;
  }
  float sum = 0;
  for (std::int32_t p = from.first[request]; p < from.first[request + 1]; ++p) {
    std::int64_t const row = std::int64_t{p} * call.query_heads + head;
    if (from.sums[row] == 0) { continue; }
    float const share = std::exp(from.maxima[row] - maximum);
    sum += from.sums[row] * share;
    with.add(joined, from.accumulators + row * v_dim, v_dim, element::fp32, share);
  }
  normalised const whole = add_sink({maximum, sum}, call.options.sinks, head);
  with.store(out, joined, v_dim, call.out.dtype, std::exp(maximum - whole.maximum) / whole.sum);
  if (lse != nullptr) { *lse = whole.lse; }
}

/// Queries [first, end) of the batch, all of one request, and some heads of one KV head's group.
void attend_queries(prefill_call const& call, row_kernels const& with, std::int32_t request,
                    std::int32_t first, std::int32_t end, std::int32_t kv_head,
                    std::int32_t first_head, std::int32_t end_head, row_tile& tile,
                    float* accumulators) {
  std::int32_t const length = call.tables.kv_len[request];
  std::int32_t const reachable = reachable_len(length, call.tables.columns, call.cache.page_tokens);
  std::int64_t const position_of_row_0 =
      std::int64_t{length} - call.q_start[request + 1];  // were there such a row
  kv_range span{INT32_MAX, 0};
  tile.clear();
  for (std::int32_t q = first; q < end; ++q) {
    std::int64_t const position = position_of_row_0 + q;
    kv_range const seen = position < 0
                              ? kv_range{}
                              : visible_keys(static_cast<std::int32_t>(position), reachable,
                                             call.options.window_tokens, call.causal);
    if (seen.first < seen.end) {
      span = {std::min(span.first, seen.first), std::max(span.end, seen.end)};
    }
    for (std::int32_t head = first_head; head < end_head; ++head) {
      tile.add(call.q.data + q * call.q.row_stride + head * call.q.head_stride, seen);
    }
  }
  std::int32_t const v_dim = call.cache.v_head_dim;
  tile.attend({.dtype = call.q.dtype,
               .pages = call.tables.pages + request * call.tables.row_stride,
               .first_kv_head = kv_head,
               .accumulators = accumulators},
              span);

  std::int32_t row = 0;
  for (std::int32_t q = first; q < end; ++q) {
    for (std::int32_t head = first_head; head < end_head; ++head, ++row) {
      row_tile::softmax const part = tile.row(0, row);
      std::byte* const out = call.out.data + q * call.out.row_stride + head * call.out.head_stride;
      float factor = 1.0F;
      float lse = -infinity;
      if (part.sum != 0) {
        normalised const whole = add_sink(part, call.options.sinks, head);
        factor = std::exp(part.maximum - whole.maximum) / whole.sum;
        lse = whole.lse;
      }
      with.store(out, accumulators + std::int64_t{row} * v_dim, v_dim, call.out.dtype, factor);
      if (call.lse != nullptr) { call.lse[std::int64_t{q} * call.query_heads + head] = lse; }
    }
  }
}

}  // namespace

/// One KV head's keys are near those of the others, so a part is worked on with all heads at once,
/// and the parts alone keep all threads busy.
std::int64_t host_attention::decode_parts(std::int64_t /*kv_heads*/) const {
  return wanted_items();
}

void host_attention::decode(decode_call const& call) {
  if (call.tables.requests == 0) { return; }
  kernels const with = chosen_kernels(call.cache);
  pieces const work{call};
  if (!call.reuse_split) {
    split_batch(
        call.split, [&](std::int32_t r) { return visible_blocks(seen_of(call, r)); },
        [&](std::int32_t part, split_part const& what) { work.parts[part] = what; },
        [&](std::int32_t r, std::int32_t pieces_before) { work.first[r] = pieces_before; });
  }
  std::int32_t const group = call.query_heads / call.cache.heads;
  tile_shape const shape = tile_shape_of(call.cache, call.query_heads);
  // Fewer heads at once where there are few parts.
  std::int64_t const wanted_blocks = divide_up(wanted_items(), call.split.parts * shape.chunks);
  std::int64_t const at_once_wanted = divide_up(call.cache.heads, wanted_blocks);
  auto const at_once = static_cast<std::int32_t>(
      std::min<std::int64_t>(at_once_wanted, kv_heads_at_once(call.cache, shape.heads)));
  std::int64_t const blocks = divide_up(call.cache.heads, at_once);
  std::int64_t const of_part = blocks * shape.chunks;
  each(call.split.parts * of_part, [&](std::int64_t item) {
    auto const kv_head = static_cast<std::int32_t>(item % of_part / shape.chunks) * at_once;
    auto const chunk = static_cast<std::int32_t>(item % shape.chunks);
    std::int32_t const in_group = chunk * shape.heads;
    row_tile tile{with, call.cache, call.options};
    attend_part(call, work, work.parts[item / of_part],
                {.first_kv_head = kv_head,
                 .kv_heads = std::min(at_once, call.cache.heads - kv_head),
                 .first = kv_head * group + in_group,
                 .heads = std::min(shape.heads, group - in_group)},
                tile);
  });
  each(std::int64_t{call.tables.requests} * call.cache.heads, [&](std::int64_t item) {
    auto const request = static_cast<std::int32_t>(item / call.cache.heads);
    auto const kv_head = static_cast<std::int32_t>(item % call.cache.heads);
    for (std::int32_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
      combine(call, work, with.rows, request, head);
    }
  });
}

void host_attention::prefill(prefill_call const& call) {
  std::int32_t const requests = call.tables.requests;
  if (requests == 0 || call.query_rows == 0) { return; }
  kernels const with = chosen_kernels(call.cache);
  std::int32_t const group = call.query_heads / call.cache.heads;
  tile_shape const shape = tile_shape_of(call.cache, call.query_heads);
  std::int64_t const tiles = (call.query_rows - 1) / shape.queries + 1;
  std::int64_t const of_tile = std::int64_t{call.cache.heads} * shape.chunks;
  // Tiles of the batch's rows, which the requests cut further. The last ones first: the later a
  // query, the more it sees.
  each(tiles * of_tile, [&](std::int64_t item) {
    std::int64_t const at = (tiles - 1 - item / of_tile) * shape.queries;
    auto const first = static_cast<std::int32_t>(at);
    auto const end =
        static_cast<std::int32_t>(std::min<std::int64_t>(at + shape.queries, call.query_rows));
    auto const kv_head = static_cast<std::int32_t>(item % of_tile / shape.chunks);
    auto const chunk = static_cast<std::int32_t>(item % shape.chunks);
    std::int32_t const first_head = kv_head * group + chunk * shape.heads;
    std::int32_t const end_head = std::min(first_head + shape.heads, (kv_head + 1) * group);

    row_tile tile{with, call.cache, call.options};
    alignas(64) float accumulators[std::size_t{most_rows} * 256];
    auto const* const found = std::upper_bound(call.q_start, call.q_start + requests, first);
    auto r = static_cast<std::int32_t>(found - call.q_start);
    for (r = std::max(r - 1, 0); r < requests && call.q_start[r] < end; ++r) {
      std::int32_t const from = std::max(first, call.q_start[r]);
      std::int32_t const to = std::min(end, call.q_start[r + 1]);
      if (from < to) {
        attend_queries(call, with.rows, r, from, to, kv_head, first_head, end_head, tile,
                       accumulators);
      }
    }
  });
}

}  // namespace allot::runtime::host
