// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/plan/plan.hpp>
#include <allot/runtime/backend.hpp>
#include <allot/runtime/memory_resource.hpp>

namespace allot::runtime {

/// What came of allocating a plan.
struct verification {
  bytes planned{};  ///< what it was priced at, charges left out
  bytes carved{};   ///< what its arrays take in the arena
  bytes peak{};     ///< the most that was allocated at once; a page_major arena has a gap besides
};

/// Allocates a plan, checks by their places that no two extents share a byte, writes the first and
/// the last byte of every copy of every extent, and reads them back when all are written. Of more
/// than 4096 copies it writes to the first and the last 2048.
///
/// \param t     the table that `p` was solved for
/// \param from  has what the budget leaves beside the charges, or more
/// \param work  of the resource's memory
/// \ensures     planned == carved <= peak, and everything is given back
/// \errors      allocation_error, std::bad_alloc; backend_error; carving_error, also when a byte is
///              not what was written; std::invalid_argument when `work` does not reach the memory
/// \cost        two bytes a copy of an extent
verification verify(table_view const& t, plan const& p, memory_resource& from, backend& work);

}  // namespace allot::runtime
