// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/solve/repairs.hpp>

namespace allot {

/// A plan, or why there is none.
using outcome = result<plan, refusal>;

/// Splits a budget between expert slots and the KV cache: the same function in a constant
/// expression and at run time.
///
/// \param t  the table of all pools: `make_table(…)`
/// \param b  net bytes, or a share of a baseline
/// \param d  floor, target, cap and pins of the context
/// \param o  who is served first
/// \returns  the plan, or a refusal with its numbers and the repairs that work
/// \ensures  fixed + experts + kv + left == budget, left >= 0       never_over_budget
///           one more page or slot does not fit, or a cap stops it  maximal
///           usable_tokens hold the floor                           floors_hold
///           pins are met exactly                                   pins_hold
/// \errors   the first of `solve_error`, in its order
/// \cost     a handful of evaluations of the table; the exact monotone cost is inverted by search
/// \source   docs/contract.md
constexpr outcome solve(table_view const& t, budget const& b, demand const& d = {},
                        objective o = objective::experts_first) {
  outcome r = attempt(t, b, d, o);
  if (!r) { add_repairs({t, b, d, o}, r.error); }
  return r;
}

/// Declared, never defined: a compile-time solve that is refused stops the build, and the name of
/// the broken rule is what the compiler prints.
namespace unsatisfied {
void bad_input();
void conflicting_pins();
void not_a_page_multiple();
void misaligned_stride();
void kv_head_split();
void slot_cap_below_minimum();
void fixed_exceeds_budget();
void slots_out_of_range();
void pins_exceed_budget();
void floors_exceed_budget();
}  // namespace unsatisfied

/// `solve` for what is known at compile time: a refusal is a compile error, so nothing is left to
/// test.
consteval plan solve_or_stop(table_view const& t, budget const& b, demand const& d = {},
                             objective o = objective::experts_first) {
  auto const r = attempt(t, b, d, o);
  switch (r.error.error) {
    case solve_error::none: break;
    case solve_error::bad_input: unsatisfied::bad_input(); break;
    case solve_error::overflow: unsatisfied::overflow(); break;
    case solve_error::conflicting_pins: unsatisfied::conflicting_pins(); break;
    case solve_error::not_a_page_multiple: unsatisfied::not_a_page_multiple(); break;
    case solve_error::misaligned_stride: unsatisfied::misaligned_stride(); break;
    case solve_error::kv_head_split: unsatisfied::kv_head_split(); break;
    case solve_error::slot_cap_below_minimum: unsatisfied::slot_cap_below_minimum(); break;
    case solve_error::fixed_exceeds_budget: unsatisfied::fixed_exceeds_budget(); break;
    case solve_error::slots_out_of_range: unsatisfied::slots_out_of_range(); break;
    case solve_error::pins_exceed_budget: unsatisfied::pins_exceed_budget(); break;
    case solve_error::floors_exceed_budget: unsatisfied::floors_exceed_budget(); break;
  }
  return r.value;
}

}  // namespace allot
