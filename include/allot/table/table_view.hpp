// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/core/maybe.hpp>
#include <allot/table/pool.hpp>
#include <allot/table/tenants.hpp>

#include <cstdint>

namespace allot {

/// A cost that is exactly `base + step * count`: what a walk over page-proportional extents comes
/// to. Found from two walks when the table is built, never from a formula of its own.
struct cost_line {
  bool exact = false;  ///< otherwise only the walk knows
  std::int64_t base = 0;
  std::int64_t step = 0;

  constexpr checked at(std::int64_t count) const { return checked{count} * step + base; }
};

/// The table a request lowers to, borrowed: what `solve` and `lay_out` read. Cheap to copy; its
/// charges' total, state and experts are values, so that a repair can be tried on a copy.
struct table_view {
  view<extent> extents{};           ///< of all pools, in the order of `pools`
  view<pool> pools{};               ///< kv[0], kv[1] …, then the state pool and the experts, if any
  std::int32_t kv_pools = 0;        ///< how many of `pools` are kv
  paging anchor{};                  ///< of kv[0]
  maybe<state_slots_rule> state{};  ///< how many state slots; absent without a state pool
  maybe<expert_terms> experts{};    ///< absent for a dense model
  view<charge> charges{};           ///< fixed lines outside the arena
  checked charge_bytes{};           ///< their sum
  allot::arrangement arrangement = allot::arrangement::flat;
  std::int64_t granularity = 1;  ///< bytes each array is rounded up to; page_major: each face
  cost_line kv_line{};           ///< of kv_bytes, where it is a line
  cost_line slot_line{};         ///< of expert_bytes, where it is a line
  fault found{};                 ///< what is wrong with the description, if anything
};

}  // namespace allot
