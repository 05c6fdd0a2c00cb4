// SPDX-License-Identifier: Apache-2.0
#include "host_attention.hpp"
#include "kernel_table.hpp"
#include "parallel.hpp"

#include <allot/runtime/host_backend.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace allot::runtime {

attention_operators* host_backend::attention() noexcept {
  static host::host_attention operators;
  return &operators;
}

namespace host {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float fp8_max = 448.0F;

/// Writes one row to the cache, and its scale where the cache has those.
void append_row(row_kernels const& with, kv_cache const& cache, kv_plane const& rows,
                kv_plane const& scales, float tensor_scale, std::int64_t page, std::int64_t token,
                std::int64_t head, std::byte const* from, element from_dtype, std::int32_t dim) {
  float scale = tensor_scale;
  if (cache.dtype == element::fp8 && scales.data != nullptr) {
    float const most = with.largest(from, from_dtype, dim);
    scale = most > 0 ? most / fp8_max : 1.0F;
    std::byte* const at =
        scales.data + page + token * scales.token_stride + head * scales.head_stride;
    *reinterpret_cast<float*>(at) = scale;
  }
  std::byte* const to = rows.data + page + token * rows.token_stride + head * rows.head_stride;
  with.append(to, cache.dtype, from, from_dtype, dim, scale);
}

/// Rows are merged some elements at a time, so that any row fits.
constexpr std::int32_t merged_elements = 256;

/// What a part's rows are multiplied by; 0 when it has attended to nothing.
struct part_weights {
  merge_call const& call;
  std::int64_t row;  // [rows, heads]
  float maximum = -infinity;
  float sum = 0;

  part_weights(merge_call const& call_, std::int64_t row_, float const* sink)
      : call{call_}, row{row_} {
    bool attended = false;
    for (std::int32_t i = 0; i < call.part_count; ++i) {
      float const lse = lse_of(i);
      if (std::isinf(lse)) { continue; }
      attended = true;
      maximum = std::max(maximum, lse);
    }
    if (!attended) { return; }
    if (sink != nullptr) {
      maximum = std::max(maximum, *sink);
      sum += std::exp(*sink - maximum);
    }
    for (std::int32_t i = 0; i < call.part_count; ++i) {
      sum += of(i);
    }
  }

  float lse_of(std::int32_t part) const {
    constexpr float ln_2 = 0.693147180559945309F;
    float const lse = call.part_lse[part * (std::int64_t{call.rows} * call.heads) + row];
    return call.part_base == lse_base::two ? lse * ln_2 : lse;
  }
  float of(std::int32_t part) const {
    float const lse = lse_of(part);
    return std::isinf(lse) ? 0.0F : std::exp(lse - maximum);
  }
  float lse() const { return sum == 0 ? -infinity : maximum + std::log(sum); }
};

void merge_row(merge_call const& call, row_kernels const& with, std::int64_t r, std::int64_t head) {
  part_weights const weights{call, r * call.heads + head,
                             call.sinks == nullptr ? nullptr : call.sinks + head};
  std::int64_t const part_bytes = bits_of(call.parts.dtype) / 8;
  std::int64_t const out_bytes = bits_of(call.out.dtype) / 8;
  for (std::int32_t at = 0; at < call.dim; at += merged_elements) {
    std::int32_t const count = std::min(merged_elements, call.dim - at);
    float joined[merged_elements] = {};
    for (std::int32_t i = 0; i < call.part_count; ++i) {
      float const weight = weights.of(i);
      if (weight == 0) { continue; }
      std::byte const* const from = call.parts.data + i * call.part_stride +
                                    r * call.parts.row_stride + head * call.parts.head_stride;
      with.add(joined, from + at * part_bytes, count, call.parts.dtype, weight / weights.sum);
    }
    std::byte* const out = call.out.data + r * call.out.row_stride + head * call.out.head_stride;
    with.store(out + at * out_bytes, joined, count, call.out.dtype, 1.0F);
  }
  if (call.lse != nullptr) { call.lse[r * call.heads + head] = weights.lse(); }
}

/// \returns  whether the row makes sense
bool expand_row(csr_call const& call, std::int32_t r) {
  std::int32_t* const pages = call.pages + r * call.row_stride;
  std::int32_t const first = call.starts[r];
  std::int32_t const end = call.starts[r + 1];
  bool sound = 0 <= first && first <= end && end <= call.id_count && end - first <= call.columns;
  std::int32_t count = sound ? end - first : 0;
  std::int32_t length = 0;
  if (count > 0) {
    std::int32_t const last = call.last_page_len[r];
    sound = 1 <= last && last <= call.page_tokens;
    length = sound ? (count - 1) * call.page_tokens + last : 0;
    count = sound ? count : 0;
  }
  for (std::int32_t c = 0; c < call.columns; ++c) {
    pages[c] = c < count ? call.ids[first + c] : call.padding;
  }
  call.kv_len[r] = length;
  return sound;
}

}  // namespace

void host_attention::append(append_call const& call) {
  if (call.tokens == 0) { return; }
  row_kernels const& with = chosen_row_kernels();
  kv_cache const& cache = call.cache;
  each(call.tokens, [&](std::int64_t t) {
    std::int64_t const slot = call.slots[t];
    if (slot < 0 || !cache.holds(slot / cache.page_tokens)) { return; }
    std::int64_t const page =
        cache.page_offset(static_cast<std::int32_t>(slot / cache.page_tokens));
    std::int64_t const token = slot % cache.page_tokens;
    for (std::int32_t h = 0; h < cache.heads; ++h) {
      append_row(with, cache, cache.k, cache.k_scales, cache.k_scale, page, token, h,
                 call.k.data + t * call.k.row_stride + h * call.k.head_stride, call.k.dtype,
                 cache.head_dim);
      if (cache.v_is_k()) { continue; }
      append_row(with, cache, cache.v, cache.v_scales, cache.v_scale, page, token, h,
                 call.v.data + t * call.v.row_stride + h * call.v.head_stride, call.v.dtype,
                 cache.v_head_dim);
    }
  });
}

void host_attention::merge(merge_call const& call) {
  if (call.rows == 0) { return; }
  row_kernels const& with = chosen_row_kernels();
  each(std::int64_t{call.rows} * call.heads,
       [&](std::int64_t row) { merge_row(call, with, row / call.heads, row % call.heads); });
}

void host_attention::expand_csr(csr_call const& call) {
  std::int32_t faults = 0;
  for (std::int32_t r = 0; r < call.requests; ++r) {
    faults += expand_row(call, r) ? 0 : 1;
  }
  *call.faults = faults;
}

}  // namespace host
}  // namespace allot::runtime
