// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace allot::runtime::host {

/// Threads that `each` runs on.
inline std::int64_t thread_count() {
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}

/// Calls f(i) for i in [0, count), on all threads, a few at a time: the items differ in cost. No
/// two of them write to the same place, so nothing depends on which thread has which.
///
/// \param f  throws nothing
template <class F>
void each(std::int64_t count, F const& f) {
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic) if (count > 1)
#endif
  for (std::int64_t i = 0; i < count; ++i) {
    f(i);
  }
}

}  // namespace allot::runtime::host
