// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#if defined(__SANITIZE_THREAD__)
#define ALLOT_THREADS_OF_OUR_OWN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ALLOT_THREADS_OF_OUR_OWN 1
#endif
#endif

#if defined(ALLOT_THREADS_OF_OUR_OWN)
#include <atomic>
#include <thread>
#elif defined(_OPENMP)
#include <omp.h>
#endif

namespace allot::runtime::host {

/// Threads that `each` runs on.
inline std::int64_t thread_count();

/// Calls f(i) for i in [0, count), on all threads, a few at a time: the items differ in cost. No
/// two of them write to the same place, so nothing depends on which thread has which.
///
/// \param f  throws nothing
template <class F>
void each(std::int64_t count, F const& f);

#if defined(ALLOT_THREADS_OF_OUR_OWN)

// ThreadSanitizer does not see how the threads of OpenMP wait for each other.
inline std::int64_t thread_count() {
  return 4;
}

template <class F>
void each(std::int64_t count, F const& f) {
  std::atomic<std::int64_t> next{0};
  auto const work = [&] {
    for (std::int64_t i = next++; i < count; i = next++) {
      f(i);
    }
  };
  std::thread crew[3];
  for (std::thread& one : crew) {
    one = std::thread{work};
  }
  work();
  for (std::thread& one : crew) {
    one.join();
  }
}

#else

inline std::int64_t thread_count() {
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}

template <class F>
void each(std::int64_t count, F const& f) {
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic) if (count > 1)
#endif
  for (std::int64_t i = 0; i < count; ++i) {
    f(i);
  }
}

#endif

}  // namespace allot::runtime::host
