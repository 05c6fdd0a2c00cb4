// SPDX-License-Identifier: Apache-2.0
// Proves L2 and L9 of the counts: units do not mix, nothing wraps.
// Guards: a plan in usable pages handed to a pool that allocates physical ones; element counts that
// wrapped in 32 bits (cases overflow-1).

#include "fixtures.hpp"

namespace {

using namespace proofs;

template <class A, class B>
concept adds_with = requires(A a, B b) { a + b; };
template <class A, class B>
concept compares_with = requires(A a, B b) { a < b; };
template <class From, class To>
concept becomes = requires(From f) { To{f}; };

static_assert(adds_with<usable_pages, usable_pages>);
static_assert(!adds_with<usable_pages, physical_pages>);
static_assert(!adds_with<usable_state_slots, physical_state_slots>);
static_assert(!adds_with<bytes, tokens>);
static_assert(!adds_with<bytes, std::int64_t>);
static_assert(!compares_with<usable_pages, physical_pages>);
static_assert(!compares_with<expert_slots, usable_state_slots>);
static_assert(!becomes<physical_pages, usable_pages>);
static_assert(!becomes<usable_pages, physical_pages>);
static_assert(!becomes<usable_pages, tokens>);

// The way from one to the other is the policy, and back again is the identity.
constexpr paging three{.page_tokens = 8192, .sentinel_pages = 3};
static_assert(three.physical({10}) == physical_pages{13});
static_assert(three.usable({13}) == usable_pages{10});
static_assert(three.usable({2}) == usable_pages{0});  // fewer pages than sentinels: none to give
static_assert(slot_padding{}.physical({4}) == physical_state_slots{5});
static_assert(slot_padding{}.usable({5}) == usable_state_slots{4});

// Overflow is a state that spreads and compares to nothing.
constexpr bytes most{INT64_MAX};
static_assert(!(most + bytes{1}));
static_assert(!(bytes{INT64_MIN} - bytes{1}));
static_assert(!(most * 2));
static_assert(!(most + bytes{1} - bytes{1}));
static_assert(!((most + bytes{1}) <= most) && !((most + bytes{1}) > most));
static_assert(*(most + bytes{-1}) == bytes{INT64_MAX - 1});
static_assert((checked{INT64_MAX} * INT64_MIN).overflowed);
static_assert((checked{3'037'000'500} * 3'037'000'500).overflowed);  // just past 2^63
static_assert((checked{3'037'000'499} * 3'037'000'499).ok());
static_assert((checked{80} * 32768 * 8 * 128).value == 2'684'354'560);
static_assert((checked{9} * 2 * 524288 * 2 * 128).value == 2'415'919'104);

static_assert(1_GiB == bytes{1'073'741'824} && 1_MiB == bytes{1'048'576} && 1_KiB == bytes{1024});

// A policy is a template argument: an engine's kernel can be compiled for the very pages it plans.
template <paging Paging>
constexpr std::int64_t tokens_of_page = Paging.page_tokens;
static_assert(tokens_of_page<three> == 8192);

}  // namespace
