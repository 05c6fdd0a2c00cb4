// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/core/maybe.hpp>
#include <allot/core/result.hpp>
#include <allot/core/units.hpp>
#include <allot/runtime/backend.hpp>
#include <allot/runtime/memory_resource.hpp>
#include <allot/runtime/page_ids.hpp>
#include <allot/runtime/table_fault.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace allot::runtime {

/// The pages of every request, where kernels read them: `int32 table[requests][columns]` and
/// `int32 kv_len[requests]`. The rows are written on the host and the changed ones uploaded, to an
/// address that never changes, so that a captured graph goes on reading the right ones.
///
/// Columns past a row's last page always hold the padding value, on the host and, from construction
/// on, on the device: no stale id is ever in reach of a graph captured at full width. Pages belong
/// to whoever allocated them; the table neither takes nor releases any. An operation does all it
/// says or returns a `table_fault` and changes nothing; none allocates. Not thread-safe. One that
/// was moved from may only be assigned to or destroyed.
///
///     block_table table{device, pinned, gpu, pages.pool(), 256, tokens{40'960}};
///     auto const page = pages.allocate();
///     if (page && table.append(row, *page) && table.set_kv_len(row, tokens{17})) {
///       table.upload();  // then launch; change rows again only after gpu.wait()
///     }
class block_table {
 public:
  /// Bytes it takes of the device, and as many of the host: for a `charge` in the plan.
  ///
  /// \param requests  rows                        [>= 0]
  /// \param longest   tokens of one request       [>= 0]
  static constexpr checked_quantity<unit::byte> bytes_for(paging policy, std::int64_t requests,
                                                          tokens longest) {
    checked const table = checked{requests} * policy.pages_for(longest).count * cell_bytes;
    return {round_up(table, alignment_bytes) + checked{requests} * cell_bytes};
  }

  /// Rows without pages, on the device as well. Waits for the backend.
  ///
  /// \param device    holds what kernels read
  /// \param host      holds what is uploaded: pinned for a GPU
  /// \param requests  rows: requests that can run at once         [1, INT32_MAX]
  /// \param longest   tokens of the longest request that will be admitted, which the pool must be
  ///                  able to serve when nobody else uses it; columns are its pages
  /// \param padding   of unused columns: a sentinel page, or `no_page`; the pool's first sentinel
  ///                  when not given
  /// \errors  std::invalid_argument with the numbers, also where whole pages of a row hold more
  ///          tokens than an int32 counts; allocation_error, backend_error, std::bad_alloc
  block_table(memory_resource& device, memory_resource& host, backend& on, page_ids const& pool,
              std::int64_t requests, tokens longest, maybe<page_id> padding = {});

  std::int64_t requests() const noexcept { return requests_; }
  std::int64_t columns() const noexcept { return columns_; }
  page_ids const& pool() const noexcept { return pool_; }
  page_id padding() const noexcept { return padding_; }
  bool has_row(std::int64_t row) const noexcept { return 0 <= row && row < requests_; }

  /// The pages of a row, of the host.  // [pages] page ids
  ///
  /// \requires  has_row(row), here and in the next two
  std::span<page_id const> row(std::int64_t row) const noexcept {
    return {cells(row), static_cast<std::size_t>(used_[index(row)])};
  }
  tokens kv_len(std::int64_t row) const noexcept { return {lengths()[row]}; }

  /// Tokens that the pages of a row hold.
  tokens capacity(std::int64_t row) const noexcept {
    return {used_[index(row)] * pool_.policy.page_tokens};
  }

  std::int32_t const* host_data() const noexcept { return cells(0); }       // [requests, columns]
  std::int32_t const* device_data() const noexcept { return on_device(); }  // [requests, columns]
  std::int32_t const* device_kv_len() const noexcept {                      // [requests] tokens
    return on_device() + lengths_at_;
  }

  /// Replaces all pages of a row, and its length.
  ///
  /// \param pages   [<= columns] page ids; may be part of this row as it is
  /// \param length  tokens that are in them already, of a shared prefix
  /// \returns  tokens the row holds now, here and below
  /// \errors   bad_row, row_full, foreign_page, beyond_capacity
  result<tokens, table_fault> assign(std::int64_t row, std::span<page_id const> pages,
                                     tokens length = {0}) noexcept;

  /// Adds a page behind the last one.
  ///
  /// \errors  bad_row, row_full, foreign_page
  result<tokens, table_fault> append(std::int64_t row, page_id page) noexcept;

  /// Puts another page in the place of one: the copy that was made before a write.
  ///
  /// \errors  bad_row, bad_column, foreign_page
  result<tokens, table_fault> replace(std::int64_t row, std::int64_t column, page_id page) noexcept;

  /// Tokens kernels attend to, or start appending behind.
  ///
  /// \errors  bad_row, beyond_capacity
  result<tokens, table_fault> set_kv_len(std::int64_t row, tokens length) noexcept;

  /// Takes all pages out of a row; its length is 0.
  ///
  /// \errors  bad_row
  result<tokens, table_fault> clear(std::int64_t row) noexcept;

  /// Exchanges two rows, lengths too.
  ///
  /// \returns  tokens that row `a` holds now
  /// \errors   bad_row
  result<tokens, table_fault> swap(std::int64_t a, std::int64_t b) noexcept;

  /// Puts a row in the place of another, whose pages are dropped, and clears it.
  ///
  /// \returns  tokens that row `to` holds now
  /// \errors   bad_row
  result<tokens, table_fault> move(std::int64_t from, std::int64_t to) noexcept;

  /// Issues the copies that bring the device up to date: one for each run of changed rows, one for
  /// the lengths. Does not wait: change no row until the backend's `wait`, for the copies read
  /// them.
  ///
  /// \returns  bytes issued; 0 when nothing has changed
  /// \errors   backend_error; what was to be uploaded still is, so it can be called again
  /// \cost     O(requests) and whole rows of the changed ones
  std::int64_t upload();

 private:
  static constexpr std::int64_t cell_bytes = sizeof(std::int32_t);
  static constexpr std::int64_t alignment_bytes = 16;  // of the lengths behind the table

  static std::size_t index(std::int64_t row) noexcept { return static_cast<std::size_t>(row); }
  std::int32_t* on_host() const noexcept {
    return reinterpret_cast<std::int32_t*>(host_.data());  // NOLINT(*-reinterpret-cast)
  }
  std::int32_t* on_device() const noexcept {
    return reinterpret_cast<std::int32_t*>(device_.data());  // NOLINT(*-reinterpret-cast)
  }
  std::int32_t* cells(std::int64_t row) const noexcept { return on_host() + row * columns_; }
  std::int32_t* lengths() const noexcept { return on_host() + lengths_at_; }

  void pad(std::int64_t row, std::int64_t from_column, std::int64_t to_column) noexcept;
  void touch(std::int64_t row) noexcept { dirty_[index(row)] = 1; }
  void put_length(std::int64_t row, std::int64_t length) noexcept;
  result<tokens, table_fault> held(std::int64_t row) const noexcept;
  result<tokens, table_fault> no_row(std::int64_t row) const noexcept;

  page_ids pool_;
  std::int64_t requests_;
  std::int64_t columns_;
  std::int64_t lengths_at_;  // in int32 from the start of the table
  page_id padding_;
  backend* on_;
  buffer host_;
  buffer device_;
  std::vector<std::int64_t> used_;   // [requests] pages
  std::vector<std::uint8_t> dirty_;  // [requests] 1: the row is to be uploaded
  std::int64_t first_length_ = 0;    // lengths to be uploaded: [first, end)
  std::int64_t end_length_ = 0;
};

}  // namespace allot::runtime
