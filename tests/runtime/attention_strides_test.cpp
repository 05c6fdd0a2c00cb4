// SPDX-License-Identifier: Apache-2.0
// Strides of attention calls: rows that would overlap are refused, and those that only look odd are
// not.
#include <allot/runtime/attention.hpp>
#include <allot/runtime/block_table.hpp>
#include <allot/runtime/host_backend.hpp>
#include <allot/runtime/host_resources.hpp>
#include <allot/runtime/kv_cache_view.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace rt = allot::runtime;
using namespace allot;

namespace {

constexpr std::int64_t row = 128;  // bytes of 64 elements of bf16

/// A call of merge over 2 parts of 3 rows of 4 heads, that is as it should be.
struct merging {
  alignas(16) std::byte memory[64 * 1024] = {};
  float lse[2 * 3 * 4] = {};
  merge_call call{.parts = {memory, 4 * row, row, element::bf16},
                  .part_stride = 12 * row,
                  .part_lse = lse,
                  .out = {memory + 32 * 1024, 4 * row, row, element::bf16},
                  .part_count = 2,
                  .rows = 3,
                  .heads = 4,
                  .dim = 64};
};

/// What a changed call is refused with; "" when it is not.
template <class Change>
std::string refused(Change change) {
  rt::host_backend work;
  merging m;
  change(m.call);
  try {
    rt::attention{work}.merge(m.call);
  } catch (std::invalid_argument const& error) { return error.what(); }
  return "";
}

}  // namespace

TEST_CASE("rows that are written do not overlap") {
  CHECK(refused([](merge_call&) {}).empty());
  CHECK(refused([](merge_call& c) { c.out.head_stride = 0; }) ==
        "merge: out.head_stride is 0; it must be 128 or more: rows have so many bytes, and would "
        "overlap");
  CHECK(refused([](merge_call& c) { c.out.head_stride = -126; }).find("out.head_stride is -126") !=
        std::string::npos);
  CHECK(refused([](merge_call& c) { c.out.row_stride = 4 * row - 2; }) ==
        "merge: out.row_stride is 510; it must be 512 or more: what lies between would overlap");
  // Swapped: rows within heads, where three rows need more than a head has.
  CHECK(refused([](merge_call& c) {
          c.out.row_stride = row;
          c.out.head_stride = 2 * row;
        }).find("out.head_stride is 256; it must be 384 or more") != std::string::npos);
  CHECK(refused([](merge_call& c) {
          c.out.row_stride = INT64_MAX / 2 - 1;
          c.out.head_stride = INT64_MAX / 2 - 1;
        }).find("overflow") != std::string::npos);
  // Head by head, with gaps, and backwards.
  CHECK(refused([](merge_call& c) {
          c.out.row_stride = row;
          c.out.head_stride = 3 * row;
        }).empty());
  CHECK(refused([](merge_call& c) { c.out.row_stride = 5 * row + 2; }).empty());
  CHECK(refused([](merge_call& c) {
          c.out.data += 3 * row;
          c.out.head_stride = -row;
        }).empty());
  // One head has no next one.
  CHECK(refused([](merge_call& c) {
          c.heads = 1;
          c.out.head_stride = c.parts.head_stride = 0;
        }).empty());
}

TEST_CASE("a stride of what is read is not forgotten") {
  CHECK(refused([](merge_call& c) {
          c.parts.row_stride = 0;
        }).find("parts.row_stride is 0; it must be 128 or more") != std::string::npos);
  CHECK(refused([](merge_call& c) {
          c.part_stride = 0;
        }).find("part_stride is 0; it must be 128 or more") != std::string::npos);
  CHECK(refused([](merge_call& c) {
          c.part_count = 1;
          c.part_stride = 0;
        }).empty());
}

TEST_CASE("tokens and heads of a cache do not overlap") {
  rt::host_backend work;
  rt::attention const attend{work};
  alignas(16) static std::byte memory[64 * 1024];
  kv_cache const good{.k = {memory, 2 * row, row},
                      .v = {memory + 16 * 1024, 2 * row, row},
                      .block_stride = 32 * 1024,
                      .end_page = 2,
                      .page_tokens = 4,
                      .heads = 2,
                      .head_dim = 64,
                      .v_head_dim = 64};
  auto const says = [&](kv_cache const& cache) -> std::string {
    try {
      attend.append({.cache = cache});
    } catch (std::invalid_argument const& error) { return error.what(); }
    return "";
  };
  CHECK(says(good).empty());
  kv_cache bad = good;
  bad.k.token_stride = 0;
  CHECK(says(bad).find("cache.k.token_stride is 0") != std::string::npos);
  bad = good;
  bad.v.token_stride = row;
  CHECK(says(bad).find("append: cache.v.") != std::string::npos);
  bad = good;
  bad.page_tokens = 1;
  bad.k.token_stride = bad.v.token_stride = 0;
  CHECK(says(bad).empty());
}

TEST_CASE("a block table as kernels read it") {
  rt::host_backend work;
  rt::host_resource memory;
  rt::block_table const table{memory, memory, work, {{.page_tokens = 16}, {40}}, 5, tokens{100}};
  kv_tables const seen = rt::tables_of(table, 3);
  CHECK(seen.pages == table.device_data());
  CHECK(seen.kv_len == table.device_kv_len());
  CHECK(seen.columns == 7);
  CHECK(seen.row_stride == 7);
  CHECK(seen.requests == 3);
  CHECK(rt::tables_of(table, 0).requests == 0);
  CHECK_THROWS_WITH_AS(rt::tables_of(table, 6), "tables_of: requests is 6; the table has 5 rows",
                       std::out_of_range);
  CHECK_THROWS_AS(rt::tables_of(table, -1), std::out_of_range);
}
