// SPDX-License-Identifier: Apache-2.0
#include "batch.hpp"

namespace attention_test {
namespace {

/// First query row of each request, and the end.
std::vector<std::int32_t> starts_of(attention_shape const& s) {
  std::vector<std::int32_t> out{s.rows_before};
  for (request_shape const& r : s.requests) {
    out.push_back(out.back() + r.q_len);
  }
  return out;
}

void judge_request(judge& found, attention_shape const& s, cached_batch const& cached,
                   call_rows const& rows, std::vector<std::byte> const& got,
                   std::vector<float> const& lse, std::size_t request, std::int32_t first_row) {
  std::int32_t const q_len = s.requests[request].q_len;
  for (std::int32_t head = 0; head < s.kv.heads && q_len > 0; ++head) {
    keys_of_head const keys =
        keys_of(cached.pool(), cached.row(request), cached.tokens(request), head);
    for (std::int32_t i = 0; i < q_len * s.group; ++i) {
      std::int32_t const query = i / s.group;
      std::int32_t const query_head = head * s.group + i % s.group;
      std::int64_t const row = first_row + query;
      std::int64_t const position = cached.kv_len(request) - q_len + query;
      answer const wanted = attend_row(keys, rows.q.row(row, query_head), position,
                                       rows.rules(s, query_head), s.out_dtype);
      std::vector<float> const out =
          load_row(got.data() + rows.out.place().at(row, query_head), s.out_dtype, s.kv.v_head_dim);
      auto const at = static_cast<std::size_t>(row * s.query_heads() + query_head);
      found.row("request " + std::to_string(request) + " query " + std::to_string(query) +
                    " head " + std::to_string(query_head),
                wanted, out, rows.wants_lse ? &lse[at] : nullptr);
    }
  }
}

}  // namespace

judge try_prefill(attention_shape const& s) {
  dice d{s.seed};
  judge found;
  card& on = the_card();
  cached_batch const cached{s, d};
  call_rows const rows{s, s.query_rows(), d};
  std::vector<std::int32_t> const starts = starts_of(s);
  on_card<std::int32_t> const starts_on_card{starts};

  allot::prefill_call const call{.cache = cached.pool().cache(),
                                 .tables = cached.tables(),
                                 .q_start = starts_on_card.data(),
                                 .q = rows.q.in(),
                                 .out = rows.out.out(),
                                 .lse = rows.wants_lse ? rows.lse.data() : nullptr,
                                 .options = rows.options(s),
                                 .query_rows = s.query_rows(),
                                 .query_heads = s.query_heads(),
                                 .causal = s.causal};
  on.attend.prefill(call);

  std::vector<std::byte> const got = rows.out.read();
  std::vector<float> const lse = rows.lse.read();
  std::string const changed = rows.out.changed_beside(got, starts.front(), starts.back());
  if (!changed.empty()) { found.fail(changed); }
  for (std::size_t i = 0; i < lse.size(); ++i) {
    auto const row = static_cast<std::int32_t>(i / static_cast<std::size_t>(s.query_heads()));
    bool const written = rows.wants_lse && starts.front() <= row && row < starts.back();
    if (!written && lse[i] != call_rows::untouched()) {
      found.fail("lse " + std::to_string(i) + " was written, and nobody asked");
    }
  }
  for (std::size_t r = 0; r < s.requests.size(); ++r) {
    judge_request(found, s, cached, rows, got, lse, r, starts[r]);
  }
  if (s.twice) {
    on.attend.prefill(call);
    if (rows.out.read() != got || rows.lse.read() != lse) {
      found.fail("the same call gave other bits");
    }
    std::string const pool = cached.pool().changed();
    if (!pool.empty()) { found.fail(pool); }
  }
  return found;
}

}  // namespace attention_test
