// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/table/pool.hpp>
#include <allot/table/tenants.hpp>

#include <concepts>
#include <cstdint>

namespace allot {

/// A paged pool family: anything that can write its pool as extents. An engine's own family needs
/// no more than this to be priced, proved, laid out and allocated like the built-in ones.
///
/// `lower` writes at most `F::max_extents` extents and returns the pool, its extents counted from
/// the first one written. It may be called with fields that are nonsense: it then reports a fault.
template <class F>
concept describes_pool_family = requires(F const& f, lowering const& in, extent* out) {
  { F::max_extents } -> std::convertible_to<std::int32_t>;
  { f.paging() } -> std::same_as<allot::paging>;
  { f.lower(in, out) } -> std::same_as<lowered>;
};

/// The pool of recurrent states. At most one in a table.
template <class F>
concept describes_state_pool = requires(F const& f, lowering const& in, extent* out) {
  { F::max_extents } -> std::convertible_to<std::int32_t>;
  { f.slots() } -> std::same_as<state_slots_rule>;
  { f.lower(in, out) } -> std::same_as<lowered>;
};

/// The expert cache. At most one in a table.
template <class F>
concept describes_experts = requires(F const& f, extent* out) {
  { F::max_extents } -> std::convertible_to<std::int32_t>;
  { f.terms() } -> std::same_as<expert_terms>;
  { f.lower(out) } -> std::same_as<lowered>;
};

}  // namespace allot
