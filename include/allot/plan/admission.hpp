// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/core/result.hpp>
#include <allot/policy/sentinel.hpp>

namespace allot {

/// Why a request can never be served: it needs more pages than there are.
struct admission_refusal {
  usable_pages needed{};
  usable_pages available{};
};

/// Whether a request of `input` prompt tokens and up to `output` generated ones fits a pool that
/// nobody else uses. A longer one must be refused at once: queued, it would wait for ever.
///
/// \param input   >= 0 tokens
/// \param output  >= 0 tokens
/// \returns  the pages it takes when it is fully generated, or both numbers
/// \source   cases admit-1..3: whole pages per request, never tokens summed over requests
constexpr result<usable_pages, admission_refusal> can_serve(paging const& policy,
                                                            usable_pages available, tokens input,
                                                            tokens output) {
  auto const total = input + output;
  usable_pages const needed = total ? policy.pages_for(*total) : usable_pages{unlimited};
  if (needed <= available) { return result<usable_pages, admission_refusal>::success(needed); }
  return result<usable_pages, admission_refusal>::failure({needed, available});
}

}  // namespace allot
