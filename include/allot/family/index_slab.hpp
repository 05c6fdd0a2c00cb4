// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/core/maybe.hpp>
#include <allot/family/family.hpp>
#include <allot/policy/element.hpp>

namespace allot {

/// Keys of a sparse-attention indexer, kept beside the same rows as the cache they select from.
/// Replicated on every rank, never sharded.
///
/// \source  cases mla-2: 61 layers of 132 B a token that a planner forgot to price
struct index_slab {
  std::int64_t head_dim = 0;  ///< elements of one key                              [>= 1]
  std::int64_t layers = 0;    ///< layers that keep one                             [>= 1]
  element dtype = element::bf16;

  /// Bytes of one token in one layer.
  constexpr checked layer_token_bytes() const { return row_bytes(dtype, head_dim); }

  /// The same over all layers.
  constexpr checked token_bytes() const { return layer_token_bytes() * layers; }
};

namespace detail {

/// Bytes of the K and the V row of one token and head; no V row when V is K (`v_head_dim` 0).
///
/// \param scale_bytes  bytes of scale beside each row
constexpr checked kv_row_bytes(element dtype, std::int64_t head_dim,
                               maybe<std::int64_t> const& v_head_dim, std::int64_t scale_bytes) {
  std::int64_t const v_dim = v_head_dim.value_or(head_dim);
  checked const k_row = row_bytes(dtype, head_dim) + scale_bytes;
  return v_dim > 0 ? k_row + row_bytes(dtype, v_dim) + scale_bytes : k_row;
}

/// One array of pages for all layers, or one a layer.
///
/// \returns  whether a page of all layers has less than 2^63 bytes
constexpr bool write_token_rows(extent& out, text name, checked layer_token_bytes,
                                std::int64_t layers, paging const& own, lowering const& in) {
  checked const page = layer_token_bytes * layers * own.page_tokens;
  if (page.overflowed) { return false; }
  out = {.name = name, .row_bytes = page.value, .rows = page_rows(own, in)};
  if (in.by_layer()) {
    out.row_bytes = page.value / layers;
    out.copies = layers;
  }
  return true;
}

/// The tail every token-proportional family shares: rows of pages, and a slab beside them.
/// Reports what overflows, naming the pool.
///
/// \param layer_token_bytes  bytes of one token in one of the `layers`
constexpr lowered lower_token_rows(text name, text family, checked layer_token_bytes,
                                   std::int64_t layers, maybe<index_slab> const& index,
                                   paging const& own, lowering const& in, fault_check check,
                                   extent* out) {
  bool const fits = write_token_rows(out[0], "rows", layer_token_bytes, layers, own, in) &&
                    (!index || write_token_rows(out[1], "index slab", index->layer_token_bytes(),
                                                index->layers, own, in));
  if (!fits) { check.report(solve_error::overflow, "", 0, "a page of less than 2^63 bytes"); }
  if (!check.ok()) { return {.found = check.found}; }
  return {.pool = {.name = name,
                   .family = family,
                   .page_tokens = own.page_tokens,
                   .sentinel = own.sentinel_pages,
                   .extents = index ? 2 : 1}};
}

constexpr void check_index(maybe<index_slab> const& index, fault_check& check) {
  if (!index) { return; }
  check.positive("index.head_dim", index->head_dim);
  check.positive("index.layers", index->layers);
}

}  // namespace detail

}  // namespace allot
