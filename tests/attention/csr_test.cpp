// SPDX-License-Identifier: Apache-2.0
// Dense tables of compressed ones, exactly, with rows that make no sense among them.
#include "card.hpp"
#include "dice.hpp"
#include "sweep.hpp"

using namespace attention_test;

namespace {

constexpr std::int32_t untouched = 0x5A5A5A5A;

struct csr {
  std::int32_t requests = 0, columns = 0, page_tokens = 1, padding = -1;
  std::int64_t row_stride = 0;
  std::vector<std::int32_t> starts, ids, last;
  bool past_the_ids = false, backwards = false, too_wide = false, bad_last = false;
};

csr draw(dice& d) {
  csr c;
  c.requests = d.pick({0, 1, 2, 3, 5, 9, 40});
  c.columns = d.pick({0, 1, 2, 4, 7, 33, 70});
  c.row_stride = c.columns + d.pick({0, 0, 3});
  c.page_tokens = d.pick({1, 3, 16, 64, 256});
  c.padding = d.pick({-1, 0, 77});
  c.starts.push_back(0);
  for (std::int32_t r = 0; r < c.requests; ++r) {
    std::int32_t pages = d.roll32(0, c.columns);
    if (d.chance(8)) { pages = c.columns + d.roll32(1, 3); }
    c.starts.push_back(c.starts.back() + pages);
    c.last.push_back(d.chance(12) ? d.pick({0, -1, c.page_tokens + 1, INT32_MAX, INT32_MIN})
                                  : d.roll32(1, c.page_tokens));
  }
  for (std::int32_t i = 0; i < c.starts.back(); ++i) {
    c.ids.push_back(d.roll32(0, 2'000'000'000));
  }
  if (c.requests > 1 && d.chance(20)) {  // one start is wrong, and with it two rows
    std::int32_t& start = c.starts[static_cast<std::size_t>(d.roll(1, c.requests - 1))];
    start =
        d.pick({-1, INT32_MIN, INT32_MAX, start - 5, static_cast<std::int32_t>(c.ids.size()) + 1});
  }
  if (d.chance(10) && !c.ids.empty()) { c.ids.pop_back(); }  // the last row says more than there is
  return c;
}

/// Pages of a row, or -1 where it makes no sense.
std::int64_t pages_of(csr& c, std::size_t row) {
  std::int64_t const first = c.starts[row], end = c.starts[row + 1];
  auto const count = static_cast<std::int64_t>(c.ids.size());
  bool const wild = first < 0 || first > count || end < 0 || end > count;
  c.past_the_ids |= wild;
  c.backwards |= first > end;
  c.too_wide |= end - first > c.columns;
  if (wild || first > end || end - first > c.columns) { return -1; }
  if (first == end) { return 0; }
  bool const bad = c.last[row] < 1 || c.last[row] > c.page_tokens;
  c.bad_last |= bad;
  return bad ? -1 : end - first;
}

std::string try_csr(csr& c) {
  auto const requests = static_cast<std::size_t>(c.requests);
  auto const stride = static_cast<std::size_t>(c.row_stride);
  std::size_t const cells =
      requests == 0 ? 0 : (requests - 1) * stride + static_cast<std::size_t>(c.columns);
  std::vector<std::int32_t> pages(cells, untouched), kv_len(requests, untouched);
  on_card<std::int32_t> const starts{c.starts}, ids{c.ids}, last{c.last}, to{pages}, len{kv_len},
      faults{std::vector<std::int32_t>{untouched}};
  allot::csr_call const call{.starts = starts.data(),
                             .ids = ids.data(),
                             .last_page_len = last.data(),
                             .pages = to.data(),
                             .kv_len = len.data(),
                             .faults = faults.data(),
                             .row_stride = c.row_stride,
                             .id_count = static_cast<std::int32_t>(c.ids.size()),
                             .columns = c.columns,
                             .requests = c.requests,
                             .page_tokens = c.page_tokens,
                             .padding = c.padding};
  the_card().attend.expand_csr(call);
  the_card().attend.expand_csr(call);  // and again: faults are not added up

  std::int32_t bad = 0;
  for (std::size_t r = 0; r < requests; ++r) {
    std::int64_t const count = pages_of(c, r);
    bad += count < 0;
    kv_len[r] = count <= 0 ? 0 : (static_cast<std::int32_t>(count) - 1) * c.page_tokens + c.last[r];
    for (std::int64_t column = 0; column < c.columns; ++column) {
      pages[r * stride + static_cast<std::size_t>(column)] =
          column < count ? c.ids[static_cast<std::size_t>(c.starts[r] + column)] : c.padding;
    }
  }
  if (to.read() != pages) { return "other pages"; }
  if (len.read() != kv_len) { return "other lengths"; }
  std::int32_t const got = faults.read()[0];
  return got == bad ? "" : "faults are " + std::to_string(got) + ", not " + std::to_string(bad);
}

}  // namespace

TEST_CASE("dense tables of random compressed ones") {
  dice d{20'261'220};
  tally seen;
  int const shapes = sweep_shapes(3'000, 200);
  for (int i = 0; i < shapes; ++i) {
    csr c = draw(d);
    std::string const wrong = try_csr(c);
    CAPTURE(i);
    CAPTURE(c.requests);
    CAPTURE(c.columns);
    INFO(wrong);
    REQUIRE(wrong.empty());
    seen.note("no requests", c.requests == 0);
    seen.note("no columns", c.columns == 0);
    seen.note("starts past the ids", c.past_the_ids);
    seen.note("starts that go back", c.backwards);
    seen.note("more pages than columns", c.too_wide);
    seen.note("a last page of no sense", c.bad_last);
    seen.note("all rows make sense", !c.past_the_ids && !c.backwards && !c.too_wide && !c.bad_last);
    seen.note("many columns", c.columns > 32);
    seen.note("a wide table", c.row_stride > c.columns);
  }
  seen.require(shapes, shapes);
  MESSAGE(shapes << " tables");
}
