// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tile_kernels.hpp"

#include <allot/attention/calls.hpp>

namespace allot::runtime::host {

/// The kernels that one call uses: those of a level, and of a cache.
struct kernels {
  row_kernels rows{};
  void (*attend_tile)(tile_work const&) = nullptr;
};

/// \errors  backend_error, as `chosen_level`
row_kernels const& chosen_row_kernels();

/// \requires  an instance for the cache's rows: `attention` refuses others
/// \errors    backend_error, as `chosen_level`
kernels chosen_kernels(kv_cache const& cache);

}  // namespace allot::runtime::host
