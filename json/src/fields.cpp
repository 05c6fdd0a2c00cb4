// SPDX-License-Identifier: Apache-2.0
#include "fields.hpp"

#include <allot/policy/arrangement.hpp>
#include <allot/policy/element.hpp>
#include <allot/solve/demand.hpp>
#include <allot/table/tenants.hpp>

#include <iterator>

namespace allot::json {

namespace {

constexpr std::int64_t number(auto e) {
  return static_cast<std::int64_t>(e);
}

constexpr word elements[] = {
    {"fp32", number(element::fp32)}, {"fp16", number(element::fp16)},
    {"bf16", number(element::bf16)}, {"fp8", number(element::fp8)},
    {"int8", number(element::int8)}, {"fp4", number(element::fp4)},
};
constexpr word buffers[] = {
    {"off", number(prefill_buffer::off)},
    {"preferred", number(prefill_buffer::preferred)},
    {"required", number(prefill_buffer::required)},
};
constexpr word objectives[] = {
    {"experts_first", number(objective::experts_first)},
    {"context_first", number(objective::context_first)},
};
constexpr word arrangements[] = {
    {"flat", number(arrangement::flat)},
    {"page_major", number(arrangement::page_major)},
    {"layer_major", number(arrangement::layer_major)},
};
constexpr word state_kinds[] = {
    {"gated_delta", number(state_kind::gated_delta)},
    {"kda", number(state_kind::kda)},
    {"mamba1", number(state_kind::mamba1)},
    {"mamba2", number(state_kind::mamba2)},
};
constexpr word families[] = {
    {"raw", number(read_family::raw)},
    {"gqa", number(read_family::gqa)},
    {"block_sparse", number(read_family::block_sparse)},
    {"mla", number(read_family::mla)},
    {"sliding_window", number(read_family::sliding_window)},
    {"compressed_tiers", number(read_family::compressed_tiers)},
};

constexpr field identity(std::string_view name) {
  return {.name = name, .kind = takes::identity, .right = "a number, a string or null"};
}
constexpr field whole(std::string_view name, std::int64_t lowest) {
  return {.name = name, .kind = takes::whole, .lowest = lowest};
}
constexpr field setting(std::string_view name, std::int64_t lowest) {
  return {.name = name, .kind = takes::whole, .lowest = lowest, .setting = true};
}
constexpr field ratio(std::string_view name, bool share) {
  return {.name = name,
          .kind = takes::ratio,
          .right = share ? std::string_view{"a number above 0 and at most 1"}
                         : std::string_view{"a number of at least 0"},
          .share = share};
}
constexpr field flag(std::string_view name) {
  return {.name = name, .kind = takes::flag, .right = "true or false"};
}
constexpr field text(std::string_view name) {
  return {.name = name, .kind = takes::name, .right = "a string"};
}
constexpr field one_of(std::string_view name, std::span<word const> words,
                       std::string_view right = {}) {
  return {.name = name, .kind = takes::word, .words = words, .right = right};
}
constexpr field object(std::string_view name, place inside) {
  return {.name = name, .kind = takes::object, .inside = inside, .right = "an object"};
}
constexpr field list(std::string_view name, place inside) {
  return {.name = name, .kind = takes::list, .inside = inside, .right = "a list of objects"};
}
constexpr field numbers(std::string_view name) {
  return {.name = name,
          .kind = takes::numbers,
          .inside = place::ratios,
          .right = "a list of integers of at least 0"};
}

constexpr field request_fields[] = {
    identity("id"),
    object("budget", place::budget),
    list("charges", place::charge),
    list("kv", place::pool),
    object("state", place::state),
    object("experts", place::experts),
    object("demand", place::demand),
    one_of("objective", objectives),
    whole("granularity", 1),
    one_of("arrangement", arrangements),
};
static_assert(std::size(request_fields) == at_request::count);
static_assert(request_fields[at_request::kv].name == "kv");
static_assert(request_fields[at_request::granularity].name == "granularity");

constexpr field budget_fields[] = {
    setting("bytes", INT64_MIN),
    whole("baseline_bytes", 0),
    ratio("ratio", true),
    whole("resident_bytes", 0),
};
static_assert(std::size(budget_fields) == at_budget::count);
static_assert(budget_fields[at_budget::ratio].name == "ratio");

constexpr field charge_fields[] = {text("name"), setting("bytes", 0)};
static_assert(std::size(charge_fields) == at_charge::count);

constexpr field pool_fields[] = {
    one_of("family", families),
    text("name"),
    whole("page_tokens", 1),
    whole("sentinel_pages", 0),
    whole("page_bytes", 1),
    whole("layers", 1),
    whole("kv_heads", 1),
    whole("head_dim", 1),
    whole("v_head_dim", 0),
    one_of("dtype", elements),
    setting("tp", 1),
    whole("scale_bytes", 0),
    object("index", place::index),
    whole("latent_dim", 1),
    whole("window_tokens", 1),
    setting("prefill_chunk_tokens", 1),
    setting("max_running", 1),
    ratio("ratio", true),
    setting("pinned_tokens", 1),
    flag("prefix_cached"),
    setting("retain_gap", 0),
    setting("eviction_interval", 0),
    whole("sentinel_rows", 0),
    whole("map_bytes", 0),
    whole("index_head_dim", 1),
    numbers("compress_ratios"),
    ratio("window_ratio", true),
    setting("pinned_pages", 1),
    whole("max_seq_tokens", 1),
};
static_assert(std::size(pool_fields) == at_pool::count && at_pool::count <= most_fields);
static_assert(pool_fields[at_pool::max_seq_tokens].name == "max_seq_tokens");
static_assert(pool_fields[at_pool::compress_ratios].name == "compress_ratios");
static_assert(pool_fields[at_pool::page_bytes].name == "page_bytes");
static_assert(pool_fields[at_pool::dtype].name == "dtype");
static_assert(pool_fields[at_pool::latent_dim].name == "latent_dim");

constexpr field index_fields[] = {whole("head_dim", 1), whole("layers", 1),
                                  one_of("dtype", elements)};
static_assert(std::size(index_fields) == at_index::count);

constexpr field state_fields[] = {
    one_of("kind", state_kinds),
    text("name"),
    whole("layers", 1),
    whole("key_heads", 1),
    whole("value_heads", 1),
    whole("key_head_dim", 1),
    whole("value_head_dim", 1),
    whole("heads", 1),
    whole("head_dim", 1),
    whole("groups", 1),
    whole("inner_dim", 1),
    whole("state_dim", 1),
    whole("conv_kernel", 1),
    one_of("dtype", elements),
    one_of("state_dtype", elements),
    setting("tp", 1),
    setting("max_running", 1),
    ratio("snapshot_ratio", false),
    flag("prefix_cached"),
    whole("sentinel_slots", 0),
    setting("slots", 1),
};
static_assert(std::size(state_fields) == at_state::count);
static_assert(state_fields[at_state::state_dim].name == "state_dim");
static_assert(state_fields[at_state::conv_kernel].name == "conv_kernel");
static_assert(state_fields[at_state::max_running].name == "max_running");
static_assert(state_fields[at_state::slots].name == "slots");

constexpr field experts_fields[] = {
    whole("slot_bytes", 1),
    list("banks", place::bank),
    whole("per_layer", 1),
    whole("layers", 1),
    setting("max_slots", 1),
    setting("slots", 1),
    one_of("prefill_buffer", buffers),
};
static_assert(std::size(experts_fields) == at_experts::count);
static_assert(experts_fields[at_experts::slots].name == "slots");

constexpr field bank_fields[] = {whole("rows_bytes", 1)};
static_assert(std::size(bank_fields) == at_bank::count);

constexpr field demand_fields[] = {
    setting("min_tokens", 0),    setting("min_usable_pages", 0),
    setting("target_tokens", 0), setting("max_tokens", 0),
    setting("pages", 1),         setting("tokens", 1),
};
static_assert(std::size(demand_fields) == at_demand::count);
static_assert(demand_fields[at_demand::pages].name == "pages");

constexpr std::span<field const> objects[places] = {
    request_fields, budget_fields,  charge_fields, pool_fields,   index_fields,
    state_fields,   experts_fields, bank_fields,   demand_fields, {},
};
static_assert(objects[static_cast<int>(place::demand)].data() == demand_fields);

constexpr field_set paged =
    set_of(at_pool::family, at_pool::name, at_pool::page_tokens, at_pool::sentinel_pages);
constexpr field_set gqa_needed =
    set_of(at_pool::layers, at_pool::kv_heads, at_pool::head_dim, at_pool::dtype);
constexpr field_set gqa_allowed =
    paged | gqa_needed |
    set_of(at_pool::v_head_dim, at_pool::tp, at_pool::scale_bytes, at_pool::index);
constexpr field_set mla_needed = set_of(at_pool::layers, at_pool::latent_dim, at_pool::dtype);
constexpr field_set window_needed =
    set_of(at_pool::layers, at_pool::kv_heads, at_pool::head_dim, at_pool::dtype,
           at_pool::window_tokens, at_pool::max_running);
constexpr field_set window_allowed =
    window_needed | set_of(at_pool::family, at_pool::name, at_pool::v_head_dim, at_pool::tp,
                           at_pool::prefill_chunk_tokens, at_pool::ratio, at_pool::pinned_tokens,
                           at_pool::prefix_cached, at_pool::retain_gap, at_pool::eviction_interval,
                           at_pool::sentinel_rows, at_pool::map_bytes);
constexpr field_set tiers_needed = set_of(
    at_pool::head_dim, at_pool::index_head_dim, at_pool::compress_ratios, at_pool::window_tokens,
    at_pool::max_running, at_pool::max_seq_tokens, at_pool::prefix_cached);
constexpr family_fields family_table[] = {
    {"raw", set_of(at_pool::page_bytes), paged | set_of(at_pool::page_bytes)},
    {"gqa", gqa_needed, gqa_allowed},
    {"block_sparse", gqa_needed | set_of(at_pool::index), gqa_allowed},
    {"mla", mla_needed, paged | mla_needed | set_of(at_pool::index)},
    {"sliding_window", window_needed, window_allowed},
    {"compressed_tiers", tiers_needed,
     paged | tiers_needed | set_of(at_pool::window_ratio, at_pool::pinned_pages)},
};

constexpr field_set state_needed = set_of(at_state::layers, at_state::conv_kernel, at_state::dtype);
constexpr field_set state_allowed =
    state_needed | set_of(at_state::kind, at_state::name, at_state::state_dtype, at_state::tp,
                          at_state::max_running, at_state::snapshot_ratio, at_state::prefix_cached,
                          at_state::sentinel_slots, at_state::slots);
constexpr field_set gated_dims = set_of(at_state::key_heads, at_state::value_heads,
                                        at_state::key_head_dim, at_state::value_head_dim);
constexpr field_set kda_dims = set_of(at_state::heads, at_state::head_dim);
constexpr field_set mamba1_dims = set_of(at_state::inner_dim, at_state::state_dim);
constexpr field_set mamba2_dims = kda_dims | set_of(at_state::groups, at_state::state_dim);
constexpr family_fields state_table[] = {
    {"gated_delta", state_needed | gated_dims, state_allowed | gated_dims},
    {"kda", state_needed | kda_dims, state_allowed | kda_dims},
    {"mamba1", state_needed | mamba1_dims, state_allowed | mamba1_dims},
    {"mamba2", state_needed | mamba2_dims, state_allowed | mamba2_dims},
};

}  // namespace

std::span<field const> fields_of(place p) {
  return objects[static_cast<int>(p)];
}

family_fields const& fields_of(read_family f) {
  return family_table[static_cast<int>(f)];
}

family_fields const& fields_of(state_kind k) {
  return state_table[static_cast<int>(k)];
}

}  // namespace allot::json
