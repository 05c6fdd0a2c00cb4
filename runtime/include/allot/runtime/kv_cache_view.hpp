// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/attention/calls.hpp>
#include <allot/attention/kv_page.hpp>
#include <allot/runtime/arena.hpp>
#include <allot/runtime/block_table.hpp>
#include <allot/runtime/page_ids.hpp>

#include <cstdint>

namespace allot::runtime {

/// One layer of a pool in an arena, as attention kernels address it, in any arrangement.
///
/// \param extent  the rows of the pool: `arena.find("gqa", "rows")`, "window rows" of a window
/// \param page    what a page has of a layer: `kv_page_of` the family that the table was made of
/// \param pool    the ids that requests are given: `page_allocator::pool()`; of a window's rows
///                {{.page_tokens = 1, .sentinel_pages = sentinel_rows}, usable rows}
/// \param layer   of the family  [0, page.layers)
/// \errors  std::out_of_range for a layer or an extent that is not there; std::invalid_argument,
///          with the numbers, where the extent is not made of such pages or has fewer than the
///          pool, where addresses or strides are no multiples of 16 bytes, or where the dtype or
///          scales of another size than fp32 have no kernel
kv_cache view_layer(arena const& memory, std::int64_t extent, kv_page const& page,
                    page_ids const& pool, std::int64_t layer);

/// The first rows of a block table, as attention kernels read them: where the table has been
/// uploaded to, at addresses that do not change.
///
/// \param requests  rows of the batch  [0, table.requests()]
/// \errors          std::out_of_range
kv_tables tables_of(block_table const& table, std::int64_t requests);

}  // namespace allot::runtime
