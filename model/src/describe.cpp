// SPDX-License-Identifier: Apache-2.0
#include <allot/model/deployment.hpp>
#include <allot/policy/sharding.hpp>

namespace allot::model {
namespace {

std::int64_t sized(checked bytes, char const* what) {
  if (bytes.overflowed) {
    throw deployment_error("", "", std::string{what} + " take more than 2^63 bytes");
  }
  return bytes.value;
}

element kv_element(model_geometry const& model, deployment const& how, model_pools& out) {
  if (how.kv_dtype) { return *how.kv_dtype; }
  if (model.dtype) { return *element_named(*model.dtype); }
  out.notes.emplace_back(
      "the configuration states no dtype: KV rows are taken as bf16 (--kv-dtype)");
  return element::bf16;
}

/// Ranks share the query heads evenly, whatever they do with KV heads.
void check_query_heads(model_geometry const& model, std::int64_t ranks) {
  if (model.heads > 0 && model.heads % ranks != 0) {
    throw deployment_error(
        "tp", std::to_string(ranks),
        "does not divide the " + std::to_string(model.heads) + " query heads; expected a divisor");
  }
}

void describe_kv(model_geometry const& model, deployment const& how, element dtype,
                 model_pools& out) {
  auto const extra = how.prediction_layers ? model.mtp_layers : 0;
  auto const layers = model.full_attention_layers + extra;
  if (!model.mla) {
    gqa kv;
    kv.layers = layers;
    kv.kv_heads = model.kv_heads;
    kv.head_dim = model.head_dim.value_or(0);
    if (model.v_head_dim && *model.v_head_dim != kv.head_dim) { kv.v_head_dim = *model.v_head_dim; }
    kv.dtype = dtype;
    kv.tp = how.tp;
    kv.page_tokens = how.page_tokens;
    // Heads that do not split have no bytes: `solve` refuses them by name.
    if (local_heads(kv.kv_heads, kv.tp)) {
      check_query_heads(model, how.tp);
      out.kv_bytes_per_token = sized(kv.token_bytes(), "the KV rows of a token");
    }
    out.kv = kv;
    return;
  }
  mla kv;
  kv.layers = layers;
  kv.latent_dim = model.mla->latent_dim();
  kv.dtype = dtype;
  kv.page_tokens = how.page_tokens;
  checked bytes = kv.token_bytes();
  if (model.indexer) {
    kv.index =
        index_slab{.head_dim = model.indexer->head_dim, .layers = model.indexer->layers + extra};
    bytes = bytes + kv.index->token_bytes();
  }
  out.kv_bytes_per_token = sized(bytes, "the KV rows of a token");
  out.kv = kv;
}

void describe_state(model_geometry const& model, deployment const& how, model_pools& out) {
  auto const& net = *model.gated_delta;
  recurrent_state state;
  state.layers = net.layers;
  state.key_heads = net.key_heads;
  state.value_heads = net.value_heads;
  state.key_head_dim = net.key_head_dim;
  state.value_head_dim = net.value_head_dim;
  state.conv_kernel = net.conv_kernel;
  if (model.dtype) { state.dtype = *element_named(*model.dtype); }
  if (net.state_dtype) { state.state_dtype = *element_named(*net.state_dtype); }
  state.tp = how.tp;
  state.max_running = how.max_running;
  if (local_heads(state.key_heads, state.tp) && local_heads(state.value_heads, state.tp)) {
    out.state_bytes_per_slot =
        sized(state.conv_bytes() + state.recurrent_bytes(), "the recurrent states of a request");
  }
  out.state = state;
}

expert_format stored_as(model_geometry const& model, deployment const& how, model_pools& out) {
  if (how.experts_stored) { return *how.experts_stored; }
  auto const& quant = model.quant;
  if (!quant.expert_format.empty()) { return *expert_format_named(quant.expert_format); }
  if (quant.algorithm == "MIXED_PRECISION") {
    out.notes.emplace_back(quant.field +
                           " = \"MIXED_PRECISION\" does not say how experts are stored: taken as "
                           "nvfp4 (--expert-format)");
    return expert_format::nvfp4;
  }
  auto const right = "expected one of " + expert_format_names();
  if (!quant.field.empty()) {
    auto const& name = quant.algorithm.empty() ? quant.method : quant.algorithm;
    throw deployment_error("expert-format", "",
                           "missing, and " + quant.field + " = \"" + name +
                               "\" does not say how an expert is stored; " + right);
  }
  if (model.dtype && *model.dtype == "fp32") {
    throw deployment_error("expert-format", "",
                           "missing, and dtype float32 is none of the expert formats; " + right);
  }
  if (!model.dtype) {
    out.notes.emplace_back(
        "the configuration states no dtype: experts are taken as bf16 (--expert-format)");
  }
  return expert_format::bf16;
}

void describe_experts(model_geometry const& model, deployment const& how, model_pools& out) {
  auto const& moe = *model.moe;
  if (moe.intermediate % how.tp != 0) {
    throw deployment_error("tp", std::to_string(how.tp),
                           "does not divide the width of an expert, " +
                               std::to_string(moe.intermediate) +
                               "; expected a divisor of it (each rank keeps its share of every "
                               "expert)");
  }
  auto const inner = moe.intermediate / how.tp;
  out.experts_stored = stored_as(model, how, out);
  auto const block = block_elements(out.experts_stored);
  if (model.hidden % block != 0 || inner % block != 0) {
    throw deployment_error("expert-format", name_of(out.experts_stored),
                           "stores blocks of " + std::to_string(block) + " elements, but hidden " +
                               std::to_string(model.hidden) + " and expert width " +
                               std::to_string(inner) + (how.tp > 1 ? " of one rank" : "") +
                               " are not both multiples of it; expected one of " +
                               expert_format_names());
  }
  expert_bank bank;
  bank.slot_bytes = {
      sized(expert_bytes(out.experts_stored, model.hidden, inner), "an expert's rows")};
  bank.per_layer = moe.experts;
  bank.layers = moe.layers;
  out.experts = bank;
}

}  // namespace

model_pools describe(model_geometry const& model, deployment const& how) {
  model_pools out;
  out.notes = model.notes;
  describe_kv(model, how, kv_element(model, how, out), out);
  if (model.gated_delta) { describe_state(model, how, out); }
  if (model.moe) { describe_experts(model, how, out); }
  if (how.prediction_layers) {
    if (model.mtp_layers == 0) {
      out.notes.emplace_back("--mtp: the configuration names no prediction layers");
    } else if (model.moe) {
      out.notes.emplace_back(
          "--mtp adds the KV rows of prediction layers; their experts are not in the slots (count "
          "them in --weights)");
    }
  }
  return out;
}

}  // namespace allot::model
