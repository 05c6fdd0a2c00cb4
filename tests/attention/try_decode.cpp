// SPDX-License-Identifier: Apache-2.0
#include "batch.hpp"

#include <algorithm>

namespace attention_test {
namespace {

constexpr std::size_t canary_bytes = 64;
constexpr std::byte canary{0x5C};

allot::split_kv split_of(attention_shape const& s) {
  auto const requests = static_cast<std::int64_t>(s.requests.size());
  if (s.parts == 0) { return the_card().attend.split_for(requests, s.kv.heads); }
  return {.requests = requests, .parts = s.parts, .splits_per_request = s.splits_per_request};
}

std::int64_t workspace_bytes(attention_shape const& s, allot::split_kv const& split) {
  return (*allot::decode_workspace_bytes(split, s.query_heads(), s.kv.v_head_dim)).count;
}

}  // namespace

decode_workspace::decode_workspace(attention_shape const& s, std::int64_t bytes, dice& d)
    : bytes_{bytes},
      has_canary_{s.canary},
      memory_{on_card<std::byte>::unwritten(bytes + (s.canary ? std::int64_t{canary_bytes} : 0))} {
  if (s.before == workspace::unwritten && !s.canary) { return; }
  std::vector<std::byte> all(static_cast<std::size_t>(memory_.bytes()), std::byte{0xFF});
  if (s.before == workspace::garbage) {
    for (std::byte& b : all) {
      b = static_cast<std::byte>(d.engine());
    }
  }
  std::fill(all.begin() + bytes, all.end(), canary);
  memory_.write(all);
}

bool decode_workspace::canary_lives() const {
  if (!has_canary_) { return true; }
  std::vector<std::byte> end(canary_bytes);
  the_card().work.download(end.data(), memory_.data() + bytes_, canary_bytes);
  the_card().work.wait();
  return std::all_of(end.begin(), end.end(), [](std::byte b) { return b == canary; });
}

decode_trial::decode_trial(attention_shape const& shape)
    : s{shape},
      d{shape.seed},
      cached{s, d},
      rows{s, static_cast<std::int64_t>(s.requests.size()), d},
      split{split_of(s)},
      memory{s, workspace_bytes(s, split), d} {}

allot::decode_call decode_trial::call() const {
  return {.cache = cached.pool().cache(),
          .tables = cached.tables(),
          .q = rows.q.in(),
          .out = rows.out.out(),
          .lse = rows.wants_lse ? rows.lse.data() : nullptr,
          .options = rows.options(s),
          .split = split,
          .workspace = memory.data(),
          .workspace_bytes = memory.bytes(),
          .query_heads = s.query_heads()};
}

void decode_trial::judge_rows(judge& found, std::string const& run) const {
  std::vector<std::byte> const got = rows.out.read();
  std::vector<float> const lse = rows.lse.read();
  std::string const changed = rows.out.changed_beside(got, 0, rows.out.place().rows);
  if (!changed.empty()) { found.fail(run + changed); }
  for (std::size_t r = 0; r < s.requests.size(); ++r) {
    for (std::int32_t head = 0; head < s.kv.heads; ++head) {
      keys_of_head const keys = keys_of(cached.pool(), cached.row(r), cached.tokens(r), head);
      for (std::int32_t g = 0; g < s.group; ++g) {
        std::int32_t const query_head = head * s.group + g;
        auto const row = static_cast<std::int64_t>(r);
        answer const wanted = attend_row(keys, rows.q.row(row, query_head), cached.kv_len(r) - 1,
                                         rows.rules(s, query_head), s.out_dtype);
        std::vector<float> const out = load_row(got.data() + rows.out.place().at(row, query_head),
                                                s.out_dtype, s.kv.v_head_dim);
        auto const at =
            r * static_cast<std::size_t>(s.query_heads()) + static_cast<std::size_t>(query_head);
        found.row(run + "request " + std::to_string(r) + " head " + std::to_string(query_head),
                  wanted, out, rows.wants_lse ? &lse[at] : nullptr);
        if (!rows.wants_lse && lse[at] != call_rows::untouched()) {
          found.fail("an lse was written that nobody wants");
        }
      }
    }
  }
}

judge try_decode(attention_shape const& s) {
  judge found;
  decode_trial trial{s};
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
  if (s.reuse_split && !s.requests.empty()) {  // the next layer: other queries, the same cut
    trial.rows = call_rows{s, static_cast<std::int64_t>(s.requests.size()), trial.d};
    allot::decode_call call = trial.call();
    call.reuse_split = true;
    the_card().attend.decode(call);
    trial.judge_rows(found, "next layer, ");
  }
  if (!trial.memory.canary_lives()) { found.fail("bytes behind the workspace were written to"); }
  return found;
}

}  // namespace attention_test
