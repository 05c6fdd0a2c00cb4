// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/runtime/attention_operators.hpp>

#include <cuda_runtime_api.h>

#include <cstdint>

namespace allot::runtime::detail {

/// The kernels of attention on a stream of a GPU.
class cuda_attention final : public attention_operators {
 public:
  /// \param stream  of that device; it outlives this
  cuda_attention(cudaStream_t stream, int device);

  std::int64_t decode_parts(std::int64_t kv_heads) const override;
  void append(append_call const& call) override;
  void decode(decode_call const& call) override;
  void prefill(prefill_call const& call) override;
  void merge(merge_call const& call) override;
  void expand_csr(csr_call const& call) override;

 private:
  cudaStream_t stream_;
  int device_;
  int processors_ = 1;  ///< SMs of the device
};

}  // namespace allot::runtime::detail
