// SPDX-License-Identifier: Apache-2.0
#include "batch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

namespace attention_test {

namespace {

constexpr std::int32_t huge_id = 2'147'480'000;

std::int64_t table_ids(attention_shape const& s) {
  auto const rows = static_cast<std::int64_t>(s.requests.size());
  return rows == 0 ? 0 : (rows - 1) * s.table_stride + s.columns;
}

rows_place place_rows(attention_shape const& s, dice& d, element e, std::int64_t rows,
                      std::int64_t dim) {
  if (s.odd_rows) { return scattered(d, e, rows, s.query_heads(), dim); }
  return packed(e, rows, s.query_heads(), dim);
}

}  // namespace

cached_batch::cached_batch(attention_shape const& s, dice& d)
    : pool_{s.kv, s.placing, d},
      stride_{s.table_stride},
      columns_{s.columns},
      table_(static_cast<std::size_t>(table_ids(s)), -1),
      pages_on_card_{on_card<std::int32_t>::unwritten(table_ids(s))} {
  for (request_shape const& r : s.requests) {
    kv_len_.push_back(r.kv_len);
    used_.push_back((r.tokens + s.kv.page_tokens - 1) / s.kv.page_tokens);
  }
  give_pages(s, d);
  write_tokens(s, d);
  fill_tails(s);
  for (std::size_t r = 0; r < s.requests.size(); ++r) {
    // Row by row, so that a tail can stay as nobody has written it.
    std::int32_t const ids = s.behind == tail::unwritten ? used_[r] : columns_;
    the_card().work.upload(pages_on_card_.data() + static_cast<std::int64_t>(r) * stride_, row(r),
                           std::int64_t{ids} * 4);
  }
  the_card().work.wait();
  kv_len_on_card_ = on_card<std::int32_t>{kv_len_};
  pool_.upload();
}

/// Pages in an order of no kind; those of a common prefix are the same ones.
void cached_batch::give_pages(attention_shape const& s, dice& d) {
  std::vector<std::int32_t> free(static_cast<std::size_t>(s.placing.usable_pages));
  std::iota(free.begin(), free.end(), pool_.first_page());
  std::shuffle(free.begin(), free.end(), d.engine);
  auto next = free.begin();
  for (std::size_t r = 0; r < s.requests.size(); ++r) {
    std::int32_t* const ids = table_.data() + static_cast<std::int64_t>(r) * stride_;
    std::int64_t shared = 0;
    if (s.requests[r].shares_pages) {
      std::int32_t const both = std::min(used_[r], used_[r - 1]);
      shared = d.roll(std::min(1, both), both);
      std::copy_n(row(r - 1), shared, ids);
    }
    for (std::int64_t column = shared; column < used_[r]; ++column) {
      ids[column] = *next++;
    }
  }
}

void cached_batch::write_tokens(attention_shape const& s, dice& d) {
  std::set<std::int64_t> written;
  std::int32_t const page_tokens = s.kv.page_tokens;
  for (std::size_t r = 0; r < s.requests.size(); ++r) {
    for (std::int32_t t = 0; t < s.requests[r].tokens; ++t) {
      std::int32_t const page = row(r)[t / page_tokens];
      if (!written.insert(std::int64_t{page} * page_tokens + t % page_tokens).second) { continue; }
      pool_.write_token(d, page, t % page_tokens);
    }
  }
  // Only now, that all tokens have a page.
  for (std::size_t r = 0; r < s.requests.size(); ++r) {
    if (!s.requests[r].foreign_page || used_[r] == 0) { continue; }
    std::int32_t const sentinel = s.placing.sentinels_at_back ? pool_.end_page() : 0;
    std::int32_t const foreign =
        d.pick({-1, INT32_MIN, huge_id, pool_.all_pages(), pool_.all_pages() + 7,
                s.placing.sentinel_pages > 0 ? sentinel : -2});
    table_[r * static_cast<std::size_t>(stride_) +
           static_cast<std::size_t>(d.roll(0, used_[r] - 1))] = foreign;
  }
}

void cached_batch::fill_tails(attention_shape const& s) {
  for (std::size_t r = 0; r < s.requests.size(); ++r) {
    std::int32_t* const ids = table_.data() + static_cast<std::int64_t>(r) * stride_;
    for (std::int32_t column = used_[r]; column < columns_; ++column) {
      ids[column] = s.behind == tail::huge        ? huge_id
                    : s.behind == tail::given_out ? pool_.first_page()
                                                  : -1;
    }
  }
}

allot::kv_tables cached_batch::tables() const {
  return {.pages = pages_on_card_.data(),
          .kv_len = kv_len_on_card_.data(),
          .row_stride = stride_,
          .columns = columns_,
          .requests = static_cast<std::int32_t>(kv_len_.size())};
}

float call_rows::untouched() {
  return -1.0F;
}

call_rows::call_rows(attention_shape const& s, std::int64_t rows, dice& d)
    : q{place_rows(s, d, s.q_dtype, rows, s.kv.head_dim)},
      out{place_rows(s, d, s.out_dtype, rows, s.kv.v_head_dim)},
      lse{std::vector<float>(static_cast<std::size_t>(rows * s.query_heads()), untouched())},
      wants_lse{s.lse} {
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t head = 0; head < s.query_heads(); ++head) {
      q.set(row, head, draw_row(d, s.q_dtype, s.kv.head_dim, s.q_gain));
    }
  }
  q.upload();
  if (!s.sinks) { return; }
  for (std::int32_t head = 0; head < s.query_heads(); ++head) {
    sinks.push_back(static_cast<float>(2 * d.normal()));
  }
  if (d.chance(20)) { sinks[0] = -std::numeric_limits<float>::infinity(); }
  if (d.chance(20)) { sinks.back() = 60.0F; }
  sinks_on_card = on_card<float>{sinks};
}

allot::attention_options call_rows::options(attention_shape const& s) const {
  return {.scale = s.scale,
          .soft_cap = s.soft_cap,
          .window_tokens = s.window_tokens,
          .sinks = sinks.empty() ? nullptr : sinks_on_card.data()};
}

score_rules call_rows::rules(attention_shape const& s, std::int32_t query_head) const {
  score_rules out{.scale = static_cast<double>(s.scale),
                  .soft_cap = static_cast<double>(s.soft_cap),
                  .window_tokens = s.window_tokens,
                  .causal = s.causal};
  if (s.scale == 0) { out.scale = 1 / std::sqrt(static_cast<double>(s.kv.head_dim)); }
  if (!sinks.empty()) {
    out.has_sink = true;
    out.sink = static_cast<double>(sinks[static_cast<std::size_t>(query_head)]);
  }
  return out;
}

}  // namespace attention_test
