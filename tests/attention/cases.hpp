// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "batch.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>

/// What the regression tests are written with: a plain shape, changed by each of them.
namespace attention_test {

struct asked {
  std::int32_t kv_len = 0;
  std::int32_t q_len = 1;
};

/// bf16, one KV head of two query heads, pages of 16 tokens, one sentinel in front, NaN wherever no
/// token is, a workspace of 0xFF, every call twice.
inline attention_shape plain(std::initializer_list<asked> requests, std::int32_t page_tokens = 16) {
  attention_shape s;
  s.seed = 7;
  s.kv.page_tokens = page_tokens;
  s.group = 2;
  s.twice = true;
  s.canary = true;
  std::int32_t pages = 0;
  for (asked const& a : requests) {
    s.requests.push_back({a.kv_len, a.kv_len, a.q_len, false, false});
    std::int32_t const needed = (a.kv_len + page_tokens - 1) / page_tokens;
    pages += needed;
    s.columns = std::max(s.columns, needed + 1);
  }
  s.table_stride = s.columns;
  s.placing.usable_pages = pages + 2;
  s.parts = 4;
  return s;
}

inline attention_shape with_dims(attention_shape s, std::int32_t k, std::int32_t v) {
  s.kv.head_dim = k;
  s.kv.v_head_dim = v;
  return s;
}

inline attention_shape with_dtype(attention_shape s, element e) {
  s.kv.dtype = e;
  return s;
}

/// What is wrong with both calls of a shape; "" when nothing is.
inline std::string wrong(attention_shape const& s) {
  std::string const decode = try_decode(s).complaint();
  if (!decode.empty()) { return "decode: " + decode; }
  std::string const prefill = try_prefill(s).complaint();
  return prefill.empty() ? "" : "prefill: " + prefill;
}

inline std::vector<code> row_of(element e, std::int64_t dim, double value) {
  return std::vector<code>(static_cast<std::size_t>(dim), nearest_code(e, value));
}

/// Writes the K or V rows of all tokens: `row_at(request, position, head)` gives their codes.
template <class RowAt>
void write_rows(attention_shape const& s, cached_batch& cached, plane p, RowAt row_at) {
  for (std::size_t r = 0; r < s.requests.size(); ++r) {
    for (std::int32_t t = 0; t < s.requests[r].tokens; ++t) {
      std::int32_t const page = cached.row(r)[t / s.kv.page_tokens];
      if (!cached.pool().gives_out(page)) { continue; }
      for (std::int32_t head = 0; head < s.kv.heads; ++head) {
        store_row(cached.pool().at(p, page, t % s.kv.page_tokens, head), s.kv.dtype,
                  row_at(r, t, head));
      }
    }
  }
  cached.pool().upload();
}

/// All queries of a call.
template <class Trial>
void write_queries(Trial& trial, double value) {
  rows_place const& place = trial.rows.q.place();
  for (std::int64_t row = 0; row < place.rows; ++row) {
    for (std::int64_t head = 0; head < place.heads; ++head) {
      trial.rows.q.set(row, head, row_of(place.dtype, place.dim, value));
    }
  }
  trial.rows.q.upload();
}

/// The same queries for every trial of such dimensions.
template <class Trial>
void draw_queries(Trial& trial, std::uint64_t seed) {
  dice d{seed};
  rows_place const& place = trial.rows.q.place();
  for (std::int64_t row = 0; row < place.rows; ++row) {
    for (std::int64_t head = 0; head < place.heads; ++head) {
      trial.rows.q.set(row, head, draw_row(d, place.dtype, place.dim));
    }
  }
  trial.rows.q.upload();
}

/// Output rows as numbers.
template <class Trial>
std::vector<float> out_row(Trial const& trial, std::int64_t row, std::int64_t head) {
  rows_place const& place = trial.rows.out.place();
  std::vector<std::byte> const all = trial.rows.out.read();
  return load_row(all.data() + place.at(row, head), place.dtype, place.dim);
}

template <class Trial>
std::string judged(Trial const& trial) {
  judge found;
  trial.judge_rows(found);
  return found.complaint();
}

inline bool all_finite(std::vector<float> const& values) {
  return std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); });
}

inline bool all_are(std::vector<float> const& values, float wanted) {
  return std::all_of(values.begin(), values.end(), [&](float x) { return x == wanted; });
}

}  // namespace attention_test
