// SPDX-License-Identifier: Apache-2.0
#include "levels.hpp"

#include <allot/runtime/allocation_error.hpp>

#if ALLOT_HOST_LEVELS > 1
#include <cpuid.h>
#endif

#include <cstdlib>
#include <string>

namespace allot::runtime::host {
namespace {

constexpr char const* names[] = {"baseline", "x86-64-v3", "x86-64-v4"};
constexpr std::size_t compiled_levels = ALLOT_HOST_LEVELS;

/// Levels that this processor, and the operating system with its registers, can run.
std::size_t usable_levels() {
#if ALLOT_HOST_LEVELS > 1
  __builtin_cpu_init();
  // clang 16 knows neither the names of the levels nor these three.
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  constexpr unsigned movbe_and_f16c = 1U << 22U | 1U << 29U;
  constexpr unsigned lzcnt = 1U << 5U;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx & movbe_and_f16c) != movbe_and_f16c ||
      __get_cpuid(0x80000001U, &eax, &ebx, &ecx, &edx) == 0 || (ecx & lzcnt) == 0) {
    return 1;
  }
  bool const v3 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("bmi") != 0 &&
                  __builtin_cpu_supports("bmi2") != 0 && __builtin_cpu_supports("fma") != 0;
  bool const v4 =
      __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
      __builtin_cpu_supports("avx512cd") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
      __builtin_cpu_supports("avx512vl") != 0;
  return !v3 ? 1 : v4 ? 3 : 2;
#else
  return 1;
#endif
}

level choose() {
  std::size_t const usable = usable_levels();
  std::size_t const levels = usable < compiled_levels ? usable : compiled_levels;
  char const* const asked = std::getenv("ALLOT_HOST_ISA");
  if (asked == nullptr || *asked == '\0') { return level{levels - 1}; }
  std::string known;
  for (std::size_t i = 0; i < levels; ++i) {
    if (std::string{asked} == names[i]) { return level{i}; }
    known += (i == 0 ? "" : ", ") + std::string{names[i]};
  }
  throw backend_error("ALLOT_HOST_ISA=" + std::string{asked}, "what can run here is " + known);
}

}  // namespace

level chosen_level() {
  static level const chosen = choose();
  return chosen;
}

}  // namespace allot::runtime::host
