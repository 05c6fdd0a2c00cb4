// SPDX-License-Identifier: Apache-2.0
// H of the faults that were seen in public kernels: fp8, formats, dispatch.
#include "cases.hpp"
#include "try_append.hpp"

using namespace attention_test;

namespace {

/// Appends the tokens [first, end) of request 0, whose rows are drawn from `seed`.
void append_tokens(kv_pool& pool, std::int32_t const* row, std::int32_t first, std::int32_t end,
                   std::uint64_t seed) {
  kv_shape const& s = pool.shape();
  dice d{seed};
  appended all{s, element::bf16, end - first, false, d};
  for (std::int32_t t = 0; t < end; ++t) {
    for (std::int32_t head = 0; head < s.heads; ++head) {
      std::vector<code> const k = draw_row(d, element::bf16, s.head_dim);
      std::vector<code> const v = draw_row(d, element::bf16, s.v_head_dim);
      if (t < first) { continue; }
      all.k.set(t - first, head, k);
      all.v.set(t - first, head, v);
    }
    if (t >= first) {
      all.slots.push_back(std::int64_t{row[t / s.page_tokens]} * s.page_tokens + t % s.page_tokens);
    }
  }
  the_card().attend.append(all.call(pool));
  CHECK(check_appended(pool, all) == "");
}

/// One head of one row appended to a pool, and the codes that it became.
std::vector<code> stored(kv_shape const& shape, std::vector<code> const& row,
                         float* scale = nullptr) {
  attention_shape s = plain({{0}});
  s.kv = shape;
  dice d{1};
  kv_pool pool{s.kv, s.placing, d};
  pool.upload();
  appended one{s.kv, element::bf16, 1, false, d};
  one.slots = {17};
  one.k.set(0, 0, row);
  one.v.set(0, 0, row);
  the_card().attend.append(one.call(pool));
  pool.take_card();
  std::vector<code> out;
  for (std::int64_t i = 0; i < s.kv.head_dim; ++i) {
    out.push_back(load(pool.on_card_at(plane::k, 1, 1, 0) + i, element::fp8));
  }
  if (scale != nullptr) { std::memcpy(scale, pool.on_card_at(plane::k_scales, 1, 1, 0), 4); }
  return out;
}

}  // namespace

TEST_CASE("H1 fp8 with scales is the bf16 cache, to the error of fp8") {
  attention_shape const exact = plain({{90, 4}});
  attention_shape coded = with_dtype(exact, element::fp8);
  coded.kv.k_scale = 0.25F;
  coded.kv.v_scale = 0.5F;
  attention_shape by_row = with_dtype(exact, element::fp8);
  by_row.kv.row_scales = true;
  std::vector<float> wanted[2];
  for (attention_shape const& s : {exact, coded, by_row}) {
    auto const check = [&](auto trial, std::vector<float>& first) {
      append_tokens(trial.cached.pool(), trial.cached.row(0), 0, 90, 5);
      draw_queries(trial, 3);
      trial.run();
      CHECK(judged(trial) == "");
      std::vector<float> const got = out_row(trial, 0, 1);
      if (first.empty()) { first = got; }
      for (std::size_t i = 0; i < got.size(); ++i) {
        CHECK(std::fabs(got[i] - first[i]) < 0.06F);
      }
    };
    check(decode_trial{s}, wanted[0]);
    check(prefill_trial{s}, wanted[1]);
  }
}

TEST_CASE("H2 a prefix that is there already gives what a cold start gives") {
  for (bool const row_scales : {false, true}) {
    attention_shape cold = with_dtype(plain({{100, 100}}), element::fp8);
    cold.group = 1;
    cold.twice = false;
    cold.kv.row_scales = row_scales;
    if (!row_scales) { cold.kv.k_scale = cold.kv.v_scale = 0.125F; }
    prefill_trial all{cold};
    append_tokens(all.cached.pool(), all.cached.row(0), 0, 100, 9);
    all.run();
    CHECK(judged(all) == "");
    attention_shape warm = cold;
    warm.requests[0].q_len = 37;
    prefill_trial rest{warm};
    append_tokens(rest.cached.pool(), rest.cached.row(0), 0, 63, 9);    // by another request
    append_tokens(rest.cached.pool(), rest.cached.row(0), 63, 100, 9);  // by this one
    for (std::int64_t row = 0; row < 37; ++row) {
      rest.rows.q.set(row, 0, std::vector<code>(64, 0x3F80));
      all.rows.q.set(63 + row, 0, std::vector<code>(64, 0x3F80));
    }
    rest.rows.q.upload();
    all.rows.q.upload();
    rest.run();
    all.run();
    CHECK(judged(rest) == "");
    for (std::int64_t row = 0; row < 37; ++row) {
      std::vector<float> const a = out_row(all, 63 + row, 0), b = out_row(rest, row, 0);
      for (std::size_t i = 0; i < a.size(); ++i) {
        CHECK(std::fabs(a[i] - b[i]) <= 0.01F * std::fabs(a[i]) + 1e-4F);
      }
    }
  }
}

TEST_CASE("H3 e4m3 saturates at 448 and keeps NaN, whatever it is stored from") {
  kv_shape const shape{.dtype = element::fp8};
  std::vector<code> row = row_of(element::bf16, 64, 1);
  double const values[] = {448, 464, 466, 480, 1e30, -466, -1e30, HUGE_VAL, -HUGE_VAL, 0, -0.0};
  code const wanted[] = {0x7E, 0x7E, 0x7E, 0x7E, 0x7E, 0xFE, 0xFE, 0x7E, 0xFE, 0x00, 0x80};
  for (std::size_t i = 0; i < std::size(values); ++i) {
    row[i] = nearest_code(element::bf16, values[i]);
  }
  row[20] = 0x7FC0;
  row[21] = 0xFF81;
  std::vector<code> const got = stored(shape, row);
  for (std::size_t i = 0; i < std::size(values); ++i) {
    CAPTURE(i);
    CHECK(got[i] == wanted[i]);
  }
  CHECK(is_nan(element::fp8, got[20]));
  CHECK(is_nan(element::fp8, got[21]));
}

TEST_CASE("H3 a row's own scale: the largest finite number is 448, and a row of nothing has 1") {
  kv_shape const shape{.dtype = element::fp8, .row_scales = true};
  float scale = 0;
  std::vector<code> row = row_of(element::bf16, 64, 0.5);
  row[7] = nearest_code(element::bf16, -896);
  row[8] = 0x7F80;  // infinity
  row[9] = 0x7FC0;
  std::vector<code> got = stored(shape, row, &scale);
  CHECK(scale == 2.0F);
  CHECK(got[7] == 0xFE);
  CHECK(got[8] == 0x7E);
  CHECK(is_nan(element::fp8, got[9]));
  CHECK(number_of(element::fp8, got[0]) == 0.25);

  CHECK(stored(shape, row_of(element::bf16, 64, 0), &scale) == std::vector<code>(64, 0));
  CHECK(scale == 1.0F);
  got = stored(shape, row_of(element::bf16, 64, std::nan("")), &scale);
  CHECK(scale == 1.0F);
  CHECK(is_nan(element::fp8, got[5]));
  got = stored(shape, row_of(element::bf16, 64, -HUGE_VAL), &scale);
  CHECK(scale == 1.0F);
  CHECK(got[5] == 0xFE);

  // The smallest numbers there are: no scale of 0, no 0 / 0.
  for (code const tiny : {code{0x0001}, code{0x0040}, code{0x0080}, code{0x0100}}) {
    row = row_of(element::bf16, 64, 0);
    row[3] = tiny;
    got = stored(shape, row, &scale);
    CAPTURE(tiny);
    CHECK(std::isfinite(scale));
    CHECK(scale > 0);
    CHECK_FALSE(is_nan(element::fp8, got[3]));
    CHECK(number_of(element::fp8, got[4]) == 0);
  }
}

TEST_CASE("H5 any number of query heads a KV head") {
  for (std::int32_t group = 1; group <= 64; ++group) {
    if (the_card().gpu && group > 17 && group % 16 > 1) { continue; }
    attention_shape s = plain({{33, 2}, {5, 1}});
    s.group = group;
    s.twice = false;
    s.kv.dtype = group % 3 == 0 ? element::fp8 : group % 3 == 1 ? element::fp16 : element::bf16;
    CAPTURE(group);
    CHECK(wrong(s) == "");
  }
  attention_shape many = with_dims(plain({{20, 2}}), 576, 512);
  many.kv.v_is_k = true;
  many.group = 128;
  CHECK(wrong(many) == "");
  attention_shape odd = plain({{20, 2}});
  odd.group = 71;
  CHECK(wrong(odd) == "");
}

TEST_CASE("H5 every instance") {
  int checked = 0;
  for (rt::attention_instance const& instance : rt::attention_instances()) {
    attention_shape s = plain({{70, 3}, {16, 1}});
    s.kv.head_dim = instance.head_dim;
    s.kv.v_head_dim = instance.v_head_dim;
    s.kv.dtype = instance.dtype;
    s.twice = false;
    CAPTURE(rt::to_string(instance));
    CHECK(wrong(s) == "");
    s.kv.v_is_k = true;
    CHECK(wrong(s) == "");
    ++checked;
  }
  CHECK(checked == 21);
}

TEST_CASE("H8 contexts of 20000 tokens") {
  attention_shape s = plain({{20'000, 1}, {12'289, 2}}, 64);
  if (the_card().gpu) { s = plain({{12'289, 1}}, 64); }
  s.group = 1;
  s.twice = false;
  s.parts = 16;
  CHECK(wrong(s) == "");
}
