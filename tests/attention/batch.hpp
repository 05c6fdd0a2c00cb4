// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "card.hpp"
#include "reference.hpp"
#include "rows.hpp"
#include "shape.hpp"

#include <allot/attention/calls.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace attention_test {

/// Pages and page table of the requests of a shape, on the card, with K and V drawn.
class cached_batch {
 public:
  cached_batch(attention_shape const& s, dice& d);

  allot::kv_tables tables() const;
  kv_pool const& pool() const { return pool_; }
  kv_pool& pool() { return pool_; }  ///< to write other numbers, and `upload` them
  std::int32_t const* row(std::size_t request) const {
    return table_.data() + static_cast<std::int64_t>(request) * stride_;
  }
  /// Tokens of a request as the operators are told, and those that its row can hold: no more are
  /// attended to. The position of a query is counted from what they are told.
  std::int64_t kv_len(std::size_t request) const { return kv_len_[request]; }
  std::int32_t tokens(std::size_t request) const {
    return tokens_within(kv_len_[request], columns_, pool_.shape().page_tokens);
  }

 private:
  void give_pages(attention_shape const& s, dice& d);
  void write_tokens(attention_shape const& s, dice& d);
  void fill_tails(attention_shape const& s);

  kv_pool pool_;
  std::int64_t stride_;
  std::int32_t columns_;
  std::vector<std::int32_t> table_, kv_len_;
  std::vector<std::int32_t> used_;  // columns of each row that are needed
  on_card<std::int32_t> pages_on_card_, kv_len_on_card_;
};

/// Queries, output, lse and sinks of a call.
struct call_rows {
  call_rows(attention_shape const& s, std::int64_t rows, dice& d);

  rows_on_card q, out;
  on_card<float> lse;        ///< as many as rows * heads
  std::vector<float> sinks;  ///< empty: none
  on_card<float> sinks_on_card;
  bool wants_lse;

  allot::attention_options options(attention_shape const& s) const;
  score_rules rules(attention_shape const& s, std::int32_t query_head) const;

  static float untouched();  ///< what lse holds before
};

/// A workspace of exactly the bytes that are asked for.
class decode_workspace {
 public:
  decode_workspace(attention_shape const& s, std::int64_t bytes, dice& d);

  std::byte* data() const { return memory_.data(); }
  std::int64_t bytes() const { return bytes_; }
  bool canary_lives() const;

 private:
  std::int64_t bytes_;
  bool has_canary_;
  on_card<std::byte> memory_;
};

/// The decode of a shape: everything that the call names.
struct decode_trial {
  explicit decode_trial(attention_shape const& shape);

  allot::decode_call call() const;
  void run() { the_card().attend.decode(call()); }
  void judge_rows(judge& found, std::string const& run = "") const;

  attention_shape s;
  dice d;
  cached_batch cached;
  call_rows rows;
  allot::split_kv split;
  decode_workspace memory;
};

/// The prefill of a shape.
struct prefill_trial {
  explicit prefill_trial(attention_shape const& shape);

  allot::prefill_call call() const;
  void run() { the_card().attend.prefill(call()); }
  void judge_rows(judge& found) const;

  attention_shape s;
  dice d;
  cached_batch cached;
  call_rows rows;
  std::vector<std::int32_t> starts;  ///< first query row of each request, and the end
  on_card<std::int32_t> starts_on_card;
};

/// Runs the call of a shape, and says what is wrong.
judge try_decode(attention_shape const& s);
judge try_prefill(attention_shape const& s);

}  // namespace attention_test
