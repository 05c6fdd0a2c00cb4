// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/family/family.hpp>
#include <allot/table/alignment.hpp>
#include <allot/table/pool_table.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace allot {

/// What `make_table` takes: pool families, at most one state pool, at most one expert bank,
/// charges, in any order; the first pool family is the anchor.
template <class T>
concept describes_tenant = describes_pool_family<T> || describes_state_pool<T> ||
                           describes_experts<T> || std::same_as<T, charge>;

/// Lowers one tenant after another into a table whose arrays somebody else owns.
class table_builder {
 public:
  /// \param extents  room for every tenant's `max_extents`
  /// \param pools    room for one pool a tenant that is no charge
  constexpr table_builder(extent* extents, pool* pools, std::int64_t granularity = 1,
                          arrangement arranged = arrangement::flat)
      : extents_{extents}, pools_{pools} {
    table_.granularity = granularity;
    table_.arrangement = arranged;
    fail(check_granularity(arranged, granularity));
  }

  /// \requires  KV pools come before the state pool, and that before the experts
  template <describes_pool_family F>
  constexpr void add(F const& family) {
    if (table_.kv_pools == 0) { table_.anchor = family.paging(); }
    // An anchor at fault is refused by its own name; those that follow it may still divide by it.
    std::int64_t const anchor_page = table_.anchor.page_tokens;
    lowering const in{table_.kv_pools, anchor_page > 0 ? anchor_page : 1, table_.arrangement};
    ++table_.kv_pools;
    extent* const out = extents_ + table_.extents.size;
    lowered l = family.lower(in, out);
    fault_check check{"kv", in.index};
    allot::paging const own = family.paging();
    bool const paged = l.pool.unit == pool_unit::pages;
    if (!l.found && ((paged && own != paging{l.pool.page_tokens, l.pool.sentinel}) ||
                     (!paged && in.index == 0))) {
      check.report(solve_error::bad_input, "family", l.pool.page_tokens,
                   "a pool with the page tokens and sentinels of the family's paging()");
      l.found = check.found;
    }
    std::int64_t const sentinels = table_.anchor.sentinel_pages;
    extent const* const crooked = detail::crooked_page(in, l, out, sentinels);
    append(l, F::max_extents, rows_of::anchor_pages, check);
    if (crooked != nullptr) {
      std::int64_t const rows = rows_per_page(*crooked, sentinels);
      fail(detail::misaligned_page(in, l, *crooked, rows, [&](std::int64_t page_tokens) {
        extent changed[F::max_extents > 0 ? F::max_extents : 1] = {};
        return detail::aligns_with(family, in, page_tokens, sentinels, changed);
      }));
    }
  }

  template <describes_state_pool F>
  constexpr void add(F const& family) {
    table_.state = family.slots();
    lowering const in{table_.kv_pools, table_.anchor.page_tokens, table_.arrangement};
    append(family.lower(in, extents_ + table_.extents.size), F::max_extents, rows_of::state_slots,
           fault_check{"state"});
  }

  template <describes_experts F>
  constexpr void add(F const& family) {
    table_.experts = family.terms();
    extent const* const out = extents_ + table_.extents.size;
    lowered const l = family.lower(extents_ + table_.extents.size);
    append(l, F::max_extents, rows_of::expert_slots, fault_check{"experts"});
    if (table_.arrangement == arrangement::page_major && !l.found) {
      fail(detail::misaligned_slot(l, out));
    }
  }

  /// The charges, all at once; the builder adds them up, the caller keeps them.
  constexpr void set_charges(view<charge> charges) {
    charges_ = charges.data;
    table_.charges.size = charges.size;
    table_.charge_bytes = {};
    std::int32_t index = 0;
    for (charge const& c : charges) {
      fault_check check{"charges", index++};
      check.not_negative("bytes", c.bytes.count);
      table_.charge_bytes = table_.charge_bytes + c.bytes.count;
      if (table_.charge_bytes.overflowed) {
        check.report(solve_error::overflow, "bytes", c.bytes.count, "charges of less than 2^63");
      }
      fail(check.found);
    }
  }

  /// The table so far, borrowing the arrays it was built in. A table with no KV pool is at fault.
  constexpr table_view table() const {
    table_view t = table_;
    if (t.kv_pools == 0) {
      t.found = first_of(t.found, {solve_error::bad_input, {"kv"}, 0, "at least one pool"});
    }
    t.extents.data = extents_;
    t.pools.data = pools_;
    t.charges.data = charges_;
    find_lines(t);
    return t;
  }

  /// The same without the places of the lists: g++ 12 refuses a constexpr variable that has ever
  /// held pointers into itself.
  constexpr table_view unbound() const {
    table_view t = table_;
    table_view const built = table();
    t.found = built.found;
    t.kv_line = built.kv_line;
    t.slot_line = built.slot_line;
    return t;
  }

 private:
  constexpr void fail(fault const& f) { table_.found = first_of(table_.found, f); }

  /// Takes what a family lowered to. An engine's own family is held to its word like ours: no more
  /// extents than it said, each with a rule that can be evaluated and counts what the pool is
  /// priced by.
  constexpr void append(lowered l, std::int32_t max_extents, rows_of counted, fault_check check) {
    extent const* const written = extents_ + table_.extents.size;
    bool formed = l.found || (l.pool.extents >= 1 && l.pool.extents <= max_extents);
    for (std::int32_t k = 0; formed && !l.found && k < l.pool.extents; ++k) {
      formed = is_well_formed(written[k], k) && counts_from(written[k], counted);
    }
    if (!formed) {
      check.report(solve_error::bad_input, "family", l.pool.extents,
                   "a family that lowers to well-formed extents, at most its max_extents");
      l.found = check.found;
    }
    fail(l.found);
    pool p = l.pool;
    p.first_extent = static_cast<std::int32_t>(table_.extents.size);
    if (l.found) { p.extents = 0; }
    pools_[table_.pools.size++] = p;
    table_.extents.size += p.extents;
  }

  extent* extents_;
  pool* pools_;
  charge const* charges_ = nullptr;
  table_view table_{};
};

namespace detail {

/// Room a tenant asks for; what is no tenant asks for none, and is refused by `make_table` itself.
template <class T>
constexpr std::size_t extents_of() {
  if constexpr (requires { T::max_extents; }) {
    return static_cast<std::size_t>(T::max_extents);
  } else {
    return 0;
  }
}

enum class stage : std::uint8_t { kv, state, experts };

template <class T>
constexpr bool belongs_to(stage s) {
  switch (s) {
    case stage::kv: return describes_pool_family<T>;
    case stage::state: return describes_state_pool<T>;
    case stage::experts: return describes_experts<T>;
  }
  return false;
}

template <stage Stage, class T>
constexpr void add_at(table_builder& builder, T const& tenant) {
  if constexpr (belongs_to<T>(Stage)) { builder.add(tenant); }
}

template <class T>
constexpr void collect_charge(charge* charges, std::size_t& next, T const& tenant) {
  if constexpr (std::same_as<T, charge>) { charges[next++] = tenant; }
}

template <class... Tenants>
inline constexpr std::size_t charges_in =
    (std::size_t{0} + ... + std::size_t{std::same_as<Tenants, charge>});

}  // namespace detail

/// The table that `make_table` gives these tenants. Not constrained: clang would then name this
/// alias in its message, and not the concept that failed.
template <class... Tenants>
using table_of =
    pool_table<(std::size_t{0} + ... + detail::extents_of<Tenants>()),
               sizeof...(Tenants) - detail::charges_in<Tenants...>, detail::charges_in<Tenants...>>;

/// What one table can hold.
template <class... Tenants>
concept share_a_table = (0 + ... + int{describes_state_pool<Tenants>}) <= 1 &&
                        (0 + ... + int{describes_experts<Tenants>}) <= 1 &&
                        (0 + ... + int{describes_pool_family<Tenants>}) >= 1;

/// Lowers differently typed tenants to one table of the given arrangement. What is wrong with a
/// tenant is kept in the table and refused by `solve`.
///
/// \param tenants  pool families (the first is the anchor), a state pool, an expert bank, charges
/// \cost           needs no memory beyond the table it returns
template <arrangement Arranged, describes_tenant... Tenants>
  requires share_a_table<Tenants...>
constexpr table_of<Tenants...> make_table(Tenants const&... tenants) {
  table_of<Tenants...> out;
  table_builder builder{out.extents, out.pools, 1, Arranged};
  (detail::add_at<detail::stage::kv>(builder, tenants), ...);
  (detail::add_at<detail::stage::state>(builder, tenants), ...);
  (detail::add_at<detail::stage::experts>(builder, tenants), ...);
  std::size_t charges = 0;
  (detail::collect_charge(out.charges, charges, tenants), ...);
  builder.set_charges(view<charge>(out.charges, static_cast<std::int64_t>(charges)));
  out.rest = builder.unbound();
  return out;
}

/// The same, flat.
template <describes_tenant... Tenants>
  requires share_a_table<Tenants...>
constexpr table_of<Tenants...> make_table(Tenants const&... tenants) {
  return make_table<arrangement::flat>(tenants...);
}

}  // namespace allot
