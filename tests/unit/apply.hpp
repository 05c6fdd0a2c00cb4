// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "drawn.hpp"

#include <cstdint>

/// Makes one change in a whole request, as somebody who follows a repair would: written apart from
/// `with_repair`, which changes a table that has forgotten the description.
namespace allot_test {

inline void copy(drawn const& from, drawn& to) {
  for (int i = 0; i < 4; ++i) {
    to.kv[i] = from.kv[i];
  }
  for (int i = 0; i < 3; ++i) {
    to.charges[i] = from.charges[i];
  }
  to.request = from.request;
  to.request.kv.data = to.kv;
  to.request.charges.data = to.charges;
}

inline void apply(drawn& d, allot::repair const& r) {
  using allot::setting;
  allot::request& q = d.request;
  auto const to = [&](auto& field) {
    field = {};
    if (r.removes) { return; }
    field.given = true;
    field.value = {r.to};
  };
  switch (r.set) {
    case setting::budget: q.budget = allot::bytes{r.to}; break;
    case setting::max_running: q.state->max_running = r.to; break;
    case setting::state_slots: to(q.state->pinned_slots); break;
    case setting::charge: d.charges[r.index].bytes = {r.to}; break;
    case setting::tp: d.kv[r.index].gqa.tp = r.to; break;
    case setting::state_tp: q.state->tp = r.to; break;
    case setting::max_slots: to(q.experts->max_slots); break;
    case setting::slots: to(q.experts->pinned_slots); break;
    case setting::prefill_buffer:
      q.experts->buffer = static_cast<allot::prefill_buffer>(r.to);
      break;
    case setting::min_tokens: q.demand.min_tokens = {r.removes ? 8192 : r.to}; break;
    case setting::min_usable_pages: q.demand.min_usable_pages = {r.removes ? 1 : r.to}; break;
    case setting::target_tokens: to(q.demand.target_tokens); break;
    case setting::max_tokens: to(q.demand.max_tokens); break;
    case setting::pages: to(q.demand.pinned_pages); break;
    case setting::tokens: to(q.demand.pinned_tokens); break;
    case setting::page_tokens: d.kv[r.index].set_page_tokens(r.to); break;
    case setting::page_bytes: d.kv[r.index].raw.page_bytes = {r.to}; break;
    case setting::arrangement: q.arrangement = {}; break;
    case setting::objective: q.objective = static_cast<allot::objective>(r.to); break;
  }
}

}  // namespace allot_test
