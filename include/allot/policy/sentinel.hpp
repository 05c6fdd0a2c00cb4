// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/core/rounding.hpp>
#include <allot/core/units.hpp>

#include <cstdint>

namespace allot {

/// How the pages of one pool are cut and how many of them nobody is given. The only way from
/// usable pages to physical ones and back.
///
/// A sentinel page is vLLM's null block, SGLang's padded slot 0: allocated, written by padding,
/// never handed to a request. Structural, so an engine that knows it can make it a template
/// argument.
struct paging {
  std::int64_t page_tokens = 1;     ///< tokens per page                                  [>= 1]
  std::int64_t sentinel_pages = 1;  ///< pages allocated and never handed out             [>= 0]

  friend constexpr bool operator==(paging, paging) = default;

  /// \ensures  physical == usable + sentinel
  constexpr checked_quantity<unit::physical_page> physical(usable_pages n) const {
    return {checked{n.count} + sentinel_pages};
  }

  /// \ensures  physical(usable(n)) == n   for n >= sentinel; a pool of fewer has none to give
  constexpr usable_pages usable(physical_pages n) const {
    return {n.count > sentinel_pages ? n.count - sentinel_pages : 0};
  }

  /// Pages that hold `t` tokens of one request: whole pages, rounded up.
  ///
  /// \param t  >= 0 tokens
  /// \ensures  reachable(pages_for(t)) >= t
  ///           reachable(pages_for(t) - 1) < t
  constexpr usable_pages pages_for(tokens t) const { return {divide_up(t.count, page_tokens)}; }

  /// Tokens that `n` usable pages hold.
  constexpr checked_quantity<unit::token> reachable(usable_pages n) const {
    return {checked{n.count} * page_tokens};
  }
};

/// The same for recurrent-state slots: slot ids below `sentinel_slots` are the sink that padded
/// rows of a batch write to.
struct slot_padding {
  std::int64_t sentinel_slots = 1;  ///< slots allocated and never handed out             [>= 0]

  friend constexpr bool operator==(slot_padding, slot_padding) = default;

  /// \ensures  physical == usable + sentinel
  constexpr checked_quantity<unit::physical_state_slot> physical(usable_state_slots n) const {
    return {checked{n.count} + sentinel_slots};
  }

  /// \ensures  physical(usable(n)) == n   for n >= sentinel
  constexpr usable_state_slots usable(physical_state_slots n) const {
    return {n.count > sentinel_slots ? n.count - sentinel_slots : 0};
  }
};

}  // namespace allot
