// SPDX-License-Identifier: Apache-2.0
// Append against the definitions of the formats, byte for byte: every byte of the pool that is not
// a cell of a slot is as it was.
#include "sweep.hpp"
#include "try_append.hpp"

using namespace attention_test;

TEST_CASE("append of random tokens") {
  shape_source source{drawn::decode, sweep_sizes(), 20'261'217};
  shape_source latent{drawn::latent_decode, sweep_sizes(), 20'261'218};
  tally seen;
  int const shapes = sweep_shapes(600, 100);
  int failed = 0;
  for (int i = 0; i < shapes && failed < 3; ++i) {
    attention_shape const s = i % 6 == 5 ? latent.next() : source.next();
    std::string const wrong = try_append(s, seen);
    if (wrong.empty()) { continue; }
    ++failed;
    INFO(s.in_words());
    INFO(wrong);
    CHECK(wrong.empty());
  }
  REQUIRE(failed == 0);
  seen.require(shapes, shapes);
}

TEST_CASE("what rows are told by is what the formats say") {
  // Every code of fp16, bf16 and fp8 is the nearest of its own number, and of those between it and
  // halfway to the next.
  std::int64_t checked = 0;
  for (element const e : {element::fp16, element::bf16, element::fp8}) {
    for (code c = 0; c < code{1} << allot::bits_of(e); ++c) {
      double const number = number_of(e, c);
      if (is_nan(e, c)) {
        REQUIRE(is_nan(e, nearest_code(e, number)));
        continue;
      }
      REQUIRE(nearest_code(e, number) == c);
      double const next = number_of(e, c + 1);
      if (is_nan(e, c + 1) || std::isinf(next) || std::signbit(next) != std::signbit(number)) {
        continue;
      }
      REQUIRE(nearest_code(e, number + (next - number) * 0.49) == c);
      REQUIRE(nearest_code(e, number + (next - number) * 0.51) == c + 1);
      REQUIRE(nearest_code(e, number + (next - number) * 0.5) == c + c % 2);
      ++checked;
    }
  }
  CHECK(checked >= 120'000);
  CHECK(number_of(element::fp8, 0x7E) == 448);
  CHECK(number_of(element::fp8, 0x01) == 0x1p-9);
  CHECK(number_of(element::fp16, 0x3C00) == 1);
  CHECK(number_of(element::bf16, 0x3F80) == 1);
  CHECK(number_of(element::fp16, 0x7BFF) == 65504);
  CHECK(nearest_code(element::fp8, 465) == 0x7E);
  CHECK(nearest_code(element::fp8, -1e9) == 0xFE);
  CHECK(nearest_code(element::fp16, 65'520) == 0x7C00);
}
