// SPDX-License-Identifier: Apache-2.0
// C and D of the faults that were seen in public kernels: NaN and uninitialised data, merging.
//
// C7's semaphores and D9's accumulators of the library's own do not exist: a workspace is the
// caller's. What stays of them is that a workspace may hold anything, and that a call may be gone
// before it is done.
#include "cases.hpp"

#include <limits>

using namespace attention_test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// fp32 parts of 64 numbers each, one row and one head.
struct parts_of_one_row {
  std::vector<float> rows, lse;
  on_card<float> rows_on_card, lse_on_card;

  void add(double value, double part_lse) {
    rows.insert(rows.end(), 64, static_cast<float>(value));
    lse.push_back(static_cast<float>(part_lse));
  }

  struct result {
    std::vector<float> out;
    float lse = 0;
  };

  result merge(allot::lse_base base = allot::lse_base::natural, bool in_place = false) {
    rows_on_card = on_card<float>{rows};
    lse_on_card = on_card<float>{lse};
    on_card<float> const out{std::vector<float>(64, -7.0F)};
    on_card<float> const out_lse{std::vector<float>(1, -7.0F)};
    auto* const parts = reinterpret_cast<std::byte*>(rows_on_card.data());
    auto* const apart = reinterpret_cast<std::byte*>(out.data());
    the_card().attend.merge({.parts = {parts, 256, 256, element::fp32},
                             .part_stride = 256,
                             .part_lse = lse_on_card.data(),
                             .part_base = base,
                             .out = {in_place ? parts : apart, 256, 256, element::fp32},
                             .lse = in_place ? lse_on_card.data() : out_lse.data(),
                             .part_count = static_cast<std::int32_t>(lse.size()),
                             .rows = 1,
                             .heads = 1,
                             .dim = 64});
    std::vector<float> all = in_place ? rows_on_card.read() : out.read();
    all.resize(64);
    return {all, (in_place ? lse_on_card.read() : out_lse.read())[0]};
  }
};

}  // namespace

TEST_CASE("C1 NaN in the unused cells of the last page") {
  for (element const e : {element::fp16, element::bf16, element::fp8}) {
    CHECK(wrong(with_dtype(plain({{13, 4}}, 4), e)) == "");
  }
}

TEST_CASE("C2 NaN past lengths of 1 and 3") {
  CHECK(wrong(plain({{1, 1}, {3, 3}})) == "");
  CHECK(wrong(plain({{1, 1}, {3, 3}}, 256)) == "");
}

TEST_CASE("C3 scores of -524288 average V exactly") {
  attention_shape s = with_dims(plain({{16, 3}}), 128, 128);
  s.scale = 1.0F;
  auto const check = [&](auto& trial) {
    write_queries(trial, 64);
    write_rows(s, trial.cached, plane::k, [&](auto...) { return row_of(element::bf16, 128, -64); });
    write_rows(s, trial.cached, plane::v, [&](std::size_t, std::int32_t t, std::int32_t) {
      return row_of(element::bf16, 128, t);
    });
    trial.run();
    // The last query of each sees all of 0 … 15.
    std::int64_t const last = trial.rows.out.place().rows - 1;
    CHECK(all_are(out_row(trial, last, 1), 7.5F));
    float const lse = trial.rows.lse.read().back();
    CHECK(lse == doctest::Approx(-524'288 + std::log(16.0)));
  };
  decode_trial decode{s};
  check(decode);
  prefill_trial prefill{s};
  check(prefill);
}

TEST_CASE("C4 whole blocks of keys that are masked, first, last and between") {
  // Pages of a block that are not given out, and windows that leave the first blocks out.
  attention_shape s = plain({{300, 5}, {64, 64}, {128, 1}}, 64);
  s.requests[0].foreign_page = s.requests[1].foreign_page = s.requests[2].foreign_page = true;
  s.parts = 9;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    s.seed = seed;
    s.window_tokens = seed % 2 == 0 ? 20 : 0;
    CHECK(wrong(s) == "");
  }
}

TEST_CASE("C5 queries of 0 average V, with no padding in the denominator") {
  for (std::int32_t const len : {16, 64}) {
    for (std::int32_t const page : {16, 256}) {
      attention_shape s = plain({{len, 1}}, page);
      s.causal = false;
      auto const check = [&](auto& trial) {
        write_queries(trial, 0);
        write_rows(s, trial.cached, plane::v, [&](std::size_t, std::int32_t t, std::int32_t) {
          return row_of(element::bf16, 64, t % 2 == 0 ? 4 : 2);
        });
        trial.run();
        CHECK(all_are(out_row(trial, 0, 0), 3.0F));
        CHECK(trial.rows.lse.read()[0] == doctest::Approx(std::log(len)));
      };
      decode_trial decode{s};
      check(decode);
      prefill_trial prefill{s};
      check(prefill);
    }
  }
}

TEST_CASE("C7 a workspace of 0xFF, of garbage and as it was left, gives the same bits") {
  attention_shape s = plain({{200, 1}, {0, 1}, {65, 1}});
  s.parts = 7;
  std::vector<std::byte> wanted;
  for (workspace const before : {workspace::ones, workspace::garbage, workspace::unwritten}) {
    s.before = before;
    // The drawing of garbage must not change what is drawn.
    decode_trial trial{s};
    trial.run();
    std::vector<std::byte> const once = trial.rows.out.read();
    trial.run();
    CHECK(trial.rows.out.read() == once);
    if (wanted.empty()) { wanted = once; }
    CHECK(once == wanted);
    CHECK(judged(trial) == "");
  }
}

TEST_CASE("C8 0x7F in every unused cell of an fp8 cache") {
  for (bool const row_scales : {false, true}) {
    attention_shape s = with_dtype(plain({{13, 4}, {70, 2}}, 32), element::fp8);
    s.kv.row_scales = row_scales;
    s.placing.poison = std::byte{0x7F};
    CHECK(wrong(s) == "");
  }
}

TEST_CASE("D1 parts that attended to nothing merge to nothing") {
  for (bool const in_place : {false, true}) {
    for (int const count : {1, 2, 5}) {
      parts_of_one_row parts;
      for (int i = 0; i < count; ++i) {
        parts.add(0, -static_cast<double>(infinity));
      }
      auto const got = parts.merge(allot::lse_base::natural, in_place);
      CHECK(all_are(got.out, 0));
      CHECK(got.lse == -infinity);
    }
  }
  parts_of_one_row none;
  none.add(3, 1);
  none.add(std::nan(""), -static_cast<double>(infinity));
  auto const got = none.merge();
  CHECK(all_are(got.out, 3));
  CHECK(got.lse == 1);
}

TEST_CASE("D2 an lse of +inf says that a part attended to nothing, as FlashAttention 2 has it") {
  parts_of_one_row parts;
  parts.add(100, static_cast<double>(infinity));
  parts.add(-2, 0.5);
  auto const got = parts.merge();
  CHECK(all_are(got.out, -2));
  CHECK(got.lse == 0.5F);
  parts_of_one_row dead;
  dead.add(100, static_cast<double>(infinity));
  CHECK(dead.merge().lse == -infinity);
  CHECK(all_are(dead.merge().out, 0));
}

TEST_CASE("D4 the base of an lse is told") {
  // Attention over 3072 + 64 tokens of equal scores: the shares are those of the tokens.
  parts_of_one_row parts;
  parts.add(1, std::log2(3072.0));
  parts.add(50, std::log2(64.0));
  auto const got = parts.merge(allot::lse_base::two);
  CHECK(got.out[0] == doctest::Approx((3072.0 + 64 * 50) / 3136).epsilon(1e-6));
  CHECK(got.lse == doctest::Approx(std::log(3136.0)).epsilon(1e-6));
}

TEST_CASE("D5 all pieces of a request saw nothing") {
  attention_shape s = plain({{200, 3}, {130, 1}}, 200);
  s.parts = 8;
  s.requests[0].foreign_page = true;  // its only page
  s.sinks = true;
  CHECK(wrong(s) == "");
  decode_trial trial{s};
  trial.run();
  CHECK(all_are(out_row(trial, 0, 0), 0));
  CHECK(trial.rows.lse.read()[0] == -infinity);
}

TEST_CASE("D6 pieces are kept in fp32: one part and many parts err alike") {
  attention_shape s = plain({{700, 1}});
  s.out_dtype = element::bf16;
  s.twice = false;
  for (std::int32_t const parts : {1, 11, 40}) {
    s.parts = parts;
    CHECK(try_decode(s).complaint() == "");
  }
}

TEST_CASE("D9 a call may be gone before it is done") {
  attention_shape s = plain({{200, 4}, {65, 1}});
  s.sinks = true;
  decode_trial decode{s};
  prefill_trial prefill{s};
  {
    allot::decode_call call = decode.call();
    the_card().attend.decode(call);
    call = {};
    allot::prefill_call filled = prefill.call();
    the_card().attend.prefill(filled);
    filled = {};
  }
  the_card().work.wait();
  CHECK(judged(decode) == "");
  CHECK(judged(prefill) == "");
}

TEST_CASE("NaN values of tokens that a query does not see, though others of its tile do") {
  // Of the last 12 of 40 tokens: what comes after a query, and what has left its window.
  auto const finite_rows = [](std::int32_t window, auto is_nan) {
    attention_shape s = plain({{40, 12}});
    s.window_tokens = window;
    s.twice = false;
    prefill_trial prefill{s};
    write_rows(s, prefill.cached, plane::v, [&](std::size_t, std::int32_t t, std::int32_t) {
      return is_nan(t) ? std::vector<code>(64, 0x7FC0) : row_of(element::bf16, 64, t);
    });
    prefill.run();
    int finite = 0;
    for (std::int64_t row = 0; row < 12; ++row) {
      finite += all_finite(out_row(prefill, row, 0)) && all_finite(out_row(prefill, row, 1));
    }
    return finite;
  };
  CHECK(finite_rows(0, [](std::int32_t t) { return t >= 34; }) == 6);  // positions 28 to 33
  CHECK(finite_rows(8, [](std::int32_t t) { return t < 21; }) == 12);  // the first sees from 21
  CHECK(finite_rows(8, [](std::int32_t t) { return t == 24; }) == 8);  // 32 sees from 25
}
