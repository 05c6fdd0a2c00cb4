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

/// Bytes of one page in one layer, and how many layers: of the cached rows, and of the index keys
/// beside them.
struct page_size {
  wide rows = 0;
  wide keys = 0;
  wide row_layers = 1;
  wide key_layers = 0;

  wide all_rows() const { return times(rows, row_layers); }
  wide all_keys() const { return times(keys, key_layers); }
};

inline page_size page_of(allot::kv_family const& f) {
  wide token = 0;
  allot::maybe<allot::index_slab> index;
  wide layers = 1;
  switch (f.kind) {
    case allot::kv_kind::raw: return {f.raw.page_bytes.count, 0, 1, 0};
    case allot::kv_kind::gqa: {
      allot::gqa const& g = f.gqa;
      std::int64_t const v_dim = g.v_head_dim ? *g.v_head_dim : g.head_dim;
      wide head = plus(row(g.dtype, g.head_dim), g.scale_bytes);
      if (v_dim > 0) { head = plus(head, plus(row(g.dtype, v_dim), g.scale_bytes)); }
      token = times(head, heads_here(g.kv_heads, g.tp));
      layers = g.layers;
      index = g.index;
      break;
    }
    case allot::kv_kind::mla:
      token = row(f.mla.dtype, f.mla.latent_dim);
      layers = f.mla.layers;
      index = f.mla.index;
      break;
    case allot::kv_kind::sliding_window:
    case allot::kv_kind::compressed_tiers: return {huge, huge, 1, 1};  // not drawn
  }
  std::int64_t const page = f.paging().page_tokens;
  page_size out{times(token, page), 0, layers, 0};
  if (index) {
    out.keys = times(row(index->dtype, index->head_dim), page);
    out.key_layers = index->layers;
  }
  return out;
}

/// Usable pages of pool `i` that hold the tokens of `n` usable anchor pages.
inline wide pages_of(allot::request const& r, std::int64_t i, wide n) {
  if (i == 0) { return n; }
  return up(times(n, r.kv[0].paging().page_tokens), r.kv[i].paging().page_tokens);
}

/// Whether a pool's heads split; one whose heads do not has no bytes, and is refused for that.
inline bool has_bytes(allot::kv_family const& f) {
  return f.kind != allot::kv_kind::gqa || heads_here(f.gqa.kv_heads, f.gqa.tp) > 0;
}

/// Arrays of the arrangement: one for all layers, or one a layer, each rounded for itself.
inline wide arrays(allot::request const& r, wide rows, wide row_bytes, wide layers) {
  switch (r.arrangement) {
    case allot::arrangement::flat:
      return rounded(times(rows, times(row_bytes, layers)), r.granularity);
    case allot::arrangement::layer_major:
      return times(rounded(times(rows, row_bytes), r.granularity), layers);
    case allot::arrangement::page_major: break;
  }
  return times(rounded(times(rows, row_bytes), 16), layers);
}

/// What a face of a page_major arena is rounded up to.
inline wide face(allot::request const& r, wide bytes) {
  return rounded(bytes, r.granularity < 16 ? 16 : r.granularity);
}

/// Pages of pool `i` in each page of the anchor, sentinels and all; 0 when that is not exact.
inline std::int64_t pages_in_block(allot::request const& r, std::int64_t i) {
  allot::paging const anchor = r.kv[0].paging();
  allot::paging const own = r.kv[i].paging();
  if (anchor.page_tokens % own.page_tokens != 0) { return 0; }
  std::int64_t const each = anchor.page_tokens / own.page_tokens;
  return wide{each} * anchor.sentinel_pages == own.sentinel_pages ? each : 0;
}

/// Bytes of all KV pools for `n` usable anchor pages.
inline wide kv_bytes(allot::request const& r, wide n) {
  bool const faces = r.arrangement == allot::arrangement::page_major;
  wide side = 0;
  wide block = 0;
  for (std::int64_t i = 0; i < r.kv.size; ++i) {
    if (!has_bytes(r.kv[i])) { continue; }
    page_size const page = page_of(r.kv[i]);
    if (faces && pages_in_block(r, i) > 0) {
      block = plus(block, times(plus(page.all_rows(), page.all_keys()), pages_in_block(r, i)));
      continue;
    }
    wide const physical = plus(pages_of(r, i, n), r.kv[i].paging().sentinel_pages);
    side = plus(side, arrays(r, physical, page.rows, page.row_layers));
    side = plus(side, arrays(r, physical, page.keys, page.key_layers));
  }
  if (!faces) { return side; }
  return plus(face(r, side), face(r, times(plus(n, r.kv[0].paging().sentinel_pages), block)));
}

/// Whether a page_major arena would have a row of a page, or a slot, that is no multiple of 16.
inline bool is_misaligned(allot::request const& r) {
  if (r.arrangement != allot::arrangement::page_major) { return false; }
  for (std::int64_t i = 0; i < r.kv.size; ++i) {
    if (!has_bytes(r.kv[i])) { continue; }
    page_size const page = page_of(r.kv[i]);
    wide const each = pages_in_block(r, i);
    if (each * page.rows % 16 != 0 || (page.key_layers > 0 && each * page.keys % 16 != 0)) {
      return true;
    }
  }
  return r.experts && r.experts->slot_bytes.count % 16 != 0;
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

/// What ranks share of a state: two counts, the second one 1 where there is none.
struct shared_heads {
  std::int64_t first, second;
};
inline shared_heads shared_of(allot::recurrent_state const& s) {
  using allot::state_kind;
  if (s.kind == state_kind::gated_delta) { return {s.key_heads, s.value_heads}; }
  if (s.kind == state_kind::mamba1) { return {s.inner_dim, s.inner_dim}; }
  return {s.heads, s.kind == state_kind::mamba2 ? s.groups : s.heads};
}

/// Bytes of one state slot: the convolution tail and the recurrent matrix.
inline page_size state_of(allot::recurrent_state const& s) {
  using allot::state_kind;
  wide const first = heads_here(shared_of(s).first, s.tp);
  wide const second = heads_here(shared_of(s).second, s.tp);
  wide channels = 0;
  wide cells = 0;
  if (s.kind == state_kind::gated_delta) {
    wide const values = times(second, s.value_head_dim);
    channels = plus(times(2, times(first, s.key_head_dim)), values);
    cells = times(values, s.key_head_dim);
  } else if (s.kind == state_kind::mamba1) {
    channels = first;
    cells = times(first, s.state_dim);
  } else if (s.kind == state_kind::mamba2) {
    wide const inner = times(first, s.head_dim);
    channels = plus(inner, times(2, times(second, s.state_dim)));
    cells = times(inner, s.state_dim);
  } else {  // q, k and v of every head, and a square
    channels = times(3, times(first, s.head_dim));
    cells = times(times(first, s.head_dim), s.head_dim);
  }
  return {row(s.dtype, times(channels, wide{s.conv_kernel} - 1)), row(s.state_dtype, cells),
          s.layers, s.layers};
}

inline wide state_bytes(allot::request const& r) {
  if (!r.state || heads_here(shared_of(*r.state).first, r.state->tp) == 0 ||
      heads_here(shared_of(*r.state).second, r.state->tp) == 0) {
    return 0;
  }
  wide const physical = plus(state_slots(r), r.state->sentinel_slots);
  page_size const slot = state_of(*r.state);
  if (r.arrangement == allot::arrangement::page_major) {  // a slot holds all layers
    return face(
        r, plus(arrays(r, physical, slot.all_rows(), 1), arrays(r, physical, slot.all_keys(), 1)));
  }
  return plus(arrays(r, physical, slot.rows, slot.row_layers),
              arrays(r, physical, slot.keys, slot.key_layers));
}

inline wide expert_bytes(allot::request const& r, wide slots) {
  if (!r.experts) { return 0; }
  wide const bytes = times(slots, r.experts->slot_bytes.count);
  if (r.arrangement == allot::arrangement::page_major) { return face(r, bytes); }
  return rounded(bytes, r.granularity);
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
