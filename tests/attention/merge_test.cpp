// SPDX-License-Identifier: Apache-2.0
// Merging of partial results against double precision, on random parts.
#include "reference.hpp"
#include "rows.hpp"
#include "sweep.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

using namespace attention_test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

struct merge_shape {
  std::int32_t parts = 0, rows = 0, heads = 1, dim = 1;
  element part_dtype = element::fp32, out_dtype = element::fp32;
  bool odd = false, gap_between_parts = false, in_place = false, lse = true, sinks = false;
  bool lse_in_place = false;
  allot::lse_base base = allot::lse_base::natural;
  std::int32_t dead_percent = 20;  ///< of the rows of parts, that attended to nothing
};

merge_shape draw(dice& d) {
  merge_shape s;
  s.parts = d.pick({0, 1, 2, 2, 2, 3, 3, 4, 5, 9, 17});
  s.rows = d.pick({0, 1, 1, 2, 3, 3, 4, 7});
  s.heads = d.pick({1, 1, 2, 3, 5, 8});
  s.dim = d.pick({1, 5, 64, 96, 100, 128, 192, 256, 512, 517});
  s.part_dtype = d.pick({element::fp32, element::fp32, element::fp16, element::bf16});
  s.in_place = s.parts > 0 && d.chance(25);
  s.out_dtype = s.in_place ? s.part_dtype : d.pick({element::fp32, element::fp16, element::bf16});
  s.odd = d.chance(40);
  s.gap_between_parts = d.chance(30);
  s.lse = d.chance(85);
  s.lse_in_place = s.lse && s.in_place && d.chance(60);
  s.sinks = d.chance(30);
  s.base = d.chance(40) ? allot::lse_base::two : allot::lse_base::natural;
  s.dead_percent = d.pick({0, 20, 20, 60, 100});
  return s;
}

/// Parts in one block of memory, that are rows of `parts * rows` where there is no gap.
struct merge_memory {
  rows_place part;               // of one part
  std::int64_t part_stride = 0;  // bytes
  std::vector<std::byte> image;  // of all parts
  std::vector<float> lse;        // [parts, rows, heads]
  std::vector<float> sinks;      // [heads]

  merge_memory(merge_shape const& s, dice& d)
      : part{s.odd ? scattered(d, s.part_dtype, s.rows, s.heads, s.dim)
                   : packed(s.part_dtype, s.rows, s.heads, s.dim)} {
    part_stride = part.bytes() + (s.gap_between_parts ? d.roll(1, 9) * part.unit() : 0);
    image.assign(static_cast<std::size_t>(s.parts * part_stride), rows_on_card::filling);
    for (std::int32_t p = 0; p < s.parts; ++p) {
      for (std::int32_t r = 0; r < s.rows; ++r) {
        for (std::int32_t h = 0; h < s.heads; ++h) {
          bool const dead = d.chance(s.dead_percent);
          lse.push_back(dead ? d.pick({-infinity, -infinity, infinity})
                             : static_cast<float>(d.normal() * d.pick({0.5, 3.0, 40.0})));
          std::vector<code> const row =
              dead && d.chance(50) ? std::vector<code>(static_cast<std::size_t>(s.dim),
                                                       nearest_code(s.part_dtype, std::nan("")))
                                   : draw_row(d, s.part_dtype, s.dim);
          store_row(image.data() + at(p, r, h), s.part_dtype, row);
        }
      }
    }
    for (std::int32_t h = 0; s.sinks && h < s.heads; ++h) {
      sinks.push_back(d.chance(10) ? -infinity : static_cast<float>(2 * d.normal()));
    }
  }

  std::int64_t at(std::int32_t p, std::int64_t row, std::int64_t head) const {
    return p * part_stride + part.at(row, head);
  }
};

template <class Real>
struct merged {
  std::vector<Real> out;
  Real lse = -std::numeric_limits<Real>::infinity();

  merged(merge_shape const& s, merge_memory const& m, std::int32_t row, std::int32_t head)
      : out(static_cast<std::size_t>(s.dim), Real{0}) {
    Real const to_natural = s.base == allot::lse_base::two ? std::log(Real{2}) : Real{1};
    std::vector<std::pair<std::int32_t, Real>> alive;
    for (std::int32_t p = 0; p < s.parts; ++p) {
      float const given = m.lse[static_cast<std::size_t>((p * s.rows + row) * s.heads + head)];
      if (std::isfinite(given)) { alive.emplace_back(p, static_cast<Real>(given) * to_natural); }
    }
    if (alive.empty()) { return; }
    Real most = -std::numeric_limits<Real>::infinity();
    for (auto const& [p, part_lse] : alive) {
      most = std::max(most, part_lse);
    }
    Real sum{0};
    if (s.sinks) {
      Real const sink = static_cast<Real>(m.sinks[static_cast<std::size_t>(head)]);
      most = std::max(most, sink);
      sum = std::exp(sink - most);
    }
    for (auto const& [p, part_lse] : alive) {
      Real const weight = std::exp(part_lse - most);
      sum += weight;
      std::vector<float> const from =
          load_row(m.image.data() + m.at(p, row, head), s.part_dtype, s.dim);
      for (std::size_t i = 0; i < out.size(); ++i) {
        out[i] += weight * static_cast<Real>(from[i]);
      }
    }
    for (Real& o : out) {
      o /= sum;
    }
    lse = most + std::log(sum);
  }
};

/// As of attention: twice the error of fp32, and 2^-21 of (1 + the largest lse).
answer wanted_row(merge_shape const& s, merge_memory const& m, std::int32_t row,
                  std::int32_t head) {
  merged<double> const exact{s, m, row, head};
  merged<float> const same{s, m, row, head};
  answer out{exact.out, exact.lse};
  double size = 1, largest = 0;
  for (std::int32_t p = 0; p < s.parts; ++p) {
    float const given = m.lse[static_cast<std::size_t>((p * s.rows + row) * s.heads + head)];
    if (!std::isfinite(given)) { continue; }
    size = std::max(size, 1 + static_cast<double>(std::fabs(given)));
    for (float const x : load_row(m.image.data() + m.at(p, row, head), s.part_dtype, s.dim)) {
      largest = std::max(largest, static_cast<double>(std::fabs(x)));
    }
  }
  double error = 0;
  for (std::size_t i = 0; i < exact.out.size(); ++i) {
    double const stored =
        s.out_dtype == element::fp32
            ? static_cast<double>(same.out[i])
            : number_of(s.out_dtype, nearest_code(s.out_dtype, static_cast<double>(same.out[i])));
    error = std::max(error, std::fabs(stored - exact.out[i]));
  }
  out.out_error = 2 * error + 0x1p-21 * size * largest;
  out.lse_error = exact.lse == -static_cast<double>(infinity)
                      ? 0
                      : 2 * std::fabs(static_cast<double>(same.lse) - exact.lse) + 0x1p-21 * size;
  return out;
}

std::string try_merge(merge_shape const& s, dice& d, double& worst) {
  merge_memory const m{s, d};
  on_card<std::byte> const parts{m.image};
  on_card<float> const part_lse{m.lse};
  on_card<float> const sinks{m.sinks};
  rows_on_card const apart{s.odd ? scattered(d, s.out_dtype, s.rows, s.heads, s.dim)
                                 : packed(s.out_dtype, s.rows, s.heads, s.dim)};
  auto const cells = static_cast<std::size_t>(s.rows) * static_cast<std::size_t>(s.heads);
  on_card<float> const lse_apart{std::vector<float>(cells, -1.0F)};
  std::int32_t const into = s.in_place ? d.roll32(0, s.parts - 1) : 0;

  allot::merge_call call{
      .parts = {parts.data() + m.part.offset, m.part.row_stride, m.part.head_stride, s.part_dtype},
      .part_stride = m.part_stride,
      .part_lse = part_lse.data(),
      .part_base = s.base,
      .out = apart.out(),
      .lse = s.lse ? lse_apart.data() : nullptr,
      .sinks = s.sinks ? sinks.data() : nullptr,
      .part_count = s.parts,
      .rows = s.rows,
      .heads = s.heads,
      .dim = s.dim};
  if (s.in_place) {
    call.out = {parts.data() + m.at(into, 0, 0), m.part.row_stride, m.part.head_stride,
                s.part_dtype};
  }
  if (s.lse_in_place) { call.lse = part_lse.data() + static_cast<std::size_t>(into) * cells; }
  the_card().attend.merge(call);

  rows_place const place = s.in_place ? m.part : apart.place();
  std::int64_t const base = s.in_place ? into * m.part_stride : 0;
  std::vector<std::byte> got = s.in_place ? parts.read() : apart.read();
  std::vector<float> const all_lse = s.lse_in_place ? part_lse.read() : lse_apart.read();
  std::size_t const first_lse = s.lse_in_place ? static_cast<std::size_t>(into) * cells : 0;
  judge found;
  for (std::int32_t r = 0; r < s.rows; ++r) {
    for (std::int32_t h = 0; h < s.heads; ++h) {
      float const* const lse = &all_lse[first_lse + static_cast<std::size_t>(r * s.heads + h)];
      std::byte* const row = got.data() + base + place.at(r, h);
      found.row("row " + std::to_string(r) + " head " + std::to_string(h), wanted_row(s, m, r, h),
                load_row(row, s.out_dtype, s.dim), s.lse ? lse : nullptr);
      if (s.in_place) {  // what is left must be as it was
        std::memcpy(row, m.image.data() + m.at(into, r, h),
                    static_cast<std::size_t>(s.dim * place.unit()));
      }
    }
  }
  if (s.in_place && got != m.image) { found.fail("bytes beside the merged part changed"); }
  if (!s.in_place) {
    std::string const changed = apart.changed_beside(got, 0, s.rows);
    if (!changed.empty()) { found.fail(changed); }
    if (parts.read() != m.image) { found.fail("a part changed"); }
  }
  worst = std::max(worst, found.worst());
  return found.complaint();
}

}  // namespace

TEST_CASE("merge of random parts") {
  dice d{20'261'219};
  tally seen;
  double worst = 0;
  int const shapes = sweep_shapes(2'000, 120);
  for (int i = 0; i < shapes; ++i) {
    merge_shape const s = draw(d);
    std::string const wrong = try_merge(s, d, worst);
    seen.note("no part", s.parts == 0);
    seen.note("one part", s.parts == 1);
    seen.note("many parts", s.parts > 8);
    seen.note("no row", s.rows == 0);
    seen.note("fp32 parts", s.part_dtype == element::fp32);
    seen.note("fp16 parts", s.part_dtype == element::fp16);
    seen.note("bf16 parts", s.part_dtype == element::bf16);
    seen.note("rounded", s.out_dtype != element::fp32 && s.part_dtype == element::fp32);
    seen.note("in place", s.in_place);
    seen.note("lse in place", s.lse_in_place);
    seen.note("binary lse", s.base == allot::lse_base::two);
    seen.note("sinks", s.sinks);
    seen.note("no lse", !s.lse);
    seen.note("all dead", s.dead_percent == 100 && s.parts > 0);
    seen.note("some dead", s.dead_percent == 20 || s.dead_percent == 60);
    seen.note("gaps", s.odd);
    seen.note("odd rows", s.dim % 4 != 0);
    CAPTURE(i);
    CAPTURE(s.parts);
    CAPTURE(s.rows);
    CAPTURE(s.heads);
    CAPTURE(s.dim);
    CAPTURE(static_cast<int>(s.part_dtype));
    CAPTURE(static_cast<int>(s.out_dtype));
    CAPTURE(s.in_place);
    INFO(wrong);
    REQUIRE(wrong.empty());
  }
  seen.require(shapes, shapes);
  MESSAGE(shapes << " merges, of the allowed error at most " << worst);
}
