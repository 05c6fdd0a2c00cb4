// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/family/make_table.hpp>

#include <boost/hana/tuple.hpp>
#include <boost/hana/unpack.hpp>

namespace allot {

/// Lowers a tuple of differently typed tenants to one table. The only header that needs Boost.
///
/// \param tenants  what the variadic `make_table` takes, in a `hana::tuple`
template <describes_tenant... Tenants>
constexpr table_of<Tenants...> make_table(boost::hana::tuple<Tenants...> const& tenants) {
  return boost::hana::unpack(tenants, [](auto const&... each) { return make_table(each...); });
}

}  // namespace allot
