// SPDX-License-Identifier: Apache-2.0
// What is no tenant is refused by a concept's name, through the tuple of Boost.Hana as well. nvcc
// does not print why a constraint failed: there the call and the types it was made with are
// promised.

#include <allot/allot.hpp>
#include <allot/hana.hpp>

using namespace allot;

struct not_a_family {
  std::int64_t page_bytes = 10;
};
constexpr raw_pages pages{.page_bytes = bytes{10}};
constexpr expert_bank experts{.slot_bytes = bytes{100}, .per_layer = 2, .layers = 25};

#if XFAIL == 0
constexpr auto t = make_table(pages, not_a_family{});
// expected-error-0 {{"describes_tenant|make_table. matches.*raw_pages, not_a_family"}}
#elif XFAIL == 1
constexpr auto t = make_table(boost::hana::make_tuple(pages, not_a_family{}));
// expected-error-1 {{"describes_tenant|make_table. matches.*raw_pages, not_a_family"}}
#elif XFAIL == 2
constexpr auto t = make_table(pages, experts, experts);  // one expert cache a table
// expected-error-2 {{"describes_experts|make_table. matches.*expert_bank, const allot::expert_bank"}}
#elif XFAIL == 3
constexpr auto t = make_table(experts);  // nothing to page
// expected-error-3 {{"describes_pool_family|make_table. matches.*const allot::expert_bank"}}
#endif
