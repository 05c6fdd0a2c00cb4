// SPDX-License-Identifier: Apache-2.0
// Proves what attention kernels are told: pages of a layer, keys that a query sees, cuts of a
// batch. Guards: kernels that address a page otherwise than it was priced, windows that are off by
// one (G1), lengths past the table (F1), parts that overlap or miss a block, workspaces that are
// too small.

#include <allot/attention/calls.hpp>
#include <allot/attention/laws.hpp>
#include <allot/attention/visible.hpp>

namespace {

using namespace allot;

// Every order, V of other rows than K, V that is K, scales, ranks.
constexpr bool fills(kv_page const& page) {
  std::uint8_t painted[4096] = {};
  return page.bytes <= checked{4096} && laws::rows_fill_the_page(page, painted);
}
template <class Family, class... Order>
constexpr bool good_page(Family const& f, Order... order) {
  kv_page const page = kv_page_of(f, order...);
  return laws::page_is_priced(f, page) && fills(page);
}
constexpr gqa plain{.layers = 3, .kv_heads = 2, .head_dim = 16, .page_tokens = 4};
constexpr gqa other_v{.layers = 2,
                      .kv_heads = 4,
                      .head_dim = 24,
                      .v_head_dim = std::int64_t{16},
                      .dtype = element::fp8,
                      .tp = 2,
                      .scale_bytes = 4,
                      .page_tokens = 3};
constexpr gqa v_is_k{.layers = 1,
                     .kv_heads = 3,
                     .head_dim = 8,
                     .v_head_dim = std::int64_t{0},
                     .scale_bytes = 4,
                     .page_tokens = 5};
constexpr mla latent{.layers = 2, .latent_dim = 36, .page_tokens = 7};
static_assert(good_page(plain, kv_order::token_major) && good_page(plain, kv_order::head_major));
static_assert(good_page(other_v, kv_order::token_major) &&
              good_page(other_v, kv_order::head_major));
static_assert(good_page(v_is_k, kv_order::token_major) && good_page(v_is_k, kv_order::head_major));
static_assert(good_page(latent, std::int64_t{32}));

// By hand: token 1, head 1 of [4 tokens, 2 heads, 16 elements of bf16], then the V rows.
constexpr kv_page by_hand = kv_page_of(plain);
static_assert(by_hand.k.token_stride == 64 && by_hand.k.head_stride == 32);
static_assert(by_hand.v.offset == 4 * 64 && by_hand.bytes == checked{2 * 4 * 64});
static_assert(kv_page_of(plain, kv_order::head_major).k.head_stride == 4 * 32);
static_assert(kv_page_of(latent, 32).v == kv_page_of(latent, 32).k);
static_assert(kv_page_of(latent, 32).v_head_dim == 32);

// A window's rows are pages of one token.
constexpr sliding_window window{
    .layers = 2, .kv_heads = 2, .head_dim = 16, .window_tokens = 8, .ratio = 0.5};
static_assert(kv_page_of(window).page_tokens == 1);
static_assert(kv_page_of(window).bytes * 2 == window.token_bytes());

// G1: the window of the model is [i - W + 1, i].
static_assert(visible_keys(9, 10, 4, true) == kv_range{6, 10});
static_assert(visible_keys(9, 10, 1, true) == kv_range{9, 10});
static_assert(visible_keys(9, 10, 10, true) == kv_range{0, 10});
static_assert(visible_keys(9, 10, INT32_MAX, true) == kv_range{0, 10});
static_assert(visible_keys(9, 10, 0, true) == kv_range{0, 10});
// A query in the middle sees nothing after itself, unless it may.
static_assert(visible_keys(4, 10, 0, true) == kv_range{0, 5});
static_assert(visible_keys(4, 10, 0, false) == kv_range{0, 10});
// A position before the first key, and one past a length that was cut to the table.
static_assert(visible_keys(-1, 10, 0, true) == kv_range{0, 0});
static_assert(visible_keys(50, 10, 0, true) == kv_range{0, 10});
static_assert(visible_keys(50, 10, 4, true).first == visible_keys(50, 10, 4, true).end);

// F1: a length beyond the row is not followed; E1: of none, nothing is seen.
static_assert(reachable_len(1000, 3, 16) == 48 && reachable_len(47, 3, 16) == 47);
static_assert(reachable_len(INT32_MAX, INT32_MAX, 256) == INT32_MAX);
static_assert(reachable_len(-5, 3, 16) == 0 && reachable_len(7, 0, 16) == 0);

// G4: blocks that a window does not reach are not counted.
static_assert(visible_blocks({0, 0}) == 0 && visible_blocks({0, 1}) == 1);
static_assert(visible_blocks({0, 64}) == 1 && visible_blocks({0, 65}) == 2);
static_assert(visible_blocks({63, 65}) == 2 && visible_blocks({64, 128}) == 1);
static_assert(visible_blocks(visible_keys(99'999, 100'000, 100, true)) == 3);
static_assert(keys_of_blocks({63, 130}, 0, 1) == kv_range{63, 64});
static_assert(keys_of_blocks({63, 130}, 1, 3) == kv_range{64, 130});

// Every cut of some batches, both ways.
constexpr bool all_covered() {
  constexpr std::int32_t batches[][5] = {
      {0, 0, 0, 0, 0}, {1, 1, 1, 1, 1}, {100, 0, 1, 0, 7}, {0, 0, 3, 0, 0}, {1000, 1000, 1, 2, 3}};
  for (auto const& blocks : batches) {
    for (std::int64_t parts = 1; parts <= 24; ++parts) {
      if (!laws::split_covers({.requests = 5, .parts = parts}, blocks)) { return false; }
      split_kv const fixed{.requests = 5, .parts = 5 * parts, .splits_per_request = parts};
      if (!laws::split_covers(fixed, blocks)) { return false; }
    }
  }
  return true;
}
static_assert(all_covered());
static_assert(laws::split_covers({.requests = 0, .parts = 3}, nullptr));

// The workspace by hand: (4 + 8) pieces of 16 heads of 128 + 2 numbers, the parts, the firsts.
static_assert(decode_workspace_bytes({.requests = 4, .parts = 8}, 16, 128) ==
              bytes{12 * 16 * 130 * 4 + 8 * 20 + 5 * 4 + 12});
static_assert(!decode_workspace_bytes({.requests = INT64_MAX, .parts = 8}, 16, 128));

// Page ids that are not given are not held; offsets are 64 bits wide (A1 to A3).
constexpr kv_cache far{.page_stride = 1 << 20,
                       .block_stride = std::int64_t{3} << 20,
                       .block_pages = 3,
                       .first_page = 1,
                       .end_page = 1'000'000};
static_assert(!far.holds(0) && far.holds(1) && far.holds(999'999) && !far.holds(1'000'000));
static_assert(!far.holds(-1) && !far.holds(2'147'480'000));
static_assert(far.page_offset(999'999) == std::int64_t{999'999} << 20);

}  // namespace
