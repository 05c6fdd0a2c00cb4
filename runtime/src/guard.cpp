// SPDX-License-Identifier: Apache-2.0
#include <allot/runtime/guard.hpp>

namespace allot::runtime {

guarded_table::guarded_table(table_view const& t) : rest_{t} {
  extent const of_array{
      .name = "canary", .row_bytes = array_canary_bytes, .rows = {.mul = 0, .at_least = 1}};
  for (std::int64_t i = 0; i < t.pools.size; ++i) {
    pool p = t.pools[i];
    std::int32_t const first = p.first_extent;
    p.first_extent = static_cast<std::int32_t>(extents_.size());
    add(of_array, {});
    std::vector<std::int32_t> places;  // of the pool's extents, in the guarded pool
    for (std::int32_t k = 0; k < p.extents; ++k) {
      extent e = t.extents[first + k];
      bool const alone = block_rows(t, i, e) == 0;
      rows_rule& rule = e.rows;
      if (rule.extent_index >= 0) { rule.extent_index = places[index(rule.extent_index)]; }
      if (rule.at_most_rows_of >= 0) { rule.at_most_rows_of = places[index(rule.at_most_rows_of)]; }
      places.push_back(static_cast<std::int32_t>(extents_.size()) - p.first_extent);
      std::int64_t const copies = e.copies;
      e.copies = copies > 0 ? 1 : 0;
      for (std::int64_t copy = 0; copy == 0 || copy < copies; ++copy) {
        add(e, {first + k, copy});
        add(alone ? of_array : extent{"canary", row_canary_bytes, e.rows}, {});
      }
    }
    p.extents = static_cast<std::int32_t>(extents_.size()) - p.first_extent;
    pools_.push_back(p);
  }
  rest_.kv_line = {};
  rest_.slot_line = {};
}

void guarded_table::add(extent const& e, guarded_extent of) {
  extents_.push_back(e);
  originals_.push_back(of);
}

table_view guarded_table::view() const noexcept {
  table_view t = rest_;
  t.extents = {extents_.data(), static_cast<std::int64_t>(extents_.size())};
  t.pools = {pools_.data(), static_cast<std::int64_t>(pools_.size())};
  return t;
}

}  // namespace allot::runtime
