// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/runtime/attention_operators.hpp>

namespace allot::runtime::host {

/// Attention on the CPU. It has no state: every call is done when it returns, on all threads that
/// OpenMP gives it, in vectors of the level that `chosen_level` says.
class host_attention final : public attention_operators {
 public:
  std::int64_t decode_parts(std::int64_t kv_heads) const override;
  void append(append_call const& call) override;
  void decode(decode_call const& call) override;
  void prefill(prefill_call const& call) override;
  void merge(merge_call const& call) override;
  void expand_csr(csr_call const& call) override;
};

}  // namespace allot::runtime::host
