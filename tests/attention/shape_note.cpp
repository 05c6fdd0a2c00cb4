// SPDX-License-Identifier: Apache-2.0
#include "shape.hpp"

#include <algorithm>

namespace attention_test {

/// Every feature that a sweep claims: each must be met by one percent of its shapes.
void shape_source::note(attention_shape const& s, tally& seen) const {
  auto const any = [&](auto has) { return std::any_of(s.requests.begin(), s.requests.end(), has); };
  auto const note_each = [&](char const* what, auto value,
                             std::initializer_list<decltype(value)> all) {
    for (auto const one : all) {
      seen.note(what + std::to_string(one), value == one);
    }
  };
  bool const fp8 = s.kv.dtype == element::fp8;
  seen.note("fp16", s.kv.dtype == element::fp16);
  seen.note("bf16", s.kv.dtype == element::bf16);
  seen.note("fp8 without a scale", fp8 && !s.kv.row_scales && s.kv.k_scale == 1.0F);
  seen.note("fp8 with tensor scales", fp8 && s.kv.k_scale != 1.0F);
  seen.note("fp8 with row scales", s.kv.row_scales);
  seen.note("V is K", s.kv.v_is_k);
  note_each("page_tokens ", s.kv.page_tokens, {1, 3, 5, 16, 32, 48, 64, 128, 256});
  if (latent()) {
    note_each("group ", s.group, {1, 5, 8, 16, 17, 32, 64, 128});
  } else {
    note_each("group ", s.group, {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 32, 64});
    note_each("head_dim ", s.kv.head_dim, {64, 96, 128, 192, 256});
    seen.note("192/128", s.kv.head_dim == 192 && s.kv.v_head_dim == 128);
  }
  note_each("window ", s.window_tokens, {0, 1, 2, 15, 16, 17, 31, 64, 127, 128, 1000});
  seen.note("sinks", s.sinks);
  seen.note("soft-cap", s.soft_cap > 0);
  seen.note("own scale", s.scale > 0);
  seen.note("queries of 0", s.q_gain == 0);

  seen.note("by hand", s.placing.how == laid::by_hand);
  seen.note("flat", s.placing.how == laid::flat);
  seen.note("layer_major", s.placing.how == laid::layer_major);
  seen.note("page_major", s.placing.how == laid::page_major);
  seen.note("several layers", s.placing.layers > 1);
  seen.note("a later layer", s.placing.layer > 0);
  seen.note("two pages in a block of an arena",
            s.placing.second_pool && s.placing.how == laid::page_major);
  seen.note("blocks of pages by hand", s.placing.block_pages > 1);
  seen.note("gaps by hand", s.placing.gaps);
  seen.note("token_major", s.placing.order == allot::kv_order::token_major);
  seen.note("head_major", s.placing.order == allot::kv_order::head_major);
  seen.note("sentinels in front", s.placing.sentinel_pages > 0 && !s.placing.sentinels_at_back);
  seen.note("sentinels at the back", s.placing.sentinel_pages > 0 && s.placing.sentinels_at_back);
  seen.note("no sentinel", s.placing.sentinel_pages == 0);
  seen.note("poison 0x7F", s.placing.poison == std::byte{0x7F});

  seen.note("no requests", s.requests.empty());
  seen.note("one request", s.requests.size() == 1);
  seen.note("several requests", s.requests.size() > 2);
  seen.note("an empty request", any([](auto const& r) { return r.kv_len == 0; }));
  seen.note("a request of one token", any([](auto const& r) { return r.kv_len == 1; }));
  seen.note("a length below 0", any([](auto const& r) { return r.kv_len < 0; }));
  seen.note("a length past the row", any([](auto const& r) { return r.kv_len > r.tokens; }));
  seen.note("more than a block", any([](auto const& r) { return r.tokens > 64; }));
  seen.note("a full last page",
            any([&](auto const& r) { return r.tokens > 0 && r.tokens % s.kv.page_tokens == 0; }));
  seen.note("one token in the last page",
            any([&](auto const& r) { return r.tokens % s.kv.page_tokens == 1; }));
  seen.note("one token past a block", any([](auto const& r) { return r.tokens % 64 == 1; }));
  seen.note("a foreign page", any([](auto const& r) { return r.foreign_page && r.tokens > 0; }));
  seen.note("shared pages", any([](auto const& r) { return r.shares_pages && r.tokens > 0; }));
  seen.note("a wide table", s.table_stride > s.columns);
  seen.note("tails of huge ids", s.behind == tail::huge);
  seen.note("tails of pages in use", s.behind == tail::given_out);
  seen.note("tails of -1", s.behind == tail::minus_one);
  seen.note("tails that were never written", s.behind == tail::unwritten);
  seen.note("fp16 queries", s.q_dtype == element::fp16);
  seen.note("bf16 queries", s.q_dtype == element::bf16);
  seen.note("another type of output", s.q_dtype != s.out_dtype);
  seen.note("rows with gaps", s.odd_rows);
  seen.note("no lse", !s.lse);
  seen.note("twice", s.twice);
  if (prefill()) {
    seen.note("not causal", !s.causal);
    seen.note("rows before the first", s.rows_before > 0);
    seen.note("rows past the end", s.rows_behind > 0);
    seen.note("more queries than tokens", any([](auto const& r) { return r.q_len > r.tokens; }));
    seen.note("a request without queries", any([](auto const& r) { return r.q_len == 0; }));
    seen.note("an empty request between", s.requests.size() > 2 && s.requests[1].q_len == 0);
    seen.note("one query", any([](auto const& r) { return r.q_len == 1; }));
    seen.note("several queries", any([](auto const& r) { return r.q_len > 4; }));
  } else {
    seen.note("one part", s.parts == 1);
    seen.note("many parts", s.parts > 16);
    seen.note("parts of the backend", s.parts == 0);
    seen.note("splits of each request", s.splits_per_request > 1);
    seen.note("a workspace of garbage", s.before == workspace::garbage);
    seen.note("a workspace of 0xFF", s.before == workspace::ones);
    seen.note("a workspace never written", s.before == workspace::unwritten);
    seen.note("reuse_split", s.reuse_split);
    seen.note("a canary behind the workspace", s.canary);
  }
}

}  // namespace attention_test
