// SPDX-License-Identifier: Apache-2.0
#include <allot/policy/element.hpp>
#include <allot/policy/expert_format.hpp>
#include <allot/policy/sharding.hpp>

#include <doctest/doctest.h>

#include <cstdint>

// The formulas of elements, expert formats and sharding against numbers worked out by hand and
// against formulas written another way.

using allot::element;
using allot::expert_format;

TEST_CASE("a row of elements takes whole bytes") {
  struct {
    element dtype;
    std::int64_t count;
    std::int64_t bytes;
  } const table[] = {
      {element::fp32, 0, 0},    {element::fp32, 1, 4},      {element::fp32, 128, 512},
      {element::fp16, 1, 2},    {element::fp16, 576, 1152}, {element::bf16, 1, 2},
      {element::bf16, 96, 192}, {element::fp8, 1, 1},       {element::fp8, 656, 656},
      {element::int8, 1, 1},    {element::int8, 80, 80},    {element::fp4, 0, 0},
      {element::fp4, 1, 1},     {element::fp4, 2, 1},       {element::fp4, 3, 2},
      {element::fp4, 127, 64},  {element::fp4, 128, 64},    {element::fp4, 129, 65},
  };
  for (auto const& row : table) {
    CAPTURE(static_cast<int>(row.dtype));
    CAPTURE(row.count);
    CHECK(allot::row_bytes(row.dtype, row.count).value == row.bytes);
  }
}

TEST_CASE("a row that fits 63 bits has a size, a longer one overflows") {
  CHECK(allot::row_bytes(element::int8, INT64_MAX).value == INT64_MAX);
  CHECK(allot::row_bytes(element::fp8, INT64_MAX).value == INT64_MAX);
  CHECK(allot::row_bytes(element::bf16, INT64_MAX / 2).value == INT64_MAX - 1);
  CHECK(allot::row_bytes(element::bf16, INT64_MAX / 2 + 1).overflowed);
  CHECK(allot::row_bytes(element::fp32, INT64_MAX / 4).value == INT64_MAX - 3);
  CHECK(allot::row_bytes(element::fp32, INT64_MAX / 4 + 1).overflowed);
  CHECK(allot::row_bytes(element::fp4, INT64_MAX).value == (std::int64_t{1} << 62));
  CHECK(allot::row_bytes(element::fp4, allot::checked::overflow()).overflowed);
}

TEST_CASE("each expert format by hand: hidden 2048, inner 512, 3,145,728 weights") {
  struct {
    expert_format format;
    std::int64_t codes;
    std::int64_t scales;
  } const table[] = {
      {expert_format::bf16, 6'291'456, 0},
      // 8 x 16 blocks of gate and up, 16 x 4 of down, 2 bytes each
      {expert_format::fp8_block128, 3'145'728, 384},
      // one byte per 16 weights, and 2 bytes for each of 1024 + 2048 rows
      {expert_format::nvfp4, 1'572'864, 196'608 + 6'144},
      {expert_format::mxfp4, 1'572'864, 98'304},  // one byte per 32
      {expert_format::q4_0, 1'572'864, 196'608},  // two bytes per 32: 18 B a block
      {expert_format::q4_k, 1'572'864, 196'608},  // 16 bytes per 256: 144 B a block
      {expert_format::q8_0, 3'145'728, 196'608},  // two bytes per 32: 34 B a block
  };
  for (auto const& row : table) {
    CAPTURE(static_cast<int>(row.format));
    auto const got = allot::expert_storage_of(row.format, 2048, 512);
    CHECK(got.codes.value == row.codes);
    CHECK(got.scales.value == row.scales);
    CHECK(allot::expert_bytes(row.format, 2048, 512).value == row.codes + row.scales);
  }
}

TEST_CASE("published sizes of one expert") {
  CHECK(allot::expert_bytes(expert_format::nvfp4, 2560, 640).value == 2'772'480);
  CHECK(allot::expert_bytes(expert_format::nvfp4, 2048, 512).value == 1'775'616);
  CHECK(allot::expert_bytes(expert_format::nvfp4, 2816, 704).value == 3'353'856);
  CHECK(allot::expert_bytes(expert_format::nvfp4, 3072, 1536).value == 7'974'912);
  CHECK(allot::expert_bytes(expert_format::q4_0, 2048, 512).value == 1'769'472);  // cases cap-1
}

TEST_CASE("every format over the sizes its blocks allow, written as the reference writes it") {
  int checks = 0;
  for (std::int64_t h = 256; h <= 8192; h += 256) {
    for (std::int64_t i = 256; i <= 4096; i += 256) {
      std::int64_t const codes = 2 * i * h / 2 + h * i / 2;
      CHECK(allot::expert_bytes(expert_format::bf16, h, i).value == 3 * h * i * 2);
      CHECK(allot::expert_bytes(expert_format::fp8_block128, h, i).value ==
            3 * h * i + 2 * (2 * i / 128 * h / 128 + h / 128 * i / 128));
      CHECK(allot::expert_bytes(expert_format::nvfp4, h, i).value ==
            codes + 2 * i * h / 16 + h * i / 16 + 2 * i * 2 + h * 2);
      CHECK(allot::expert_bytes(expert_format::mxfp4, h, i).value == 3 * (h * i / 32 * 17));
      CHECK(allot::expert_bytes(expert_format::q4_0, h, i).value == (2 * i * h + h * i) / 32 * 18);
      CHECK(allot::expert_bytes(expert_format::q4_k, h, i).value ==
            (2 * i * h + h * i) / 256 * 144);
      CHECK(allot::expert_bytes(expert_format::q8_0, h, i).value == (2 * i * h + h * i) / 32 * 34);
      ++checks;
    }
  }
  REQUIRE(checks == 32 * 16);
}

TEST_CASE("fp8 scales cover a partial last block") {
  // 2880 x 2880: 45 x 23 blocks of gate and up, 23 x 23 of down
  CHECK(allot::expert_storage_of(expert_format::fp8_block128, 2880, 2880).scales.value ==
        2 * (45 * 23 + 23 * 23));
  CHECK(allot::expert_storage_of(expert_format::fp8_block128, 1, 1).scales.value == 2 * (1 + 1));
  CHECK(allot::expert_storage_of(expert_format::fp8_block128, 129, 64).scales.value ==
        2 * (1 * 2 + 2 * 1));
}

TEST_CASE("the size of a block is the least that makes every row a whole number of blocks") {
  expert_format const formats[] = {
      expert_format::bf16, expert_format::fp8_block128, expert_format::nvfp4, expert_format::mxfp4,
      expert_format::q4_0, expert_format::q4_k,         expert_format::q8_0};
  std::int64_t const blocks[] = {1, 1, 16, 32, 32, 256, 32};
  for (int f = 0; f < 7; ++f) {
    CAPTURE(f);
    std::int64_t const block = allot::block_elements(formats[f]);
    CHECK(block == blocks[f]);
    // Whole blocks add up: twice the width is twice the storage of the blocks.
    auto const one = allot::expert_storage_of(formats[f], 256, block * 256);
    auto const two = allot::expert_storage_of(formats[f], 256, block * 512);
    CHECK(two.codes.value == 2 * one.codes.value);
    CHECK(two.total().value <= 2 * one.total().value);
  }
}

TEST_CASE("an expert too large for 63 bits overflows in codes, scales and total") {
  expert_format const formats[] = {
      expert_format::bf16, expert_format::fp8_block128, expert_format::nvfp4, expert_format::mxfp4,
      expert_format::q4_0, expert_format::q4_k,         expert_format::q8_0};
  std::int64_t const big = std::int64_t{1} << 40;
  for (auto const f : formats) {
    CAPTURE(static_cast<int>(f));
    CHECK(allot::expert_bytes(f, big, big).overflowed);
    CHECK(allot::expert_bytes(f, big, 256).ok());
  }
  CHECK(allot::expert_bytes(expert_format::bf16, std::int64_t{1} << 60, 1).ok());
  CHECK(allot::expert_bytes(expert_format::bf16, std::int64_t{1} << 61, 1).overflowed);
}

TEST_CASE("heads split evenly, are replicated evenly, or do not split") {
  int split = 0;
  int refused = 0;
  for (std::int64_t heads = 1; heads <= 96; ++heads) {
    for (std::int64_t ranks = 1; ranks <= 96; ++ranks) {
      auto const local = allot::local_heads(heads, ranks);
      // Every rank holds `each`; all heads are held, and each by the same number of ranks.
      std::int64_t each = 0;
      for (std::int64_t c = 1; c <= heads; ++c) {
        bool const shares = c * ranks == heads;
        bool const copies = c == 1 && ranks > heads && ranks / heads * heads == ranks;
        if (shares || copies) { each = c; }
      }
      CHECK(local.given == (each > 0));
      if (local) { CHECK(*local == each); }
      ++(local ? split : refused);
    }
  }
  CHECK(split > 500);
  CHECK(refused > 5000);
}
