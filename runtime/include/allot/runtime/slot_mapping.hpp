// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/core/result.hpp>
#include <allot/core/units.hpp>
#include <allot/runtime/block_table.hpp>
#include <allot/runtime/table_fault.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace allot::runtime {

/// New tokens of one request: they go behind the `kv_len` of its row.
struct appended_tokens {
  std::int64_t row = 0;
  std::int64_t count = 0;  ///< tokens  [>= 0]
};

/// Where the next tokens of a batch are written: `page * page_tokens + offset` for each, in a pool
/// of any size. Reads the host side of a block table, which must outlive it. Not thread-safe.
class slot_mapping {
 public:
  static constexpr std::int64_t no_slot = -1;  ///< of padding: the kernel writes nothing

  /// \errors  std::bad_alloc
  explicit slot_mapping(block_table const& table)
      : table_{&table}, batch_of_row_(static_cast<std::size_t>(table.requests())) {}

  /// Slots of the tokens that follow each request's `kv_len`, request after request; behind them
  /// the padding of a batch of captured size. The lengths are left as they are: `set_kv_len` comes
  /// next.
  ///
  /// \param batch  a row at most once
  /// \param out    [tokens of the captured size] slots; as it was, on an error
  /// \returns      tokens mapped; the rest of `out` is `no_slot`
  /// \errors       bad_row, repeated_row, beyond_capacity (the length the row would reach, and the
  ///               tokens its pages hold), batch_full; allocates nothing
  /// \cost         O(out + batch)
  result<tokens, table_fault> fill(std::span<appended_tokens const> batch,
                                   std::span<std::int64_t> out) noexcept;

 private:
  block_table const* table_;
  std::vector<std::uint64_t> batch_of_row_;  // [requests] the last batch that had the row
  std::uint64_t batches_ = 0;
};

}  // namespace allot::runtime
