// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/family/gqa.hpp>
#include <allot/family/mla.hpp>
#include <allot/family/sliding_window.hpp>

#include <cstdint>

namespace allot {

// g++ 12 counts a scoped enumerator as shadowing a type of its name.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"

/// Which of tokens and heads changes faster within a page.
enum class kv_order : std::uint8_t {
  token_major,  ///< [page_tokens, heads, dim]: vLLM's NHD
  head_major,   ///< [heads, page_tokens, dim]: HND, the rows of a head lie together
};

#pragma GCC diagnostic pop

/// Rows of one kind in a page of one layer: the row of token `t` and head `h` starts at
/// `offset + t * token_stride + h * head_stride`.
struct kv_rows {
  std::int64_t offset = 0;        ///< bytes from the start of the page's part of the layer
  std::int64_t token_stride = 0;  ///< bytes
  std::int64_t head_stride = 0;   ///< bytes
  std::int64_t row_bytes = 0;     ///< bytes of one row; 0: there are none

  friend constexpr bool operator==(kv_rows const&, kv_rows const&) = default;
};

/// What a page has of one layer, in the bytes that its family was priced at:
///
///     [K rows][V rows][K scales][V scales]
///
/// Where V is K, or a part of it, the V rows are those of K.
///
/// \ensures  bytes == page_tokens * layer_token_bytes() of the family
struct kv_page {
  kv_rows k{};
  kv_rows v{};
  kv_rows k_scales{};  ///< of each token and head; no rows where there are none
  kv_rows v_scales{};
  checked bytes{};                ///< of the page in one layer
  std::int64_t layers = 0;        ///< layers of the family
  std::int64_t page_tokens = 0;   ///< tokens per page
  std::int64_t heads = 0;         ///< KV heads of one rank
  std::int64_t head_dim = 0;      ///< elements of a K row
  std::int64_t v_head_dim = 0;    ///< elements of a V row
  element dtype = element::bf16;  ///< of K and V rows
};

namespace detail {

/// Appends the rows of one kind to a page.
constexpr kv_rows add_rows(kv_page& page, checked row, kv_order order) {
  kv_rows out{.offset = page.bytes.value, .row_bytes = row.value};
  bool const by_token = order == kv_order::token_major;
  checked const all_heads = row * page.heads;
  checked const all_tokens = row * page.page_tokens;
  out.token_stride = (by_token ? all_heads : row).value;
  out.head_stride = (by_token ? row : all_tokens).value;
  page.bytes = page.bytes + all_heads * page.page_tokens;
  return out;
}

constexpr kv_page kv_page_of(kv_page page, std::int64_t scale_bytes, bool has_v, kv_order order) {
  page.k = add_rows(page, row_bytes(page.dtype, page.head_dim), order);
  page.v = has_v ? add_rows(page, row_bytes(page.dtype, page.v_head_dim), order) : page.k;
  if (scale_bytes > 0) {
    page.k_scales = add_rows(page, scale_bytes, order);
    page.v_scales = has_v ? add_rows(page, scale_bytes, order) : page.k_scales;
  }
  return page;
}

}  // namespace detail

/// \requires  a family without fault, as `make_table` takes it; here and in the next two. `bytes`
///            says when a page has 2^63 bytes or more
constexpr kv_page kv_page_of(gqa const& f, kv_order order = kv_order::token_major) {
  std::int64_t const v_dim = f.v_head_dim.value_or(f.head_dim);
  bool const has_v = v_dim > 0;
  return detail::kv_page_of({.layers = f.layers,
                             .page_tokens = f.page_tokens,
                             .heads = local_heads(f.kv_heads, f.tp).value,
                             .head_dim = f.head_dim,
                             .v_head_dim = has_v ? v_dim : f.head_dim,
                             .dtype = f.dtype},
                            f.scale_bytes, has_v, order);
}

/// One latent row a token; V is the first elements of it.
///
/// \param v_dim  elements of V: the latent row without its rope part (512 of 576)
constexpr kv_page kv_page_of(mla const& f, std::int64_t v_dim) {
  return detail::kv_page_of({.layers = f.layers,
                             .page_tokens = f.page_tokens,
                             .heads = 1,
                             .head_dim = f.latent_dim,
                             .v_head_dim = v_dim,
                             .dtype = f.dtype},
                            0, false, kv_order::token_major);
}

/// The window's pool has token rows: pages of one token.
constexpr kv_page kv_page_of(sliding_window const& f) {
  return kv_page_of(gqa{.layers = f.layers,
                        .kv_heads = f.kv_heads,
                        .head_dim = f.head_dim,
                        .v_head_dim = f.v_head_dim,
                        .dtype = f.dtype,
                        .tp = f.tp});
}

}  // namespace allot
