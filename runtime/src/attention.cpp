// SPDX-License-Identifier: Apache-2.0
#include "attention_dispatch.hpp"
#include "call_check.hpp"

#include <allot/runtime/attention.hpp>

#include <cmath>
#include <stdexcept>
#include <type_traits>

namespace allot::runtime {
namespace {

using detail::call_check;
using detail::check_cache;

constexpr std::int64_t most_heads = 65'535;  // of a grid's second dimension

char const* name_of(element e) {
  switch (e) {
    case element::fp32: return "fp32";
    case element::fp16: return "fp16";
    case element::bf16: return "bf16";
    case element::fp8: return "fp8";
    case element::int8: return "int8";
    case element::fp4: return "fp4";
  }
  return "unknown";
}

enum class floats : std::uint8_t { half, any };

struct rows_fields {
  char const* data;
  char const* row_stride;
  char const* head_stride;
  char const* dtype;
};
constexpr rows_fields q_fields{"q.data", "q.row_stride", "q.head_stride", "q.dtype"};
constexpr rows_fields k_fields{"k.data", "k.row_stride", "k.head_stride", "k.dtype"};
constexpr rows_fields v_fields{"v.data", "v.row_stride", "v.head_stride", "v.dtype"};
constexpr rows_fields out_fields{"out.data", "out.row_stride", "out.head_stride", "out.dtype"};
constexpr rows_fields parts_fields{"parts.data", "parts.row_stride", "parts.head_stride",
                                   "parts.dtype"};

/// How many rows there are, and what they hold.
struct rows_shape {
  std::int64_t rows;
  std::int64_t heads;
  std::int64_t dim;
};

template <class Byte>
void check_rows(call_check const& check, rows_fields const& fields, head_rows<Byte> const& rows,
                floats allowed, rows_shape const& shape) {
  bool const half = rows.dtype == element::fp16 || rows.dtype == element::bf16;
  if (!half && !(allowed == floats::any && rows.dtype == element::fp32)) {
    check.refuse(fields.dtype, name_of(rows.dtype),
                 allowed == floats::any ? "fp16, bf16 or fp32" : "fp16 or bf16");
  }
  std::int64_t const unit = bits_of(rows.dtype) / 8;
  check.address(fields.data, rows.data, unit);
  check.multiple_of(fields.row_stride, rows.row_stride, unit);
  check.multiple_of(fields.head_stride, rows.head_stride, unit);
  call_check::extent_of_rows const along_rows{fields.row_stride, rows.row_stride, shape.rows};
  call_check::extent_of_rows const along_heads{fields.head_stride, rows.head_stride, shape.heads};
  std::int64_t const row = shape.dim * unit;
  if constexpr (std::is_const_v<Byte>) {
    check.not_closer(along_rows, row);
    check.not_closer(along_heads, row);
  } else {
    check.apart(along_rows, along_heads, row);
  }
}

void check_tables(call_check const& check, kv_tables const& tables) {
  check.at_least("tables.columns", tables.columns, 0);
  check.at_least("tables.row_stride", tables.row_stride, tables.columns);
  check.address("tables.kv_len", tables.kv_len, sizeof(std::int32_t));
  if (tables.columns > 0) { check.address("tables.pages", tables.pages, sizeof(std::int32_t)); }
}

void check_options(call_check const& check, attention_options const& options) {
  check.finite("options.scale", options.scale);
  check.finite("options.soft_cap", options.soft_cap);
  if (options.soft_cap < 0) {
    check.refuse("options.soft_cap", std::to_string(options.soft_cap), "at least 0");
  }
  check.at_least("options.window_tokens", options.window_tokens, 0);
  if (options.sinks != nullptr) { check.address("options.sinks", options.sinks, sizeof(float)); }
}

void check_query_heads(call_check const& check, std::int64_t query_heads, kv_cache const& cache) {
  check.at_least("query_heads", query_heads, 1);
  check.at_most("query_heads", query_heads, most_heads);
  check.multiple_of("query_heads", query_heads, cache.heads);
}

void check_lse(call_check const& check, char const* field, float const* lse) {
  if (lse != nullptr) { check.address(field, lse, sizeof(float)); }
}

void check_split(call_check const& check, decode_call const& call) {
  split_kv const& split = call.split;
  if (split.requests != call.tables.requests) {
    check.refuse("split.requests", std::to_string(split.requests),
                 "tables.requests, " + std::to_string(call.tables.requests));
  }
  check.at_least("split.parts", split.parts, 1);
  check.at_least("split.splits_per_request", split.splits_per_request, 0);
  check.at_most("split.parts", split.parts, INT32_MAX - split.requests);
  if (split.splits_per_request > 0 &&
      !(checked{split.parts} == checked{split.requests} * split.splits_per_request)) {
    check.refuse("split.parts", std::to_string(split.parts),
                 "requests * splits_per_request, of " + std::to_string(split.requests) + " and " +
                     std::to_string(split.splits_per_request));
  }
  auto const needed = decode_workspace_bytes(split, call.query_heads, call.cache.v_head_dim);
  if (!needed) { check.refuse("split.parts", std::to_string(split.parts), "fewer: overflow"); }
  check.address("workspace", call.workspace, 16);
  check.at_least("workspace_bytes", call.workspace_bytes, (*needed).count);
}

/// The scale, where it was left to us.
template <class Call>
Call with_scale(Call call) {
  if (call.options.scale == 0) {
    call.options.scale = 1.0F / std::sqrt(static_cast<float>(call.cache.head_dim));
  }
  return call;
}

}  // namespace

std::vector<attention_instance> const& attention_instances() {
  static std::vector<attention_instance> const all = [] {
    constexpr auto table = detail::instance_table([](auto, auto) { return true; });
    std::vector<attention_instance> out;
    for (auto const& row : table) {
      out.push_back(row.instance);
    }
    return out;
  }();
  return all;
}

std::string to_string(attention_instance const& instance) {
  return "head_dim " + std::to_string(instance.head_dim) + ", v_head_dim " +
         std::to_string(instance.v_head_dim) + ", " + name_of(instance.dtype);
}

attention::attention(backend& on) : kernels_{on.attention()} {
  if (kernels_ == nullptr) {
    throw std::invalid_argument(std::string{"attention: the backend '"} + on.name() +
                                "' has no kernels of attention");
  }
}

split_kv attention::split_for(std::int64_t requests, std::int64_t kv_heads) const {
  call_check const check{"split_for"};
  check.at_least("requests", requests, 0);
  check.at_most("requests", requests, INT32_MAX / 2);
  check.at_least("kv_heads", kv_heads, 1);
  return {.requests = requests, .parts = kernels_->decode_parts(kv_heads)};
}

void attention::append(append_call const& call) const {
  call_check const check{"append"};
  check.at_least("tokens", call.tokens, 0);
  check_cache(check, call.cache);
  if (call.tokens == 0) { return; }
  check_rows(check, k_fields, call.k, floats::half,
             {call.tokens, call.cache.heads, call.cache.head_dim});
  if (!call.cache.v_is_k()) {
    check_rows(check, v_fields, call.v, floats::half,
               {call.tokens, call.cache.heads, call.cache.v_head_dim});
  }
  check.address("slots", call.slots, sizeof(std::int64_t));
  kernels_->append(call);
}

void attention::decode(decode_call const& call) const {
  call_check const check{"decode"};
  check.at_least("tables.requests", call.tables.requests, 0);
  check_cache(check, call.cache);
  check_query_heads(check, call.query_heads, call.cache);
  check_options(check, call.options);
  if (call.tables.requests == 0) { return; }
  check_tables(check, call.tables);
  check_rows(check, q_fields, call.q, floats::half,
             {call.tables.requests, call.query_heads, call.cache.head_dim});
  check_rows(check, out_fields, call.out, floats::half,
             {call.tables.requests, call.query_heads, call.cache.v_head_dim});
  check_lse(check, "lse", call.lse);
  check_split(check, call);
  kernels_->decode(with_scale(call));
}

void attention::prefill(prefill_call const& call) const {
  call_check const check{"prefill"};
  check.at_least("tables.requests", call.tables.requests, 0);
  check.at_least("query_rows", call.query_rows, 0);
  check_cache(check, call.cache);
  check_query_heads(check, call.query_heads, call.cache);
  check_options(check, call.options);
  if (!call.causal && call.options.window_tokens > 0) {
    check.refuse("options.window_tokens", std::to_string(call.options.window_tokens),
                 "0 where causal is false");
  }
  if (call.tables.requests == 0 || call.query_rows == 0) { return; }
  check_tables(check, call.tables);
  check.address("q_start", call.q_start, sizeof(std::int32_t));
  check_rows(check, q_fields, call.q, floats::half,
             {call.query_rows, call.query_heads, call.cache.head_dim});
  check_rows(check, out_fields, call.out, floats::half,
             {call.query_rows, call.query_heads, call.cache.v_head_dim});
  check_lse(check, "lse", call.lse);
  kernels_->prefill(with_scale(call));
}

void attention::merge(merge_call const& call) const {
  call_check const check{"merge"};
  check.at_least("part_count", call.part_count, 0);
  check.at_least("rows", call.rows, 0);
  check.at_least("heads", call.heads, 1);
  check.at_most("heads", call.heads, most_heads);
  check.at_least("dim", call.dim, 1);
  if (call.rows == 0) { return; }
  rows_shape const shape{call.rows, call.heads, call.dim};
  if (call.part_count > 0) {
    check_rows(check, parts_fields, call.parts, floats::any, shape);
    std::int64_t const element_bytes = bits_of(call.parts.dtype) / 8;
    check.multiple_of("part_stride", call.part_stride, element_bytes);
    check.not_closer({"part_stride", call.part_stride, call.part_count}, call.dim * element_bytes);
    check.address("part_lse", call.part_lse, sizeof(float));
  }
  check_rows(check, out_fields, call.out, floats::any, shape);
  check_lse(check, "lse", call.lse);
  check_lse(check, "sinks", call.sinks);
  kernels_->merge(call);
}

void attention::expand_csr(csr_call const& call) const {
  call_check const check{"expand_csr"};
  check.at_least("requests", call.requests, 0);
  check.at_least("columns", call.columns, 0);
  check.at_least("row_stride", call.row_stride, call.columns);
  check.at_least("id_count", call.id_count, 0);
  check.at_least("page_tokens", call.page_tokens, 1);
  check.at_most("columns", std::int64_t{call.columns} * call.page_tokens, INT32_MAX);
  check.address("faults", call.faults, sizeof(std::int32_t));
  if (call.requests > 0) {
    check.address("starts", call.starts, sizeof(std::int32_t));
    check.address("kv_len", call.kv_len, sizeof(std::int32_t));
    check.address("last_page_len", call.last_page_len, sizeof(std::int32_t));
    if (call.columns > 0) { check.address("pages", call.pages, sizeof(std::int32_t)); }
    if (call.id_count > 0) { check.address("ids", call.ids, sizeof(std::int32_t)); }
  }
  kernels_->expand_csr(call);
}

}  // namespace allot::runtime
