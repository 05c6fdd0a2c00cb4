// SPDX-License-Identifier: Apache-2.0
// Proves the byte formulas against published numbers.
// Guards: a draft model priced with the target's heads, an index slab nobody priced, K counted
// twice for a latent cache, an element size that was assumed (cases quant-*, mla-*, draft-*, tp-*).

#include "fixtures.hpp"

namespace {

using namespace proofs;

// quant-1: 28 layers of 8 x 128: fp8 halves the bytes.
constexpr gqa qwen{.layers = 28, .kv_heads = 8, .head_dim = 128};
constexpr gqa qwen_fp8{.layers = 28, .kv_heads = 8, .head_dim = 128, .dtype = element::fp8};
static_assert(qwen.token_bytes().value == 114'688 && qwen_fp8.token_bytes().value == 57'344);

// quant-2: fp8 rows with 4-byte scales, and a bf16 index slab of 64 B a token a layer.
constexpr gqa scaled{.layers = 12,
                     .kv_heads = 2,
                     .head_dim = 256,
                     .dtype = element::fp8,
                     .scale_bytes = 4,
                     .index = index_slab{32, 12},
                     .page_tokens = 64,
                     .sentinel_pages = 0};
static_assert(scaled.token_bytes().value + scaled.index->token_bytes().value == 13'248);
static_assert(kv_bytes(make_table(scaled), 1).value == 847'872);

// mla-1: a latent row is one row, not a K and a V.
static_assert(mla{.layers = 27, .latent_dim = 576}.token_bytes().value * 32'768 == 1'019'215'872);
// mla-2: 61 layers of 656 B and an index row of 132 B, which was not priced.
constexpr mla sparse{.layers = 61,
                     .latent_dim = 656,
                     .dtype = element::fp8,
                     .index = index_slab{132, 61, element::fp8},
                     .sentinel_pages = 0};
static_assert(kv_bytes(make_table(sparse), 1'462'784).value == 70'313'101'312);
// draft-2: the prediction layer keeps a cache too: 79 layers, not 78.
static_assert(mla{.layers = 79, .latent_dim = 576}.token_bytes().value * 202'752 == 18'452'054'016);

// draft-1: the draft model's own heads beside the target's 65536 B a token.
constexpr std::int64_t with_draft(std::int64_t heads) {
  return 65'536 + gqa{.layers = 5, .kv_heads = heads, .head_dim = 128}.token_bytes().value;
}
static_assert(with_draft(2) == 70'656 && with_draft(4) == 75'776 && with_draft(8) == 86'016);

// tp-1: a share of the heads, or one head replicated; otherwise no split.
static_assert(local_heads(8, 4).value == 2 && local_heads(8, 8).value == 1);
static_assert(local_heads(8, 16).value == 1 && local_heads(2, 4).value == 1);
static_assert(local_heads(1, 8).value == 1 && local_heads(8, 32).value == 1);
static_assert(!local_heads(8, 3) && !local_heads(6, 4));

// K and V of different widths; V is K; a half-byte row rounds up to whole bytes.
static_assert(
    gqa{.layers = 1, .kv_heads = 1, .head_dim = 192, .v_head_dim = 128}.token_bytes().value == 640);
static_assert(gqa{.layers = 1, .kv_heads = 1, .head_dim = 192, .v_head_dim = 0, .scale_bytes = 4}
                  .token_bytes()
                  .value == 388);
static_assert(row_bytes(element::fp4, 5).value == 3 && row_bytes(element::fp4, 6).value == 3);

// Gated delta net: docs/formulas.md, 46 layers of 4 heads on one rank.
constexpr recurrent_state delta{.layers = 46,
                                .key_heads = 4,
                                .value_heads = 4,
                                .key_head_dim = 64,
                                .value_head_dim = 128,
                                .conv_kernel = 4,
                                .max_running = 32};
static_assert(delta.conv_bytes().value + delta.recurrent_bytes().value == 6'311'936);
static_assert(delta.slots().usable().value == 32);

// The other kinds by hand, on one of two ranks: taps of bf16, matrices of fp32.
constexpr recurrent_state mamba2{.kind = state_kind::mamba2,
                                 .layers = 23,
                                 .heads = 64,
                                 .head_dim = 64,
                                 .groups = 8,
                                 .state_dim = 128,
                                 .conv_kernel = 4,
                                 .tp = 2};
static_assert(mamba2.conv_bytes() == checked{23 * (32 * 64 + 2 * 4 * 128) * 3 * 2});
static_assert(mamba2.recurrent_bytes() == checked{23 * 32 * 64 * 128 * 4});
constexpr recurrent_state mamba1{.kind = state_kind::mamba1,
                                 .layers = 28,
                                 .inner_dim = 8192,
                                 .state_dim = 16,
                                 .conv_kernel = 4,
                                 .tp = 2};
static_assert(mamba1.conv_bytes() == checked{28 * 4096 * 3 * 2});
static_assert(mamba1.recurrent_bytes() == checked{28 * 4096 * 16 * 4});
// KDA is a gated delta net whose keys and values are of one size.
constexpr recurrent_state kda{
    .kind = state_kind::kda, .layers = 69, .heads = 96, .head_dim = 128, .conv_kernel = 4, .tp = 2};
constexpr recurrent_state as_delta{.layers = 69,
                                   .key_heads = 96,
                                   .value_heads = 96,
                                   .key_head_dim = 128,
                                   .value_head_dim = 128,
                                   .conv_kernel = 4,
                                   .tp = 2};
static_assert(kda.conv_bytes() == as_delta.conv_bytes());
static_assert(kda.recurrent_bytes() == as_delta.recurrent_bytes());
// A dimension of another kind is refused, not passed over.
static_assert(make_table(gqa{.layers = 1, .kv_heads = 1, .head_dim = 64},
                         recurrent_state{.kind = state_kind::kda,
                                         .layers = 1,
                                         .heads = 2,
                                         .head_dim = 4,
                                         .groups = 2,
                                         .conv_kernel = 4})
                  .rest.found.at.field == "groups");
static_assert(state_slots_rule{.max_running = 32, .prefix_cached = true, .snapshot_ratio = 3.0}
                  .usable()
                  .value == 224);
static_assert(state_slots_rule{.max_running = 8, .prefix_cached = true, .snapshot_ratio = 0.1}
                  .usable()
                  .value == 36);  // at least four snapshots

// Experts: what one slot holds.
static_assert(expert_bytes(expert_format::bf16, 2048, 768).value == 9'437'184);
static_assert(expert_bytes(expert_format::q4_0, 2048, 768).value == 2'654'208);
static_assert(expert_bytes(expert_format::q8_0, 2048, 768).value == 5'013'504);
static_assert(expert_bytes(expert_format::q4_k, 2048, 768).value == 2'654'208);
static_assert(expert_bytes(expert_format::mxfp4, 2048, 768).value == 2'506'752);
static_assert(expert_bytes(expert_format::fp8_block128, 7168, 2048).value == 44'045'568);
static_assert(expert_bytes(expert_format::nvfp4, 2560, 640).value == 2'772'480);
constexpr bytes banks[] = {bytes{100}, bytes{28}};
static_assert(sum_of_banks(banks).value == 128);

}  // namespace
