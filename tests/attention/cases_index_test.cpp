// SPDX-License-Identifier: Apache-2.0
// A and B of the faults that were seen in public kernels: index arithmetic, sentinels and padding.
//
// Not here, for we have no such kernel: A7 and A8 (activation and permutation of experts), A10
// (custom masks), B4 and B7 (routing). B6 is of sparse attention: of it the query rows beyond 64
// stay.
#include "cases.hpp"
#include "try_append.hpp"

using namespace attention_test;

namespace {

/// Whether the card can give so much: only an emulated one, or the host, has it without memory.
bool has(std::int64_t bytes) {
  card const& on = the_card();
  if (on.has_sparse || on.sparse.free_bytes() > bytes + (std::int64_t{1} << 30)) { return true; }
  MESSAGE("not tried: " << bytes << " bytes are too much for this device");
  return false;
}

constexpr std::int64_t gib = std::int64_t{1} << 30;

}  // namespace

TEST_CASE(
    "A1 a token in the last of 64000 pages, 8 GiB into K and V, is stored there and nowhere") {
  if (!has(34 * gib)) { return; }
  attention_shape s = plain({{0}});
  s.kv = {.head_dim = 128, .v_head_dim = 128, .heads = 32, .page_tokens = 16};
  s.placing.pages_before = 63'998;
  s.placing.sentinel_pages = 0;
  s.placing.usable_pages = 2;
  dice d{1};
  kv_pool pool{s.kv, s.placing, d};
  for (std::int32_t token = 0; token < 16; ++token) {
    pool.write_token(d, 63'998, token);
  }
  pool.upload();
  appended one{s.kv, element::bf16, 1, false, d};
  one.slots = {std::int64_t{64'000} * 16 - 1};
  for (std::int32_t head = 0; head < 32; ++head) {
    one.k.set(0, head, draw_row(d, element::bf16, 128));
    one.v.set(0, head, draw_row(d, element::bf16, 128));
  }
  allot::append_call call = one.call(pool);
  // All of it is pages that requests are given: what lands elsewhere is not saved by a sentinel.
  call.cache.first_page = 0;
  // Where a slot of 32 bits would land: what was there must be there.
  std::int64_t const row = std::int64_t{32} * 128 * 2;
  std::vector<std::byte*> elsewhere;
  std::int64_t const offset = one.slots[0] / 16 * call.cache.block_stride + 15 * row;
  for (std::int64_t const at : {std::int64_t{0}, offset % (2 * gib), offset % (4 * gib),
                                offset / 2 % (2 * gib) * 2, offset / 2 % (4 * gib) * 2}) {
    if (at == offset) { continue; }
    for (std::byte* const plane : {call.cache.k.data, call.cache.v.data}) {
      the_card().work.fill(plane + at, std::byte{0x3A}, row);
      elsewhere.push_back(plane + at);
    }
  }
  the_card().attend.append(call);
  CHECK(check_appended(pool, one) == "");
  for (std::byte* const at : elsewhere) {
    CHECK(the_card().work.find_other(at, std::byte{0x3A}, row) == -1);
  }
}

TEST_CASE("A2 latent pages from id 262144 on, 9 GiB into the pool, equal those of low ids") {
  if (!has(11 * gib)) { return; }
  attention_shape s = with_dims(plain({{26 * 32, 2}}, 32), 576, 512);
  s.kv.v_is_k = true;
  s.kv.heads = 1;
  s.group = 1;
  s.twice = false;
  decode_trial low{s};
  low.run();
  CHECK(judged(low) == "");
  s.placing.pages_before = 262'144;
  decode_trial high{s};
  high.run();
  CHECK(judged(high) == "");
  CHECK(out_row(high, 0, 0) == out_row(low, 0, 0));
  CHECK(try_prefill(s).complaint() == "");
}

TEST_CASE("A3 latent pages of 480 tokens from id 7767 on, 4 GiB into the pool") {
  if (!has(6 * gib)) { return; }
  attention_shape s = with_dims(with_dtype(plain({{500, 1}}, 480), element::fp16), 576, 512);
  s.kv.v_is_k = true;
  s.group = 3;
  s.placing.pages_before = 7'767;
  CHECK(wrong(s) == "");
  tally unused;
  CHECK(try_append(s, unused) == "");
}

TEST_CASE("A3 pages of every element, 2 GiB and 4 GiB into the pool") {
  if (!has(6 * gib)) { return; }
  for (element const e : {element::fp16, element::bf16, element::fp8}) {
    for (std::int64_t const far : {2 * gib, 4 * gib}) {
      attention_shape s = with_dims(with_dtype(plain({{40, 3}}), e), 128, 128);
      s.kv.row_scales = e == element::fp8;
      std::int64_t const page_bytes = 16 * 128 * (e == element::fp8 ? 1 : 2);
      s.placing.pages_before = static_cast<std::int32_t>(far / page_bytes);
      CHECK(wrong(s) == "");
    }
  }
}

TEST_CASE("A5 strides of 2^31 and more") {
  if (!has(20 * gib)) { return; }
  attention_shape s = plain({{40, 1}, {21, 1}});
  s.twice = false;
  decode_trial trial{s};
  prefill_trial filled{s};
  std::int64_t const far = 2 * gib + 64;
  std::int64_t const row = s.group * 64 * 2;  // bytes of q and out
  card& on = the_card();
  rt::buffer const q{on.sparse, far + row};
  rt::buffer const out{on.sparse, 2 * far + row};
  rt::buffer const table{on.sparse, (far + s.columns) * 4};
  allot::decode_call decode = trial.call();
  allot::prefill_call prefill = filled.call();

  auto const far_tables = [&](allot::kv_tables& tables) {
    for (std::int64_t r = 0; r < 2; ++r) {
      on.work.copy(table.data() + r * far * 4, tables.pages + r * tables.row_stride,
                   std::int64_t{4} * s.columns);
    }
    tables.pages = reinterpret_cast<std::int32_t const*>(table.data());
    tables.row_stride = far;
  };
  auto const far_rows = [&](auto& call) {
    for (std::int64_t r = 0; r < 2; ++r) {
      on.work.copy(q.data() + r * far, call.q.data + r * call.q.row_stride, row);
    }
    call.q.data = q.data();
    call.q.row_stride = far;
    call.out.data = out.data();
    call.out.row_stride = 2 * far;
    far_tables(call.tables);
  };
  auto const back = [&](auto const& trial_rows) {
    for (std::int64_t r = 0; r < 2; ++r) {
      on.work.copy(trial_rows.out.out().data + r * row, out.data() + r * 2 * far, row);
    }
  };
  far_rows(decode);
  on.attend.decode(decode);
  back(trial.rows);
  CHECK(judged(trial) == "");
  far_rows(prefill);
  on.attend.prefill(prefill);
  back(filled.rows);
  CHECK(judged(filled) == "");
}

TEST_CASE("A5 tokens and heads of a page 2^31 bytes apart") {
  if (!has(20 * gib)) { return; }
  card& on = the_card();
  for (bool const by_head : {true, false}) {
    attention_shape s = plain({{2, 1}}, 2);
    s.kv.heads = 2;
    s.twice = false;
    decode_trial trial{s};
    std::int64_t const far = 2 * gib + 48, row = 128;
    rt::buffer const k{on.sparse, 2 * far + 1024}, v{on.sparse, 2 * far + 1024};
    allot::decode_call call = trial.call();
    auto const move = [&](allot::kv_plane& plane, std::byte* to) {
      allot::kv_plane const moved{to, by_head ? row : far, by_head ? far : row};
      std::int32_t const page = trial.cached.row(0)[0];
      for (std::int64_t token = 0; token < 2; ++token) {
        for (std::int64_t head = 0; head < 2; ++head) {
          on.work.copy(
              to + page * std::int64_t{256} + token * moved.token_stride + head * moved.head_stride,
              plane.data + page * call.cache.block_stride + token * plane.token_stride +
                  head * plane.head_stride,
              row);
        }
      }
      plane = moved;
    };
    move(call.cache.k, k.data());
    move(call.cache.v, v.data());
    call.cache.block_stride = 256;
    on.attend.decode(call);
    CHECK(judged(trial) == "");
  }
}

TEST_CASE("B1 slot -1 writes nothing, least of all into the last slot of the last page") {
  for (bool const at_back : {false, true}) {
    attention_shape s = plain({{0}});
    s.placing.usable_pages = 3;
    s.placing.sentinels_at_back = at_back;
    dice d{3};
    kv_pool pool{s.kv, s.placing, d};
    for (std::int32_t page = pool.first_page(); page < pool.end_page(); ++page) {
      for (std::int32_t token = 0; token < 16; ++token) {
        pool.write_token(d, page, token);
      }
    }
    pool.upload();
    appended padding{s.kv, element::fp16, 70, false, d};
    padding.slots.assign(70, -1);
    padding.slots[3] = std::int64_t{pool.all_pages()} * 16;
    padding.slots[66] = std::int64_t{pool.first_page()} * 16 + 5;
    for (std::int64_t t = 0; t < 70; ++t) {
      padding.k.set(t, 0, draw_row(d, element::fp16, 64));
      padding.v.set(t, 0, draw_row(d, element::fp16, 64));
    }
    the_card().attend.append(padding.call(pool));
    CHECK(check_appended(pool, padding) == "");
  }
}

TEST_CASE("B2 padding of NaN into a page that no request has leaves it, and all results, alone") {
  attention_shape s = plain({{13, 3}, {30, 2}}, 8);
  decode_trial trial{s};
  appended padding{s.kv, element::bf16, 4, false, trial.d};
  padding.slots = {0, 7, 3, 0};  // page 0 is the sentinel
  for (std::int64_t t = 0; t < 4; ++t) {
    padding.k.set(t, 0, row_of(element::bf16, 64, std::nan("")));
    padding.v.set(t, 0, row_of(element::bf16, 64, std::nan("")));
  }
  kv_pool& pool = trial.cached.pool();
  the_card().attend.append(padding.call(pool));
  CHECK(pool.changed() == "");
  trial.run();
  CHECK(judged(trial) == "");
}

TEST_CASE("B2 tables that name the sentinel, whose cells are NaN, do not attend to it") {
  for (element const e : {element::fp16, element::bf16, element::fp8}) {
    attention_shape s = with_dtype(plain({{100, 5}, {64, 64}}, 16), e);
    s.requests[0].foreign_page = s.requests[1].foreign_page = true;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      s.seed = seed;
      CHECK(wrong(s) == "");
    }
  }
}

TEST_CASE("B6 more than 64 query rows") {
  attention_shape s = plain({{70, 70}, {3, 1}, {90, 66}});
  s.group = the_card().gpu ? 1 : 3;
  s.twice = false;
  CHECK(try_prefill(s).complaint() == "");
}
