// SPDX-License-Identifier: Apache-2.0
// G of the faults that were seen in public kernels: window, sinks, soft-cap.
#include "cases.hpp"

#include <allot/attention/visible.hpp>

using namespace attention_test;

namespace {

/// Queries of 0, and V rows that say who they are: element 0 is 1, element 1 is 1 at one position.
template <class Trial>
void mark_position(Trial& trial, std::int32_t position) {
  write_queries(trial, 0);
  write_rows(trial.s, trial.cached, plane::v, [&](std::size_t, std::int32_t t, std::int32_t) {
    std::vector<code> row = row_of(element::bf16, 64, 1);
    row[1] = nearest_code(element::bf16, t == position ? 1 : 0);
    return row;
  });
  trial.run();
}

}  // namespace

TEST_CASE("G1 a window of W sees the W last tokens: key i-W+1, and not key i-W") {
  int checked = 0;
  for (std::int32_t const window : {1, 2, 15, 16, 17, 127, 128}) {
    for (std::int32_t const len : {1, 15, 16, 17, 31, 32, 33, 64, 65, 128, 129, 144, 160}) {
      if (the_card().gpu && len * window % 3 != 0) { continue; }
      attention_shape s = plain({{len, 1}});
      s.window_tokens = window;
      s.out_dtype = element::fp16;
      s.parts = 3;
      std::int32_t const oldest = len - window;  // i - W + 1
      for (std::int32_t const marked : {oldest - 1, oldest}) {
        if (marked < 0) { continue; }
        double const share = marked < oldest ? 0 : 1.0 / window;
        decode_trial decode{s};
        mark_position(decode, marked);
        CHECK(static_cast<double>(out_row(decode, 0, 1)[1]) ==
              doctest::Approx(share).epsilon(1e-3));
        CHECK(out_row(decode, 0, 1)[0] == 1.0F);
        prefill_trial prefill{s};
        mark_position(prefill, marked);
        CHECK(static_cast<double>(out_row(prefill, 0, 1)[1]) ==
              doctest::Approx(share).epsilon(1e-3));
        ++checked;
      }
    }
  }
  CHECK(checked >= (the_card().gpu ? 30 : 90));
}

TEST_CASE("G2 decode keeps to the window after 512 tokens: its row is that of prefill") {
  for (std::int32_t const window : {0, 100, 512}) {
    attention_shape s = plain({{600, 1}, {513, 1}, {1030, 1}});
    s.group = 1;
    s.window_tokens = window;
    s.sinks = true;
    s.twice = false;
    decode_trial decode{s};
    decode.run();
    prefill_trial prefill{s};  // the same seed: the same K, V and queries
    prefill.run();
    CHECK(judged(decode) == "");
    CHECK(judged(prefill) == "");
    for (std::int64_t row = 0; row < 3; ++row) {
      std::vector<float> const a = out_row(decode, row, 0), b = out_row(prefill, row, 0);
      for (std::size_t i = 0; i < a.size(); ++i) {
        CHECK(a[i] == doctest::Approx(static_cast<double>(b[i])).epsilon(0.01));
      }
    }
  }
}

TEST_CASE("G4 blocks before the window are not visited") {
  // The cut asks for the blocks that are visible: at any length no more than hold the window.
  std::int64_t walked = 0;
  for (std::int32_t const window : {1, 64, 65, 128, 1000}) {
    for (std::int32_t const len : {1, 64, 100, 1000, 100'000, 524'288}) {
      allot::kv_range const seen = allot::visible_keys(len - 1, len, window, true);
      std::int64_t blocks = 0;
      allot::split_batch(
          {.requests = 1, .parts = 7}, [&](std::int32_t) { return allot::visible_blocks(seen); },
          [&](std::int32_t, allot::split_part const& p) {
            if (p.last_request < p.first_request) { return; }
            for (std::int32_t b = p.first_block; b < p.end_block; ++b) {
              allot::kv_range const keys = allot::keys_of_blocks(seen, b, b + 1);
              CHECK(keys.first < keys.end);
              CHECK(keys.first >= len - window);
              ++blocks;
            }
          },
          [](std::int32_t, std::int32_t) {});
      CHECK(blocks <= (std::min(window, len) + 62) / 64 + 1);
      walked += blocks;
    }
  }
  CHECK(walked > 50);
}

TEST_CASE("G4 pages before the window may be gone") {
  // A sliding engine gives them back: their columns name the sentinel, and nothing of them is read.
  for (std::int32_t const window : {16, 100}) {
    attention_shape s = plain({{400, 1}});
    s.window_tokens = window;
    s.twice = false;
    decode_trial trial{s};
    std::vector<std::int32_t> ids(trial.cached.row(0), trial.cached.row(0) + s.columns);
    std::fill_n(ids.begin(), (400 - window) / 16, 2'147'480'000);
    on_card<std::int32_t> const slid{ids};
    allot::decode_call call = trial.call();
    call.tables.pages = slid.data();
    the_card().attend.decode(call);
    CHECK(judged(trial) == "");
  }
}

TEST_CASE("G5 a sink counts once, whatever the batch is cut into") {
  attention_shape s = plain({{130, 1}, {0, 1}, {1, 1}, {64, 1}});
  s.sinks = true;
  s.out_dtype = element::fp16;
  std::vector<float> lse;
  for (std::int32_t const parts : {1, 2, 3, 8, 40}) {
    s.parts = parts;
    CHECK(try_decode(s).complaint() == "");
    decode_trial trial{s};
    trial.run();
    std::vector<float> const got = trial.rows.lse.read();
    if (lse.empty()) { lse = got; }
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (std::isfinite(lse[i])) {
        CHECK(got[i] == doctest::Approx(static_cast<double>(lse[i])).epsilon(1e-5));
      } else {
        CHECK(got[i] == lse[i]);
      }
    }
  }
  s.splits_per_request = 6;  // more than there are blocks: some pieces are empty
  s.parts = 24;
  CHECK(try_decode(s).complaint() == "");
  // A row of one key beside a sink as likely: half of V, not a third.
  attention_shape one = plain({{1, 1}});
  one.sinks = true;
  one.parts = 5;
  decode_trial trial{one};
  write_queries(trial, 0);
  write_rows(one, trial.cached, plane::v, [](auto...) { return row_of(element::bf16, 64, 2); });
  trial.rows.sinks_on_card.write({0, 0});
  trial.run();
  CHECK(all_are(out_row(trial, 0, 0), 1));
  CHECK(trial.rows.lse.read()[0] == doctest::Approx(std::log(2.0)));
}

TEST_CASE("G5 sinks that are given to the merge give what sinks in one call give") {
  attention_shape s = plain({{150, 1}});
  s.group = 1;
  s.sinks = true;
  s.parts = 3;
  decode_trial with{s};
  with.run();
  CHECK(judged(with) == "");
  attention_shape bare = s;
  decode_trial without{bare};
  allot::decode_call call = without.call();
  float const* const sinks = call.options.sinks;
  call.options.sinks = nullptr;
  the_card().attend.decode(call);
  allot::head_rows<std::byte> const out = call.out;
  the_card().attend.merge({.parts = {out.data, out.row_stride, out.head_stride, out.dtype},
                           .part_lse = call.lse,
                           .out = out,
                           .lse = call.lse,
                           .sinks = sinks,
                           .part_count = 1,
                           .rows = 1,
                           .heads = 1,
                           .dim = 64});
  std::vector<float> const a = out_row(with, 0, 0), b = out_row(without, 0, 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i] == doctest::Approx(static_cast<double>(b[i])).epsilon(0.02));
  }
  CHECK(without.rows.lse.read()[0] ==
        doctest::Approx(static_cast<double>(with.rows.lse.read()[0])).epsilon(1e-5));
}

TEST_CASE("G6 sinks count for every kind of cache") {
  for (element const e : {element::fp16, element::bf16, element::fp8}) {
    for (bool const row_scales : {false, true}) {
      if (row_scales && e != element::fp8) { continue; }
      attention_shape s = with_dtype(plain({{70, 3}, {9, 1}}), e);
      s.kv.row_scales = row_scales;
      s.sinks = true;
      CHECK(wrong(s) == "");
    }
  }
  attention_shape latent = with_dims(plain({{70, 2}}), 576, 512);
  latent.kv.v_is_k = true;
  latent.sinks = true;
  CHECK(wrong(latent) == "");
}

TEST_CASE("G8 a soft-cap of 1 does not leak masked tokens") {
  attention_shape s = plain({{100, 30}, {65, 1}});
  s.soft_cap = 1.0F;
  s.window_tokens = 20;
  CHECK(wrong(s) == "");
  // A token that the window hides weighs nothing, though all scores are within 1 of each other.
  attention_shape hidden = plain({{64, 1}});
  hidden.soft_cap = 1.0F;
  hidden.window_tokens = 16;
  decode_trial decode{hidden};
  mark_position(decode, 10);
  CHECK(out_row(decode, 0, 0)[1] == 0.0F);
  prefill_trial prefill{hidden};
  mark_position(prefill, 10);
  CHECK(out_row(prefill, 0, 0)[1] == 0.0F);
}

TEST_CASE("G9 a soft-cap is applied: 0 and 50 differ on large scores") {
  attention_shape s = plain({{40, 2}});
  s.scale = 1.0F;
  s.q_gain = 4.0;
  for (float const cap : {0.0F, 5.0F, 50.0F}) {
    s.soft_cap = cap;
    CHECK(wrong(s) == "");
  }
  auto const lse_with = [&](float cap, auto trial_of) {
    s.soft_cap = cap;
    auto trial = trial_of(s);
    trial->run();
    return trial->rows.lse.read()[0];
  };
  auto const decode = [](attention_shape const& of) { return std::make_unique<decode_trial>(of); };
  auto const prefill = [](attention_shape const& of) {
    return std::make_unique<prefill_trial>(of);
  };
  CHECK(lse_with(0, decode) > lse_with(50, decode) + 1);
  CHECK(lse_with(0, prefill) > lse_with(50, prefill) + 1);
  CHECK(lse_with(5, decode) <= 5 + std::log(40.0F) + 0.01F);
}
