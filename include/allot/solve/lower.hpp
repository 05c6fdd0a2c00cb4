// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/family/compressed_tiers.hpp>
#include <allot/family/expert_bank.hpp>
#include <allot/family/gqa.hpp>
#include <allot/family/make_table.hpp>
#include <allot/family/mla.hpp>
#include <allot/family/raw_pages.hpp>
#include <allot/family/recurrent_state.hpp>
#include <allot/family/sliding_window.hpp>
#include <allot/solve/demand.hpp>

#include <cstddef>
#include <cstdint>

namespace allot {

enum class kv_kind : std::uint8_t { raw, gqa, mla, sliding_window, compressed_tiers };

/// One of the built-in pool families, chosen at run time.
struct kv_family {
  static constexpr std::int32_t max_extents = compressed_tiers::max_extents;

  kv_kind kind = kv_kind::raw;
  raw_pages raw{};
  allot::gqa gqa{};
  allot::mla mla{};
  sliding_window window{};
  compressed_tiers tiers{};

  constexpr kv_family() = default;
  constexpr kv_family(raw_pages const& f) : kind{kv_kind::raw}, raw{f} {}   // NOLINT
  constexpr kv_family(allot::gqa const& f) : kind{kv_kind::gqa}, gqa{f} {}  // NOLINT
  constexpr kv_family(allot::mla const& f) : kind{kv_kind::mla}, mla{f} {}  // NOLINT
  constexpr kv_family(sliding_window const& f)                              // NOLINT
      : kind{kv_kind::sliding_window}, window{f} {}
  constexpr kv_family(compressed_tiers const& f)  // NOLINT
      : kind{kv_kind::compressed_tiers}, tiers{f} {}

  /// No effect on families whose page is their own affair.
  constexpr void set_page_tokens(std::int64_t page_tokens) {
    switch (kind) {
      case kv_kind::raw: raw.page_tokens = page_tokens; break;
      case kv_kind::gqa: gqa.page_tokens = page_tokens; break;
      case kv_kind::mla: mla.page_tokens = page_tokens; break;
      case kv_kind::sliding_window:
      case kv_kind::compressed_tiers: break;
    }
  }

  /// KV heads that tensor-parallel ranks share; absent where every rank holds all.
  constexpr maybe<std::int64_t> split_heads() const {
    if (kind == kv_kind::gqa) { return gqa.kv_heads; }
    if (kind == kv_kind::sliding_window) { return window.kv_heads; }
    return {};
  }
  constexpr std::int64_t tp() const {
    return kind == kv_kind::sliding_window ? window.tp : kind == kv_kind::gqa ? gqa.tp : 1;
  }
  /// No effect on families that are not sharded.
  constexpr void set_tp(std::int64_t ranks) {
    if (kind == kv_kind::gqa) { gqa.tp = ranks; }
    if (kind == kv_kind::sliding_window) { window.tp = ranks; }
  }

  /// Calls `use` with the family that was chosen.
  template <class Use>
  constexpr auto visit(Use&& use) const {
    switch (kind) {
      case kv_kind::gqa: return use(gqa);
      case kv_kind::mla: return use(mla);
      case kv_kind::sliding_window: return use(window);
      case kv_kind::compressed_tiers: return use(tiers);
      case kv_kind::raw: break;
    }
    return use(raw);
  }

  constexpr allot::paging paging() const {
    return visit([](auto const& f) { return f.paging(); });
  }
  constexpr lowered lower(lowering const& in, extent* out) const {
    return visit([&](auto const& f) { return f.lower(in, out); });
  }
};
static_assert(describes_pool_family<kv_family>);

/// A whole request of the solve contract (docs/contract.md), lists borrowed.
struct request {
  allot::budget budget{};
  view<charge> charges{};
  view<kv_family> kv{};  ///< kv[0] is the anchor
  maybe<recurrent_state> state{};
  maybe<expert_bank> experts{};
  allot::demand demand{};
  allot::objective objective = allot::objective::experts_first;
  std::int64_t granularity = 1;  ///< bytes each array is rounded up to                   [>= 1]
  allot::arrangement arrangement = allot::arrangement::flat;

  /// Room `lower` needs.
  constexpr std::int64_t extent_room() const {
    return kv.size * kv_family::max_extents + recurrent_state::max_extents +
           expert_bank::max_extents;
  }
  constexpr std::int64_t pool_room() const { return kv.size + 2; }
};

/// Lowers a request into arrays of the caller: `extent_room()` extents, `pool_room()` pools.
constexpr table_view lower(request const& r, extent* extents, pool* pools) {
  table_builder builder{extents, pools, r.granularity, r.arrangement};
  builder.set_charges(r.charges);
  for (kv_family const& f : r.kv) {
    builder.add(f);
  }
  if (r.state) { builder.add(*r.state); }
  if (r.experts) { builder.add(*r.experts); }
  return builder.table();
}

/// Memory for a request's table: reused from request to request, it stops allocating.
class table_storage {
 public:
  constexpr table_storage() = default;
  constexpr table_storage(table_storage const&) = delete;
  constexpr table_storage& operator=(table_storage const&) = delete;
  constexpr ~table_storage() { release(); }

  /// Makes room for the request and lowers it. The table is valid until the next call.
  constexpr table_view lower(request const& r) {
    if (r.extent_room() > extent_room_ || r.pool_room() > pool_room_) {
      // In this order: when memory runs out in between, what is held is still what is freed.
      release();
      extents_ = new extent[static_cast<std::size_t>(r.extent_room())]{};
      extent_room_ = r.extent_room();
      pools_ = new pool[static_cast<std::size_t>(r.pool_room())]{};
      pool_room_ = r.pool_room();
    }
    return allot::lower(r, extents_, pools_);
  }

 private:
  constexpr void release() {
    delete[] extents_;
    delete[] pools_;
    extents_ = nullptr;
    pools_ = nullptr;
    extent_room_ = 0;
    pool_room_ = 0;
  }

  extent* extents_ = nullptr;
  pool* pools_ = nullptr;
  std::int64_t extent_room_ = 0;
  std::int64_t pool_room_ = 0;
};

}  // namespace allot
