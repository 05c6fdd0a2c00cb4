// SPDX-License-Identifier: Apache-2.0
// The operators of the host from several threads at once, over one cache: for ThreadSanitizer,
// which also sees the threads that each call starts.
#include <allot/runtime/attention.hpp>
#include <allot/runtime/host_backend.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <thread>
#include <vector>

namespace rt = allot::runtime;
using namespace allot;

namespace {

constexpr std::int32_t heads = 2, query_heads = 6, dim = 64, page_tokens = 16;
constexpr std::int32_t requests = 3, columns = 12, pages = 1 + requests * columns;
constexpr std::int32_t lengths[requests] = {0, 70, 190};
constexpr std::int32_t queries[requests + 1] = {0, 0, 5, 12};

/// Something in bf16 between -2 and 2 that differs from place to place.
std::uint16_t value_of(std::int64_t i) {
  std::int64_t const mixed = i * 2'654'435'761 % 1'000'003;
  return static_cast<std::uint16_t>((mixed % 2 << 15) | (0x3E00 + mixed / 2 % 0x200));
}

struct cells {
  std::vector<std::uint16_t> all;
  explicit cells(std::int64_t count, bool filled = false) : all(static_cast<std::size_t>(count)) {
    for (std::size_t i = 0; filled && i < all.size(); ++i) {
      all[i] = value_of(static_cast<std::int64_t>(i));
    }
  }
  std::byte* data() { return reinterpret_cast<std::byte*>(all.data()); }
};

template <class Byte>
head_rows<Byte> rows_of(Byte* data, std::int64_t row_heads) {
  return {data, row_heads * dim * 2, dim * 2, element::bf16};
}

/// One cache that all threads use.
struct shared_cache {
  cells memory{std::int64_t{pages} * 2 * page_tokens * heads * dim + 8};
  kv_cache cache;
  std::vector<std::int32_t> table;

  shared_cache() {
    std::int64_t const plane = std::int64_t{page_tokens} * heads * dim * 2;
    auto const past = reinterpret_cast<std::uintptr_t>(memory.data()) % 16;
    std::byte* const base = memory.data() + (16 - past) % 16;
    cache = {.k = {base, heads * dim * 2, dim * 2},
             .v = {base + plane, heads * dim * 2, dim * 2},
             .block_stride = 2 * plane,
             .first_page = 1,
             .end_page = pages,
             .page_tokens = page_tokens,
             .heads = heads,
             .head_dim = dim,
             .v_head_dim = dim};
    for (std::int32_t i = 0; i < requests * columns; ++i) {
      table.push_back(1 + i * 7 % (requests * columns));
    }
  }

  kv_tables tables() const {
    return {.pages = table.data(),
            .kv_len = lengths,
            .row_stride = columns,
            .columns = columns,
            .requests = requests};
  }

  /// Slots of the tokens of a request.
  std::vector<std::int64_t> slots(std::int32_t request) const {
    std::vector<std::int64_t> out;
    for (std::int32_t t = 0; t < lengths[request]; ++t) {
      std::int32_t const page =
          table[static_cast<std::size_t>(request * columns + t / page_tokens)];
      out.push_back(std::int64_t{page} * page_tokens + t % page_tokens);
    }
    return out;
  }
};

void append(rt::attention const& attend, shared_cache const& on, std::int32_t request) {
  std::vector<std::int64_t> const slots = on.slots(request);
  cells k{std::int64_t{lengths[request]} * heads * dim, true};
  cells v{std::int64_t{lengths[request]} * heads * dim, true};
  std::byte const* const k_data = k.data();
  std::byte const* const v_data = v.data();
  attend.append({.cache = on.cache,
                 .k = rows_of(k_data, heads),
                 .v = rows_of(v_data, heads),
                 .slots = slots.data(),
                 .tokens = lengths[request]});
}

/// Decodes and prefills, and hands back all that was written.
std::vector<std::uint16_t> attend_to(rt::attention const& attend, shared_cache const& on) {
  cells q{std::int64_t{queries[requests]} * query_heads * dim, true};
  cells decoded{std::int64_t{requests} * query_heads * dim};
  cells filled{std::int64_t{queries[requests]} * query_heads * dim};
  std::byte const* const q_data = q.data();
  split_kv const split{.requests = requests, .parts = 5};
  std::vector<float> workspace(
      static_cast<std::size_t>((*decode_workspace_bytes(split, query_heads, dim)).count / 4 + 4));
  auto const past = reinterpret_cast<std::uintptr_t>(workspace.data()) % 16;
  attend.decode({.cache = on.cache,
                 .tables = on.tables(),
                 .q = rows_of(q_data, query_heads),
                 .out = rows_of(decoded.data(), query_heads),
                 .split = split,
                 .workspace = reinterpret_cast<std::byte*>(workspace.data()) + (16 - past) % 16,
                 .workspace_bytes = (*decode_workspace_bytes(split, query_heads, dim)).count,
                 .query_heads = query_heads});
  attend.prefill({.cache = on.cache,
                  .tables = on.tables(),
                  .q_start = queries,
                  .q = rows_of(q_data, query_heads),
                  .out = rows_of(filled.data(), query_heads),
                  .query_rows = queries[requests],
                  .query_heads = query_heads});
  decoded.all.insert(decoded.all.end(), filled.all.begin(), filled.all.end());
  return decoded.all;
}

}  // namespace

TEST_CASE("several threads append to, decode and prefill over one cache") {
  rt::host_backend work;
  rt::attention const attend{work};
  shared_cache const on;

  std::vector<std::thread> crew;
  for (std::int32_t request = 0; request < requests; ++request) {
    crew.emplace_back([&, request] { append(attend, on, request); });
  }
  for (std::thread& one : crew) {
    one.join();
  }
  crew.clear();

  std::vector<std::uint16_t> const wanted = attend_to(attend, on);
  std::int64_t zeros = 0;
  for (std::uint16_t const bits : wanted) {
    zeros += (bits & 0x7FFFU) == 0;
  }
  CHECK(zeros < static_cast<std::int64_t>(wanted.size()) / 3);  // those of the empty request

  std::vector<std::uint16_t> got[4];
  for (auto& mine : got) {
    crew.emplace_back([&] {
      for (int round = 0; round < 5; ++round) {
        mine = attend_to(attend, on);
      }
    });
  }
  for (std::thread& one : crew) {
    one.join();
  }
  for (auto const& mine : got) {
    CHECK(mine == wanted);
  }
}
