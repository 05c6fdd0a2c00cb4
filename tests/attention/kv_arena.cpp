// SPDX-License-Identifier: Apache-2.0
// Pools that a plan was made for, in an arena: the way of every user.
#include "kv_pool.hpp"

#include <allot/allot.hpp>
#include <allot/runtime/kv_cache_view.hpp>

#include <algorithm>
#include <stdexcept>

namespace attention_test {

using allot::arrangement;

namespace {

/// The smallest plan with so many pages of the anchor.
allot::plan plan_for(allot::table_view const& table, std::int64_t pages) {
  allot::demand const wanted{.min_tokens = {0}, .pinned_pages = allot::usable_pages{pages}};
  auto const wide = allot::solve(table, allot::bytes{std::int64_t{1} << 40}, wanted);
  if (!wide) { throw std::logic_error("no plan for the test's pool"); }
  auto const tight =
      allot::solve(table, allot::bytes{wide->budget.count - wide->left.count}, wanted);
  return tight ? *tight : *wide;
}

}  // namespace

template <arrangement Arranged, class Family>
void kv_pool::lay_in(Family const& family, allot::kv_page const& page) {
  allot::gqa const beside{.layers = 1,
                          .kv_heads = 1,
                          .head_dim = 16,
                          .page_tokens = family.page_tokens * (placing_.second_pool ? 2 : 1),
                          .name = "beside"};
  auto const carve = [&](auto const& made, std::int64_t anchor_pages) {
    auto const table = made.with_granularity(16);
    allot::plan const plan = plan_for(table, anchor_pages);
    arena_ = std::make_unique<rt::arena>(table, plan, the_card().memory);
  };
  std::int64_t const usable = placing_.usable_pages;
  if (placing_.second_pool) {
    // The anchor has pages of two of ours, and sentinels of its own: enough of them for all.
    carve(allot::make_table<Arranged>(beside, family), all_pages() / 2 + 1);
  } else {
    carve(allot::make_table<Arranged>(family, beside), usable);
  }

  std::int64_t const extent = arena_->find("tested", "rows");
  allot::placement const& where = arena_->place(extent);
  if (where.rows < all_pages()) { throw std::logic_error("too few pages for the test"); }
  rt::page_ids const pool{
      family.paging(),
      {usable},
      placing_.sentinels_at_back ? rt::sentinel_side::back : rt::sentinel_side::front};
  cache_ = rt::view_layer(*arena_, extent, page, pool, placing_.layer);
  cache_.k_scale = shape_.k_scale;
  cache_.v_scale = shape_.v_scale;

  // Where the rows are, in the words of the documentation: [K rows][V rows][K scales][V scales] of
  // a layer of a page; flat pages have their layers one behind the other.
  std::int64_t page_bytes = 0;
  for (plane const p : {plane::k, plane::v, plane::k_scales, plane::v_scales}) {
    std::int64_t const row = row_bytes(p);
    if (row == 0) { continue; }
    bool const by_token = placing_.order == allot::kv_order::token_major;
    rows_[static_cast<std::size_t>(p)] = {0, page_bytes, by_token ? shape_.heads * row : row,
                                          by_token ? row : shape_.page_tokens * row};
    page_bytes += shape_.heads * shape_.page_tokens * row;
  }
  std::int64_t const layer =
      where.offset +
      placing_.layer * (Arranged == arrangement::flat ? page_bytes : where.copy_stride);
  for (rows_at& r : rows_) {
    r.offset += layer;
  }
  page_stride_ = where.row_bytes;
  block_stride_ = where.block_stride;
  block_pages_ = static_cast<std::int32_t>(where.block_rows);
  add_block(arena_->data(), arena_->allocated_bytes().count);
}

void kv_pool::lay_in_arena() {
  auto const lay = [&](auto const& family, allot::kv_page const& page) {
    switch (placing_.how) {
      case laid::by_hand: break;
      case laid::flat: return lay_in<arrangement::flat>(family, page);
      case laid::layer_major: return lay_in<arrangement::layer_major>(family, page);
      case laid::page_major: return lay_in<arrangement::page_major>(family, page);
    }
  };
  if (shape_.v_is_k && shape_.heads == 1 && !shape_.row_scales) {
    allot::mla const family{.layers = placing_.layers,
                            .latent_dim = shape_.head_dim,
                            .dtype = shape_.dtype,
                            .page_tokens = shape_.page_tokens,
                            .sentinel_pages = placing_.sentinel_pages,
                            .name = "tested"};
    return lay(family, allot::kv_page_of(family, shape_.v_head_dim));
  }
  allot::gqa const family{.layers = placing_.layers,
                          .kv_heads = shape_.heads,
                          .head_dim = shape_.head_dim,
                          .v_head_dim = std::int64_t{shape_.v_is_k ? 0 : shape_.v_head_dim},
                          .dtype = shape_.dtype,
                          .scale_bytes = shape_.row_scales ? 4 : 0,
                          .page_tokens = shape_.page_tokens,
                          .sentinel_pages = placing_.sentinel_pages,
                          .name = "tested"};
  lay(family, allot::kv_page_of(family, placing_.order));
}

}  // namespace attention_test
