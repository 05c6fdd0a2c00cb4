// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/solve/lower.hpp>
#include <allot/solve/request_repairs.hpp>
#include <allot/solve/solve.hpp>

namespace allot {

/// Solves a request with the caller's storage: the form for many requests.
///
/// \param table  set to the lowered table, for reading pools, ledger and layout; valid as long as
///               the storage is not used again
constexpr outcome solve(request const& r, table_storage& storage, table_view& table) {
  table = storage.lower(r);
  outcome out = solve(table, r.budget, r.demand, r.objective);
  if (!out && out.error.repair_count == 0) { detail::add_request_repairs(r, out.error); }
  return out;
}

/// Solves one request.
constexpr outcome solve(request const& r) {
  table_storage storage;
  table_view table;
  return solve(r, storage, table);
}

}  // namespace allot
