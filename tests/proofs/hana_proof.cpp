// SPDX-License-Identifier: Apache-2.0
// Proves that a hana::tuple of differently typed families lowers to the very table the variadic
// make_table gives, and that an engine's own family is priced like the built-in ones.
// Guards: a second lowering that could drift from the first.

#include "fixtures.hpp"

#include <allot/hana.hpp>
#include <allot/laws.hpp>

namespace {

using namespace proofs;
namespace hana = boost::hana;

constexpr auto tenants =
    hana::make_tuple(raw_pages{.page_bytes = bytes{10}, .page_tokens = 64},
                     expert_bank{.slot_bytes = bytes{100}, .per_layer = 2, .layers = 25},
                     charge{"workspace", bytes{3}});
constexpr auto from_tuple = make_table(tenants);
static_assert(solve_or_stop(from_tuple, bytes{943}, {.min_tokens = {256}}).slots ==
              expert_slots{8});
static_assert(kv_bytes(from_tuple, 13) == kv_bytes(seed, 13));

/// A family no header of ours knows: a page of rows and one row of bookkeeping for all pages.
struct journalled_pages {
  static constexpr std::int32_t max_extents = 2;
  constexpr allot::paging paging() const { return {.page_tokens = 32, .sentinel_pages = 1}; }
  constexpr lowered lower(lowering const& in, extent* out) const {
    out[0] = {.name = "rows", .row_bytes = 96, .rows = page_rows(paging(), in)};
    out[1] = {.name = "journal",
              .row_bytes = 8,
              .rows = {.of = rows_of::extent, .extent_index = 0, .mul = 2, .plus = 1}};
    return {.pool = {.name = "journalled",
                     .family = "journalled",
                     .page_tokens = 32,
                     .sentinel = 1,
                     .extents = 2}};
  }
};
static_assert(describes_pool_family<journalled_pages>);

constexpr auto own = make_table(hana::make_tuple(journalled_pages{}));
static_assert(kv_bytes(own, 9).value == 10 * 96 + 8 * (2 * 10 + 1));
static_assert(for_budgets(400, 5'000, 13, [](bytes b) {
  demand const d{.min_tokens = {33}};
  return laws::hold({own, b, d, objective::experts_first}, solve(own, b, d));
}));

// A family is held to its word: what paging() says is what it lowers to, in the room it asked for.
struct two_minds : journalled_pages {
  constexpr allot::paging paging() const { return {.page_tokens = 16, .sentinel_pages = 1}; }
};
struct too_many_extents : journalled_pages {
  static constexpr std::int32_t max_extents = 1;
  constexpr lowered lower(lowering const& in, extent* out) const {
    out[0] = {.name = "rows", .row_bytes = 96, .rows = page_rows(paging(), in)};
    return {.pool = {.page_tokens = 32, .sentinel = 1, .extents = 2}};
  }
};
struct looks_ahead : journalled_pages {
  constexpr lowered lower(lowering const&, extent* out) const {
    out[0] = {.name = "rows", .row_bytes = 96, .rows = {.of = rows_of::extent, .extent_index = 0}};
    return {.pool = {.page_tokens = 32, .sentinel = 1, .extents = 1}};
  }
};
template <class Family>
constexpr bool is_refused(Family const& f) {
  auto const out = solve(make_table(f), 1_GiB);
  return out.error.error == solve_error::bad_input &&
         out.error.binding == request_path{"kv", 0, "family"};
}
static_assert(is_refused(two_minds{}) && is_refused(too_many_extents{}) &&
              is_refused(looks_ahead{}) && !is_refused(journalled_pages{}));

}  // namespace
