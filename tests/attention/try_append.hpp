// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "batch.hpp"

#include <string>
#include <vector>

namespace attention_test {

/// Tokens that go into a pool: rows of K and V, and a slot for each.
class appended {
 public:
  /// \param dtype  of the rows; K and V lie as `odd` says
  appended(kv_shape const& shape, element dtype, std::int64_t tokens, bool odd, dice& d);

  rows_on_card k, v;
  std::vector<std::int64_t> slots;

  allot::append_call call(kv_pool const& pool);              ///< uploads what it names
  void write_slots() const { slots_on_card_.write(slots); }  ///< others for the same call

 private:
  on_card<std::int64_t> slots_on_card_;
};

/// Numbers that an append must take: NaN, infinities, zeros, what saturates, the smallest.
std::vector<code> draw_hard_row(dice& d, element e, std::int64_t dim);

/// Writes into the image of the pool what the tokens must become, and returns what the card has
/// instead; "" when every byte is as it must be. A value that lies halfway between two codes, to
/// fp32, may be either; the scale of a row may be one unit of the last place off.
std::string check_appended(kv_pool& pool, appended const& tokens);

/// An append of random tokens to a pool of the shape.
std::string try_append(attention_shape const& s, tally& seen);

}  // namespace attention_test
