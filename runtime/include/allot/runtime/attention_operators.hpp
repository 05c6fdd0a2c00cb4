// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/attention/calls.hpp>

namespace allot::runtime {

/// The kernels of one backend: what `attention` calls once it has checked everything, and where
/// other kernels for the same calls are put in. Calls are issued in order and may return before
/// they are done; none allocates, none reads on the host what the device has, and each can be
/// captured in a graph.
///
/// \requires  of every call: what `attention` checks
/// \errors    backend_error, of every call
class attention_operators {
 public:
  attention_operators() = default;
  attention_operators(attention_operators const&) = delete;
  attention_operators& operator=(attention_operators const&) = delete;
  virtual ~attention_operators() = default;

  /// Parts that a decode step is cut into, so that all of it is busy.
  ///
  /// \param kv_heads  of this rank  [>= 1]
  virtual std::int64_t decode_parts(std::int64_t kv_heads) const = 0;

  virtual void append(append_call const& call) = 0;
  virtual void decode(decode_call const& call) = 0;
  virtual void prefill(prefill_call const& call) = 0;
  virtual void merge(merge_call const& call) = 0;
  virtual void expand_csr(csr_call const& call) = 0;
};

}  // namespace allot::runtime
