// SPDX-License-Identifier: Apache-2.0
#include "convert.hpp"
#include "levels.hpp"
#include "tile_kernels.hpp"
#include "vectors.hpp"

namespace allot::runtime::host {
namespace {

constexpr float infinity = __builtin_inff();

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

/// Tokens that are turned into keys at a time.
constexpr std::int32_t key_tokens = 16;

/// Tokens rounded up to what `multiply_keys` does at a time.
template <int Rows>
constexpr std::int32_t whole_blocks(std::int32_t tokens) {
  constexpr int together = row_block<Rows>::tokens;
  static_assert(key_tokens % together == 0 && together % row_block<Rows>::columns == 0);
  return (tokens + together - 1) / together * together;
}

/// The size of the block that begins with so many rows left.
constexpr std::int32_t padded_rows(std::int32_t rows) {
  return rows > 8 ? 16 : rows > 4 ? 8 : rows > 2 ? 4 : rows;
}

template <int Rows>
struct rows_constant {
  static constexpr int value = Rows;
};

/// Calls f(rows_constant) for the block that begins with so many rows left.
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

/// One block of rows.
template <int Rows, element Element>
void pack_block(float* out, std::byte const* const* rows, std::int64_t offset, std::int32_t count,
                std::int32_t dim) {
  constexpr int columns = row_block<Rows>::columns;
  for (std::int32_t r = 0; r < Rows; ++r) {
    for (std::int32_t d = 0; d < dim; d += lanes) {
      floats const some = r < count ? load_elements<Element>(rows[r] + offset, d) : floats{};
      for (int i = 0; i < lanes; i += columns) {
        float* const to = out + (d + i) * Rows + r * columns;
        __builtin_memcpy(to, reinterpret_cast<char const*>(&some) + i * sizeof(float),
                         columns * sizeof(float));
      }
    }
  }
}

void pack_queries(float* out, std::byte const* const* rows, std::int64_t offset, std::int32_t count,
                  std::int32_t dim, element dtype) {
  with_element(dtype, [=](auto type) {
    for (std::int32_t first = 0; first < count; first += block_rows) {
      with_rows(count - first, [=](auto block) {
        constexpr int padded = decltype(block)::value;
        std::int32_t const left = count - first < padded ? count - first : padded;
        pack_block<padded, decltype(type)::value>(out + static_cast<std::int64_t>(first) * dim,
                                                  rows + first, offset, left, dim);
      });
    }
  });
}

/// Fetches rows line by line, a few at each step of other work: all at once they would wait for
/// each other, and the work for them.
class line_fetcher {
 public:
  /// \param steps  in which all shall be fetched  [>= 1]
  line_fetcher(rows_ahead const& what, std::int32_t steps)
      : row_{what.rows},
        end_{what.rows + what.count},
        offset_{what.offset},
        row_bytes_{what.row_bytes} {
    std::int32_t const lines = what.count * ((row_bytes_ + line_bytes - 1) / line_bytes);
    lines_a_step_ = (lines + steps - 1) / steps;
  }

  void step() {
    for (std::int32_t i = 0; i < lines_a_step_ && row_ != end_; ++i) {
      __builtin_prefetch(*row_ + offset_ + at_, 0, 2);
      at_ += line_bytes;
      if (at_ >= row_bytes_) {
        at_ = 0;
        ++row_;
      }
    }
  }

 private:
  static constexpr std::int32_t line_bytes = 64;
  std::byte const* const* row_;
  std::byte const* const* end_;
  std::int64_t offset_;
  std::int32_t row_bytes_;
  std::int32_t at_ = 0;
  std::int32_t lines_a_step_;
};

/// Rows of a tile to fp32.
template <element Element, int Dim>
void load_rows(float* out, std::byte const* const* rows, std::int64_t offset, std::int32_t count) {
  for (std::int32_t t = 0; t < count; ++t) {
    static_assert(Dim % (2 * lanes) == 0);
    for (int d = 0; d < Dim; d += 2 * lanes) {
      load_two<Element>(out + d, rows[t] + offset, d);
    }
    out += Dim;
  }
}

/// scores[t][r] = query r · key t
template <int Rows, int Dim>
void multiply_keys(float* scores, float const* queries, float const* keys, std::int32_t tokens,
                   line_fetcher& fetcher) {
  using block = row_block<Rows>;
  line_fetcher ahead = fetcher;  // in registers
  for (std::int32_t t = 0; t < tokens; t += block::tokens) {
    float const* const key = keys + static_cast<std::int64_t>(t) * Dim;
    floats sums[block::tokens][block::vectors] = {};
    for (int d = 0; d < Dim; d += block::columns) {
      ahead.step();
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
  fetcher = ahead;
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

/// scores[t][r] *= scales[t]
template <int Rows>
void multiply_rows(float* scores, float const* scales, std::int32_t tokens) {
  for (std::int32_t t = 0; t < tokens; ++t) {
    for (int r = 0; r < Rows; ++r) {
      scores[t * Rows + r] *= scales[t];
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

  if (work.k_scales != nullptr) { multiply_rows<Rows>(scores, work.k_scales, work.tokens); }
  floats const scale = every(work.scale);
  floats const cap = every(work.soft_cap);
  if (work.soft_cap > 0) {
    for (std::int32_t i = 0; i < count; i += lanes) {
      store(scores + i, cap * hyperbolic_tangent(load(scores + i) * scale / cap));
    }
  } else {
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
  if (work.v_scales != nullptr) { multiply_rows<Rows>(scores, work.v_scales, work.tokens); }
}

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
                     std::int64_t value_stride, std::int32_t first, std::int32_t end,
                     line_fetcher& fetcher) {
  constexpr int vectors = value_vectors<Rows, Dim>();
  line_fetcher ahead = fetcher;  // in registers
  static_assert(Dim % (vectors * lanes) == 0);
  for (int d = 0; d < Dim; d += vectors * lanes) {
    floats sums[Rows][vectors];
    for (int r = 0; r < Rows; ++r) {
      for (int v = 0; v < vectors; ++v) {
        sums[r][v] = load(out + r * out_stride + d + v * lanes) * rescale[r];
      }
    }
    for (std::int32_t t = first; t < end; ++t) {
      ahead.step();
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
  fetcher = ahead;
}

/// Steps that `multiply_keys` makes for a tile, about.
template <int Dim>
constexpr std::int32_t key_steps(std::int32_t rows, std::int32_t tokens) {
  std::int32_t const lanes_of_rows = rows < block_rows ? padded_rows(rows) : rows;
  std::int32_t const steps = Dim * lanes_of_rows / lanes * tokens / row_block<1>::tokens;
  return steps > 0 ? steps : 1;
}

/// Steps that `weigh_values` makes for a tile, about.
template <int Dim>
constexpr std::int32_t value_steps(std::int32_t rows, std::int32_t tokens) {
  std::int32_t const passes = rows < 4 ? rows : rows / 4;
  return passes * tokens * (Dim / (lanes * value_vectors<4, Dim>()));
}

/// Adds what a tile gives to a block of rows.
template <int Dim>
void weigh_values(tile_work const& work, std::int32_t row, std::int64_t value_stride,
                  float const* rescale, line_fetcher& ahead) {
  std::int32_t const rows = work.rows - row < block_rows ? work.rows - row : block_rows;
  std::int32_t const padded = padded_rows(rows);
  float const* const weights = work.weights + row * tile_tokens;
  float const* const values = work.tokens_fp32;
  std::int64_t const stride = work.accumulator_stride;
  float* const out = work.accumulators + row * stride;
  std::int32_t r = 0;
  if (work.seen_first != nullptr) {
    // Each row by itself: what a row does not see may be NaN, which a weight of 0 does not stop.
    for (; r < rows; ++r) {
      multiply_values<1, Dim>(out + r * stride, stride, rescale + r, weights + r, padded, values,
                              value_stride, work.seen_first[row + r], work.seen_end[row + r],
                              ahead);
    }
    return;
  }
  for (; r + 4 <= rows; r += 4) {
    multiply_values<4, Dim>(out + r * stride, stride, rescale + r, weights + r, padded, values,
                            value_stride, 0, work.tokens, ahead);
  }
  for (; r + 2 <= rows; r += 2) {
    multiply_values<2, Dim>(out + r * stride, stride, rescale + r, weights + r, padded, values,
                            value_stride, 0, work.tokens, ahead);
  }
  for (; r < rows; ++r) {
    multiply_values<1, Dim>(out + r * stride, stride, rescale + r, weights + r, padded, values,
                            value_stride, 0, work.tokens, ahead);
  }
}

void store_row(void* row, float const* from, std::int32_t dim, element dtype, float factor) {
  with_element(dtype, [=](auto type) {
    constexpr element of = decltype(type)::value;
    std::int32_t d = 0;
    for (; d + lanes <= dim; d += lanes) {
      store_elements<of>(row, d, load(from + d) * factor);
    }
    store_some<of>(row, d, dim - d, load_some<element::fp32>(from, d, dim - d) * factor);
  });
}

void add_row(float* out, void const* row, std::int32_t dim, element dtype, float factor) {
  with_element(dtype, [=](auto type) {
    constexpr element of = decltype(type)::value;
    constexpr element fp32 = element::fp32;
    std::int32_t d = 0;
    for (; d + lanes <= dim; d += lanes) {
      store(out + d, load(out + d) + load_elements<of>(row, d) * factor);
    }
    store_some<fp32>(out, d, dim - d,
                     load_some<fp32>(out, d, dim - d) + load_some<of>(row, d, dim - d) * factor);
  });
}

template <element To, element From>
void convert_row(std::byte* to, std::byte const* from, std::int32_t dim, float scale) {
  for (std::int32_t d = 0; d < dim; d += lanes) {
    floats const x = load_elements<From>(from, d);
    store_elements<To>(to, d, To == element::fp8 ? x / scale : x);
  }
}

void append_row(std::byte* to, element to_dtype, std::byte const* from, element from_dtype,
                std::int32_t dim, float scale) {
  if (to_dtype == from_dtype) {
    __builtin_memcpy(to, from, static_cast<std::size_t>(dim) * 2);
    return;
  }
  with_element(from_dtype, [=](auto from_type) {
    with_element(to_dtype, [=](auto to_type) {
      convert_row<decltype(to_type)::value, decltype(from_type)::value>(to, from, dim, scale);
    });
  });
}

float largest_of_row(std::byte const* from, element dtype, std::int32_t dim) {
  float most = 0;
  with_element(dtype, [&](auto type) {
    floats largest{};
    for (std::int32_t d = 0; d < dim; d += lanes) {
      floats const x = load_elements<decltype(type)::value>(from, d);
      floats const magnitude = x < 0.0F ? -x : x;
      largest = magnitude < infinity ? larger(magnitude, largest) : largest;
    }
    for (int i = 0; i < lanes; ++i) {
      most = largest[i] > most ? largest[i] : most;
    }
  });
  return most;
}

template <class Shape, class Type>
void attend(tile_work const& work) {
  constexpr int head_dim = Shape::head_dim;
  constexpr int v_head_dim = Shape::v_head_dim;
  constexpr element of = Type::value;

  // Keys are used as soon as they are fp32, by all rows: a tile of long ones fills a first-level
  // cache several times.
  line_fetcher ahead_k{work.next_k, key_steps<head_dim>(work.rows, work.tokens)};
  for (std::int32_t t = 0; t < work.tokens; t += key_tokens) {
    std::int32_t const count = work.tokens - t < key_tokens ? work.tokens - t : key_tokens;
    float* const keys = work.tokens_fp32 + t * head_dim;
    load_rows<of, head_dim>(keys, work.k + t, work.k_offset, count);
    for (std::int32_t row = 0; row < work.rows; row += block_rows) {
      with_rows(work.rows - row, [&](auto rows) {
        constexpr int padded = decltype(rows)::value;
        multiply_keys<padded, head_dim>(work.weights + row * tile_tokens + t * padded,
                                        work.queries + row * head_dim, keys,
                                        whole_blocks<padded>(count), ahead_k);
      });
    }
  }
  alignas(64) float rescale[most_rows];
  for (std::int32_t row = 0; row < work.rows; row += block_rows) {
    with_rows(work.rows - row, [&](auto rows) {
      constexpr int padded = decltype(rows)::value;
      soften<padded>(work, row, whole_blocks<padded>(work.tokens), work.weights + row * tile_tokens,
                     rescale + row);
    });
  }

  if (!work.v_is_k) {
    load_rows<of, v_head_dim>(work.tokens_fp32, work.v, work.v_offset, work.tokens);
  }
  line_fetcher ahead_v{work.v_is_k ? rows_ahead{} : work.next_v,
                       value_steps<v_head_dim>(work.rows, work.tokens)};
  for (std::int32_t row = 0; row < work.rows; row += block_rows) {
    weigh_values<v_head_dim>(work, row, work.v_is_k ? head_dim : v_head_dim, rescale + row,
                             ahead_v);
  }
}

}  // namespace

template <class Level, class Shape, class Type>
void attend_tile(tile_work const& work) {
  attend<Shape, Type>(work);
}

template <class Level>
row_kernels row_kernels_of() {
  return {.pack_queries = pack_queries,
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
