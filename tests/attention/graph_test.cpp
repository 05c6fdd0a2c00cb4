// SPDX-License-Identifier: Apache-2.0
// F of the faults that were seen in public kernels: a step is captured once in a CUDA graph, and
// replayed with other lengths, pages, slots, contents and padding. Every replay against double
// precision, and to the bit against the same calls as they are.
#include "cases.hpp"
#include "try_append.hpp"

#include <allot/runtime/cuda_backend.hpp>

#include <cuda_runtime_api.h>

#include <limits>
#include <memory>

using namespace attention_test;

namespace {

cudaStream_t stream() {
  return static_cast<rt::cuda_backend&>(the_card().work).stream();
}

/// What a function issues, to be issued again.
class graph {
 public:
  template <class Issue>
  explicit graph(Issue&& issue) {
    REQUIRE(cudaStreamBeginCapture(stream(), cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    issue();
    REQUIRE(cudaStreamEndCapture(stream(), &captured_) == cudaSuccess);
    REQUIRE(cudaGraphInstantiate(&ready_, captured_, 0) == cudaSuccess);
  }
  graph(graph const&) = delete;
  graph& operator=(graph const&) = delete;
  ~graph() {
    static_cast<void>(cudaGraphExecDestroy(ready_));
    static_cast<void>(cudaGraphDestroy(captured_));
  }

  void replay() const {
    REQUIRE(cudaGraphLaunch(ready_, stream()) == cudaSuccess);
    the_card().work.wait();
  }

 private:
  cudaGraph_t captured_ = nullptr;
  cudaGraphExec_t ready_ = nullptr;
};

constexpr std::int32_t rows = 5, columns = 12, page_tokens = 16, query_heads = 6, chunk = 9;

/// One row of a batch, as an engine of captured size has it.
struct row_now {
  std::int32_t kv_len = 0;  ///< with the new token
  std::vector<std::int32_t> pages;
  bool padding = false;  ///< no new token: its slot is -1
};

/// A step of captured size: append, decode of two layers, prefill of one chunk; all at fixed
/// addresses.
class step {
 public:
  step(element dtype, bool latent)
      : shape_{shape_of(dtype, latent)},
        d_{11},
        pool_{shape_.kv, shape_.placing, d_},
        tokens_{shape_.kv, element::bf16, rows, false, d_},
        q_{packed(element::bf16, rows, query_heads, shape_.kv.head_dim)},
        chunk_q_{packed(element::bf16, chunk, query_heads, shape_.kv.head_dim)} {
    for (std::int32_t page = pool_.first_page(); page < pool_.end_page(); ++page) {
      for (std::int32_t t = 0; t < page_tokens; ++t) {
        pool_.write_token(d_, page, t);
      }
    }
    pool_.upload();
    split_ = the_card().attend.split_for(rows, shape_.kv.heads);
    std::int64_t const bytes =
        (*allot::decode_workspace_bytes(split_, query_heads, shape_.kv.v_head_dim)).count;
    workspace_ = on_card<std::byte>{
        std::vector<std::byte>(static_cast<std::size_t>(bytes), std::byte{0xFF})};
  }

  kv_pool const& pool() const { return pool_; }

  /// What the next step is about. Not captured.
  void set(std::vector<row_now> const& batch, std::int32_t chunk_row, std::int32_t chunk_tokens) {
    now_ = batch;
    chunk_row_ = chunk_row;
    chunk_tokens_ = chunk_tokens;
    kv_len_.clear();
    tokens_.slots.assign(rows, -1);
    for (std::size_t r = 0; r < rows; ++r) {
      row_now const& row = batch[r];
      kv_len_.push_back(row.kv_len);
      // Columns behind the last page keep what was there: nobody may look.
      std::copy(row.pages.begin(), row.pages.end(),
                table_.begin() + static_cast<std::ptrdiff_t>(r * columns));
      if (row.padding || row.kv_len == 0) { continue; }
      std::int32_t const last = row.kv_len - 1;
      tokens_.slots[r] =
          std::int64_t{row.pages[static_cast<std::size_t>(last / page_tokens)]} * page_tokens +
          last % page_tokens;
    }
    for (std::size_t r = 0; r < rows; ++r) {  // two rows in one slot would race
      for (std::size_t other = 0; other < r; ++other) {
        REQUIRE((tokens_.slots[r] < 0 || tokens_.slots[r] != tokens_.slots[other]));
      }
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int32_t head = 0; head < shape_.kv.heads; ++head) {
        double const padding = std::nan("");
        bool const is_padding = tokens_.slots[static_cast<std::size_t>(r)] < 0;
        auto const row = [&](std::int64_t dim) {
          return is_padding ? row_of(element::bf16, dim, padding)
                            : draw_row(d_, element::bf16, dim);
        };
        tokens_.k.set(r, head, row(shape_.kv.head_dim));
        tokens_.v.set(r, head, row(shape_.kv.v_head_dim));
      }
    }
    for (rows_on_card* const q : {&q_, &chunk_q_}) {
      for (std::int64_t r = 0; r < q->place().rows; ++r) {
        for (std::int64_t head = 0; head < query_heads; ++head) {
          q->set(r, head, draw_row(d_, element::bf16, shape_.kv.head_dim));
        }
      }
      q->upload();
    }
    table_on_card_.write(table_);
    len_on_card_.write(kv_len_);
    // The chunk is of one row; the others have no query.
    std::vector<std::int32_t> starts(rows + 1, 0);
    for (std::int32_t r = chunk_row; r < rows; ++r) {
      starts[static_cast<std::size_t>(r) + 1] = chunk_tokens;
    }
    starts_on_card_.write(starts);
    if (append_.tokens == 0) {
      append_ = tokens_.call(pool_);
    } else {
      tokens_.k.upload();
      tokens_.v.upload();
      tokens_.write_slots();
    }
  }

  /// What is captured.
  void issue() {
    rt::attention const& attend = the_card().attend;
    attend.append(append_);
    for (int layer = 0; layer < 2; ++layer) {
      allot::decode_call call{.cache = pool_.cache(),
                              .tables = tables(),
                              .q = q_.in(),
                              .out = out_[layer].out(),
                              .lse = lse_.data(),
                              .split = split_,
                              .workspace = workspace_.data(),
                              .workspace_bytes = workspace_.bytes(),
                              .query_heads = query_heads};
      call.reuse_split = layer > 0;
      attend.decode(call);
    }
    attend.prefill({.cache = pool_.cache(),
                    .tables = tables(),
                    .q_start = starts_on_card_.data(),
                    .q = chunk_q_.in(),
                    .out = chunk_out_.out(),
                    .query_rows = chunk,
                    .query_heads = query_heads});
  }

  /// "" or what is wrong after a step.
  std::string wrong() {
    std::string const cells = check_appended(pool_, tokens_);
    if (!cells.empty()) { return cells; }
    judge found;
    std::vector<float> const lse = lse_.read();
    std::vector<std::byte> const got = out_[0].read();
    if (out_[1].read() != got) { return "the second layer has other bits"; }
    std::vector<std::byte> const chunk_got = chunk_out_.read();
    score_rules const rules{.scale = 1 / std::sqrt(static_cast<double>(shape_.kv.head_dim))};
    std::int32_t const group = query_heads / shape_.kv.heads;
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::int32_t head = 0; head < query_heads; ++head) {
        keys_of_head const keys =
            keys_of(pool_, table_.data() + r * columns,
                    tokens_within(kv_len_[r], columns, page_tokens), head / group);
        auto const row = static_cast<std::int64_t>(r);
        std::string const name = "row " + std::to_string(r) + " head " + std::to_string(head);
        found.row(
            name,
            attend_row(keys, q_.row(row, head), std::int64_t{kv_len_[r]} - 1, rules, element::fp16),
            load_row(got.data() + out_[0].place().at(row, head), element::fp16,
                     shape_.kv.v_head_dim),
            &lse[r * query_heads + static_cast<std::size_t>(head)]);
        if (static_cast<std::int32_t>(r) != chunk_row_) { continue; }
        for (std::int32_t i = 0; i < chunk_tokens_; ++i) {
          found.row("chunk of " + name,
                    attend_row(keys, chunk_q_.row(i, head),
                               std::int64_t{kv_len_[r]} - chunk_tokens_ + i, rules, element::bf16),
                    load_row(chunk_got.data() + chunk_out_.place().at(i, head), element::bf16,
                             shape_.kv.v_head_dim),
                    nullptr);
        }
      }
    }
    return found.complaint();
  }

  std::vector<std::byte> written() {
    std::vector<std::byte> all = out_[0].read();
    for (rows_on_card const* const more : {&out_[1], &chunk_out_}) {
      std::vector<std::byte> const bytes = more->read();
      all.insert(all.end(), bytes.begin(), bytes.end());
    }
    return all;
  }

 private:
  static attention_shape shape_of(element dtype, bool latent) {
    attention_shape s = with_dtype(plain({{0}}), dtype);
    s.kv.heads = latent ? 1 : 2;
    s.kv.row_scales = dtype == element::fp8;
    s.kv.v_is_k = latent;
    if (latent) { s = with_dims(s, 576, 512); }
    s.placing.usable_pages = 30;
    return s;
  }

  allot::kv_tables tables() const {
    return {.pages = table_on_card_.data(),
            .kv_len = len_on_card_.data(),
            .row_stride = columns,
            .columns = columns,
            .requests = rows};
  }

  attention_shape shape_;
  dice d_;
  kv_pool pool_;
  appended tokens_;
  rows_on_card q_, chunk_q_;
  rows_on_card out_[2] = {
      rows_on_card{packed(element::fp16, rows, query_heads, shape_.kv.v_head_dim)},
      rows_on_card{packed(element::fp16, rows, query_heads, shape_.kv.v_head_dim)}};
  rows_on_card chunk_out_{packed(element::bf16, chunk, query_heads, shape_.kv.v_head_dim)};
  on_card<float> lse_{std::vector<float>(rows * query_heads, -1.0F)};
  allot::split_kv split_;
  on_card<std::byte> workspace_;
  allot::append_call append_{};
  std::vector<row_now> now_;
  std::vector<std::int32_t> table_ = std::vector<std::int32_t>(rows * columns, 2'147'480'000);
  std::vector<std::int32_t> kv_len_ = std::vector<std::int32_t>(rows, 0);
  on_card<std::int32_t> table_on_card_{table_}, len_on_card_{kv_len_};
  on_card<std::int32_t> starts_on_card_{std::vector<std::int32_t>(rows + 1, 0)};
  std::int32_t chunk_row_ = 0, chunk_tokens_ = 0;
};

std::vector<std::int32_t> pages(std::int32_t first, std::int32_t count) {
  std::vector<std::int32_t> out;
  for (std::int32_t i = 0; i < count; ++i) {
    out.push_back(1 + (first + i * 7) % 30);
  }
  return out;
}

constexpr std::int32_t past_the_row = 1'000'000;

/// Batches of all kinds, one after the other.
void replay_all(element dtype, bool latent) {
  step captured{dtype, latent};
  row_now const nobody{0, {}, true};
  captured.set({{17, pages(0, 2)}, {64, pages(4, 4)}, nobody, nobody, nobody}, 0, 3);
  graph const again{[&] { captured.issue(); }};

  int replays = 0;
  auto const replay = [&](std::vector<row_now> const& batch, std::int32_t chunk_row,
                          std::int32_t chunk_tokens) {
    CAPTURE(replays);
    captured.set(batch, chunk_row, chunk_tokens);
    again.replay();
    CHECK(captured.wrong() == "");
    std::vector<std::byte> const once = captured.written();
    captured.issue();
    the_card().work.wait();
    CHECK(captured.written() == once);
    ++replays;
  };
  replay({{17, pages(0, 2)}, {64, pages(4, 4)}, nobody, nobody, nobody}, 0, 3);
  // Longer, other pages, more rows: past blocks and pages.
  replay(
      {{18, pages(0, 2)}, {65, pages(4, 5)}, {190, pages(9, 12)}, {1, pages(3, 1)}, {0, {}, true}},
      2, chunk);
  // Fewer rows; those of the step before are still in the table behind a length of 0 (F2, F4).
  replay({nobody, nobody, {129, pages(1, 9)}, nobody, nobody}, 2, 1);
  // Padding with lengths past the row, and below 0 (F1).
  replay({{33, pages(2, 3)},
          {past_the_row, pages(5, 12), true},
          {-1, {}, true},
          {INT32_MAX, pages(11, 12), true},
          {16, pages(6, 1)}},
         4, 5);
  // Nobody at all.
  replay({nobody, nobody, nobody, nobody, nobody}, 0, 0);
  replay({{80, pages(8, 5)},
          {48, pages(13, 3)},
          {49, pages(16, 4)},
          {15, pages(20, 1)},
          {128, pages(21, 8)}},
         1, 4);
  CHECK(replays == 6);
}

}  // namespace

TEST_CASE("F1 F2 F4 a captured step, replayed with other batches") {
  replay_all(element::bf16, false);
  replay_all(element::fp8, false);
}

TEST_CASE("F1 F2 F4 a captured step of latent rows") {
  replay_all(element::bf16, true);
}

TEST_CASE("a captured merge and table of CSR, replayed with other numbers") {
  on_card<float> const parts{std::vector<float>(2 * 64, 1.0F)};
  on_card<float> const lse{{0.0F, 0.0F}};
  on_card<float> const out{std::vector<float>(64, -1.0F)};
  on_card<float> const out_lse{{-1.0F, -1.0F}};
  on_card<std::int32_t> const starts{{0, 2, 3}}, ids{{4, 5, 6}}, last{{1, 2}};
  on_card<std::int32_t> const table{std::vector<std::int32_t>(4, 0)}, kv_len{{0, 0}},
      faults{{7, 7}};
  auto* const bytes = reinterpret_cast<std::byte*>(parts.data());
  graph const again{[&] {
    the_card().attend.merge(
        {.parts = {bytes, 256, 256, element::fp32},
         .part_stride = 256,
         .part_lse = lse.data(),
         .out = {reinterpret_cast<std::byte*>(out.data()), 256, 256, element::fp32},
         .lse = out_lse.data(),
         .part_count = 2,
         .rows = 1,
         .heads = 1,
         .dim = 64});
    the_card().attend.expand_csr({.starts = starts.data(),
                                  .ids = ids.data(),
                                  .last_page_len = last.data(),
                                  .pages = table.data(),
                                  .kv_len = kv_len.data(),
                                  .faults = faults.data(),
                                  .row_stride = 2,
                                  .id_count = 3,
                                  .columns = 2,
                                  .requests = 2,
                                  .page_tokens = 8});
  }};
  again.replay();
  CHECK(all_are(out.read(), 1));
  CHECK(out_lse.read()[0] == doctest::Approx(std::log(2.0)));
  CHECK(table.read() == std::vector<std::int32_t>{4, 5, 6, -1});
  CHECK(kv_len.read() == std::vector<std::int32_t>{9, 2});
  CHECK(faults.read()[0] == 0);

  std::vector<float> rows_now(64, 3.0F);
  rows_now.resize(128, 9.0F);
  parts.write(rows_now);
  lse.write({2.0F, -std::numeric_limits<float>::infinity()});
  starts.write({0, 0, 3});
  ids.write({8, 9, 1});
  last.write({0, 9});
  for (int i = 0; i < 2; ++i) {  // faults are counted anew
    again.replay();
    CHECK(all_are(out.read(), 3));
    CHECK(out_lse.read()[0] == 2);
    CHECK(table.read() == std::vector<std::int32_t>{-1, -1, -1, -1});
    CHECK(kv_len.read() == std::vector<std::int32_t>{0, 0});
    CHECK(faults.read()[0] == 1);
  }
}
