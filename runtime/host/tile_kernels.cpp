// SPDX-License-Identifier: Apache-2.0
#include "convert.hpp"
#include "levels.hpp"
#include "tile_kernels.hpp"
#include "vectors.hpp"

namespace allot::runtime::host {
namespace {

constexpr float infinity = __builtin_inff();
constexpr std::int32_t cache_line_bytes = 64;

/// Calls f(element_type) for the type that rows have.
template <class F>
void with_element(element dtype, F f) {
  switch (dtype) {
    case element::fp32: return f(element_type<element::fp32>{});
    case element::fp16: return f(element_type<element::fp16>{});
    case element::bf16: return f(element_type<element::bf16>{});
    case element::fp8: return f(element_type<element::fp8>{});
    case element::int8:
    case element::fp4: return;
  }
}

/// How a block of rows is laid in vectors. Where there are fewer rows than lanes, each row has
/// several lanes, for elements that follow each other; and several tokens share a vector of scores.
///
///     queries [dim / columns][rows, columns]
///     scores  [tokens][rows]
template <int Rows>
struct row_block {
  static constexpr int columns = Rows < lanes ? lanes / Rows : 1;
  static constexpr int vectors = Rows > lanes ? Rows / lanes : 1;
  /// Tokens at a time: as many as sums of them fit the registers beside keys and queries.
  static constexpr int tokens = lanes == 16 ? 16 : 8 / vectors;
};

/// The size of the block that begins with so many rows left.
constexpr std::int32_t padded_rows(std::int32_t rows) {
  return rows > 8 ? 16 : rows > 4 ? 8 : rows > 2 ? 4 : rows;
}

// -- queries
// ----------------------------------------------------------------------------------------

void pack_queries(float* out, std::byte const* const* rows, std::int32_t count, std::int32_t dim,
                  element dtype) {
  with_element(dtype, [=](auto type) {
    constexpr element of = decltype(type)::value;
    for (std::int32_t first = 0; first < count; first += block_rows) {
      std::int32_t const left = count - first < block_rows ? count - first : block_rows;
      std::int32_t const padded = padded_rows(left);
      std::int32_t const columns = padded < lanes ? lanes / padded : 1;
      float* const block = out + static_cast<std::int64_t>(first) * dim;
      for (std::int32_t r = 0; r < padded; ++r) {
        auto const* const from = r < left ? elements_of<of>(rows[first + r]) : nullptr;
        for (std::int32_t d = 0; d < dim; d += columns) {
          float* const to = block + d * padded + r * columns;
          for (std::int32_t i = 0; i < columns; ++i) {
            to[i] = r < left ? stored<of>::load(from[d + i]) : 0.0F;
          }
        }
      }
    }
  });
}

// -- keys and values
// --------------------------------------------------------------------------------

template <int Bytes>
void fetch(std::byte const* row) {
  for (std::int32_t at = 0; at < Bytes; at += cache_line_bytes) {
    __builtin_prefetch(row + at, 0, 2);
  }
}

/// Rows of a tile to fp32, while those of the next tile are fetched.
template <element Element, int Dim>
void load_rows(float* out, std::byte const* const* rows, std::int32_t count, std::int64_t stride,
               std::byte const* const* next, std::int32_t next_count) {
  constexpr int bytes = Dim * static_cast<int>(sizeof(typename stored<Element>::bits));
  for (std::int32_t t = 0; t < count; ++t) {
    auto const* const from = elements_of<Element>(rows[t]);
    float* const to = out + t * stride;
    for (int d = 0; d < Dim; ++d) {
      to[d] = stored<Element>::load(from[d]);
    }
    if (t < next_count) { fetch<bytes>(next[t]); }
  }
  for (std::int32_t t = count; t < next_count; ++t) {
    fetch<bytes>(next[t]);
  }
}

// -- scores
// -----------------------------------------------------------------------------------------

/// scores[t][r] = query r · key t
template <int Rows, int Dim>
void multiply_keys(float* scores, float const* queries, float const* keys, std::int32_t tokens) {
  using block = row_block<Rows>;
  for (std::int32_t t = 0; t < tokens; t += block::tokens) {
    float const* const key = keys + static_cast<std::int64_t>(t) * Dim;
    floats sums[block::tokens][block::vectors] = {};
    for (int d = 0; d < Dim; d += block::columns) {
      floats query[block::vectors];
      for (int v = 0; v < block::vectors; ++v) {
        query[v] = load(queries + d * Rows + v * lanes);
      }
      for (int i = 0; i < block::tokens; ++i) {
        floats const k = repeat<block::columns>(key + i * Dim + d);
        for (int v = 0; v < block::vectors; ++v) {
          sums[i][v] += query[v] * k;
        }
      }
    }
    float* out = scores + static_cast<std::int64_t>(t) * Rows;
    for (int i = 0; i < block::tokens; i += block::columns) {
      for (int v = 0; v < block::vectors; ++v) {
        if constexpr (block::columns == 1) {
          store(out, sums[i][v]);
        } else {
          store(out, add_up<block::columns>(&sums[i][0]));
        }
        out += lanes;
      }
    }
  }
}

/// Lanes of a vector belong to rows over and over: makes of each row one number, and gives it to
/// all its lanes.
template <int Rows, class Join>
void join_lanes(float* lanes_of_rows, Join join) {
  for (int r = 0; r < Rows; ++r) {
    float all = lanes_of_rows[r];
    for (int i = r + Rows; i < lanes; i += Rows) {
      all = join(all, lanes_of_rows[i]);
    }
    for (int i = r; i < lanes; i += Rows) {
      lanes_of_rows[i] = all;
    }
  }
}

void mask(float* scores, std::int32_t rows, std::int32_t padded, std::int32_t const* first,
          std::int32_t const* end, std::int32_t tokens) {
  for (std::int32_t t = 0; t < tokens; ++t) {
    for (std::int32_t r = 0; r < rows; ++r) {
      float& score = scores[t * padded + r];
      score = t < first[r] || t >= end[r] ? -infinity : score;
    }
  }
}

/// Makes weights of scores, and takes them into the rows' maxima and sums.
///
/// \param tokens   rounded up to whole vectors; what is behind `work.tokens` gets a weight of 0
/// \param row      first row of the block
/// \param rescale  [Rows] out: what the accumulators are to be multiplied by
template <int Rows>
void soften(tile_work const& work, std::int32_t row, std::int32_t tokens, float* scores,
            float* rescale) {
  constexpr int width = Rows > lanes ? Rows : lanes;
  constexpr int vectors = width / lanes;
  std::int32_t const count = tokens * Rows;

  floats const scale = every(work.scale);
  if (work.soft_cap > 0) {
    floats const cap = every(work.soft_cap);
    if (work.k_scales != nullptr) {
      for (std::int32_t t = 0; t < work.tokens; ++t) {
        for (int r = 0; r < Rows; ++r) {
          scores[t * Rows + r] *= work.k_scales[t];
        }
      }
    }
    for (std::int32_t i = 0; i < count; i += lanes) {
      store(scores + i, cap * hyperbolic_tangent(load(scores + i) * scale / cap));
    }
  } else {
    if (work.k_scales != nullptr) {
      for (std::int32_t t = 0; t < work.tokens; ++t) {
        for (int r = 0; r < Rows; ++r) {
          scores[t * Rows + r] *= work.k_scales[t];
        }
      }
    }
    for (std::int32_t i = 0; i < count; i += lanes) {
      store(scores + i, load(scores + i) * scale);
    }
  }
  if (work.seen_first != nullptr) {
    std::int32_t const rows = work.rows - row < Rows ? work.rows - row : Rows;
    mask(scores, rows, Rows, work.seen_first + row, work.seen_end + row, work.tokens);
  }
  for (std::int32_t i = work.tokens * Rows; i < count; ++i) {
    scores[i] = -infinity;
  }

  alignas(64) float maxima[width];
  alignas(64) float sums[width];
  floats most[vectors];
  for (int v = 0; v < vectors; ++v) {
    most[v] = every(-infinity);
  }
  for (std::int32_t i = 0; i < count; i += width) {
    for (int v = 0; v < vectors; ++v) {
      most[v] = larger(load(scores + i + v * lanes), most[v]);
    }
  }
  for (int v = 0; v < vectors; ++v) {
    store(maxima + v * lanes, most[v]);
  }
  join_lanes<Rows>(maxima, [](float a, float b) { return a > b ? a : b; });

  // A maximum of -inf, where nothing has been seen yet, is subtracted as 0: -inf - -inf is NaN.
  alignas(64) float before[width];
  for (int i = 0; i < width; ++i) {
    before[i] = work.maxima[row + i % Rows];
    maxima[i] = maxima[i] > before[i] ? maxima[i] : before[i];
  }
  floats base[vectors];
  floats sum[vectors] = {};
  for (int v = 0; v < vectors; ++v) {
    floats const m = load(maxima + v * lanes);
    base[v] = m == -infinity ? floats{} : m;
    store(before + v * lanes, exponential(load(before + v * lanes) - base[v]));
  }
  for (std::int32_t i = 0; i < count; i += width) {
    for (int v = 0; v < vectors; ++v) {
      floats const weight = exponential(load(scores + i + v * lanes) - base[v]);
      sum[v] += weight;
      store(scores + i + v * lanes, weight);
    }
  }
  for (int v = 0; v < vectors; ++v) {
    store(sums + v * lanes, sum[v]);
  }
  join_lanes<Rows>(sums, [](float a, float b) { return a + b; });
  for (int r = 0; r < Rows; ++r) {
    rescale[r] = before[r];
    work.maxima[row + r] = maxima[r];
    work.sums[row + r] = work.sums[row + r] * rescale[r] + sums[r];
  }
  if (work.v_scales != nullptr) {
    for (std::int32_t t = 0; t < work.tokens; ++t) {
      for (int r = 0; r < Rows; ++r) {
        scores[t * Rows + r] *= work.v_scales[t];
      }
    }
  }
}

// -- weighted values
// --------------------------------------------------------------------------------

/// Vectors of a row that are summed at a time, for so many rows at a time.
template <int Rows, int Dim>
constexpr int value_vectors() {
  constexpr int all = Dim / lanes;
  if (Rows == 1) { return all % 8 == 0 ? 8 : all % 6 == 0 ? 6 : 4; }
  if (Rows == 4 && lanes < 16) { return 2; }
  return all % 4 == 0 ? 4 : 3;
}

/// out[r] = out[r] * rescale[r] + Σ over tokens [first, end) of weights[t][r] * values[t]
template <int Rows, int Dim>
void multiply_values(float* out, std::int64_t out_stride, float const* rescale,
                     float const* weights, std::int32_t weight_stride, float const* values,
                     std::int64_t value_stride, std::int32_t first, std::int32_t end) {
  constexpr int vectors = value_vectors<Rows, Dim>();
  static_assert(Dim % (vectors * lanes) == 0);
  for (int d = 0; d < Dim; d += vectors * lanes) {
    floats sums[Rows][vectors];
    for (int r = 0; r < Rows; ++r) {
      for (int v = 0; v < vectors; ++v) {
        sums[r][v] = load(out + r * out_stride + d + v * lanes) * rescale[r];
      }
    }
    for (std::int32_t t = first; t < end; ++t) {
      floats value[vectors];
      for (int v = 0; v < vectors; ++v) {
        value[v] = load(values + t * value_stride + d + v * lanes);
      }
      for (int r = 0; r < Rows; ++r) {
        float const weight = weights[t * weight_stride + r];
        for (int v = 0; v < vectors; ++v) {
          sums[r][v] += value[v] * weight;
        }
      }
    }
    for (int r = 0; r < Rows; ++r) {
      for (int v = 0; v < vectors; ++v) {
        store(out + r * out_stride + d + v * lanes, sums[r][v]);
      }
    }
  }
}

/// Calls f(std::integral_constant-like rows) for a block of so many rows.
template <int Rows>
struct rows_constant {
  static constexpr int value = Rows;
};

template <class F>
void with_rows(std::int32_t rows, F f) {
  switch (padded_rows(rows)) {
    case 1: return f(rows_constant<1>{});
    case 2: return f(rows_constant<2>{});
    case 4: return f(rows_constant<4>{});
    case 8: return f(rows_constant<8>{});
    default: return f(rows_constant<16>{});
  }
}

template <int Dim>
void weigh_values(tile_work const& work, std::int32_t row, std::int32_t rows, float const* weights,
                  std::int32_t padded, float const* rescale, std::int64_t value_stride) {
  std::int64_t const stride = work.accumulator_stride;
  float* const out = work.accumulators + row * stride;
  std::int32_t r = 0;
  if (work.seen_first != nullptr) {
    // Each row by itself: what a row does not see may be NaN, which a weight of 0 does not stop.
    for (; r < rows; ++r) {
      std::int32_t const first = work.seen_first[row + r];
      std::int32_t const end = work.seen_end[row + r];
      multiply_values<1, Dim>(out + r * stride, stride, rescale + r, weights + r, padded,
                              work.tokens_fp32, value_stride, first, end);
    }
    return;
  }
  for (; r + 4 <= rows; r += 4) {
    multiply_values<4, Dim>(out + r * stride, stride, rescale + r, weights + r, padded,
                            work.tokens_fp32, value_stride, 0, work.tokens);
  }
  for (; r + 2 <= rows; r += 2) {
    multiply_values<2, Dim>(out + r * stride, stride, rescale + r, weights + r, padded,
                            work.tokens_fp32, value_stride, 0, work.tokens);
  }
  for (; r < rows; ++r) {
    multiply_values<1, Dim>(out + r * stride, stride, rescale + r, weights + r, padded,
                            work.tokens_fp32, value_stride, 0, work.tokens);
  }
}

// -- rows
// -------------------------------------------------------------------------------------------

void load_row(float* out, void const* row, std::int32_t dim, element dtype) {
  with_element(dtype, [=](auto type) {
    constexpr element of = decltype(type)::value;
    auto const* const from = elements_of<of>(row);
    for (std::int32_t d = 0; d < dim; ++d) {
      out[d] = stored<of>::load(from[d]);
    }
  });
}

void store_row(void* row, float const* from, std::int32_t dim, element dtype, float factor) {
  with_element(dtype, [=](auto type) {
    constexpr element of = decltype(type)::value;
    auto* const to = elements_of<of>(row);
    for (std::int32_t d = 0; d < dim; ++d) {
      to[d] = stored<of>::store(from[d] * factor);
    }
  });
}

void add_row(float* out, float const* from, std::int32_t dim, float factor) {
  for (std::int32_t d = 0; d < dim; ++d) {
    out[d] += from[d] * factor;
  }
}

void append_row(std::byte* to, element to_dtype, std::byte const* from, element from_dtype,
                std::int32_t dim, float scale) {
  with_element(from_dtype, [=](auto from_type) {
    constexpr element source = decltype(from_type)::value;
    auto const* const in = elements_of<source>(static_cast<void const*>(from));
    with_element(to_dtype, [=](auto to_type) {
      constexpr element target = decltype(to_type)::value;
      auto* const out = elements_of<target>(static_cast<void*>(to));
      for (std::int32_t d = 0; d < dim; ++d) {
        if constexpr (source == target) {
          out[d] = in[d];
        } else if constexpr (target == element::fp8) {
          out[d] = stored<target>::store(stored<source>::load(in[d]) / scale);
        } else {
          out[d] = stored<target>::store(stored<source>::load(in[d]));
        }
      }
    });
  });
}

float largest_of_row(std::byte const* from, element dtype, std::int32_t dim) {
  // Magnitudes are in the order of their bits.
  std::uint32_t most = 0;
  auto const* const bits = elements_of<element::bf16>(from);  // or fp16: 16 bits, either way
  std::uint32_t const end = dtype == element::fp16 ? 0x7C00U : 0x7F80U;
  for (std::int32_t d = 0; d < dim; ++d) {
    std::uint32_t const magnitude = bits[d] & 0x7FFFU;
    std::uint32_t const finite = magnitude < end ? magnitude : 0;
    most = finite > most ? finite : most;
  }
  auto const narrow = static_cast<std::uint16_t>(most);
  return dtype == element::fp16 ? stored<element::fp16>::load(narrow)
                                : stored<element::bf16>::load(narrow);
}

}  // namespace

template <class Level, class Shape, class Type>
void attend_tile(tile_work const& work) {
  constexpr int head_dim = Shape::head_dim;
  constexpr int v_head_dim = Shape::v_head_dim;
  constexpr element of = Type::value;
  load_rows<of, head_dim>(work.tokens_fp32, work.k, work.tokens, head_dim, work.next_k,
                          work.next_tokens);
  alignas(64) float rescale[most_rows];
  for (std::int32_t row = 0; row < work.rows; row += block_rows) {
    with_rows(work.rows - row, [&](auto rows) {
      constexpr int padded = decltype(rows)::value;
      constexpr int together = row_block<padded>::tokens;
      std::int32_t const tokens = (work.tokens + together - 1) / together * together;
      float* const scores = work.weights + row * tile_tokens;
      multiply_keys<padded, head_dim>(scores, work.queries + row * head_dim, work.tokens_fp32,
                                      tokens);
      soften<padded>(work, row, tokens, scores, rescale + row);
    });
  }
  std::int64_t value_stride = head_dim;
  if (!work.v_is_k) {
    value_stride = v_head_dim;
    load_rows<of, v_head_dim>(work.tokens_fp32, work.v, work.tokens, v_head_dim, work.next_v,
                              work.next_tokens);
  }
  for (std::int32_t row = 0; row < work.rows; row += block_rows) {
    std::int32_t const rows = work.rows - row < block_rows ? work.rows - row : block_rows;
    weigh_values<v_head_dim>(work, row, rows, work.weights + row * tile_tokens, padded_rows(rows),
                             rescale + row, value_stride);
  }
}

template <class Level>
row_kernels row_kernels_of() {
  return {.pack_queries = pack_queries,
          .load = load_row,
          .store = store_row,
          .add = add_row,
          .append = append_row,
          .largest = largest_of_row};
}

template row_kernels row_kernels_of<ALLOT_HOST_LEVEL>();

namespace {

// An instance for each combination: the table of kernels refers to them by their names. "used", for
// nothing here calls them.
using tile_function = void (*)(tile_work const&);

template <std::size_t Types>
struct shape_instances {
  tile_function of_type[Types];
};
template <class Shape, class... Types>
constexpr shape_instances<sizeof...(Types)> instances_of(type_list<Types...>) {
  return {{attend_tile<ALLOT_HOST_LEVEL, Shape, Types>...}};
}

template <std::size_t Shapes, class OfShape>
struct all_instances {
  OfShape of_shape[Shapes];
};
template <class... Shapes>
constexpr auto instances_of_all(type_list<Shapes...>) {
  auto const of = []<class Shape>(Shape) { return instances_of<Shape>(attention_elements{}); };
  return all_instances<sizeof...(Shapes), decltype(of(head_shape<64>{}))>{{of(Shapes{})...}};
}

[[gnu::used]] constexpr auto instances = instances_of_all(attention_head_shapes{});

}  // namespace
}  // namespace allot::runtime::host
