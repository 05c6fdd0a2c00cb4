// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/family/index_slab.hpp>
#include <allot/policy/sharding.hpp>

namespace allot {

/// Grouped-query attention (multi-head and multi-query are its ends): K and V rows of every layer
/// and head. With an index slab it is block-sparse attention.
///
///     token_bytes = layers * local_heads * (K row + V row + scales) + index
///
/// \source  docs/formulas.md; cases quant-1, quant-2, tp-1
struct gqa {
  static constexpr std::int32_t max_extents = 2;

  std::int64_t layers = 0;           ///< layers that keep a cache                         [>= 1]
  std::int64_t kv_heads = 0;         ///< KV heads of the whole model                      [>= 1]
  std::int64_t head_dim = 0;         ///< elements of a K row                              [>= 1]
  maybe<std::int64_t> v_head_dim{};  ///< elements of a V row; absent: as K, 0: V is K     [>= 0]
  element dtype = element::bf16;
  std::int64_t tp = 1;           ///< tensor-parallel ranks                            [>= 1]
  std::int64_t scale_bytes = 0;  ///< bytes of scale per (token, head, K or V)         [>= 0]
  maybe<index_slab> index{};
  std::int64_t page_tokens = 1;     ///< tokens per page                                  [>= 1]
  std::int64_t sentinel_pages = 1;  ///< pages never handed out                           [>= 0]
  text name = "gqa";

  constexpr allot::paging paging() const { return {page_tokens, sentinel_pages}; }

  /// Bytes one token takes in one layer on one rank, index slab not included.
  ///
  /// \requires  kv_heads and tp split (`local_heads`)
  constexpr checked layer_token_bytes() const {
    return detail::kv_row_bytes(dtype, head_dim, v_head_dim, scale_bytes) *
           local_heads(kv_heads, tp).value;
  }

  /// The same in all layers.
  constexpr checked token_bytes() const { return layer_token_bytes() * layers; }

  constexpr lowered lower(lowering const& in, extent* out) const {
    fault_check check{"kv", in.index};
    check.positive("layers", layers);
    check.positive("kv_heads", kv_heads);
    check.positive("head_dim", head_dim);
    check.not_negative("v_head_dim", v_head_dim.value_or(0));
    check.positive("tp", tp);
    check.not_negative("scale_bytes", scale_bytes);
    detail::check_index(index, check);
    check.positive("page_tokens", page_tokens);
    check.not_negative("sentinel_pages", sentinel_pages);
    if (!check.ok()) { return {.found = check.found}; }
    if (!local_heads(kv_heads, tp)) {
      check.report(solve_error::kv_head_split, "tp", tp, "a divisor or a multiple of kv_heads");
    }
    return detail::lower_token_rows(name, "gqa", layer_token_bytes(), layers, index, paging(), in,
                                    check, out);
  }
};
static_assert(describes_pool_family<gqa>);

}  // namespace allot
