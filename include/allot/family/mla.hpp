// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/family/index_slab.hpp>

namespace allot {

/// Multi-head latent attention: one latent row a token and layer, K and V at once, replicated on
/// every rank. With an index slab it is DeepSeek sparse attention.
///
/// \source  cases mla-1: 27 layers of 576 bf16, 32768 tokens: 1,019,215,872 bytes, not twice that
struct mla {
  static constexpr std::int32_t max_extents = 2;

  std::int64_t layers = 0;      ///< layers that keep a cache                         [>= 1]
  std::int64_t latent_dim = 0;  ///< elements of the latent row, rope part included   [>= 1]
  element dtype = element::bf16;
  maybe<index_slab> index{};
  std::int64_t page_tokens = 1;     ///< tokens per page                                  [>= 1]
  std::int64_t sentinel_pages = 1;  ///< pages never handed out                           [>= 0]
  text name = "mla";

  constexpr allot::paging paging() const { return {page_tokens, sentinel_pages}; }

  /// Bytes one token takes in one layer, index slab not included.
  constexpr checked layer_token_bytes() const { return row_bytes(dtype, latent_dim); }

  /// The same in all layers.
  constexpr checked token_bytes() const { return layer_token_bytes() * layers; }

  constexpr lowered lower(lowering const& in, extent* out) const {
    fault_check check{"kv", in.index};
    check.positive("layers", layers);
    check.positive("latent_dim", latent_dim);
    detail::check_index(index, check);
    check.positive("page_tokens", page_tokens);
    check.not_negative("sentinel_pages", sentinel_pages);
    if (!check.ok()) { return {.found = check.found}; }
    return detail::lower_token_rows(name, "mla", layer_token_bytes(), layers, index, paging(), in,
                                    check, out);
  }
};
static_assert(describes_pool_family<mla>);

}  // namespace allot
