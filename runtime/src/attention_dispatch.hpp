// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/attention/calls.hpp>
#include <allot/attention/instances.hpp>
#include <allot/runtime/attention.hpp>

#include <boost/hana/cartesian_product.hpp>
#include <boost/hana/tuple.hpp>
#include <boost/hana/unpack.hpp>

#include <array>
#include <cstdint>

/// From run-time values to the kernels that were compiled for them. The combinations are those of
/// <allot/attention/instances.hpp>, multiplied out here and nowhere else.
namespace allot::runtime::detail {

template <class... Ts>
constexpr boost::hana::tuple<Ts...> tuple_of(type_list<Ts...>) {
  return {};
}

/// (head_shape, element_type) pairs, shape by shape.
inline constexpr auto attention_combinations = boost::hana::cartesian_product(
    boost::hana::make_tuple(tuple_of(attention_head_shapes{}), tuple_of(attention_elements{})));

/// What a backend has for one combination.
template <class Kernels>
struct instance_row {
  attention_instance instance;
  Kernels kernels;
};

/// One row for each combination.
///
/// \param kernels_of  (head_shape, element_type) -> what to call for it: pointers to functions
template <class KernelsOf>
constexpr auto instance_table(KernelsOf kernels_of) {
  auto const row = [&](auto const& pair) {
    auto const shape = boost::hana::at_c<0>(pair);
    auto const type = boost::hana::at_c<1>(pair);
    return instance_row<decltype(kernels_of(shape, type))>{
        {shape.head_dim, shape.v_head_dim, type.value}, kernels_of(shape, type)};
  };
  return boost::hana::unpack(attention_combinations,
                             [&](auto const&... pairs) { return std::array{row(pairs)...}; });
}

/// The kernels for a cache; null when there are none, which `attention` has refused before.
template <class Kernels, std::size_t Rows>
constexpr Kernels const* find_instance(std::array<instance_row<Kernels>, Rows> const& table,
                                       kv_cache const& cache) {
  for (instance_row<Kernels> const& row : table) {
    if (row.instance.head_dim == cache.head_dim && row.instance.v_head_dim == cache.v_head_dim &&
        row.instance.dtype == cache.dtype) {
      return &row.kernels;
    }
  }
  return nullptr;
}

}  // namespace allot::runtime::detail
