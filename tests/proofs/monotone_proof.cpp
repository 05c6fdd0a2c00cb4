// SPDX-License-Identifier: Apache-2.0
// Proves L10: more memory never means fewer experts, or less of the context that was asked for.
// Guards: a larger card that served less because a buffer came back.

#include "fixtures.hpp"

#include <allot/laws.hpp>

namespace {

using namespace proofs;

template <auto const& Table>
consteval bool grows(demand d, objective o, std::int64_t to, std::int64_t step) {
  outcome before = solve(Table, bytes{0}, d, o);
  return for_budgets(step, to, step, [&](bytes b) {
    outcome const after = solve(Table, b, d, o);
    bool const held = laws::is_monotone(d, o, before, after);
    before = after;
    return held;
  });
}

static_assert(grows<seed>({.min_tokens = {64}}, objective::experts_first, 9'000, 11));
static_assert(grows<seed>({.min_tokens = {64}, .target_tokens = tokens{2'000}},
                          objective::context_first, 9'000, 11));
static_assert(grows<seed>({.min_tokens = {64}, .max_tokens = tokens{2'000}},
                          objective::context_first, 9'000, 11));
static_assert(grows<mixed>({.min_tokens = {20}}, objective::experts_first, 60'000, 499));
static_assert(grows<mixed>({.min_tokens = {20}, .target_tokens = tokens{80}},
                           objective::context_first, 60'000, 499));

}  // namespace
