// SPDX-License-Identifier: Apache-2.0
#include "card.hpp"
#include "sweep.hpp"

#include <algorithm>
#include <cstdlib>

namespace attention_test {

sizes sweep_sizes() {
  if (the_card().gpu) {
    return {.work = 700'000, .pool_bytes = 2 << 20, .longest = 300, .query_rows = 12};
  }
  return {.work = 3'000'000, .pool_bytes = 4 << 20, .longest = 700, .query_rows = 40};
}

int sweep_shapes(int on_host, int on_gpu) {
  char const* const most = std::getenv("ALLOT_ATTENTION_SHAPES");
  int const here = the_card().gpu ? on_gpu : sanitized ? on_host / 5 : on_host;
  return most == nullptr ? here : std::min(here, std::atoi(most));
}

void sweep(shape_source source, int shapes, judge (*attempt)(attention_shape const&)) {
  char const* const only = std::getenv("ALLOT_ATTENTION_SHAPE");
  tally seen;
  int failed = 0;
  double worst = 0;
  for (int i = 0; i < shapes && failed < 3; ++i) {
    attention_shape const s = source.next();
    source.note(s, seen);
    if (only != nullptr && std::atoi(only) != i) { continue; }
    judge const found = attempt(s);
    worst = std::max(worst, found.worst());
    if (found.complaint().empty()) { continue; }
    ++failed;
    INFO(s.in_words());
    INFO(found.complaint());
    CHECK(found.complaint().empty());
  }
  REQUIRE(failed == 0);
  seen.require(shapes, shapes);
  MESSAGE(shapes << " shapes, of the allowed error at most " << worst);
}

}  // namespace attention_test
