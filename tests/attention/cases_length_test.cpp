// SPDX-License-Identifier: Apache-2.0
// E and F of the faults that were seen in public kernels: lengths, and captured batches.
//
// Graphs themselves are replayed in graph_test.cpp. Not here, for we have none: F6 (programmatic
// launches), F7 (a workspace of the library's own).
#include "cases.hpp"

#include <limits>

using namespace attention_test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE("E1 a batch of 16 empty requests on a pool without pages") {
  attention_shape s = plain({});
  s.requests.assign(16, {0, 0, 1, false, false});
  s.placing.usable_pages = 0;
  s.placing.sentinel_pages = 0;
  s.twice = false;
  // One row of memory, so that there is an address; no id of it is given out.
  attention_shape one = s;
  one.placing.usable_pages = 1;
  decode_trial trial{one};
  allot::decode_call call = trial.call();
  call.cache.end_page = call.cache.first_page;
  call.tables.columns = 0;
  call.tables.row_stride = 0;
  call.tables.pages = nullptr;
  the_card().attend.decode(call);
  CHECK(judged(trial) == "");

  prefill_trial filled{one};
  allot::prefill_call rows = filled.call();
  rows.cache = call.cache;
  rows.tables.columns = 0;
  rows.tables.pages = nullptr;
  the_card().attend.prefill(rows);
  CHECK(judged(filled) == "");
}

TEST_CASE("E2 an empty request is 0 with an lse of -inf, with sinks and without") {
  for (bool const sinks : {false, true}) {
    attention_shape s = plain({{0, 2}, {5, 1}, {0, 0}});
    s.sinks = sinks;
    CHECK(wrong(s) == "");
    prefill_trial trial{s};
    trial.run();
    CHECK(all_are(out_row(trial, 1, 1), 0));
    CHECK(trial.rows.lse.read()[0] == -infinity);
  }
}

TEST_CASE("E3 no request, no query, no token: nothing is done") {
  CHECK(wrong(plain({})) == "");
  attention_shape s = plain({{20, 0}, {7, 0}});
  CHECK(try_prefill(s).complaint() == "");  // no query row at all
  s.rows_behind = 3;
  CHECK(try_prefill(s).complaint() == "");  // rows that belong to nobody
  dice d{1};
  kv_pool pool{s.kv, s.placing, d};
  pool.upload();
  the_card().attend.append({.cache = pool.cache()});
  the_card().attend.merge({.out = {}, .rows = 0, .heads = 2, .dim = 64});
  on_card<std::int32_t> const faults{std::vector<std::int32_t>{9}};
  the_card().attend.expand_csr({.faults = faults.data()});
  CHECK(faults.read()[0] == 0);
  CHECK(pool.changed() == "");
}

TEST_CASE("E4 last_page_len of 0 and of more than a page is a fault, and the row is empty") {
  on_card<std::int32_t> const starts{{0, 2, 3, 4, 4}}, ids{{5, 6, 7, 8}}, last{{16, 0, 17, 99}};
  on_card<std::int32_t> const pages{std::vector<std::int32_t>(12, -9)};
  on_card<std::int32_t> const kv_len{std::vector<std::int32_t>(4, -9)};
  on_card<std::int32_t> const faults{std::vector<std::int32_t>{-9}};
  the_card().attend.expand_csr({.starts = starts.data(),
                                .ids = ids.data(),
                                .last_page_len = last.data(),
                                .pages = pages.data(),
                                .kv_len = kv_len.data(),
                                .faults = faults.data(),
                                .row_stride = 3,
                                .id_count = 4,
                                .columns = 3,
                                .requests = 4,
                                .page_tokens = 16});
  CHECK(kv_len.read() == std::vector<std::int32_t>{32, 0, 0, 0});
  CHECK(pages.read() == std::vector<std::int32_t>{5, 6, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1});
  CHECK(faults.read()[0] == 2);  // the last row has no page, and needs no length of it
}

TEST_CASE("E6 requests without tokens or without queries between others leave their neighbours") {
  attention_shape s = plain({{9, 5}, {0, 0}, {33, 2}, {0, 3}, {64, 0}, {17, 1}});
  s.odd_rows = true;  // what lies between the rows is looked at, too
  s.rows_before = 2;
  s.rows_behind = 4;
  CHECK(wrong(s) == "");
  s.causal = false;
  CHECK(try_prefill(s).complaint() == "");
}

TEST_CASE("E7 more queries than tokens: those before the first token see nothing") {
  attention_shape s = plain({{3, 7}, {0, 4}, {20, 21}});
  CHECK(wrong(s) == "");
  s.causal = false;
  CHECK(try_prefill(s).complaint() == "");
}

TEST_CASE("F1 lengths past the row are not followed, those below 0 are none") {
  for (std::int32_t const told : {49, 50, 65, 1'000'000, INT32_MAX, -1, INT32_MIN}) {
    attention_shape s = plain({{48, 2}, {20, 1}, {48, 1}});
    s.columns = 3;
    s.table_stride = 3;  // no column is left over: what is read past a row is another's
    s.requests[0].kv_len = told;
    s.requests[2].kv_len = told;  // behind it is the end of the allocation
    CHECK(wrong(s) == "");
  }
}

TEST_CASE("F4 rows of padding do not change the others") {
  attention_shape s = plain({{100, 1}, {33, 1}, {0, 1}, {0, 1}});
  s.splits_per_request = 3;
  s.parts = 12;
  decode_trial padded{s};
  padded.run();
  CHECK(judged(padded) == "");
  // The same two requests, and behind them what was left there: other lengths, other pages.
  on_card<std::int32_t> const left{{100, 33, 81, 7}};
  decode_trial stale{s};
  allot::decode_call call = stale.call();
  call.tables.kv_len = left.data();
  the_card().attend.decode(call);
  for (std::int64_t const row : {0, 1}) {
    CHECK(out_row(stale, row, 0) == out_row(padded, row, 0));
    CHECK(out_row(stale, row, 1) == out_row(padded, row, 1));
  }
}
