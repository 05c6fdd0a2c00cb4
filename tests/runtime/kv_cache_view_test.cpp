// SPDX-License-Identifier: Apache-2.0
// Layers of a pool as kernels address them, by painting: every row of every layer, page, token and
// head claims its bytes once, and together they claim the pool's.
#include <allot/allot.hpp>
#include <allot/runtime/attention.hpp>
#include <allot/runtime/host_backend.hpp>
#include <allot/runtime/host_resources.hpp>
#include <allot/runtime/kv_cache_view.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace rt = allot::runtime;
using namespace allot;

namespace {

constexpr gqa plain{.layers = 3, .kv_heads = 2, .head_dim = 64, .page_tokens = 16};
constexpr gqa scaled{.layers = 2,
                     .kv_heads = 4,
                     .head_dim = 192,
                     .v_head_dim = std::int64_t{128},
                     .dtype = element::fp8,
                     .tp = 2,
                     .scale_bytes = 4,
                     .page_tokens = 8,
                     .sentinel_pages = 2,
                     .name = "scaled"};
constexpr mla latent{.layers = 2, .latent_dim = 576, .page_tokens = 4, .name = "latent"};
constexpr sliding_window window{
    .layers = 2, .kv_heads = 2, .head_dim = 96, .window_tokens = 8, .ratio = 0.5, .name = "window"};
constexpr gqa one_layer{
    .layers = 1, .kv_heads = 1, .head_dim = 256, .page_tokens = 2, .name = "one"};

template <arrangement Arranged>
constexpr auto table =
    make_table<Arranged>(plain, scaled, latent, window, one_layer).with_granularity(256);

/// A pool of the arena, painted.
struct painting {
  rt::arena const& memory;
  std::vector<std::uint8_t> painted;
  std::int64_t rows = 0;

  explicit painting(rt::arena const& a)
      : memory{a}, painted(static_cast<std::size_t>(a.allocated_bytes().count)) {}

  void claim(std::byte const* at, std::int64_t bytes) {
    std::int64_t const offset = at - memory.data();
    REQUIRE(offset >= 0);
    REQUIRE(offset + bytes <= memory.allocated_bytes().count);
    for (std::int64_t i = offset; i < offset + bytes; ++i) {
      REQUIRE(painted[static_cast<std::size_t>(i)]++ == 0);
    }
    rows += bytes;
  }

  void plane(kv_cache const& c, kv_plane const& p, std::int64_t row_bytes, std::int64_t pages) {
    if (p.data == nullptr) { return; }
    for (std::int32_t page = 0; page < pages; ++page) {
      for (std::int64_t token = 0; token < c.page_tokens; ++token) {
        for (std::int64_t head = 0; head < c.heads; ++head) {
          claim(p.data + c.page_offset(page) + token * p.token_stride + head * p.head_stride,
                row_bytes);
        }
      }
    }
  }
};

/// Paints all layers of a pool, and holds them to the bytes of its extent.
void paint_pool(rt::arena const& memory, char const* name, char const* extent, kv_page const& page,
                rt::page_ids const& pool) {
  CAPTURE(name);
  std::int64_t const e = memory.find(name, extent);
  placement const& place = memory.place(e);
  painting paint{memory};
  for (std::int64_t layer = 0; layer < page.layers; ++layer) {
    kv_cache const c = rt::view_layer(memory, e, page, pool, layer);
    CHECK(c.first_page == pool.first());
    CHECK(c.end_page == pool.end());
    std::int64_t const pages = place.rows;
    paint.plane(c, c.k, page.k.row_bytes, pages);
    if (!c.v_is_k()) { paint.plane(c, c.v, page.v.row_bytes, pages); }
    paint.plane(c, c.k_scales, page.k_scales.row_bytes, pages);
    paint.plane(c, c.v_scales, page.v_scales.row_bytes, pages);
  }
  CHECK(paint.rows == place.copies * place.rows * place.row_bytes);
}

rt::page_ids ids(paging policy, std::int64_t physical) {
  return {policy, {physical - policy.sentinel_pages}};
}

template <arrangement Arranged>
void paint_all(bool head_major) {
  kv_order const order = head_major ? kv_order::head_major : kv_order::token_major;
  rt::host_resource memory;
  auto const p = solve(table<Arranged>, 2_MiB, {.min_tokens = {64}});
  REQUIRE(p);
  rt::arena const a{table<Arranged>, *p, memory};
  auto const rows_of = [&](char const* name, char const* extent) {
    return a.place(a.find(name, extent)).rows;
  };
  paint_pool(a, "gqa", "rows", kv_page_of(plain, order), {plain.paging(), p->pages});
  paint_pool(a, "scaled", "rows", kv_page_of(scaled, order),
             ids(scaled.paging(), rows_of("scaled", "rows")));
  paint_pool(a, "latent", "rows", kv_page_of(latent, 512),
             ids(latent.paging(), rows_of("latent", "rows")));
  paint_pool(a, "window", "window rows", kv_page_of(window),
             ids({1, window.sentinel_rows}, rows_of("window", "window rows")));
  paint_pool(a, "one", "rows", kv_page_of(one_layer, order),
             ids(one_layer.paging(), rows_of("one", "rows")));
}

/// What a refused call says.
template <class Call>
std::string refused(Call&& call) {
  try {
    call();
  } catch (std::exception const& error) { return error.what(); }
  return "nothing was refused";
}

}  // namespace

TEST_CASE("layers claim the bytes of their pool, once, in every arrangement") {
  for (bool const head_major : {false, true}) {
    CAPTURE(head_major);
    paint_all<arrangement::flat>(head_major);
    paint_all<arrangement::layer_major>(head_major);
    paint_all<arrangement::page_major>(head_major);
  }
}

TEST_CASE("a page of a layer starts where the arena says") {
  rt::host_resource memory;
  auto const& t = table<arrangement::page_major>;
  auto const p = solve(t, 2_MiB, {.min_tokens = {64}});
  rt::arena const a{t, *p, memory};
  // Two pages of 8 tokens for each of the anchor's 16, one behind the other; then the next block.
  std::int64_t const e = a.find("scaled", "rows");
  rt::page_ids const pool = ids(scaled.paging(), a.place(e).rows);
  kv_cache const c = rt::view_layer(a, e, kv_page_of(scaled), pool, 1);
  REQUIRE(c.block_pages == 2);
  for (std::int32_t page = 0; page < 5; ++page) {
    CHECK(c.k.data + c.page_offset(page) == a.view(e).row(1, page));
  }
  CHECK(a.place(e).block_stride == a.map().page_stride);
}

TEST_CASE("what cannot be addressed is refused by its numbers") {
  rt::host_resource memory;
  auto const p = solve(table<arrangement::flat>, 2_MiB, {.min_tokens = {64}});
  rt::arena const a{table<arrangement::flat>, *p, memory};
  std::int64_t const e = a.find("gqa", "rows");
  rt::page_ids const pool{plain.paging(), p->pages};
  kv_page const page = kv_page_of(plain);

  CHECK(refused([&] { rt::view_layer(a, e, page, pool, 3); }) ==
        "view_layer: layer is 3; it must be 0 to 2");
  CHECK(refused([&] { rt::view_layer(a, 99, page, pool, 0); }).find("99") != std::string::npos);
  CHECK(refused([&] { rt::view_layer(a, a.find("one", "rows"), page, pool, 0); }) ==
        "view_layer: 'one rows' has rows of 2048 bytes in 1 arrays; a page has 8192 bytes in each "
        "of 3 layers");
  rt::page_ids const more{plain.paging(), {p->pages.count + 1}};
  CHECK(refused([&] {
          rt::view_layer(a, e, page, more, 0);
        }).find("it must be at most the rows of 'gqa rows'") != std::string::npos);
  rt::page_ids const others{{.page_tokens = 8}, p->pages};
  CHECK(refused([&] { rt::view_layer(a, e, page, others, 0); }) ==
        "view_layer: pool.policy.page_tokens is 8; it must be that of the page, 16");

  // Flat, in steps of one byte: pages of a shape that no kernel has, and of odd addresses.
  constexpr auto odd =
      make_table(gqa{.layers = 1, .kv_heads = 1, .head_dim = 80, .page_tokens = 1});
  auto const q = solve(odd, 64_KiB, {.min_tokens = {1}});
  rt::arena const b{odd, *q, memory};
  CHECK(refused([&] {
          rt::view_layer(b, 0, kv_page_of(gqa{.layers = 1, .kv_heads = 1, .head_dim = 80}),
                         {{}, q->pages}, 0);
        }) ==
        "view_layer: cache is head_dim 80, v_head_dim 80, bf16; it must be one of 64/64, 96/96, "
        "128/128, 192/192, 256/256, 192/128, 576/512 in fp16, bf16 or fp8");
  constexpr gqa crooked{.layers = 1,
                        .kv_heads = 1,
                        .head_dim = 64,
                        .dtype = element::fp8,
                        .scale_bytes = 4,
                        .page_tokens = 1};
  constexpr auto tight = make_table(crooked);
  auto const r = solve(tight, 64_KiB, {.min_tokens = {1}});
  rt::arena const d{tight, *r, memory};
  CHECK(refused([&] { rt::view_layer(d, 0, kv_page_of(crooked), {{}, r->pages}, 0); }) ==
        "view_layer: cache.block_stride is 136; it must be a multiple of 16");
  constexpr gqa half_scales{.layers = 1,
                            .kv_heads = 1,
                            .head_dim = 64,
                            .dtype = element::fp8,
                            .scale_bytes = 2,
                            .page_tokens = 4};
  constexpr auto halves = make_table(half_scales);
  auto const s = solve(halves, 64_KiB, {.min_tokens = {1}});
  rt::arena const f{halves, *s, memory};
  CHECK(refused([&] {
          rt::view_layer(f, 0, kv_page_of(half_scales), {half_scales.paging(), s->pages}, 0);
        }) == "view_layer: scale_bytes is 2; it must be 0 or 4: scales are fp32");
}

TEST_CASE("instances are every shape in every type, once") {
  auto const& all = rt::attention_instances();
  CHECK(all.size() == 21);
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      CHECK(!(all[i] == all[j]));
    }
  }
  CHECK(rt::to_string(all[0]) == "head_dim 64, v_head_dim 64, fp16");
}
