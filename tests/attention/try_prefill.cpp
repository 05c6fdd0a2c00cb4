// SPDX-License-Identifier: Apache-2.0
#include "batch.hpp"

namespace attention_test {
namespace {

std::vector<std::int32_t> starts_of(attention_shape const& s) {
  std::vector<std::int32_t> out{s.rows_before};
  for (request_shape const& r : s.requests) {
    out.push_back(out.back() + r.q_len);
  }
  return out;
}

}  // namespace

prefill_trial::prefill_trial(attention_shape const& shape)
    : s{shape},
      d{shape.seed},
      cached{s, d},
      rows{s, s.query_rows(), d},
      starts{starts_of(s)},
      starts_on_card{starts} {}

allot::prefill_call prefill_trial::call() const {
  return {.cache = cached.pool().cache(),
          .tables = cached.tables(),
          .q_start = starts_on_card.data(),
          .q = rows.q.in(),
          .out = rows.out.out(),
          .lse = rows.wants_lse ? rows.lse.data() : nullptr,
          .options = rows.options(s),
          .query_rows = s.query_rows(),
          .query_heads = s.query_heads(),
          .causal = s.causal};
}

void prefill_trial::judge_rows(judge& found) const {
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
    std::int32_t const q_len = s.requests[r].q_len;
    for (std::int32_t head = 0; head < s.kv.heads && q_len > 0; ++head) {
      keys_of_head const keys = keys_of(cached.pool(), cached.row(r), cached.tokens(r), head);
      for (std::int32_t i = 0; i < q_len * s.group; ++i) {
        std::int32_t const query = i / s.group;
        std::int32_t const query_head = head * s.group + i % s.group;
        std::int64_t const row = starts[r] + query;
        answer const wanted =
            attend_row(keys, rows.q.row(row, query_head), cached.kv_len(r) - q_len + query,
                       rows.rules(s, query_head), s.out_dtype);
        std::vector<float> const out = load_row(got.data() + rows.out.place().at(row, query_head),
                                                s.out_dtype, s.kv.v_head_dim);
        auto const at = static_cast<std::size_t>(row * s.query_heads() + query_head);
        found.row("request " + std::to_string(r) + " query " + std::to_string(query) + " head " +
                      std::to_string(query_head),
                  wanted, out, rows.wants_lse ? &lse[at] : nullptr);
      }
    }
  }
}

judge try_prefill(attention_shape const& s) {
  judge found;
  prefill_trial trial{s};
  trial.run();
  trial.judge_rows(found);
  if (s.twice) {
    std::vector<std::byte> const once = trial.rows.out.read();
    std::vector<float> const lse = trial.rows.lse.read();
    trial.run();
    if (trial.rows.out.read() != once || trial.rows.lse.read() != lse) {
      found.fail("the same call gave other bits");
    }
    std::string const changed = trial.cached.pool().changed();
    if (!changed.empty()) { found.fail(changed); }
  }
  return found;
}

}  // namespace attention_test
