// SPDX-License-Identifier: Apache-2.0
#include "card.hpp"

#include <allot/runtime/host_backend.hpp>
#include <allot/runtime/host_resources.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace attention_test {
namespace {

/// A test may name a level of the instruction set that the processor does not have.
bool runs_here(char const* level) {
#if defined(__x86_64__)
  if (level != nullptr && std::strcmp(level, "x86-64-v3") == 0) {
    return __builtin_cpu_supports("avx2") != 0;
  }
#endif
  static_cast<void>(level);
  return true;
}

rt::attention attention_on(rt::backend& work) {
  if (!runs_here(std::getenv("ALLOT_HOST_ISA"))) {
    std::puts("skipped: this processor has no AVX2");
    std::exit(77);
  }
  return rt::attention{work};
}

}  // namespace

card& the_card() {
  static rt::host_resource heap;
  static rt::reserved_host_resource reserved;
  static rt::host_backend work;
  static rt::attention const attend = attention_on(work);
  static card it{heap, reserved, heap, work, attend, true, false};
  return it;
}

}  // namespace attention_test
