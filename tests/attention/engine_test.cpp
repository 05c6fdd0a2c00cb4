// SPDX-License-Identifier: Apache-2.0
// Steps of an engine on the runtime's own allocators and tables: requests come with prompts, some
// with a prefix that is there already, decode together, leave, and others take their rows and
// pages. Every row of every step against double precision.
#include "cases.hpp"

#include <allot/allot.hpp>
#include <allot/runtime/block_table.hpp>
#include <allot/runtime/kv_cache_view.hpp>
#include <allot/runtime/page_allocator.hpp>
#include <allot/runtime/slot_mapping.hpp>

using namespace attention_test;

namespace {

constexpr std::int64_t rows = 4, layers = 2, longest = 150;
constexpr std::int32_t query_heads = 6;

constexpr allot::gqa family{
    .layers = layers, .kv_heads = 2, .head_dim = 64, .page_tokens = 8, .sentinel_pages = 1};

template <allot::arrangement Arranged>
constexpr auto table = allot::make_table<Arranged>(family).with_granularity(16);

/// What one request has cached, by layer: the rows that were appended, as bf16.
struct history {
  std::vector<std::vector<code>> k[layers], v[layers];  // [tokens * heads] rows
  std::int32_t tokens = 0;
};

template <allot::arrangement Arranged>
class engine {
 public:
  explicit engine(std::uint64_t seed)
      : d_{seed},
        plan_{*allot::solve(table<Arranged>, allot::bytes{400'000}, {.min_tokens = {longest}})},
        arena_{table<Arranged>, plan_, the_card().memory, rt::guarding::on, &the_card().work},
        pages_{family.paging(), plan_.pages},
        table_{the_card().memory,     the_card().staging, the_card().work, pages_.pool(), rows,
               allot::tokens{longest}},
        mapping_{table_},
        split_{the_card().attend.split_for(rows, 2)},
        workspace_{on_card<std::byte>::unwritten(
            (*allot::decode_workspace_bytes(split_, query_heads, 64)).count)} {}

  std::int64_t judged_rows() const { return judged_; }

  /// Adds `count` tokens to a row, and attends with as many queries.
  void prompt(std::int64_t row, std::int32_t count) {
    append({{row, count}});
    std::int32_t const start[] = {0, count};
    on_card<std::int32_t> const q_start{{start[0], start[1]}};
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      rows_on_card q{packed(element::bf16, count, query_heads, 64)};
      rows_on_card const out{packed(element::fp16, count, query_heads, 64)};
      fill(q, count);
      allot::kv_tables tables = step_tables();
      tables.pages += row * table_.columns();
      tables.kv_len += row;
      tables.requests = 1;
      the_card().attend.prefill({.cache = view(layer),
                                 .tables = tables,
                                 .q_start = q_start.data(),
                                 .q = q.in(),
                                 .out = out.out(),
                                 .query_rows = count,
                                 .query_heads = query_heads});
      for (std::int32_t i = 0; i < count; ++i) {
        check(q, out, i, row, requests_[row].tokens - count + i, layer);
      }
    }
  }

  /// One more token for each of these rows; the batch has all rows, the rest is padding.
  void decode(std::vector<std::int64_t> const& busy) {
    std::vector<rt::appended_tokens> batch;
    for (std::int64_t const row : busy) {
      batch.push_back({row, 1});
    }
    append(batch);
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      rows_on_card q{packed(element::fp16, rows, query_heads, 64)};
      rows_on_card const out{packed(element::bf16, rows, query_heads, 64)};
      fill(q, rows);
      the_card().attend.decode({.cache = view(layer),
                                .tables = step_tables(),
                                .q = q.in(),
                                .out = out.out(),
                                .split = split_,
                                .workspace = workspace_.data(),
                                .workspace_bytes = workspace_.bytes(),
                                .query_heads = query_heads,
                                .reuse_split = layer > 0});
      for (std::int64_t row = 0; row < rows; ++row) {
        check(q, out, row, row, requests_[row].tokens - 1, layer);
      }
    }
  }

  void leave(std::int64_t row) {
    for (rt::page_id const page : table_.row(row)) {
      REQUIRE(pages_.release(page));
    }
    REQUIRE(table_.clear(row));
    requests_[row] = {};
  }

  bool guards_live() { return arena_.first_broken(the_card().work).offset == -1; }

 private:
  allot::kv_cache view(std::int64_t layer) const {
    return rt::view_layer(arena_, arena_.find("gqa", "rows"), allot::kv_page_of(family),
                          pages_.pool(), layer);
  }

  allot::kv_tables step_tables() const {
    return {.pages = table_.device_data(),
            .kv_len = table_.device_kv_len(),
            .row_stride = table_.columns(),
            .columns = static_cast<std::int32_t>(table_.columns()),
            .requests = rows};
  }

  void fill(rows_on_card& q, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::int64_t head = 0; head < query_heads; ++head) {
        q.set(i, head, draw_row(d_, q.place().dtype, 64));
      }
    }
    q.upload();
  }

  void append(std::vector<rt::appended_tokens> const& batch) {
    std::int64_t total = 0;
    for (rt::appended_tokens const& a : batch) {
      while (table_.capacity(a.row).count < requests_[a.row].tokens + a.count) {
        auto const page = pages_.allocate();
        REQUIRE(page);
        REQUIRE(table_.append(a.row, *page));
      }
      total += a.count;
    }
    std::vector<std::int64_t> slots(static_cast<std::size_t>(total) + 3);  // and padding
    REQUIRE(mapping_.fill(batch, slots));
    on_card<std::int64_t> const slots_on_card{slots};
    auto const count = static_cast<std::int64_t>(slots.size());
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      rows_on_card k{packed(element::bf16, count, 2, 64)}, v{packed(element::bf16, count, 2, 64)};
      std::int64_t token = 0;
      for (rt::appended_tokens const& a : batch) {
        for (std::int64_t i = 0; i < a.count; ++i, ++token) {
          for (std::int64_t head = 0; head < 2; ++head) {
            history& h = requests_[a.row];
            h.k[layer].push_back(draw_row(d_, element::bf16, 64));
            h.v[layer].push_back(draw_row(d_, element::bf16, 64));
            k.set(token, head, h.k[layer].back());
            v.set(token, head, h.v[layer].back());
          }
        }
      }
      k.upload();
      v.upload();
      the_card().attend.append({.cache = view(layer),
                                .k = k.in(),
                                .v = v.in(),
                                .slots = slots_on_card.data(),
                                .tokens = static_cast<std::int32_t>(count)});
      the_card().work.wait();
    }
    for (rt::appended_tokens const& a : batch) {
      requests_[a.row].tokens += static_cast<std::int32_t>(a.count);
      REQUIRE(table_.set_kv_len(a.row, allot::tokens{requests_[a.row].tokens}));
    }
    table_.upload();
    the_card().work.wait();
  }

  keys_of_head keys(std::int64_t row, std::int64_t layer, std::int64_t head) const {
    history const& h = requests_[row];
    auto const count = static_cast<std::size_t>(h.tokens);
    keys_of_head out;
    out.tokens = h.tokens;
    out.head_dim = out.v_head_dim = 64;
    for (std::size_t t = 0; t < count; ++t) {
      for (code const c : h.k[layer][t * 2 + static_cast<std::size_t>(head)]) {
        out.k.push_back(numbers(element::bf16)[c]);
      }
      for (code const c : h.v[layer][t * 2 + static_cast<std::size_t>(head)]) {
        out.v.push_back(numbers(element::bf16)[c]);
      }
    }
    out.k_scale = out.v_scale = std::vector<float>(count, 1.0F);
    out.there.assign(count, true);
    return out;
  }

  void check(rows_on_card const& q, rows_on_card const& out, std::int64_t at, std::int64_t row,
             std::int64_t position, std::int64_t layer) {
    std::vector<std::byte> const got = out.read();
    judge found;
    keys_of_head const of[] = {keys(row, layer, 0), keys(row, layer, 1)};
    for (std::int64_t head = 0; head < query_heads; ++head) {
      score_rules const rules{.scale = 0.125};
      answer const wanted =
          attend_row(of[head / 3], q.row(at, head), position, rules, out.place().dtype);
      found.row("row " + std::to_string(row), wanted,
                load_row(got.data() + out.place().at(at, head), out.place().dtype, 64), nullptr);
    }
    CHECK(found.complaint() == "");
    ++judged_;
  }

  dice d_;
  allot::plan plan_;
  rt::arena arena_;
  rt::page_allocator pages_;
  rt::block_table table_;
  rt::slot_mapping mapping_;
  allot::split_kv split_;
  on_card<std::byte> workspace_;
  history requests_[rows];
  std::int64_t judged_ = 0;
};

template <allot::arrangement Arranged>
void serve(std::uint64_t seed) {
  engine<Arranged> serving{seed};
  serving.prompt(1, 21);
  serving.prompt(3, 9);
  serving.decode({1, 3});
  serving.decode({3});
  serving.prompt(0, 30);
  serving.decode({0, 1, 3});
  serving.leave(1);
  serving.decode({0, 3});
  serving.prompt(1, 8);   // pages that another request had
  serving.prompt(3, 12);  // a chunk behind what is there
  serving.decode({0, 1, 3});
  serving.leave(0);
  serving.leave(3);
  serving.prompt(2, 40);
  serving.decode({1, 2});
  CHECK(serving.guards_live());
  CHECK(serving.judged_rows() >= 150);
}

}  // namespace

TEST_CASE("requests come, decode and leave, in every arrangement") {
  serve<allot::arrangement::flat>(1);
  if (the_card().gpu) { return; }
  serve<allot::arrangement::layer_major>(2);
  serve<allot::arrangement::page_major>(3);
}

TEST_CASE("requests come, decode and leave, page by page") {
  serve<allot::arrangement::page_major>(4);
}
