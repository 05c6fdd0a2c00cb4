// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/attention/instances.hpp>

#include <cstddef>
#include <cstdint>

/// What is compiled for each level of the instruction set. Plain pointers and numbers only: an
/// inline function that two levels share would be linked as one of them, whichever it is, so these
/// units have none, and all they export carries their level in its name.
namespace allot::runtime::host {

/// Tokens that are attended at a time.
inline constexpr std::int32_t tile_tokens = 64;

/// Rows of queries that share the keys of a tile, at most. They are cut into blocks of
/// `block_rows`, the last one rounded up to a power of two.
inline constexpr std::int32_t most_rows = 64;
inline constexpr std::int32_t block_rows = 16;

/// Rows of tokens that will be needed soon, to be fetched while others are worked on: row i is the
/// `row_bytes` from `rows[i] + offset` on.
struct rows_ahead {
  std::byte const* const* rows = nullptr;
  std::int64_t offset = 0;
  std::int32_t count = 0;
  std::int32_t row_bytes = 0;
};

/// One tile of tokens of one KV head, and the rows of queries that attend to it.
struct tile_work {
  std::byte const* const* k =
      nullptr;  ///< [tokens] rows of the first KV head, all of them attended
  std::byte const* const* v = nullptr;  ///< [tokens]; not read where V is K
  std::int64_t k_offset = 0;            ///< bytes from the row of the first KV head to this one's
  std::int64_t v_offset = 0;
  float const* k_scales = nullptr;  ///< [tokens]; null: 1
  float const* v_scales = nullptr;  ///< [tokens]; null: 1
  rows_ahead next_k{};
  rows_ahead next_v{};      ///< not looked at where V is K
  std::int32_t tokens = 0;  ///< [1, tile_tokens]
  bool v_is_k = false;

  std::int32_t rows = 0;                     ///< [1, most_rows]
  std::int32_t const* seen_first = nullptr;  ///< [rows] first token that each sees; null: all do
  std::int32_t const* seen_end = nullptr;    ///< [rows]
  float scale = 0.0F;
  float soft_cap = 0.0F;  ///< 0: none

  float const* queries = nullptr;       ///< as `pack_queries` lays them
  float* maxima = nullptr;              ///< [rows, rounded up to 16] -inf before the first tile
  float* sums = nullptr;                ///< [rows, rounded up to 16] 0 before the first tile
  float* accumulators = nullptr;        ///< [rows, v_head_dim] 0 before the first tile
  std::int64_t accumulator_stride = 0;  ///< floats

  float* tokens_fp32 = nullptr;  ///< scratch [tile_tokens, larger head dim], on a multiple of 64
  float* weights = nullptr;      ///< scratch [rows, rounded up to 16; tile_tokens], likewise
};

/// Attends rows to a tile.
template <class Level, class Shape, class Type>
void attend_tile(tile_work const& work);

/// The rest, which is not worth an instance for each length of a row. Those of queries and of the
/// cache have multiples of 16 elements.
struct row_kernels {
  /// Lays rows of queries as `attend_tile` reads them, as fp32.
  ///
  /// \param out     [rows; dim], the rows rounded up to 1, 2, 4, 8 or a multiple of 16
  /// \param offset  bytes that are added to the address of each row
  void (*pack_queries)(float* out, std::byte const* const* rows, std::int64_t offset,
                       std::int32_t count, std::int32_t dim, element dtype);

  /// row[i] = from[i] * factor, rounded to nearest even: fp32, fp16 or bf16.
  void (*store)(void* row, float const* from, std::int32_t dim, element dtype, float factor);

  /// out[i] += row[i] * factor
  void (*add)(float* out, void const* row, std::int32_t dim, element dtype, float factor);

  /// A row of fp16 or bf16 to the cache. One of the cache's own type is copied; to fp8 goes
  /// value / scale.
  void (*append)(std::byte* to, element to_dtype, std::byte const* from, element from_dtype,
                 std::int32_t dim, float scale);

  /// The largest magnitude of the finite elements; 0 when there are none.
  float (*largest)(std::byte const* from, element dtype, std::int32_t dim);
};

template <class Level>
row_kernels row_kernels_of();

}  // namespace allot::runtime::host
