// SPDX-License-Identifier: Apache-2.0
// Counts of different units do not mix. Guards law L2: usable pages taken for physical ones.

#include <allot/allot.hpp>

using namespace allot;

constexpr usable_pages usable{4096};
constexpr physical_pages physical{4097};
constexpr usable_state_slots states{4};
constexpr physical_state_slots state_rows{5};
constexpr paging policy{.page_tokens = 64};

void takes_physical(physical_pages);

#if XFAIL == 0
constexpr auto sum = usable + physical;
// expected-error-0 {{"usable_pages.*physical_pages"}}
#elif XFAIL == 1
constexpr usable_pages taken = physical;
// expected-error-1 {{"physical_page.*usable_page"}}
#elif XFAIL == 2
constexpr bool enough = usable >= physical;
// expected-error-2 {{"usable_pages.*physical_pages"}}
#elif XFAIL == 3
void allocate() {
  takes_physical(usable);
}
// expected-error-3 {{"usable_page.*physical_page|physical_page.*usable_page"}}
#elif XFAIL == 4
constexpr auto state_sum = states + state_rows;
// expected-error-4 {{"usable_state_slots.*physical_state_slots"}}
#elif XFAIL == 5
constexpr auto again = policy.physical(physical);
// expected-error-5 {{"physical_page.*usable_page|usable_page.*physical_page"}}
#elif XFAIL == 6
constexpr bytes price = tokens{8192};
// expected-error-6 {{"(token|tokens).*byte"}}
#elif XFAIL == 7
constexpr bytes wrapped = *(bytes{INT64_MAX} + bytes{1});
// expected-error-7 {{"unsatisfied::overflow"}}
#elif XFAIL == 8
constexpr expert_slots slots = 8;
// expected-error-8 {{"int.*(expert_slot|quantity)"}}
#endif
