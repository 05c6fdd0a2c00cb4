// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/attention/split_kv.hpp>
#include <allot/core/host_device.hpp>
#include <allot/policy/element.hpp>

#include <cstddef>
#include <cstdint>

namespace allot {

/// K, V, or their scales, of one layer: the row of token `t` and head `h` of a page starts at
/// `data + page_offset + t * token_stride + h * head_stride`.
struct kv_plane {
  std::byte* data = nullptr;      ///< of page 0; null: there is none
  std::int64_t token_stride = 0;  ///< bytes
  std::int64_t head_stride = 0;   ///< bytes
};

/// The KV cache of one layer, as kernels address it: in any arrangement, any order of a page.
/// Borrowed. An fp8 value counts `stored * scale`: the scale of its token and head where there are
/// such planes, else that of the tensor.
struct kv_cache {
  kv_plane k{};         ///< rows of head_dim elements, on multiples of 16 bytes
  kv_plane v{};         ///< rows of v_head_dim elements; where V is K, the same rows
  kv_plane k_scales{};  ///< one fp32 a row
  kv_plane v_scales{};
  float k_scale = 1.0F;  ///< of the whole tensor
  float v_scale = 1.0F;
  std::int64_t page_stride = 0;   ///< bytes from a page to the next one of its block
  std::int64_t block_stride = 0;  ///< bytes from one block of pages to the next
  std::int32_t block_pages = 1;   ///< pages that lie one behind the other           [>= 1]
  std::int32_t first_page = 0;    ///< ids that requests are given are [first_page, end_page):
  std::int32_t end_page = 0;      ///< no other is ever read or written
  std::int32_t page_tokens = 1;   ///< tokens per page                               [>= 1]
  std::int32_t heads = 1;         ///< KV heads of this rank                         [>= 1]
  std::int32_t head_dim = 0;      ///< elements of a K row
  std::int32_t v_head_dim = 0;    ///< elements of a V row
  element dtype = element::bf16;  ///< fp16, bf16 or fp8 (e4m3)

  /// Whether requests are given the page: sentinels, -1 and ids past the pool are not.
  ALLOT_HOST_DEVICE constexpr bool holds(std::int64_t page) const {
    return first_page <= page && page < end_page;
  }

  /// Bytes from page 0 to a page.
  ///
  /// \requires  0 <= page
  ALLOT_HOST_DEVICE constexpr std::int64_t page_offset(std::int32_t page) const {
    if (block_pages == 1) { return page * block_stride; }
    return page / block_pages * block_stride + page % block_pages * page_stride;
  }

  /// Whether V is a part of K's rows, and is written with them.
  ALLOT_HOST_DEVICE constexpr bool v_is_k() const { return v.data == k.data; }
};

/// Rows of a batch: `data + row * row_stride + head * head_stride`, elements contiguous.
/// [rows, heads, dim]  Of more rows or heads than one, a stride is at least a row, and those that
/// are written do not overlap.
template <class Byte>
struct head_rows {
  Byte* data = nullptr;           ///< aligned to its elements
  std::int64_t row_stride = 0;    ///< bytes, a multiple of the element
  std::int64_t head_stride = 0;   ///< bytes, a multiple of the element
  element dtype = element::bf16;  ///< fp16 or bf16; of partial results fp32, too

  /// The same to be read: what one call wrote, for the next one.
  constexpr head_rows<Byte const> as_const() const {
    return {data, row_stride, head_stride, dtype};
  }
};

/// The pages of a batch's requests. Columns past the last page that a length needs are not read.
struct kv_tables {
  std::int32_t const* pages = nullptr;   ///< [requests, row_stride] page ids
  std::int32_t const* kv_len = nullptr;  ///< [requests] tokens
  std::int64_t row_stride = 0;           ///< ids from one row to the next            [>= columns]
  std::int32_t columns = 0;              ///< pages that a row has room for           [>= 0]
  std::int32_t requests = 0;             ///< rows                                    [>= 0]
};

/// What is done to a score, in this order: scale, soft-cap, mask, softmax.
struct attention_options {
  float scale = 0.0F;     ///< of q · k; 0: 1 / sqrt(head_dim)
  float soft_cap = 0.0F;  ///< c * tanh(score / c); 0: none                            [>= 0]
  std::int32_t window_tokens = 0;  ///< tokens that a query attends, itself included; 0: all
  float const* sinks = nullptr;    ///< [query_heads] logits that take their share and give nothing
};

/// Writes K and V of new tokens where `slots` says: `page * page_tokens + offset`. A slot below 0,
/// past the pool or in a sentinel page writes nothing.
struct append_call {
  kv_cache cache{};
  head_rows<std::byte const> k{};       ///< [tokens, heads, head_dim]
  head_rows<std::byte const> v{};       ///< [tokens, heads, v_head_dim]; not read where V is K
  std::int64_t const* slots = nullptr;  ///< [tokens]
  std::int32_t tokens = 0;              ///< [>= 0]
};

/// One query token a request, the last one of its KV.
struct decode_call {
  kv_cache cache{};
  kv_tables tables{};
  head_rows<std::byte const> q{};  ///< [requests, query_heads, head_dim]
  head_rows<std::byte> out{};      ///< [requests, query_heads, v_head_dim]
  float* lse = nullptr;            ///< [requests, query_heads] natural log; null: not wanted
  attention_options options{};
  split_kv split{};
  std::byte* workspace = nullptr;    ///< on a multiple of 16
  std::int64_t workspace_bytes = 0;  ///< at least decode_workspace_bytes
  std::int32_t query_heads = 1;      ///< a multiple of the cache's heads                 [>= 1]
  /// The workspace holds the cut of an earlier call with the same tables, lengths, window and
  /// split: that of the step's first layer.
  bool reuse_split = false;
};

/// Several query tokens a request, the last ones of its KV, whose K and V have been appended.
struct prefill_call {
  kv_cache cache{};
  kv_tables tables{};
  std::int32_t const* q_start =
      nullptr;                     ///< [requests + 1] first query row of each request; the end
  head_rows<std::byte const> q{};  ///< [query_rows, query_heads, head_dim]
  head_rows<std::byte> out{};      ///< [query_rows, query_heads, v_head_dim]
  float* lse = nullptr;            ///< [query_rows, query_heads] natural log; null: not wanted
  attention_options options{};
  std::int32_t query_rows = 0;  ///< rows there is room for; those past q_start's end are left alone
  std::int32_t query_heads = 1;  ///< a multiple of the cache's heads                   [>= 1]
  bool causal = true;            ///< false: each query sees all of its request; no window then
};

/// Base of the logarithm that sums of exponentials are given as. Ours are natural; FlashInfer's are
/// binary.
enum class lse_base : std::uint8_t { natural, two };

/// Joins attention over disjoint parts of the KV: out = Σ out_i exp(lse_i) / Σ exp(lse_i). A part
/// of lse -inf or +inf has attended to nothing, whatever its rows hold.
struct merge_call {
  head_rows<std::byte const> parts{};  ///< [parts][rows, heads, dim]
  std::int64_t part_stride = 0;        ///< bytes from one part to the next
  float const* part_lse = nullptr;     ///< [parts, rows, heads]
  lse_base part_base = lse_base::natural;
  head_rows<std::byte> out{};    ///< [rows, heads, dim]; may be one of the parts
  float* lse = nullptr;          ///< [rows, heads] natural log; may be a part's; null: not wanted
  float const* sinks = nullptr;  ///< [heads], for parts that were computed without; null: none
  std::int32_t part_count = 0;   ///< [>= 0] of none, out is 0 and lse -inf
  std::int32_t rows = 0;         ///< [>= 0]
  std::int32_t heads = 1;        ///< [>= 1]
  std::int32_t dim = 0;          ///< elements of a row  [>= 1]
};

/// Makes dense tables of compressed ones: row `r` has the pages `ids[starts[r]]` to
/// `ids[starts[r + 1] - 1]`, the last of them filled with `last_page_len[r]` tokens. A row that
/// makes no sense (more pages than columns, starts that go back or past `id_count`, a last page of
/// no token or more than a page's) becomes empty, and is counted in `faults`.
struct csr_call {
  std::int32_t const* starts = nullptr;  ///< [requests + 1]
  std::int32_t const* ids = nullptr;     ///< [id_count] page ids
  std::int32_t const* last_page_len =
      nullptr;                     ///< [requests] tokens; not read of a row of no pages
  std::int32_t* pages = nullptr;   ///< [requests, row_stride]
  std::int32_t* kv_len = nullptr;  ///< [requests] tokens
  std::int32_t* faults = nullptr;  ///< [1] rows at fault
  std::int64_t row_stride = 0;     ///< ids from one row to the next      [>= columns]
  std::int32_t id_count = 0;
  std::int32_t columns = 0;   ///< [>= 0]
  std::int32_t requests = 0;  ///< [>= 0]
  std::int32_t page_tokens = 1;
  std::int32_t padding = -1;  ///< written to the columns behind a row's pages
};

}  // namespace allot
