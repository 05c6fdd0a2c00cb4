// SPDX-License-Identifier: Apache-2.0
#include <allot/runtime/guard.hpp>

namespace allot::runtime {

guarded_table::guarded_table(table_view const& t) : rest_{t} {
  auto const add = [&](extent const& e, std::int32_t original) {
    extents_.push_back(e);
    originals_.push_back(original);
  };
  extent const of_array{
      .name = "canary", .row_bytes = array_canary_bytes, .rows = {.mul = 0, .at_least = 1}};
  for (std::int64_t i = 0; i < t.pools.size; ++i) {
    pool p = t.pools[i];
    std::int32_t const first = p.first_extent;
    p.first_extent = static_cast<std::int32_t>(extents_.size());
    add(of_array, -1);
    for (std::int32_t k = 0; k < p.extents; ++k) {
      // Between canaries, extent k of the pool is extent 2 k + 1.
      extent e = t.extents[first + k];
      bool const alone = block_rows(t, i, e) == 0;
      if (e.rows.extent_index >= 0) { e.rows.extent_index = 2 * e.rows.extent_index + 1; }
      if (e.rows.at_most_rows_of >= 0) { e.rows.at_most_rows_of = 2 * e.rows.at_most_rows_of + 1; }
      add(e, first + k);
      add(alone ? of_array : extent{"canary", row_canary_bytes, e.rows}, -1);
    }
    p.extents = 2 * p.extents + 1;
    pools_.push_back(p);
  }
  rest_.kv_line = {};
  rest_.slot_line = {};
}

table_view guarded_table::view() const noexcept {
  table_view t = rest_;
  t.extents = {extents_.data(), static_cast<std::int64_t>(extents_.size())};
  t.pools = {pools_.data(), static_cast<std::int64_t>(pools_.size())};
  return t;
}

}  // namespace allot::runtime
