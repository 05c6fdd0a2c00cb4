// SPDX-License-Identifier: Apache-2.0
#include "shape.hpp"

#include <algorithm>

namespace attention_test {

using allot::kv_order;

std::int32_t attention_shape::query_rows() const {
  std::int32_t rows = rows_before + rows_behind;
  for (request_shape const& r : requests) {
    rows += r.q_len;
  }
  return rows;
}

shape_source::shape_source(drawn kind, sizes limits, std::uint64_t seed)
    : kind_{kind}, limits_{limits}, d_{seed} {}

attention_shape shape_source::next() {
  attention_shape s;
  s.number = number_++;
  s.seed = d_.engine();
  draw_cache(s);
  draw_call(s);
  draw_requests(s);
  draw_placing(s);
  return s;
}

void shape_source::draw_cache(attention_shape& s) {
  rows_kind const kind = rows_.draw(d_);
  dims const dim = latent() ? dims{576, 512} : dims_.draw(d_);
  s.kv.dtype = kind.e;
  s.kv.head_dim = dim.k;
  s.kv.v_head_dim = dim.v;
  s.kv.v_is_k = latent() ? d_.chance(85) : d_.chance(10);
  s.kv.row_scales = kind.s == scales::row;
  if (kind.s == scales::tensor) {
    s.kv.k_scale = static_cast<float>(d_.roll(2, 50)) / 16.0F;
    s.kv.v_scale = s.kv.v_is_k ? s.kv.k_scale : static_cast<float>(d_.roll(2, 50)) / 16.0F;
  }
  s.kv.page_tokens = page_tokens_.draw(d_);
  s.requests.resize(static_cast<std::size_t>(request_counts_.draw(d_)));
  // Many requests of many heads would take too long.
  s.group = s.requests.size() > 2 ? d_.roll32(1, latent() ? 5 : 8)
            : latent()            ? latent_groups_.draw(d_)
                                  : groups_.draw(d_);
  s.kv.heads = latent() ? (d_.chance(90) ? 1 : 2) : heads_.draw(d_);
  while (s.kv.heads > 1 && s.kv.heads * s.group > (prefill() ? 64 : 128)) {
    --s.kv.heads;
  }
}

void shape_source::draw_call(attention_shape& s) {
  s.q_dtype = d_.pick({element::fp16, element::bf16});
  s.out_dtype = d_.chance(75) ? s.q_dtype : d_.pick({element::fp16, element::bf16});
  s.q_gain = d_.pick({1.0, 1.0, 1.0, 4.0, 0.0});
  s.odd_rows = d_.chance(40);
  s.scale = d_.chance(70) ? 0.0F : static_cast<float>(d_.roll(1, 40)) / 100.0F;
  s.soft_cap = static_cast<float>(soft_caps_.draw(d_));
  s.sinks = d_.chance(30);
  s.lse = d_.chance(85);
  s.causal = !prefill() || d_.chance(80);
  s.window_tokens = s.causal ? windows_.draw(d_) : 0;
  s.behind = d_.pick({tail::huge, tail::huge, tail::given_out, tail::minus_one, tail::unwritten});
  s.before = d_.pick({workspace::ones, workspace::ones, workspace::garbage, workspace::unwritten});
  s.canary = d_.chance(50);
  s.reuse_split = !prefill() && d_.chance(15);
  s.twice = d_.chance(25);
}

void shape_source::draw_requests(attention_shape& s) {
  std::size_t count = s.requests.size();
  std::int64_t const a_token =
      std::int64_t{s.query_heads()} * (s.kv.head_dim + s.kv.v_head_dim);  // and query row
  std::int64_t const a_cached_token =
      std::int64_t{s.kv.heads} * (s.kv.head_dim + s.kv.v_head_dim) * allot::bits_of(s.kv.dtype) / 8;
  // As few requests as can be of a length that is worth it, and as few rows.
  std::int32_t const worth = std::min(100, limits_.longest);
  std::int32_t rows = prefill() ? d_.roll32(1, limits_.query_rows) : 1;
  auto const fits = [&](std::int64_t tokens) {
    auto const n = static_cast<std::int64_t>(count);
    return n * tokens * a_token * rows <= limits_.work &&
           n * (tokens + s.kv.page_tokens) * a_cached_token <= limits_.pool_bytes;
  };
  while (rows > 2 && !fits(worth)) {
    rows = rows * 2 / 3;
  }
  while (count > 3 && !fits(worth)) {
    --count;
  }
  std::int32_t longest = limits_.longest;
  while (longest > 8 && !fits(longest)) {
    longest = longest * 3 / 4;
  }

  std::int32_t const page = s.kv.page_tokens;
  s.columns = (longest + page - 1) / page + d_.roll32(0, 3);
  s.table_stride = s.columns + (d_.chance(50) ? 0 : d_.roll(1, 9));
  s.requests.resize(count);
  for (request_shape& r : s.requests) {
    length const kind = lengths_.draw(d_);
    std::int64_t len = d_.roll(1, longest);
    if (kind == length::none || kind == length::negative) { len = 0; }
    if (kind == length::one) { len = 1; }
    if (kind == length::page_edge) { len = d_.roll(1, longest / page + 1) * page + d_.roll(-1, 1); }
    if (kind == length::block_edge) { len = d_.roll(1, longest / 64 + 1) * 64 + d_.roll(-1, 1); }
    len = std::min<std::int64_t>(len, std::int64_t{s.columns} * page);
    if (len > longest + 2 * page && len > longest + 80) { len = longest; }
    r.kv_len = r.tokens = static_cast<std::int32_t>(len);
    if (kind == length::negative) { r.kv_len = d_.roll32(-5, -1); }
    if (kind == length::past_the_row && s.columns * page <= 2 * longest + page) {
      r.tokens = s.columns * page;
      r.kv_len = d_.chance(50) ? r.tokens + d_.roll32(1, 100) : INT32_MAX;
    }
    r.foreign_page = d_.chance(8);
    r.shares_pages = &r != s.requests.data() && d_.chance(15);
    if (prefill()) {
      r.q_len = d_.pick({0, 1, rows, rows, d_.roll32(0, rows), std::min(rows, r.tokens)});
      if (d_.chance(10)) { r.q_len = std::min(r.tokens + d_.roll32(1, 3), 2 * rows + 2); }
    }
  }
  s.rows_before = prefill() && d_.chance(15) ? d_.roll32(1, 3) : 0;
  s.rows_behind = prefill() && d_.chance(40) ? d_.roll32(1, 9) : 0;

  std::int32_t const n = static_cast<std::int32_t>(count);
  s.parts = d_.chance(15) ? 0 : d_.chance(30) ? 1 : d_.roll32(2, d_.chance(30) ? 60 : 9);
  if (d_.chance(25) && n > 0) {
    s.splits_per_request = d_.roll32(1, 9);
    s.parts = n * s.splits_per_request;
  }
}

void shape_source::draw_placing(attention_shape& s) {
  kv_placing& p = s.placing;
  std::int32_t const page = s.kv.page_tokens;
  std::int64_t const page_bytes =
      std::int64_t{page} * s.kv.heads *
      ((s.kv.head_dim + (s.kv.v_is_k ? 0 : s.kv.v_head_dim)) * allot::bits_of(s.kv.dtype) / 8 +
       (s.kv.row_scales ? (s.kv.v_is_k ? 4 : 8) : 0));
  std::int32_t used = 0;
  for (request_shape const& r : s.requests) {
    used += (r.tokens + page - 1) / page;
  }
  p.usable_pages = used + d_.roll32(1, page >= 64 ? 2 : 9);
  p.sentinel_pages = d_.roll32(0, 2);
  p.sentinels_at_back = d_.chance(40);
  p.order = d_.pick({kv_order::token_major, kv_order::head_major});
  p.poison = d_.pick({std::byte{0xFF}, std::byte{0xFF}, std::byte{0x7F}});

  p.how = laid_.draw(d_);
  bool const by_family =
      !s.kv.v_is_k || s.kv.head_dim == s.kv.v_head_dim || (s.kv.heads == 1 && !s.kv.row_scales);
  if (page_bytes % 16 != 0 || !by_family) { p.how = laid::by_hand; }
  if (p.how == laid::by_hand) {
    p.block_pages = d_.chance(40) ? d_.roll32(2, 5) : 1;
    p.gaps = d_.chance(60);
    return;
  }
  std::int64_t const bytes = (p.usable_pages + p.sentinel_pages) * page_bytes;
  p.layers = d_.roll32(1, 2 * bytes <= limits_.pool_bytes ? 3 : 1);
  p.layer = d_.roll32(0, p.layers - 1);
  p.second_pool = d_.chance(40);
}

std::string attention_shape::in_words() const {
  auto const name = [](element e) {
    return std::string{e == element::fp16 ? "fp16" : e == element::bf16 ? "bf16" : "fp8"};
  };
  auto const n = [](auto value) { return std::to_string(value); };
  std::string out =
      "shape " + n(number) + ": " + name(kv.dtype) + ' ' + n(kv.head_dim) + '/' + n(kv.v_head_dim) +
      (kv.v_is_k ? " V is K" : "") + (kv.row_scales ? " row scales" : "") + ", scales " +
      n(kv.k_scale) + ' ' + n(kv.v_scale) + ", page " + n(kv.page_tokens) + ", " + n(kv.heads) +
      " heads * " + n(group) + ", laid " + n(static_cast<int>(placing.how)) + " order " +
      n(static_cast<int>(placing.order)) + " block pages " + n(placing.block_pages) + " layers " +
      n(placing.layers) + ", " + n(placing.usable_pages) + " pages + " + n(placing.sentinel_pages) +
      (placing.sentinels_at_back ? " behind" : "") + ", q " + name(q_dtype) + " out " +
      name(out_dtype) + " gain " + n(q_gain) + ", columns " + n(columns) + " of " +
      n(table_stride) + ", scale " + n(scale) + " cap " + n(soft_cap) + " window " +
      n(window_tokens) + (sinks ? " sinks" : "") + (causal ? "" : " not causal") + ", parts " +
      n(parts) + " splits " + n(splits_per_request) + ", rows " + n(rows_before) + "+…+" +
      n(rows_behind) + ", requests (kv_len, q_len):";
  for (request_shape const& r : requests) {
    out += " (" + n(r.kv_len) + ", " + n(r.q_len) + (r.foreign_page ? ", foreign page" : "") +
           (r.shares_pages ? ", shared pages" : "") + ")";
  }
  return out;
}

}  // namespace attention_test
