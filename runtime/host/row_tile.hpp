// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel_table.hpp"
#include "tile_kernels.hpp"

#include <allot/attention/calls.hpp>
#include <allot/attention/visible.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::runtime::host {

/// How many rows of queries are attended together, for each KV head.
struct tile_shape {
  std::int32_t heads = 1;    ///< query heads of one KV head
  std::int32_t queries = 1;  ///< that there is room for with so many heads each
  std::int32_t chunks = 1;   ///< tiles of one query that it takes for all heads of its group
};

tile_shape tile_shape_of(kv_cache const& cache, std::int32_t query_heads);

/// KV heads whose rows there is room for at once.
///
/// \param rows  of queries, for each KV head
std::int32_t kv_heads_at_once(kv_cache const& cache, std::int32_t rows);

/// Rows of queries that attend to the keys of one request, for some KV heads at once: the rows of a
/// token lie together then, and are read one after the other. Has the working memory of the thread
/// that does it, 300 KiB, on its stack.
class row_tile {
 public:
  /// What was attended: of scores, before it is normalised.
  struct softmax {
    float maximum;
    float sum;  ///< of exp(score - maximum); 0: nothing was attended
  };

  /// What all rows have in common.
  struct batch {
    element dtype = element::bf16;        ///< of the queries
    std::int64_t query_stride = 0;        ///< bytes from a row of one KV head to that of the next
    std::int32_t const* pages = nullptr;  ///< of the request, from its first token on
    std::int32_t first_kv_head = 0;
    std::int32_t kv_heads = 1;            ///< at most `kv_heads_at_once` the rows
    float* accumulators = nullptr;        ///< [kv_heads][rows, v_head_dim] out: unnormalised
    std::int64_t accumulator_stride = 0;  ///< floats from one KV head's to the next's
  };

  row_tile(kernels const& with, kv_cache const& cache, attention_options const& options)
      : with_{with}, cache_{cache}, options_{options} {}

  /// Forgets the rows.
  void clear() { rows_ = 0; }

  /// Takes one row for each KV head, which sees some of the request's keys.
  ///
  /// \param query  of the first KV head
  /// \requires     fewer rows than `tile_shape_of` has room for
  void add(std::byte const* query, kv_range seen);

  /// Attends all rows to the keys in `span` that they see, page by page.
  void attend(batch const& what, kv_range span);

  std::int32_t rows() const { return rows_; }  ///< for each KV head
  softmax row(std::int32_t kv_head, std::int32_t row) const {
    std::int32_t const at = kv_head * states_per_head_ + row;
    return {maxima_[at], sums_[at]};
  }

 private:
  /// Tokens of a tile, those of pages that are not held left out.
  struct token_list {
    std::byte const* k[tile_tokens];
    std::byte const* v[tile_tokens];
    std::int64_t pages[tile_tokens];  // bytes from page 0
    std::int32_t positions[tile_tokens];
    std::int32_t count = 0;
  };

  void list_tokens(std::int32_t const* pages, kv_range span, token_list& out) const;
  bool bound_rows(token_list const& tokens);
  void load_scales(kv_plane const& plane, token_list const& tokens, std::int32_t kv_head,
                   float* scales) const;

  kernels const& with_;
  kv_cache const& cache_;
  attention_options const& options_;
  std::int32_t rows_ = 0;
  std::int32_t states_per_head_ = 0;
  std::byte const* queries_of_[most_rows];
  kv_range seen_[most_rows];
  std::int32_t seen_first_[most_rows];
  std::int32_t seen_end_[most_rows];
  token_list tokens_[2];
  float k_scales_[tile_tokens];
  float v_scales_[tile_tokens];
  float maxima_[512];
  float sums_[512];
  alignas(64) float queries_[18'432];  // 32 rows of 576; 64 of 256 are less
  alignas(64) float tokens_fp32_[std::size_t{tile_tokens} * 576];
  alignas(64) float weights_[std::size_t{most_rows} * tile_tokens];
};

}  // namespace allot::runtime::host
