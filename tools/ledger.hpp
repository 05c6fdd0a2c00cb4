// SPDX-License-Identifier: Apache-2.0
// The lines a budget is divided into, each with where its number comes from.
#pragma once

#include "plan_request.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace allot::tools {

struct ledger_line {
  std::string name;        ///< of the charge or pool, or "left"
  std::int64_t bytes = 0;  ///< negative only for what a refused plan has left
  std::string origin;      ///< "declared" (an option said it) or "modelled" (worked out)
  bool is_kv = false;      ///< a pool of the KV cache, whatever its name
};

/// \returns the charges, the pools and what is left: they add up to the budget
[[nodiscard]] std::vector<ledger_line> ledger_of(solved_plan const& planned);

/// \returns  bytes with which a plan that does not fit would fit: all it needs at least. What the
///           refusal itself states may be less, since it stops at the first term that is too large.
[[nodiscard]] std::int64_t whole_need(solved_plan const& refused);

/// \param needed  whole_need(), or what the refusal states
/// \returns       what a plan that does not fit needs at least, term by term: they add up to
/// `needed`
[[nodiscard]] std::vector<ledger_line> needs_of(solved_plan const& refused, std::int64_t needed);

/// \returns the same and what would be left, the shortfall below zero: they add up to the budget.
///          Empty for a refusal without bytes.
[[nodiscard]] std::vector<ledger_line> shortfall_ledger_of(solved_plan const& refused);

}  // namespace allot::tools
