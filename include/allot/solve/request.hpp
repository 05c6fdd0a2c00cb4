// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/family/expert_bank.hpp>
#include <allot/family/gqa.hpp>
#include <allot/family/make_table.hpp>
#include <allot/family/mla.hpp>
#include <allot/family/raw_pages.hpp>
#include <allot/family/recurrent_state.hpp>
#include <allot/solve/solve.hpp>

#include <cstddef>
#include <cstdint>

namespace allot {

enum class kv_kind : std::uint8_t { raw, gqa, mla };

/// One of the built-in pool families, chosen at run time.
struct kv_family {
  static constexpr std::int32_t max_extents = 2;

  kv_kind kind = kv_kind::raw;
  raw_pages raw{};
  allot::gqa gqa{};
  allot::mla mla{};

  constexpr kv_family() = default;
  constexpr kv_family(raw_pages const& f) : kind{kv_kind::raw}, raw{f} {}   // NOLINT
  constexpr kv_family(allot::gqa const& f) : kind{kv_kind::gqa}, gqa{f} {}  // NOLINT
  constexpr kv_family(allot::mla const& f) : kind{kv_kind::mla}, mla{f} {}  // NOLINT

  /// Calls `use` with the family that was chosen.
  template <class Use>
  constexpr auto visit(Use&& use) const {
    switch (kind) {
      case kv_kind::gqa: return use(gqa);
      case kv_kind::mla: return use(mla);
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

/// A whole request of the solve contract (DESIGN §6), lists borrowed.
struct request {
  allot::budget budget{};
  view<charge> charges{};
  view<kv_family> kv{};  ///< kv[0] is the anchor
  maybe<recurrent_state> state{};
  maybe<expert_bank> experts{};
  allot::demand demand{};
  allot::objective objective = allot::objective::experts_first;
  std::int64_t granularity = 1;  ///< bytes each array is rounded up to                   [>= 1]

  /// Room `lower` needs.
  constexpr std::int64_t extent_room() const {
    return kv.size * kv_family::max_extents + recurrent_state::max_extents +
           expert_bank::max_extents;
  }
  constexpr std::int64_t pool_room() const { return kv.size + 2; }
};

/// Lowers a request into arrays of the caller: `extent_room()` extents, `pool_room()` pools.
constexpr table_view lower(request const& r, extent* extents, pool* pools) {
  table_builder builder{extents, pools, r.granularity};
  builder.set_charges(r.charges);
  for (kv_family const& f : r.kv) { builder.add(f); }
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
      release();
      extent_room_ = r.extent_room();
      pool_room_ = r.pool_room();
      extents_ = new extent[static_cast<std::size_t>(extent_room_)]{};
      pools_ = new pool[static_cast<std::size_t>(pool_room_)]{};
    }
    return allot::lower(r, extents_, pools_);
  }

 private:
  constexpr void release() {
    delete[] extents_;
    delete[] pools_;
  }

  extent* extents_ = nullptr;
  pool* pools_ = nullptr;
  std::int64_t extent_room_ = 0;
  std::int64_t pool_room_ = 0;
};

namespace detail {

/// Whether `tp` ranks split the heads a `kv_head_split` refusal complains of.
constexpr bool splits(request const& r, request_path const& at, std::int64_t tp) {
  if (at.index < 0) {
    return local_heads(r.state->key_heads, tp) && local_heads(r.state->value_heads, tp);
  }
  return local_heads(r.kv[at.index].gqa.kv_heads, tp).given;
}

/// How far from the asked size a repair is looked for. No rig comes near.
inline constexpr std::int64_t tp_reach = 4096;

/// `kv_head_split` needs another tensor-parallel size, which only the request still knows: the
/// nearest below and the nearest above that split the heads and with which the request solves.
constexpr void add_tp_repairs(request const& r, refusal& into) {
  request_path const at = into.binding;
  std::int64_t const asked = into.value;
  auto* const extents = new extent[static_cast<std::size_t>(r.extent_room())]{};
  auto* const pools = new pool[static_cast<std::size_t>(r.pool_room())]{};
  auto* const families = new kv_family[static_cast<std::size_t>(r.kv.size)]{};
  for (std::int64_t i = 0; i < r.kv.size; ++i) { families[i] = r.kv[i]; }
  request changed = r;
  changed.kv = view<kv_family>(families, r.kv.size);

  auto const try_tp = [&](std::int64_t tp) {
    if (!splits(r, at, tp)) { return false; }
    if (at.index < 0) {
      changed.state->tp = tp;
    } else {
      families[at.index].gqa.tp = tp;
    }
    table_view const t = lower(changed, extents, pools);
    if (!terms_of(t, r.budget, r.demand, r.objective)) { return false; }
    into.add({at.index < 0 ? setting::state_tp : setting::tp, false, at.index, tp});
    return true;
  };
  std::int64_t const lowest = asked > tp_reach ? asked - tp_reach : 1;
  std::int64_t const highest = asked < unlimited - tp_reach ? asked + tp_reach : unlimited;
  for (std::int64_t tp = asked - 1; tp >= lowest; --tp) {
    if (try_tp(tp)) { break; }
  }
  for (std::int64_t tp = asked; tp < highest;) {
    if (try_tp(++tp)) { break; }
  }

  delete[] families;
  delete[] pools;
  delete[] extents;
}

}  // namespace detail

/// Solves a request with the caller's storage: the form for many requests.
///
/// \param table  set to the lowered table, for reading pools, ledger and layout; valid as long as
///               the storage is not used again
constexpr outcome solve(request const& r, table_storage& storage, table_view& table) {
  table = storage.lower(r);
  outcome out = solve(table, r.budget, r.demand, r.objective);
  if (!out && out.error.error == solve_error::kv_head_split) {
    detail::add_tp_repairs(r, out.error);
  }
  return out;
}

/// Solves one request.
constexpr outcome solve(request const& r) {
  table_storage storage;
  table_view table;
  return solve(r, storage, table);
}

}  // namespace allot
