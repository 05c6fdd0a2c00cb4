// SPDX-License-Identifier: Apache-2.0
#include <allot/runtime/slot_mapping.hpp>

#include <algorithm>

namespace allot::runtime {

result<tokens, table_fault> slot_mapping::fill(std::span<appended_tokens const> batch,
                                               std::span<std::int64_t> out) noexcept {
  using outcome = result<tokens, table_fault>;
  auto const room = static_cast<std::int64_t>(out.size());
  ++batches_;
  std::int64_t total = 0;
  for (auto const& [row, count] : batch) {
    table_fault why{.row = row};
    // A table that was replaced by a larger one has rows that this mapping does not know.
    if (!table_->has_row(row) || row >= static_cast<std::int64_t>(batch_of_row_.size())) {
      why.limit = table_->requests();
      return outcome::failure(why);
    }
    std::uint64_t& last_batch = batch_of_row_[static_cast<std::size_t>(row)];
    if (last_batch == batches_) {
      why.code = table_error::repeated_row;
      return outcome::failure(why);
    }
    last_batch = batches_;
    std::int64_t const start = table_->kv_len(row).count;
    std::int64_t const holds = table_->capacity(row).count;
    if (count < 0 || count > holds - start) {
      why.code = table_error::beyond_capacity;
      why.asked = count < 0 ? count : count > INT64_MAX - start ? INT64_MAX : start + count;
      why.limit = holds;
      return outcome::failure(why);
    }
    if (count > room - total) {
      why.code = table_error::batch_full;
      why.asked = total + count;
      why.limit = room;
      return outcome::failure(why);
    }
    total += count;
  }

  std::int64_t const page_tokens = table_->pool().policy.page_tokens;
  auto next = out.begin();
  for (auto const& [row, count] : batch) {
    auto const pages = table_->row(row);
    std::int64_t position = table_->kv_len(row).count;
    std::int64_t const end = position + count;
    while (position < end) {
      std::int64_t const column = position / page_tokens;
      std::int64_t const stop = std::min(end, (column + 1) * page_tokens);
      std::int64_t const page = pages[static_cast<std::size_t>(column)];
      // As int64 before the first product: page ids times page tokens pass 2^31.
      std::int64_t slot = page * page_tokens + position % page_tokens;
      for (; position < stop; ++position) {
        *next++ = slot++;
      }
    }
  }
  std::fill(next, out.end(), no_slot);
  return outcome::success({total});
}

}  // namespace allot::runtime
