// SPDX-License-Identifier: Apache-2.0
#include "attention_dispatch.hpp"
#include "call_check.hpp"

#include <cmath>
#include <stdexcept>

namespace allot::runtime::detail {
namespace {

constexpr std::int64_t vector_bytes = 16;  // of one load

struct plane_fields {
  char const* data;
  char const* token_stride;
  char const* head_stride;
};
constexpr plane_fields k_fields{"cache.k.data", "cache.k.token_stride", "cache.k.head_stride"};
constexpr plane_fields v_fields{"cache.v.data", "cache.v.token_stride", "cache.v.head_stride"};
constexpr plane_fields k_scale_fields{"cache.k_scales.data", "cache.k_scales.token_stride",
                                      "cache.k_scales.head_stride"};
constexpr plane_fields v_scale_fields{"cache.v_scales.data", "cache.v_scales.token_stride",
                                      "cache.v_scales.head_stride"};

void check_plane(call_check const& check, plane_fields const& fields, kv_plane const& plane,
                 std::int64_t unit, kv_cache const& cache, std::int64_t row_bytes) {
  check.address(fields.data, plane.data, unit);
  check.multiple_of(fields.token_stride, plane.token_stride, unit);
  check.multiple_of(fields.head_stride, plane.head_stride, unit);
  check.apart({fields.token_stride, plane.token_stride, cache.page_tokens},
              {fields.head_stride, plane.head_stride, cache.heads}, row_bytes);
}

void check_scale(call_check const& check, char const* field, float scale, bool is_fp8) {
  check.finite(field, scale);
  if (!(scale > 0)) { check.refuse(field, std::to_string(scale), "above 0"); }
  if (!is_fp8 && scale != 1.0F) {
    check.refuse(field, std::to_string(scale), "1: only an fp8 cache has scales");
  }
}

void check_instance(call_check const& check, kv_cache const& cache) {
  attention_instance const wanted{cache.head_dim, cache.v_head_dim, cache.dtype};
  std::string known;
  for (attention_instance const& instance : attention_instances()) {
    if (instance == wanted) { return; }
    if (instance.dtype != element::bf16) { continue; }
    known += (known.empty() ? "" : ", ") + std::to_string(instance.head_dim) + '/' +
             std::to_string(instance.v_head_dim);
  }
  check.refuse("cache", to_string(wanted), "one of " + known + " in fp16, bf16 or fp8");
}

}  // namespace

void call_check::finite(char const* field, float value) const {
  if (!std::isfinite(value)) { refuse(field, std::to_string(value), "finite"); }
}

void call_check::address(char const* field, void const* value, std::int64_t unit) const {
  if (value == nullptr) { refuse(field, "null", "an address"); }
  auto const past = reinterpret_cast<std::uintptr_t>(value) % static_cast<std::uintptr_t>(unit);
  if (past != 0) {
    refuse(
        field,
        "an address " + std::to_string(past) + " bytes past a multiple of " + std::to_string(unit),
        "a multiple of " + std::to_string(unit));
  }
}

void call_check::not_closer(extent_of_rows const& rows, std::int64_t row_bytes) const {
  std::int64_t const size = rows.stride < 0 ? -(rows.stride + 1) : rows.stride - 1;  // |stride| - 1
  if (rows.count > 1 && size < row_bytes - 1) {
    refuse(rows.field, std::to_string(rows.stride),
           std::to_string(row_bytes) + " or more: rows have so many bytes, and would overlap");
  }
}

void call_check::apart(extent_of_rows const& one, extent_of_rows const& other,
                       std::int64_t row_bytes) const {
  not_closer(one, row_bytes);
  not_closer(other, row_bytes);
  if (one.count < 2 || other.count < 2) { return; }
  auto const size = [](extent_of_rows const& e) {
    return e.stride < 0 ? checked{0} - e.stride : checked{e.stride};
  };
  bool const one_is_inner = size(one) <= size(other);
  extent_of_rows const& inner = one_is_inner ? one : other;
  extent_of_rows const& outer = one_is_inner ? other : one;
  checked const span = size(inner) * (inner.count - 1) + row_bytes;
  if (!(span <= size(outer))) {
    refuse(outer.field, std::to_string(outer.stride),
           span.ok() ? std::to_string(span.value) + " or more: what lies between would overlap"
                     : "less: overflow");
  }
}

void call_check::refuse(std::string const& field, std::string const& value,
                        std::string const& right) const {
  throw std::invalid_argument(std::string{call_} + ": " + field + " is " + value + "; it must be " +
                              right);
}

void check_cache(call_check const& check, kv_cache const& cache) {
  check_instance(check, cache);
  check.at_least("cache.page_tokens", cache.page_tokens, 1);
  check.at_least("cache.heads", cache.heads, 1);
  check.at_least("cache.block_pages", cache.block_pages, 1);
  check.at_least("cache.first_page", cache.first_page, 0);
  check.at_least("cache.end_page", cache.end_page, cache.first_page);
  check.at_least("cache.block_stride", cache.block_stride, vector_bytes);
  check.multiple_of("cache.block_stride", cache.block_stride, vector_bytes);
  if (cache.block_pages > 1) {
    check.at_least("cache.page_stride", cache.page_stride, vector_bytes);
    check.multiple_of("cache.page_stride", cache.page_stride, vector_bytes);
  }
  check_plane(check, k_fields, cache.k, vector_bytes, cache,
              row_bytes(cache.dtype, cache.head_dim).value);
  check_plane(check, v_fields, cache.v, vector_bytes, cache,
              row_bytes(cache.dtype, cache.v_head_dim).value);
  if (cache.v_is_k() && cache.v_head_dim > cache.head_dim) {
    check.refuse("cache.v_head_dim", std::to_string(cache.v_head_dim),
                 "at most head_dim where V is K");
  }

  bool const is_fp8 = cache.dtype == element::fp8;
  check_scale(check, "cache.k_scale", cache.k_scale, is_fp8);
  check_scale(check, "cache.v_scale", cache.v_scale, is_fp8);
  if (cache.k_scales.data == nullptr && cache.v_scales.data == nullptr) { return; }
  if (!is_fp8) {
    check.refuse("cache.k_scales.data", "an address", "null: only an fp8 cache has scales");
  }
  check_plane(check, k_scale_fields, cache.k_scales, sizeof(float), cache, sizeof(float));
  check_plane(check, v_scale_fields, cache.v_scales, sizeof(float), cache, sizeof(float));
}

}  // namespace allot::runtime::detail
