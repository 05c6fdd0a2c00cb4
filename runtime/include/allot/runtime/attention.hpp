// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/attention/calls.hpp>
#include <allot/attention/split_kv.hpp>
#include <allot/core/units.hpp>
#include <allot/runtime/attention_operators.hpp>
#include <allot/runtime/backend.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace allot::runtime {

/// Kernels that a head shape and an element type have.
struct attention_instance {
  std::int32_t head_dim = 0;    ///< elements of a K row
  std::int32_t v_head_dim = 0;  ///< elements of a V row
  element dtype = element::bf16;

  friend bool operator==(attention_instance const&, attention_instance const&) = default;
};

/// Every combination that decode and prefill are compiled for, on every backend.
std::vector<attention_instance> const& attention_instances();

/// "head_dim 128, v_head_dim 128, bf16"
std::string to_string(attention_instance const& instance);

/// KV attention over paged pools: append, decode, prefill, and what joins their results.
///
/// Each call is checked and issued on the backend, and may return before it is done. What it reads
/// stays as it is, and what it writes is not looked at, until the backend's `wait`. Nothing is
/// allocated. On a GPU every call can be captured in a graph, and replayed with other lengths,
/// pages, slots and contents. Counts of 0 do nothing. The results do not depend on how warps or
/// threads are scheduled.
///
/// A row that attends to no key (no tokens, a position before the first one, nothing but sentinel
/// pages) is 0, with an lse of -inf, sinks or not. Cells of pages that hold no token may hold
/// anything, NaN included. Pages that requests are not given are not read, whatever the tables say.
///
/// The lse has the sinks in it where there are sinks: to attend in parts that are merged, give the
/// sinks to the merge alone.
///
///     attention const attend{gpu};
///     kv_cache const layer = view_layer(arena, rows, kv_page_of(family), pages.pool(), 0);
///     attend.append({.cache = layer, .k = …, .v = …, .slots = …, .tokens = 4});
///     attend.decode({.cache = layer, .tables = …, .q = …, .out = …, …});
///
/// \errors  std::invalid_argument for a call that cannot be right: its field, the value, and what
///          would be; backend_error when it cannot be issued
class attention {
 public:
  /// \param on  outlives this
  /// \errors    std::invalid_argument when it has no kernels of attention
  explicit attention(backend& on);

  /// The cut of a decode step that keeps the whole backend busy: even shares.
  ///
  /// \param requests     rows of the batch; of a captured one, with its padding  [>= 0]
  /// \param kv_heads     of this rank                                            [>= 1]
  split_kv split_for(std::int64_t requests, std::int64_t kv_heads) const;

  /// Writes K and V of new tokens into their slots. fp8 is rounded to the nearest and saturates at
  /// 448, and NaN stays NaN. Where the cache has a scale for each token and head, it is chosen so
  /// that the largest element becomes 448.
  void append(append_call const& call) const;

  /// Attention of the last token of each request.
  void decode(decode_call const& call) const;

  /// Attention of several tokens of each request, whose K and V have been appended.
  void prefill(prefill_call const& call) const;

  void merge(merge_call const& call) const;
  void expand_csr(csr_call const& call) const;

 private:
  attention_operators* kernels_;
};

}  // namespace allot::runtime
