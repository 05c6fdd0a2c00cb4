// SPDX-License-Identifier: Apache-2.0
#pragma once

// Small machines with awkward numbers, shared by the proofs. Primes and odd sizes on purpose: a law
// that only holds for powers of two fails here.

#include <allot/allot.hpp>

#include <cstdint>

namespace proofs {

using namespace allot;  // NOLINT: proofs read as the library does
using namespace allot::literals;

/// The plan that motivated the library: pages priced without the sentinel gave 9 slots and 4 pages,
/// and 5 pages were then allocated.
inline constexpr auto seed =
    make_table(raw_pages{.page_bytes = bytes{10}, .page_tokens = 64},
               expert_bank{.slot_bytes = bytes{100}, .per_layer = 2, .layers = 25});

/// Everything at once: two pools with different pages, a state pool, charges, a granularity.
inline constexpr auto mixed =
    make_table(gqa{.layers = 3,
                   .kv_heads = 2,
                   .head_dim = 5,
                   .index = index_slab{3, 2},
                   .page_tokens = 7,
                   .sentinel_pages = 2},
               mla{.layers = 1, .latent_dim = 9, .dtype = element::fp4, .page_tokens = 16},
               recurrent_state{.layers = 2,
                               .key_heads = 2,
                               .value_heads = 4,
                               .key_head_dim = 3,
                               .value_head_dim = 5,
                               .conv_kernel = 4,
                               .max_running = 3},
               expert_bank{.slot_bytes = bytes{997}, .per_layer = 5, .layers = 7},
               charge{"workspace", bytes{1009}}, charge{"draft", bytes{31}})
        .with_granularity(48);

/// The same without experts: a dense model.
inline constexpr auto dense =
    make_table(gqa{.layers = 2, .kv_heads = 1, .head_dim = 13, .v_head_dim = 8, .page_tokens = 3});

/// Calls `law(budget)` for every budget in [from, to] at a prime step, favouring no alignment.
template <class Law>
consteval bool for_budgets(std::int64_t from, std::int64_t to, std::int64_t step, Law law) {
  for (std::int64_t b = from; b <= to; b += step) {
    if (!law(bytes{b})) { return false; }
  }
  return true;
}

}  // namespace proofs
