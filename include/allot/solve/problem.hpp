// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/solve/demand.hpp>
#include <allot/solve/refusal.hpp>
#include <allot/table/pool_table.hpp>

namespace allot {

/// Everything `solve` reads, as one value: what a repair changes.
struct problem {
  table_view table{};
  allot::budget budget{};
  allot::demand demand{};
  allot::objective objective = allot::objective::experts_first;
};

/// The problem with one repair made. A removed field goes back to its default.
///
/// \requires  the setting exists: no `charge` past the list, no `slots` without experts; what a
///            table has forgotten is changed in the request (`is_of_request`)
constexpr problem with_repair(problem p, repair const& r) {
  demand const plain{};
  demand& d = p.demand;
  auto const tokens_or_none = [&](maybe<tokens>& field) {
    field = r.removes ? maybe<tokens>{} : maybe<tokens>{tokens{r.to}};
  };
  switch (r.set) {
    case setting::budget: p.budget = bytes{r.to}; break;
    case setting::max_running: p.table.state->max_running = r.to; break;
    case setting::state_slots:
      p.table.state->pinned_slots =
          r.removes ? maybe<usable_state_slots>{} : maybe<usable_state_slots>{{r.to}};
      break;
    case setting::charge:
      p.table.charge_bytes = p.table.charge_bytes - p.table.charges[r.index].bytes.count + r.to;
      break;
    case setting::tp:
    case setting::state_tp:
    case setting::page_tokens:
    case setting::page_bytes:
    case setting::arrangement: break;
    case setting::max_slots:
      p.table.experts->max_slots = r.removes ? maybe<expert_slots>{} : maybe<expert_slots>{{r.to}};
      break;
    case setting::slots:
      p.table.experts->pinned_slots =
          r.removes ? maybe<expert_slots>{} : maybe<expert_slots>{{r.to}};
      break;
    case setting::prefill_buffer:
      p.table.experts->buffer = static_cast<prefill_buffer>(r.to);
      break;
    case setting::min_tokens: d.min_tokens = r.removes ? plain.min_tokens : tokens{r.to}; break;
    case setting::min_usable_pages:
      d.min_usable_pages = r.removes ? plain.min_usable_pages : usable_pages{r.to};
      break;
    case setting::target_tokens: tokens_or_none(d.target_tokens); break;
    case setting::max_tokens: tokens_or_none(d.max_tokens); break;
    case setting::pages:
      d.pinned_pages = r.removes ? maybe<usable_pages>{} : maybe<usable_pages>{{r.to}};
      break;
    case setting::tokens: tokens_or_none(d.pinned_tokens); break;
    case setting::objective: p.objective = static_cast<objective>(r.to); break;
  }
  return p;
}

}  // namespace allot
