// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/solve/request.hpp>

#include <cmath>
#include <cstdint>

/// What a request costs, written from docs/contract.md and the formulas a second time: no table, no
/// rows rules, no checked arithmetic, 128-bit integers that stop growing above what 64 bits hold.
namespace naive {

__extension__ typedef __int128 wide;  // NOLINT(modernize-use-using)

constexpr wide huge = wide{1} << 100;  ///< "too large": a sum or product that got here stays here
constexpr wide limit = wide{1} << 63;  ///< the first count that 64 bits do not hold

/// A factor that 64 bits do not hold is too large, whatever the other is.
inline wide times(wide a, wide b) {
  return a >= limit || b >= limit ? huge : a * b;
}
inline wide plus(wide a, wide b) {
  return a + b > huge ? huge : a + b;
}
inline wide up(wide a, wide b) {
  return (a + b - 1) / b;
}

/// Bytes rounded up to whole `granules`.
inline wide rounded(wide bytes, std::int64_t granule) {
  return times(up(bytes, granule), granule);
}

inline wide row(allot::element e, wide count) {
  switch (e) {
    case allot::element::fp32: return times(count, 4);
    case allot::element::fp16:
    case allot::element::bf16: return times(count, 2);
    case allot::element::fp8:
    case allot::element::int8: return count;
    case allot::element::fp4: return up(count, 2);
  }
  return huge;
}

inline bool splits(std::int64_t heads, std::int64_t tp) {
  return heads % tp == 0 || tp % heads == 0;
}
/// Heads one rank holds; none when they do not split, which is refused for itself.
inline wide heads_here(std::int64_t heads, std::int64_t tp) {
  if (!splits(heads, tp)) { return 0; }
  return heads < tp ? 1 : heads / tp;
}

inline wide slab(allot::maybe<allot::index_slab> const& index) {
  return index ? times(row(index->dtype, index->head_dim), index->layers) : wide{0};
}

/// Bytes of one page: of the cached rows, and of the index keys beside them.
struct page_size {
  wide rows = 0;
  wide keys = 0;
};

inline page_size page_of(allot::kv_family const& f) {
  wide token = 0;
  wide keys = 0;
  switch (f.kind) {
    case allot::kv_kind::raw: return {f.raw.page_bytes.count, 0};
    case allot::kv_kind::gqa: {
      allot::gqa const& g = f.gqa;
      std::int64_t const v_dim = g.v_head_dim ? *g.v_head_dim : g.head_dim;
      wide head = plus(row(g.dtype, g.head_dim), g.scale_bytes);
      if (v_dim > 0) { head = plus(head, plus(row(g.dtype, v_dim), g.scale_bytes)); }
      token = times(times(head, heads_here(g.kv_heads, g.tp)), g.layers);
      keys = slab(g.index);
      break;
    }
    case allot::kv_kind::mla:
      token = times(row(f.mla.dtype, f.mla.latent_dim), f.mla.layers);
      keys = slab(f.mla.index);
      break;
  }
  std::int64_t const page = f.paging().page_tokens;
  return {times(token, page), times(keys, page)};
}

/// Usable pages of pool `i` that hold the tokens of `n` usable anchor pages.
inline wide pages_of(allot::request const& r, std::int64_t i, wide n) {
  if (i == 0) { return n; }
  return up(times(n, r.kv[0].paging().page_tokens), r.kv[i].paging().page_tokens);
}

/// Bytes of pool `i` for `n` usable anchor pages; none where its heads do not split.
inline wide pool_bytes(allot::request const& r, std::int64_t i, wide n) {
  allot::kv_family const& f = r.kv[i];
  if (f.kind == allot::kv_kind::gqa && heads_here(f.gqa.kv_heads, f.gqa.tp) == 0) { return 0; }
  wide const physical = plus(pages_of(r, i, n), r.kv[i].paging().sentinel_pages);
  page_size const page = page_of(r.kv[i]);
  return plus(rounded(times(physical, page.rows), r.granularity),
              rounded(times(physical, page.keys), r.granularity));
}

inline wide kv_bytes(allot::request const& r, wide n) {
  wide sum = 0;
  for (std::int64_t i = 0; i < r.kv.size; ++i) {
    sum = plus(sum, pool_bytes(r, i, n));
  }
  return sum;
}

inline wide state_slots(allot::request const& r) {
  if (!r.state) { return 0; }
  allot::recurrent_state const& s = *r.state;
  if (s.pinned_slots) { return s.pinned_slots->count; }
  if (!s.prefix_cached) { return s.max_running; }
  double const snapshots = std::floor(s.snapshot_ratio * static_cast<double>(s.max_running));
  wide const kept = snapshots > 1e30 ? huge : static_cast<wide>(snapshots);
  return plus(times(4, s.max_running), kept > 4 ? kept : wide{4});
}

/// Bytes of one state slot: the convolution tail and the recurrent matrix.
inline page_size state_of(allot::recurrent_state const& s) {
  wide const keys = times(heads_here(s.key_heads, s.tp), s.key_head_dim);
  wide const values = times(heads_here(s.value_heads, s.tp), s.value_head_dim);
  wide const taps = times(plus(plus(keys, keys), values), wide{s.conv_kernel} - 1);
  return {times(row(s.dtype, taps), s.layers),
          times(row(s.state_dtype, times(values, s.key_head_dim)), s.layers)};
}

inline wide state_bytes(allot::request const& r) {
  if (!r.state || heads_here(r.state->key_heads, r.state->tp) == 0 ||
      heads_here(r.state->value_heads, r.state->tp) == 0) {
    return 0;
  }
  wide const physical = plus(state_slots(r), r.state->sentinel_slots);
  page_size const slot = state_of(*r.state);
  return plus(rounded(times(physical, slot.rows), r.granularity),
              rounded(times(physical, slot.keys), r.granularity));
}

inline wide expert_bytes(allot::request const& r, wide slots) {
  return r.experts ? rounded(times(slots, r.experts->slot_bytes.count), r.granularity) : wide{0};
}

inline wide charges(allot::request const& r) {
  wide sum = 0;
  for (allot::charge const& c : r.charges) {
    sum = plus(sum, c.bytes.count);
  }
  return sum;
}

inline wide fixed_bytes(allot::request const& r) {
  return plus(charges(r), state_bytes(r));
}

inline wide net_budget(allot::budget const& b) {
  if (b.absolute) { return b.absolute->count; }
  double const share = std::floor(b.ratio * static_cast<double>(b.baseline->count));
  return share < 0x1p63 ? static_cast<wide>(share) - b.resident.count : huge;
}

}  // namespace naive
