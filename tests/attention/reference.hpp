// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "floats.hpp"
#include "kv_pool.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace attention_test {

/// What is done to scores, for one query head.
struct score_rules {
  double scale = 1.0;
  double soft_cap = 0.0;  ///< 0: none
  std::int32_t window_tokens = 0;
  bool causal = true;
  bool has_sink = false;
  double sink = 0.0;
};

/// K and V of one request and KV head, by position.
struct keys_of_head {
  std::int32_t tokens = 0;
  std::int32_t head_dim = 0, v_head_dim = 0;
  std::vector<float> k, v;              ///< [tokens, dim] as stored
  std::vector<float> k_scale, v_scale;  ///< [tokens]
  std::vector<bool> there;  ///< [tokens] whether the page is one that requests are given
};

/// Looks the pages of a row up.
///
/// \param row     [columns] page ids
/// \param tokens  that the row can hold, at most
keys_of_head keys_of(kv_pool const& pool, std::int32_t const* row, std::int32_t tokens,
                     std::int32_t head);

/// Tokens that are attended of a row: as many as its columns hold, at most.
std::int32_t tokens_within(std::int64_t kv_len, std::int64_t columns, std::int64_t page_tokens);

/// What one row of output must be, and how far from it a result may lie: twice as far as the same
/// arithmetic in fp32, rounded to the type of the output, and a floor of four units of the last
/// place of fp32 for each factor 2 of size: 2^-21 of (1 + the largest score as a sum of
/// magnitudes), which the lse may always be off, and V at most times that.
struct answer {
  std::vector<double> out;
  double lse = 0;
  double out_error = 0;  ///< allowed, of each element
  double lse_error = 0;
};

/// \param position  of the query in its request; below 0 it attends to nothing
answer attend_row(keys_of_head const& keys, std::vector<float> const& q, std::int64_t position,
                  score_rules const& rules, element out_dtype);

/// Collects what is wrong, and how near to the allowed error results came.
class judge {
 public:
  /// "" or what is wrong with a row.
  void row(std::string const& name, answer const& wanted, std::vector<float> const& out,
           float const* lse);
  void fail(std::string const& what);

  std::string const& complaint() const { return complaint_; }  ///< the first one, "" when none
  double worst() const { return worst_; }                      ///< error / allowed

 private:
  void near(double error, double allowed) {
    if (allowed > 0 && error / allowed > worst_) { worst_ = error / allowed; }
  }

  std::string complaint_;
  double worst_ = 0;
};

}  // namespace attention_test
