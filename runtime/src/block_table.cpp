// SPDX-License-Identifier: Apache-2.0
#include <allot/describe.hpp>
#include <allot/plan/admission.hpp>
#include <allot/runtime/block_table.hpp>

#include <algorithm>
#include <stdexcept>

namespace allot::runtime {

namespace {

using outcome = result<tokens, table_fault>;

/// The columns of the table, once everything that was asked for makes sense.
std::int64_t checked_columns(page_ids const& pool, std::int64_t requests, tokens longest) {
  std::string const start = "block_table: ";
  if (!pool.valid()) { throw std::invalid_argument(start + "the pool's counts make no pool"); }
  if (requests < 1 || requests > INT32_MAX) {
    throw std::invalid_argument(start + std::to_string(requests) +
                                " requests; 1 to 2147483647 can be rows");
  }
  if (longest.count < 1) {
    throw std::invalid_argument(start + "the longest request is " + std::to_string(longest.count) +
                                " tokens; it is at least 1");
  }
  auto const fits = can_serve(pool.policy, pool.usable, longest, {0});
  if (!fits) {
    throw std::invalid_argument(start + "a request of " + std::to_string(longest.count) +
                                " tokens " + describe(fits.error));
  }
  if (pool.policy.reachable(*fits) > tokens{INT32_MAX}) {
    throw std::invalid_argument(start + std::to_string(fits->count) + " pages of " +
                                std::to_string(pool.policy.page_tokens) +
                                " tokens hold more than the int32 of kv_len counts");
  }
  if (!block_table::bytes_for(pool.policy, requests, longest)) {
    throw std::invalid_argument(start + std::to_string(requests) + " rows of " +
                                std::to_string(fits->count) + " columns are 2^63 bytes or more");
  }
  return fits->count;
}

/// What unused columns name: a sentinel page, or nothing.
page_id checked_padding(page_ids const& pool, maybe<page_id> const& padding) {
  page_id const id = padding.value_or(pool.padding());
  bool const sentinel = 0 <= id && id < pool.physical().count && !pool.hands_out(id);
  if (id != no_page && !sentinel) {
    throw std::invalid_argument("block_table: padding is page " + std::to_string(id) +
                                "; it is a sentinel of the pool, or no_page");
  }
  return id;
}

}  // namespace

block_table::block_table(memory_resource& device, memory_resource& host, backend& on,
                         page_ids const& pool, std::int64_t requests, tokens longest,
                         maybe<page_id> padding)
    : pool_{pool},
      requests_{requests},
      columns_{checked_columns(pool, requests, longest)},
      lengths_at_{round_up(checked{requests} * columns_ * cell_bytes, alignment_bytes).value /
                  cell_bytes},
      padding_{checked_padding(pool, padding)},
      on_{&on},
      host_{host, (*bytes_for(pool.policy, requests, longest)).count},
      device_{device, host_.bytes()},
      used_(static_cast<std::size_t>(requests)),
      dirty_(static_cast<std::size_t>(requests)) {
  require_reach("block_table", on, device);
  // Up to the end of the block: the gap in front of the lengths is defined too.
  std::fill(on_host(), on_host() + lengths_at_, padding_);
  std::fill(lengths(), lengths() + requests_, 0);
  on.upload(device_.data(), host_.data(), host_.bytes());
  on.wait();
}

outcome block_table::held(std::int64_t row) const noexcept {
  return outcome::success(capacity(row));
}

outcome block_table::no_row(std::int64_t row) const noexcept {
  return outcome::failure({.code = table_error::bad_row, .row = row, .limit = requests_});
}

void block_table::pad(std::int64_t row, std::int64_t from_column, std::int64_t to_column) noexcept {
  for (std::int64_t column = from_column; column < to_column; ++column) {
    cells(row)[column] = padding_;
  }
}

void block_table::put_length(std::int64_t row, std::int64_t length) noexcept {
  if (lengths()[row] == length) { return; }
  lengths()[row] = static_cast<std::int32_t>(length);
  bool const none = first_length_ == end_length_;
  first_length_ = none ? row : std::min(first_length_, row);
  end_length_ = none ? row + 1 : std::max(end_length_, row + 1);
}

outcome block_table::assign(std::int64_t row, std::span<page_id const> pages,
                            tokens length) noexcept {
  if (!has_row(row)) { return no_row(row); }
  auto const count = static_cast<std::int64_t>(pages.size());
  if (count > columns_) {
    return outcome::failure(
        {.code = table_error::row_full, .row = row, .asked = count, .limit = columns_});
  }
  for (std::int64_t column = 0; column < count; ++column) {
    page_id const page = pages[index(column)];
    if (!pool_.hands_out(page)) {
      return outcome::failure(
          {.code = table_error::foreign_page, .row = row, .column = column, .page = page});
    }
  }
  std::int64_t const holds = count * pool_.policy.page_tokens;
  if (length.count < 0 || length.count > holds) {
    return outcome::failure(
        {.code = table_error::beyond_capacity, .row = row, .asked = length.count, .limit = holds});
  }
  // Forwards is right for a part of the row itself: it can only move to the front.
  std::ranges::copy(pages, cells(row));
  pad(row, count, used_[index(row)]);
  used_[index(row)] = count;
  touch(row);
  put_length(row, length.count);
  return held(row);
}

outcome block_table::append(std::int64_t row, page_id page) noexcept {
  if (!has_row(row)) { return no_row(row); }
  std::int64_t& used = used_[index(row)];
  if (used == columns_) {
    return outcome::failure(
        {.code = table_error::row_full, .row = row, .asked = used + 1, .limit = columns_});
  }
  if (!pool_.hands_out(page)) {
    return outcome::failure(
        {.code = table_error::foreign_page, .row = row, .column = used, .page = page});
  }
  cells(row)[used++] = page;
  touch(row);
  return held(row);
}

outcome block_table::replace(std::int64_t row, std::int64_t column, page_id page) noexcept {
  if (!has_row(row)) { return no_row(row); }
  if (column < 0 || column >= used_[index(row)]) {
    return outcome::failure({.code = table_error::bad_column,
                             .row = row,
                             .column = column,
                             .limit = used_[index(row)]});
  }
  if (!pool_.hands_out(page)) {
    return outcome::failure(
        {.code = table_error::foreign_page, .row = row, .column = column, .page = page});
  }
  cells(row)[column] = page;
  touch(row);
  return held(row);
}

outcome block_table::set_kv_len(std::int64_t row, tokens length) noexcept {
  if (!has_row(row)) { return no_row(row); }
  if (length.count < 0 || length > capacity(row)) {
    return outcome::failure({.code = table_error::beyond_capacity,
                             .row = row,
                             .asked = length.count,
                             .limit = capacity(row).count});
  }
  put_length(row, length.count);
  return held(row);
}

outcome block_table::clear(std::int64_t row) noexcept {
  return assign(row, {});
}

outcome block_table::swap(std::int64_t a, std::int64_t b) noexcept {
  if (!has_row(a)) { return no_row(a); }
  if (!has_row(b)) { return no_row(b); }
  if (a == b) { return held(a); }
  std::int64_t const longer = std::max(used_[index(a)], used_[index(b)]);
  std::swap_ranges(cells(a), cells(a) + longer, cells(b));
  std::swap(used_[index(a)], used_[index(b)]);
  touch(a);
  touch(b);
  std::int64_t const length_of_a = lengths()[a];
  put_length(a, lengths()[b]);
  put_length(b, length_of_a);
  return held(a);
}

outcome block_table::move(std::int64_t from, std::int64_t to) noexcept {
  if (!has_row(from)) { return no_row(from); }
  if (!has_row(to)) { return no_row(to); }
  if (from == to) { return held(to); }
  if (auto const done = assign(to, row(from), kv_len(from)); !done) { return done; }
  if (auto const done = clear(from); !done) { return done; }
  return held(to);
}

std::int64_t block_table::upload() {
  std::int64_t bytes = 0;
  auto const issue = [&](std::int64_t first_cell, std::int64_t count) {
    on_->upload(on_device() + first_cell, on_host() + first_cell, count * cell_bytes);
    bytes += count * cell_bytes;
  };
  auto const start = dirty_.begin();
  for (auto at = std::find(start, dirty_.end(), 1); at != dirty_.end();) {
    auto const end = std::find(at, dirty_.end(), 0);
    issue((at - start) * columns_, (end - at) * columns_);
    at = std::find(end, dirty_.end(), 1);
  }
  if (first_length_ != end_length_) {
    issue(lengths_at_ + first_length_, end_length_ - first_length_);
  }
  // Only now, for a copy that could not be issued must be tried again.
  std::ranges::fill(dirty_, std::uint8_t{0});
  first_length_ = end_length_ = 0;
  return bytes;
}

std::string describe(table_fault const& fault) {
  std::string const row = "row " + std::to_string(fault.row);
  switch (fault.code) {
    case table_error::bad_row:
      return row + " is not there: rows are 0 to " + std::to_string(fault.limit - 1);
    case table_error::bad_column:
      return row + " has no page in column " + std::to_string(fault.column) + ", it has " +
             std::to_string(fault.limit) + " pages";
    case table_error::row_full:
      return row + " cannot have " + std::to_string(fault.asked) + " pages, the table has " +
             std::to_string(fault.limit) + " columns";
    case table_error::foreign_page:
      return row + ", column " + std::to_string(fault.column) + ": page " +
             std::to_string(fault.page) + " is none that the pool hands out";
    case table_error::beyond_capacity:
      return row + " cannot reach " + std::to_string(fault.asked) + " tokens, its pages hold " +
             std::to_string(fault.limit);
    case table_error::repeated_row: return row + " comes twice in one batch";
    case table_error::batch_full:
      return row + " brings the batch to " + std::to_string(fault.asked) +
             " tokens, it has room for " + std::to_string(fault.limit);
  }
  return "unknown fault";
}

}  // namespace allot::runtime
