// SPDX-License-Identifier: Apache-2.0
#include "../src/attention_dispatch.hpp"
#include "kernel_table.hpp"
#include "levels.hpp"

#include <array>

namespace allot::runtime::host {
namespace {

/// One function for each level that was compiled.
template <class Function>
using by_level = std::array<Function, ALLOT_HOST_LEVELS>;

constexpr auto tile_table = detail::instance_table([](auto shape, auto type) {
  using shape_type = decltype(shape);
  using element = decltype(type);
  return by_level<void (*)(tile_work const&)>{
      attend_tile<baseline, shape_type, element>,
#if ALLOT_HOST_LEVELS > 1
      attend_tile<x86_64_v3, shape_type, element>,
      attend_tile<x86_64_v4, shape_type, element>,
#endif
  };
});

constexpr by_level<row_kernels (*)()> row_table{
    row_kernels_of<baseline>,
#if ALLOT_HOST_LEVELS > 1
    row_kernels_of<x86_64_v3>,
    row_kernels_of<x86_64_v4>,
#endif
};

}  // namespace

row_kernels const& chosen_row_kernels() {
  static row_kernels const chosen = row_table[static_cast<std::size_t>(chosen_level())]();
  return chosen;
}

kernels chosen_kernels(kv_cache const& cache) {
  auto const* const tiles = detail::find_instance(tile_table, cache);
  return {chosen_row_kernels(), (*tiles)[static_cast<std::size_t>(chosen_level())]};
}

}  // namespace allot::runtime::host
