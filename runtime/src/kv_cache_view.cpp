// SPDX-License-Identifier: Apache-2.0
#include "call_check.hpp"

#include <allot/runtime/kv_cache_view.hpp>

#include <stdexcept>
#include <string>

namespace allot::runtime {
namespace {

using detail::call_check;

/// Bytes from the start of the arena to the layer's part of page 0.
std::int64_t layer_offset(placement const& place, std::string const& name, kv_page const& page,
                          std::int64_t layer) {
  std::int64_t const bytes = page.bytes.value;
  if (place.copies == page.layers && place.row_bytes == bytes) {
    return place.offset + layer * place.copy_stride;
  }
  if (place.copies == 1 && checked{place.row_bytes} == checked{bytes} * page.layers) {
    return place.offset + layer * bytes;
  }
  throw std::invalid_argument(
      "view_layer: '" + name + "' has rows of " + std::to_string(place.row_bytes) + " bytes in " +
      std::to_string(place.copies) + " arrays; a page has " + std::to_string(bytes) +
      " bytes in each of " + std::to_string(page.layers) + " layers");
}

kv_plane plane_at(std::byte* layer, kv_rows const& rows) {
  if (rows.row_bytes == 0) { return {}; }
  return {layer + rows.offset, rows.token_stride, rows.head_stride};
}

std::int32_t narrow(call_check const& check, char const* field, std::int64_t value) {
  check.at_most(field, value, INT32_MAX);
  return static_cast<std::int32_t>(value);
}

}  // namespace

kv_cache view_layer(arena const& memory, std::int64_t extent, kv_page const& page,
                    page_ids const& pool, std::int64_t layer) {
  call_check const check{"view_layer"};
  placement const& place = memory.place(extent);
  if (layer < 0 || layer >= page.layers) {
    throw std::out_of_range("view_layer: layer is " + std::to_string(layer) + "; it must be 0 to " +
                            std::to_string(page.layers - 1));
  }
  if (!page.bytes.ok()) { check.refuse("page.bytes", "2^63 or more", "less"); }
  std::int64_t const offset = layer_offset(place, memory.name(extent), page, layer);
  if (!pool.valid()) { check.refuse("pool", "no set of pages", "a page_allocator's"); }
  if (pool.policy.page_tokens != page.page_tokens) {
    check.refuse("pool.policy.page_tokens", std::to_string(pool.policy.page_tokens),
                 "that of the page, " + std::to_string(page.page_tokens));
  }
  if (pool.physical().count > place.rows) {
    check.refuse(
        "pool.physical", std::to_string(pool.physical().count),
        "at most the rows of '" + memory.name(extent) + "', " + std::to_string(place.rows));
  }
  if (page.k_scales.row_bytes != 0 && page.k_scales.row_bytes != sizeof(float)) {
    check.refuse("scale_bytes", std::to_string(page.k_scales.row_bytes), "0 or 4: scales are fp32");
  }

  std::byte* const at = memory.data() + offset;
  kv_cache out;
  out.k = plane_at(at, page.k);
  out.v = plane_at(at, page.v);
  out.k_scales = plane_at(at, page.k_scales);
  out.v_scales = plane_at(at, page.v_scales);
  out.page_stride = place.row_bytes;
  out.block_stride = place.block_stride;
  out.block_pages = narrow(check, "block_pages", place.block_rows);
  out.first_page = pool.first();
  out.end_page = pool.end();
  out.page_tokens = narrow(check, "page.page_tokens", page.page_tokens);
  out.heads = narrow(check, "page.heads", page.heads);
  out.head_dim = narrow(check, "page.head_dim", page.head_dim);
  out.v_head_dim = narrow(check, "page.v_head_dim", page.v_head_dim);
  out.dtype = page.dtype;
  detail::check_cache(check, out);
  return out;
}

kv_tables tables_of(block_table const& table, std::int64_t requests) {
  if (requests < 0 || requests > table.requests()) {
    throw std::out_of_range("tables_of: requests is " + std::to_string(requests) +
                            "; the table has " + std::to_string(table.requests()) + " rows");
  }
  return {.pages = table.device_data(),
          .kv_len = table.device_kv_len(),
          .row_stride = table.columns(),
          .columns = static_cast<std::int32_t>(table.columns()),
          .requests = static_cast<std::int32_t>(requests)};
}

}  // namespace allot::runtime
