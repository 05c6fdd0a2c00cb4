// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel_table.hpp"
#include "tile_kernels.hpp"

#include <allot/attention/calls.hpp>
#include <allot/attention/visible.hpp>

#include <cstddef>
#include <cstdint>

namespace allot::runtime::host {

/// Query heads of one KV head that a tile has, and the queries that it then has room for.
struct tile_shape {
  std::int32_t heads = 1;
  std::int32_t queries = 1;
  std::int32_t chunks = 1;  ///< tiles of one query that it takes for all heads of its group
};

tile_shape tile_shape_of(kv_cache const& cache, std::int32_t query_heads);

/// Rows of queries that attend to the keys of one request and KV head, and the working memory of
/// the thread that does it: 300 KiB, on its stack.
class row_tile {
 public:
  /// What was attended: of scores, before it is normalised.
  struct softmax {
    float maximum;
    float sum;  ///< of exp(score - maximum); 0: nothing was attended
  };

  row_tile(kernels const& with, kv_cache const& cache, attention_options const& options)
      : with_{with}, cache_{cache}, options_{options} {}

  /// Takes a row of a query, which sees some of the request's keys.
  ///
  /// \requires  fewer than `tile_shape_of` has room for
  void add(std::byte const* query, kv_range seen);

  /// Attends all of its rows to the keys in `span` that they see, page by page.
  ///
  /// \param pages         of the request, from its first token on
  /// \param accumulators  [rows, v_head_dim] out: unnormalised
  /// \param stride        of the accumulators, in floats
  void attend(element query_dtype, std::int32_t const* pages, std::int32_t kv_head, kv_range span,
              float* accumulators, std::int64_t stride);

  std::int32_t rows() const { return rows_; }
  softmax row(std::int32_t row) const { return {maxima_[row], sums_[row]}; }
  kv_range seen(std::int32_t row) const { return seen_[row]; }
  void clear() { rows_ = 0; }

 private:
  /// Tokens of a tile, those of pages that are not held left out.
  struct token_list {
    std::byte const* k[tile_tokens];
    std::byte const* v[tile_tokens];
    float k_scales[tile_tokens];
    float v_scales[tile_tokens];
    std::int32_t positions[tile_tokens];
    std::int32_t count = 0;
  };

  void list_tokens(std::int32_t const* pages, std::int32_t kv_head, kv_range span,
                   token_list& out) const;
  bool bound_rows(token_list const& tokens);

  static constexpr std::size_t most_query_floats =
      18'432;  // 32 rows of 576, and 64 of 256 are less
  static constexpr std::size_t most_token_floats = 64 * 576;

  kernels const& with_;
  kv_cache const& cache_;
  attention_options const& options_;
  std::int32_t rows_ = 0;
  std::byte const* from_[most_rows];
  kv_range seen_[most_rows];
  std::int32_t seen_first_[most_rows];
  std::int32_t seen_end_[most_rows];
  float maxima_[most_rows];
  float sums_[most_rows];
  token_list tokens_[2];
  alignas(64) float queries_[most_query_floats];
  alignas(64) float tokens_fp32_[most_token_floats];
  alignas(64) float weights_[std::size_t{most_rows} * tile_tokens];
};

}  // namespace allot::runtime::host
