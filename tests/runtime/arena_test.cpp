// SPDX-License-Identifier: Apache-2.0
#include "../unit/drawn.hpp"
#include "../unit/show.hpp"

#include <allot/allot.hpp>
#include <allot/laws.hpp>
#include <allot/runtime/arena.hpp>
#include <allot/runtime/counting_resource.hpp>
#include <allot/runtime/dlpack.hpp>
#include <allot/runtime/faulting_resource.hpp>
#include <allot/runtime/guard.hpp>
#include <allot/runtime/host_backend.hpp>
#include <allot/runtime/host_resources.hpp>
#include <allot/runtime/limited_resource.hpp>
#include <allot/runtime/state_pool.hpp>
#include <allot/runtime/verify.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

// The arena by painting it: every row of every copy of every extent claims its bytes, once. Nothing
// here knows how the layout comes about.

namespace rt = allot::runtime;
using allot::arrangement;
using allot_test::dice;
using allot_test::drawn;

namespace {

/// Claims every row of an arena for its extent; says which byte is claimed twice, or lies outside.
std::string paint(rt::arena const& a, std::vector<std::int8_t>& claimed) {
  claimed.assign(static_cast<std::size_t>(a.allocated_bytes().count), 0);
  for (std::int64_t e = 0; e < a.extents(); ++e) {
    rt::extent_view<std::byte> const v = a.view(e);
    for (std::int64_t copy = 0; copy < v.copies(); ++copy) {
      for (std::int64_t row = 0; row < v.rows(); ++row) {
        std::int64_t const from = v.row(copy, row) - a.data();
        for (std::int64_t i = from; i < from + v.row_elements(); ++i) {
          if (i < 0 || i >= a.allocated_bytes().count) { return a.name(e) + " lies outside; "; }
          if (claimed[static_cast<std::size_t>(i)]++ > 0) { return a.name(e) + " overlaps; "; }
        }
      }
    }
  }
  return {};
}

/// Rows of an extent, and what they must be by the plan's counts; empty when they are.
std::string miscounted(rt::arena const& a, allot::table_view const& t, allot::plan const& p) {
  for (std::int64_t i = 0; i < t.pools.size; ++i) {
    allot::pool const& owner = t.pools[i];
    for (std::int32_t k = 0; k < owner.extents; ++k) {
      std::int64_t const e = owner.first_extent + k;
      auto const rows = allot::rows(t.extents.data + owner.first_extent, k, p.at()).value;
      if (a.view(e).rows() != rows || a.view(e).copies() != t.extents[e].copies ||
          a.view(e).row_elements() != t.extents[e].row_bytes) {
        return a.name(e) + " has other rows; ";
      }
    }
  }
  return {};
}

std::string complaint(rt::arena const& a, drawn const& d, allot::table_view const& t,
                      allot::plan const& p, std::vector<std::int8_t>& claimed) {
  using naive::wide;
  wide const priced = naive::kv_bytes(d.request, p.pages.count) + naive::state_bytes(d.request) +
                      naive::expert_bytes(d.request, p.slots.count);
  std::string out = paint(a, claimed) + miscounted(a, t, p);
  if (a.carved_bytes().count != priced) { out += "carved is not priced; "; }
  std::int64_t rows = 0;
  for (std::int8_t const c : claimed) {
    rows += c;
  }
  std::int64_t sum = 0;
  for (std::int64_t e = 0; e < a.extents(); ++e) {
    sum += a.view(e).copies() * a.view(e).rows() * a.view(e).row_elements();
  }
  if (rows != sum) { out += "a row is lost; "; }
  if (rows > a.carved_bytes().count) { out += "more rows than bytes; "; }
  // Not more than a granule is lost to each array and face.
  std::int64_t const unit = d.request.granularity < 16 ? 16 : d.request.granularity;
  std::int64_t arrays = 4;
  for (std::int64_t e = 0; e < a.extents(); ++e) {
    arrays += a.view(e).copies();
  }
  if (a.carved_bytes().count - rows > arrays * unit) { out += "bytes are wasted; "; }
  return out;
}

struct seen {
  std::int64_t plans[3] = {};  // by arrangement
  std::int64_t wrong = 0;
};

constexpr std::int64_t few_bytes = 60'000;

/// Small requests that have a plan, each handed to `judge(drawn, table, plan)`: a complaint or
/// none.
template <class Judge>
seen over_plans(std::uint64_t seed, std::int64_t each, Judge judge) {
  dice draw{seed};
  allot_test::drawer make{draw, allot_test::size::small};
  drawn d;
  allot::table_storage storage;
  allot::table_view table;
  seen out;
  while (out.plans[0] < each || out.plans[1] < each || out.plans[2] < each) {
    make.request(d);
    if (draw.chance(40)) { make.arrange(d); }
    d.request.budget = allot::bytes{make.budget(d.request)};
    allot::outcome const found = allot::solve(d.request, storage, table);
    if (!found || found->budget.count > few_bytes) { continue; }
    ++out.plans[static_cast<int>(d.request.arrangement)];
    std::string const problem = judge(d, table, *found);
    if (problem.empty()) { continue; }
    if (++out.wrong <= 5) { MESSAGE(problem << allot_test::show(d.request)); }
  }
  return out;
}

constexpr auto attention = allot::gqa{.layers = 2, .kv_heads = 2, .head_dim = 8, .page_tokens = 4};
constexpr auto expert = allot::expert_bank{.slot_bytes = {96}, .per_layer = 2, .layers = 4};

template <arrangement Arranged>
constexpr auto small_table = allot::make_table<Arranged>(attention, expert);

}  // namespace

TEST_CASE("every byte of a row is its own, in every arrangement") {
  rt::host_resource heap;
  rt::counting_resource memory{heap};
  std::vector<std::int8_t> claimed;
  std::int64_t blocks = 0;
  seen const all =
      over_plans(31, 4000, [&](drawn const& d, allot::table_view const& t, allot::plan const& p) {
        memory.restart_peak();
        rt::arena const a{t, p, memory};
        blocks += a.map().page_stride > 0;
        std::string out = complaint(a, d, t, p, claimed);
        if (memory.counts().peak_bytes != a.allocated_bytes().count) { out += "peak; "; }
        bool const gap = d.request.arrangement == arrangement::page_major;
        std::int64_t const left = a.allocated_bytes().count - a.carved_bytes().count;
        if (left != (gap ? p.left.count : 0)) { out += "what is left is not the gap; "; }
        return out;
      });
  CHECK(all.wrong == 0);
  CHECK(blocks > 2000);
  CHECK(memory.counts().outstanding_allocations == 0);
  CHECK(memory.counts().misuses == 0);
}

namespace {

/// Windows beside an anchor, or tiers, in one arrangement; laid out, carved and painted.
template <arrangement Arranged, class Anchor, class... Beside>
std::string paint_typed(std::int64_t granularity, allot::bytes budget, std::int64_t& interleaved,
                        Anchor const& anchor, Beside const&... beside) {
  static std::vector<std::int8_t> claimed;
  static rt::host_resource heap;
  static rt::host_backend work;
  auto const table = allot::make_table<Arranged>(anchor, beside...).with_granularity(granularity);
  auto const p = allot::solve(table, budget, {.min_tokens = {64}});
  if (!p) { return "no plan; "; }
  std::string out =
      allot::laws::hold({table, budget, {.min_tokens = {64}}, {}}, p) ? "" : "a law; ";
  for (auto const guard : {rt::guarding::off, rt::guarding::on}) {
    rt::arena const a{table, *p, heap, guard, &work};
    interleaved += a.map().page_stride > 0;
    out += paint(a, claimed) + miscounted(a, table, *p);
    if (a.carved_bytes() != rt::arena::planned_bytes(table, *p)) { out += "carved; "; }
    if (guard == rt::guarding::off) { continue; }
    for (std::size_t i = 0; i < claimed.size(); ++i) {
      if (claimed[i] != 0) { a.data()[i] = std::byte{0}; }
    }
    if (a.first_broken(work).offset >= 0) { out += "a row holds a canary; "; }
  }
  return out;
}

template <arrangement Arranged>
void paint_windows_and_tiers() {
  dice draw{std::uint64_t{34} + static_cast<std::uint64_t>(Arranged)};
  std::int64_t interleaved = 0;
  std::string wrong;
  for (int i = 0; i < 300 && wrong.empty(); ++i) {
    std::int64_t const granularity = draw.one_of<std::int64_t>({1, 16, 48, 256});
    allot::gqa const anchor{.layers = draw.in(1, 3),
                            .kv_heads = 1,
                            .head_dim = 8,
                            .page_tokens = 16,
                            .sentinel_pages = draw.in(0, 2)};
    allot::sliding_window window{.layers = draw.in(1, 3), .kv_heads = 1, .head_dim = draw.in(1, 5)};
    window.window_tokens = draw.in(1, 20);
    window.max_running = draw.in(1, 2);
    window.ratio = draw.one_of({.1, .33, 1.0});
    window.eviction_interval = draw.in(0, 8);
    window.sentinel_rows = draw.in(0, 2);
    wrong += paint_typed<Arranged>(granularity, {200'000 + draw.in(0, 20'000)}, interleaved, anchor,
                                   window);

    std::int64_t const all_ratios[] = {4, 0, 128, 4};
    std::int64_t ratios[3] = {};
    for (std::int64_t& ratio : ratios) {
      ratio = draw.one_of(all_ratios);
    }
    allot::compressed_tiers tiers;
    tiers.head_dim = draw.chance(60) ? 8 : draw.in(1, 4);
    tiers.index_head_dim = draw.in(1, 3);
    tiers.compress_ratios = ratios;
    tiers.window_tokens = draw.one_of<std::int64_t>({128, 128, 64, 16});
    tiers.window_ratio = draw.one_of({.05, .5, 1.0});
    tiers.max_running = draw.in(1, 2);
    tiers.max_seq_tokens = draw.in(1, 900);
    tiers.sentinel_pages = draw.in(0, 2);
    // A page has 32 rows of a layer compressed by 4, and 1 of one compressed by 128.
    bool const aligned = tiers.window_tokens / 4 * tiers.head_dim % 8 == 0 &&
                         tiers.window_tokens / 4 * tiers.index_head_dim % 8 == 0 &&
                         (tiers.window_tokens < 128 || tiers.head_dim % 8 == 0);
    if (Arranged != arrangement::page_major || aligned) {
      wrong += paint_typed<Arranged>(granularity, {1'500'000}, interleaved, tiers);
    }
  }
  CHECK(wrong == "");
  CHECK((interleaved > 500) == (Arranged == arrangement::page_major));
}

}  // namespace

TEST_CASE("windows and tiers, in every arrangement") {
  SUBCASE("flat") {
    paint_windows_and_tiers<arrangement::flat>();
  }
  SUBCASE("page_major") {
    paint_windows_and_tiers<arrangement::page_major>();
  }
  SUBCASE("layer_major") {
    paint_windows_and_tiers<arrangement::layer_major>();
  }
}

TEST_CASE("addresses of a page_major arena follow from its map alone") {
  rt::host_resource heap;
  constexpr auto table = small_table<arrangement::page_major>;
  allot::plan const p = *allot::solve(table, allot::bytes{6000}, {.min_tokens = {40}});
  rt::arena const a{table, p, heap};
  allot::arena_map const& m = a.map();
  CHECK(m.page_stride == 2 * 2 * 2 * 8 * 2 * 4);
  CHECK(m.slot_stride == 96);
  CHECK(m.top == 6000 / 16 * 16);
  CHECK(m.most_slots == 8);
  auto const rows = a.view(a.find("gqa", "rows"));
  REQUIRE(rows.copies() == 2);  // layers
  REQUIRE(rows.rows() == p.physical.count);
  for (std::int64_t page = 0; page < rows.rows(); ++page) {
    CHECK(rows.row(0, page) == a.data() + m.pages + page * m.page_stride);
    CHECK(rows.row(1, page) == rows.row(0, page) + m.page_stride / 2);
  }
  auto const slots = a.view(a.find("experts", "slots"));
  REQUIRE(slots.rows() == p.slots.count);
  for (std::int64_t i = 0; i < slots.rows(); ++i) {
    std::int64_t const id = m.most_slots - p.slots.count + i;
    CHECK(slots.row(0, i) == a.data() + m.top - (m.most_slots - id) * m.slot_stride);
  }

  // Another split of the same bytes: what it has in common keeps its address.
  allot::plan const other = *allot::solve(table, allot::bytes{6000},
                                          {.min_tokens = {16}, .max_tokens = allot::tokens{24}});
  REQUIRE(other.slots > p.slots);
  REQUIRE(other.pages < p.pages);
  rt::arena const b{table, other, heap};
  CHECK(b.map().pages == m.pages);
  CHECK(b.map().page_stride == m.page_stride);
  CHECK(b.map().top == m.top);
  CHECK(b.map().most_slots == m.most_slots);
}

TEST_CASE("a layer_major arena has an array a layer") {
  rt::host_resource heap;
  constexpr auto table = small_table<arrangement::layer_major>.with_granularity(256);
  allot::plan const p = *allot::solve(table, allot::bytes{8000}, {.min_tokens = {40}});
  rt::arena const a{table, p, heap};
  auto const rows = a.view(a.find("gqa", "rows"));
  CHECK(rows.copies() == 2);
  CHECK(rows.row_elements() == 2 * 2 * 8 * 2 * 4);
  CHECK(rows.row(0, 1) == rows.row(0, 0) + rows.row_elements());
  CHECK((rows.row(1, 0) - rows.row(0, 0)) % 256 == 0);
  CHECK(a.allocated_bytes() == a.carved_bytes());
}

TEST_CASE("views are arrays of their elements, for DLPack too") {
  rt::host_resource heap;
  constexpr auto table = small_table<arrangement::page_major>;
  allot::plan const p = *allot::solve(table, allot::bytes{6000}, {.min_tokens = {40}});
  rt::arena const a{table, p, heap};
  std::int64_t const e = a.find("gqa", "rows");
  auto half = a.view<std::uint16_t>(e);
  CHECK(half.row_elements() * 2 == a.view(e).row_elements());
  CHECK(reinterpret_cast<std::byte*>(half.row(1, 3)) == a.view(e).row(1, 3));
  *half.row(1, 3) = 7;
  CHECK(*reinterpret_cast<std::uint16_t*>(a.view(e).row(1, 3)) == 7);

  rt::dl_tensor const t =
      rt::dl_tensor_of(half, {rt::dl_type_code::bfloat, 16, 1}, {rt::dl_device_type::cpu, 0});
  REQUIRE(t.ndim == 4);
  CHECK(t.data == half.data);
  CHECK(t.shape[0] == 2);
  CHECK(t.shape[1] == p.physical.count);
  CHECK(t.shape[3] == half.row_elements());
  CHECK(t.strides[1] * 2 == a.map().page_stride);
  CHECK(t.strides[3] == 1);

  struct odd {
    char bytes[7];
  };
  CHECK_THROWS_WITH_AS(a.view<odd>(e), doctest::Contains("no multiple of the element's 7"),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(a.find("gqa", "cells"),
                       "the arena has no extent \"gqa cells\"; it has gqa rows, experts slots",
                       std::out_of_range);
  // A flat arena without granularity begins anywhere.
  constexpr auto raw =
      allot::make_table(allot::raw_pages{.page_bytes = {5}}, allot::expert_bank{{8}, 1, 3});
  allot::plan const q = *allot::solve(raw, allot::bytes{49}, {.min_tokens = {4}});
  rt::arena const flat{raw, q, heap};
  REQUIRE(flat.place(1).offset % 8 != 0);
  CHECK_THROWS_WITH_AS(flat.view<std::int64_t>(1), doctest::Contains("past a multiple"),
                       std::invalid_argument);
}

TEST_CASE("a plan of another table is no plan of this one") {
  rt::host_resource heap;
  rt::counting_resource memory{heap};
  constexpr auto table = small_table<arrangement::flat>;
  constexpr auto other = allot::make_table(
      allot::gqa{.layers = 2, .kv_heads = 2, .head_dim = 8, .page_tokens = 4, .sentinel_pages = 2},
      expert);
  allot::plan const p = *allot::solve(other, allot::bytes{8000}, {.min_tokens = {40}});
  CHECK_THROWS_WITH_AS((rt::arena{table.with_granularity(64), p, memory}),
                       doctest::Contains("a plan of another table"), rt::carving_error);
  CHECK(memory.counts().allocate_calls == 0);
}

TEST_CASE("an arena is one allocation, and one that fails leaves nothing behind") {
  rt::host_resource heap;
  rt::counting_resource memory{heap};
  rt::host_backend work;
  for (auto const guard : {rt::guarding::off, rt::guarding::on}) {
    constexpr auto table = small_table<arrangement::page_major>;
    allot::plan const p = *allot::solve(table, allot::bytes{6000}, {.min_tokens = {40}});
    std::int64_t failures = 0;
    for (std::int64_t k = 1;; ++k) {
      rt::faulting_resource faulty{memory, k};
      try {
        rt::arena const a{table, p, faulty, guard, &work};
        break;
      } catch (rt::allocation_error const& e) {
        ++failures;
        CHECK(e.asked_bytes() >= 6000);
      }
      CHECK(memory.counts().outstanding_allocations == 0);
    }
    CHECK(failures == 1);  // one call
  }
  CHECK(memory.counts().outstanding_bytes == 0);
  CHECK_THROWS_AS((rt::arena{small_table<arrangement::flat>,
                             *allot::solve(small_table<arrangement::flat>, allot::bytes{6000},
                                           {.min_tokens = {40}}),
                             memory, rt::guarding::on}),
                  std::invalid_argument);
}

TEST_CASE("a moved arena keeps its memory, and the one it left has none") {
  rt::host_resource heap;
  rt::counting_resource memory{heap};
  constexpr auto table = small_table<arrangement::flat>;
  allot::plan const p = *allot::solve(table, allot::bytes{6000}, {.min_tokens = {40}});
  {
    rt::arena first{table, p, memory};
    std::byte* const at = first.data();
    rt::arena const second{std::move(first)};
    CHECK(second.data() == at);
    CHECK(first.data() == nullptr);
    CHECK(first.allocated_bytes().count == 0);
    CHECK(memory.counts().outstanding_allocations == 1);

    rt::arena third{table, p, memory};
    CHECK(memory.counts().outstanding_allocations == 2);
    first = std::move(third);  // into the one that was left
    CHECK(memory.counts().outstanding_allocations == 2);
    rt::arena fourth{table, p, memory};
    fourth = std::move(first);  // what it had is given back
    CHECK(memory.counts().outstanding_allocations == 2);
    CHECK(fourth.view(0).rows() == p.physical.count);
  }
  CHECK(memory.counts().outstanding_allocations == 0);
  CHECK(memory.counts().misuses == 0);
}

TEST_CASE("guarded: every row may be filled, and one byte beside a row is noticed") {
  rt::host_resource heap;
  rt::host_backend work;
  dice draw{77};
  std::vector<std::int8_t> claimed;
  std::int64_t noticed = 0;
  seen const all =
      over_plans(32, 700, [&](drawn const&, allot::table_view const& t, allot::plan const& p) {
        rt::arena const a{t, p, heap, rt::guarding::on, &work};
        if (!a.is_guarded()) { return std::string{"no canaries; "}; }
        if (a.carved_bytes() != rt::arena::planned_bytes(t, p)) { return std::string{"carved; "}; }
        std::string problem = paint(a, claimed) + miscounted(a, t, p);
        if (!problem.empty()) { return problem; }
        if (a.first_broken(work).offset >= 0) { return std::string{"broken from the start; "}; }
        for (std::size_t i = 0; i < claimed.size(); ++i) {
          if (claimed[i] == 0) { continue; }
          if (a.data()[i] != std::byte{0xFF}) { return std::string{"a row is not poisoned; "}; }
          a.data()[i] = std::byte{0};
        }
        if (a.first_broken(work).offset >= 0) { return std::string{"a row holds a canary; "}; }
        // Right behind what a page, a slot or an array has of a copy, or right before the first.
        for (std::int64_t e = 0; e < a.extents(); ++e) {
          auto const v = a.view(e);
          if (v.rows() == 0 || v.copies() == 0 || v.row_elements() == 0) { continue; }
          bool const before = draw.chance(30);
          bool const blocks = a.place(e).block_stride != v.row_elements();
          std::int64_t const copy = before ? 0 : draw.in(0, v.copies() - 1);
          std::int64_t const block = blocks ? draw.in(0, v.shape[1] - 1) : v.shape[1] - 1;
          std::byte* const at =
              before ? v.row(copy, 0) - 1
                     : v.row(copy, block * v.shape[2] + v.shape[2] - 1) + v.row_elements();
          std::int64_t const offset = at - a.data();
          if (claimed[static_cast<std::size_t>(offset)] != 0) { return a.name(e) + " touches; "; }
          *at = std::byte{1};
          rt::broken_canary const broken = a.first_broken(work);
          *at = std::byte{0xA5};
          if (broken.offset != offset) {
            return a.name(e) + ": a write beside it is not noticed; ";
          }
          if (broken.beside.empty()) { return std::string{"nameless; "}; }
          ++noticed;
        }
        return std::string{};
      });
  CHECK(all.wrong == 0);
  CHECK(noticed > 3000);
}

TEST_CASE("guarded: canaries are priced by the walk that places them") {
  constexpr auto table = small_table<arrangement::page_major>;
  allot::plan const p = *allot::solve(table, allot::bytes{9000}, {.min_tokens = {40}});
  rt::guarded_table const guarded{table};
  allot::table_view const g = guarded.view();
  allot::table_view const t = table;
  // Each of two layers, the slots, and what leads each pool.
  CHECK(g.extents.size == 2 * (2 + 1) + 2);
  allot::plan const q = *allot::solve(g, allot::bytes{9000}, {.min_tokens = {40}});
  CHECK(q.pages < p.pages);  // what the canaries take
  CHECK(g.pools.size == t.pools.size);
  rt::host_resource heap;
  rt::host_backend work;
  rt::arena const a{table, p, heap, rt::guarding::on, &work};
  CHECK(a.allocated_bytes().count == 9000 + rt::arena::guard_bytes(t, p).count);
  CHECK(rt::arena::guard_bytes(t, p).count >= 2 * 16 * p.physical.count + 16 * p.slots.count);
  CHECK(a.map().page_stride == allot::page_stride(t).value + 2 * 16);
  CHECK(a.map().slot_stride == allot::slot_stride(t).value + 16);
}

TEST_CASE("verify allocates what was planned, on a card of exactly the budget") {
  rt::reserved_host_resource memory;
  rt::host_backend work;
  std::int64_t short_of = 0;
  seen const all =
      over_plans(33, 1500, [&](drawn const& d, allot::table_view const& t, allot::plan const& p) {
        std::int64_t const budget = p.budget.count - t.charge_bytes.value;
        rt::limited_resource card{memory, budget};
        rt::verification const v = rt::verify(t, p, card, work);
        bool const faces = d.request.arrangement == arrangement::page_major;
        bool const right = v.planned == v.carved && v.planned == rt::arena::planned_bytes(t, p) &&
                           v.peak.count == (faces ? budget : v.carved.count);
        if (!right) { return std::string{"other bytes; "}; }
        if (v.peak.count == 0) { return std::string{}; }
        rt::limited_resource too_small{memory, v.peak.count - 1};
        try {
          rt::verify(t, p, too_small, work);
        } catch (rt::allocation_error const& e) {
          ++short_of;
          return std::string{e.asked_bytes() == v.peak.count ? "" : "asked; "};
        }
        return std::string{"a byte less was enough; "};
      });
  CHECK(all.wrong == 0);
  CHECK(short_of >= 4500);
}

TEST_CASE("verify notices memory that does not keep what is written") {
  // Loses the k-th byte that is written, as two arrays that share it would.
  class forgetful final : public rt::backend {
   public:
    explicit forgetful(std::int64_t k) : k_{k} {}
    char const* name() const noexcept override { return "forgetful"; }
    bool reaches(rt::memory_space) const noexcept override { return true; }
    void fill(void* memory, std::byte value, std::int64_t bytes) override {
      host_.fill(memory, ++calls == k_ ? std::byte{0} : value, bytes);
    }
    void copy(void* to, void const* from, std::int64_t bytes) override {
      host_.copy(to, from, bytes);
    }
    void upload(void* to, void const* from, std::int64_t bytes) override {
      host_.upload(to, from, bytes);
    }
    void download(void* to, void const* from, std::int64_t bytes) override {
      host_.download(to, from, bytes);
    }
    std::int64_t find_other(void const* memory, std::byte value, std::int64_t bytes) override {
      return host_.find_other(memory, value, bytes);
    }
    void wait() override { host_.wait(); }
    std::int64_t calls = 0;

   private:
    std::int64_t k_;
    rt::host_backend host_;
  };
  constexpr auto table = small_table<arrangement::page_major>;
  allot::plan const p = *allot::solve(table, allot::bytes{6000}, {.min_tokens = {40}});
  rt::host_resource memory;
  forgetful honest{0};
  rt::verify(table, p, memory, honest);
  CHECK(honest.calls == 2 * (2 + 1));  // both ends of two layers and of the slots
  for (std::int64_t k = 1; k <= honest.calls; ++k) {
    forgetful work{k};
    CHECK_THROWS_WITH_AS(rt::verify(table, p, memory, work), doctest::Contains("does not keep"),
                         rt::carving_error);
  }
}

TEST_CASE("pools of one name are told apart, and found whole") {
  rt::host_resource heap;
  constexpr auto table = allot::make_table<arrangement::page_major>(
      attention, allot::mla{.layers = 1, .latent_dim = 8, .page_tokens = 4, .name = "gqa"},
      allot::recurrent_state{.layers = 2,
                             .key_heads = 1,
                             .value_heads = 1,
                             .key_head_dim = 2,
                             .value_head_dim = 2,
                             .conv_kernel = 2,
                             .max_running = 2},
      expert);
  allot::plan const p = *allot::solve(table, allot::bytes{9000}, {.min_tokens = {40}});
  rt::arena const a{table, p, heap};
  CHECK_THROWS_WITH_AS(a.find("gqa", "rows"),
                       "the arena has no extent \"gqa rows\"; it has gqa#0 rows, gqa#1 rows, state "
                       "convolution, state recurrent, experts slots",
                       std::out_of_range);
  CHECK(a.view(a.find("gqa#0", "rows")).data != a.view(a.find("gqa#1", "rows")).data);
  CHECK(a.extents_of("state") == std::vector<std::int64_t>{2, 3});
  CHECK_THROWS_WITH_AS(a.extents_of("gqa"),
                       "the arena has no pool \"gqa\"; it has gqa#0, gqa#1, state, experts",
                       std::out_of_range);
  CHECK_THROWS_WITH_AS(a.place(5), "the arena has extents 0 to 4, not 5", std::out_of_range);
  CHECK_THROWS_WITH_AS(a.name(-1), "the arena has extents 0 to 4, not -1", std::out_of_range);
  CHECK(rt::state_extents(a).size() == 2);
  CHECK(rt::state_extents(a)[1].base == a.view(3).data);
}

TEST_CASE("what may be loaded at once is said of every extent") {
  rt::host_resource heap;
  constexpr auto odd = allot::make_table(allot::raw_pages{.page_bytes = {100}, .page_tokens = 16},
                                         allot::raw_pages{.page_bytes = {64}, .page_tokens = 16});
  allot::plan const p = *allot::solve(odd, allot::bytes{6000}, {.min_tokens = {64}});
  rt::arena const crooked{odd, p, heap};
  CHECK(crooked.aligned_bytes(0) == 4);
  std::int64_t const at = crooked.place(1).offset;
  CHECK(crooked.aligned_bytes(1) == (at & -at));
  constexpr auto even = odd.with_granularity(256);
  allot::plan const q = *allot::solve(even, allot::bytes{6000}, {.min_tokens = {64}});
  rt::arena const straight{even, q, heap};
  CHECK(straight.aligned_bytes(1) == 64);
  rt::arena const pages{
      small_table<arrangement::page_major>,
      *allot::solve(small_table<arrangement::page_major>, allot::bytes{6000}, {.min_tokens = {40}}),
      heap};
  CHECK(pages.aligned_bytes(0) >= 16);
  CHECK(pages.aligned_bytes(1) >= 16);
}

TEST_CASE("a guard that passes 2^63 is memory that is not there") {
  rt::host_resource heap;
  rt::host_backend work;
  constexpr auto table =
      allot::make_table<arrangement::page_major>(allot::raw_pages{.page_bytes = {16}});
  allot::plan const p = *allot::solve(table, allot::bytes{INT64_MAX},
                                      {.min_tokens = {1}, .max_tokens = allot::tokens{8}});
  CHECK_THROWS_WITH_AS((rt::arena{table, p, heap, rt::guarding::on, &work}),
                       doctest::Contains("2^63 bytes or more"), rt::allocation_error);
}

TEST_CASE("a state of no bytes is no extent of a state pool") {
  rt::host_resource heap;
  rt::host_backend work;
  constexpr allot::recurrent_state one_tap{.layers = 1,
                                           .key_heads = 1,
                                           .value_heads = 1,
                                           .key_head_dim = 2,
                                           .value_head_dim = 2,
                                           .conv_kernel = 1,
                                           .max_running = 2};
  constexpr auto table = allot::make_table(allot::raw_pages{.page_bytes = {16}}, one_tap);
  allot::plan const p = *allot::solve(table, allot::bytes{4000}, {.min_tokens = {8}});
  rt::arena const a{table, p, heap};
  rt::state_pool states{work, one_tap.slots().padding, p.state, rt::state_extents(a)};
  auto const slot = states.allocate();
  REQUIRE(slot);
  CHECK(*slot == 1);
}

TEST_CASE("verify of very many layers is bounded") {
  rt::reserved_host_resource memory;
  rt::host_backend work;
  constexpr auto table = allot::make_table<arrangement::page_major>(
      allot::mla{.layers = 1'000'000'000, .latent_dim = 16, .dtype = allot::element::fp8});
  allot::plan const p = *allot::solve(table, allot::bytes{std::int64_t{64} << 30},
                                      {.pinned_pages = allot::usable_pages{1}});
  rt::verification const v = rt::verify(table, p, memory, work);
  CHECK(v.planned == v.carved);
  CHECK(v.peak.count == std::int64_t{64} << 30);
}

TEST_CASE("what cannot be an arena is refused before anything is allocated") {
  rt::host_resource heap;
  rt::counting_resource memory{heap};
  constexpr auto wrong = allot::make_table(
      allot::gqa{.layers = 2, .kv_heads = 2, .head_dim = -1, .page_tokens = 4}, expert);
  CHECK_THROWS_WITH_AS((rt::arena{wrong, allot::plan{}, memory}),
                       "the table is at fault: kv[0].head_dim is -1; it must be an integer of at "
                       "least 1",
                       std::invalid_argument);
  constexpr auto table = small_table<arrangement::flat>;
  allot::plan const p = *allot::solve(table, allot::bytes{6000}, {.min_tokens = {40}});
  rt::host_backend work;
  static std::byte block[8192];
  rt::external_resource far{block, sizeof block, rt::memory_space::device};
  CHECK_THROWS_WITH_AS((rt::arena{table, p, far, rt::guarding::on, &work}),
                       doctest::Contains("the backend \"host\" cannot work on the memory of"),
                       std::invalid_argument);
  rt::arena const plain{table, p, memory};
  CHECK_THROWS_AS(static_cast<void>(plain.first_broken(work)), std::logic_error);
  CHECK(memory.counts().allocate_calls == 1);
}

TEST_CASE("memory of the caller") {
  alignas(256) static std::byte block[8192];
  rt::external_resource mine{block, sizeof block, rt::memory_space::host};
  constexpr auto table = small_table<arrangement::page_major>;
  allot::plan const p = *allot::solve(table, allot::bytes{8192}, {.min_tokens = {40}});
  rt::arena const a{table, p, mine};
  CHECK(a.data() == block);
  CHECK(a.allocated_bytes().count == 8192);
  CHECK_THROWS_AS((rt::arena{table, p, mine}), rt::allocation_error);
}
