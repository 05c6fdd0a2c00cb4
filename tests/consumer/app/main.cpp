// SPDX-License-Identifier: Apache-2.0
// What a user of the library does: plan at compile time, plan at run time, get the same.

#include <allot/allot.hpp>

#include <cstdio>

using namespace allot::literals;

// 64 pages of 1 MiB fit in 65 MiB, for one page is the sentinel.
constexpr auto table = allot::make_table(allot::raw_pages{.page_bytes = 1_MiB, .page_tokens = 16});
constexpr allot::demand demand{.min_tokens = allot::tokens{1024}};
constexpr allot::plan planned = allot::solve_or_stop(table, 65_MiB, demand);
static_assert(planned.pages == allot::usable_pages{64});
static_assert(!allot::solve(table, 64_MiB, demand));

int main(int argc, char**) {
  // Not a constant: the compiler cannot answer this one.
  auto const answer = allot::solve(table, allot::bytes{65 * 1024 * 1024 + argc - 1}, demand);
  if (!answer || answer.value.pages != planned.pages) { return 1; }
  std::printf("%lld usable pages\n", static_cast<long long>(planned.pages.count));
  return 0;
}
