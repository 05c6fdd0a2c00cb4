// SPDX-License-Identifier: Apache-2.0
#include "cuda_attention.hpp"
#include "cuda_call.hpp"
#include "kernels/attention/append.hpp"
#include "kernels/attention/combine.hpp"
#include "kernels/attention/decode.hpp"
#include "kernels/attention/expand_csr.hpp"
#include "kernels/attention/merge.hpp"
#include "kernels/attention/prefill.hpp"
#include "kernels/attention/split.hpp"
#include "runtime/src/attention_dispatch.hpp"

#include <cstddef>
#include <type_traits>

namespace allot::runtime::detail {
namespace {

/// Blocks of 128 threads that an SM has at once: what registers and shared memory of most decode
/// kernels allow.
constexpr std::int64_t blocks_a_processor = 4;

/// Where a shape is in the list that kernels were compiled from.
template <class Shape, class... Shapes>
constexpr std::size_t index_of(type_list<Shapes...>) {
  std::size_t index = 0;
  static_cast<void>(((std::is_same_v<Shape, Shapes> || (++index, false)) || ...));
  return index;
}

struct instance_kernels {
  cudaError_t (*decode)(decode_call const&, kernels::decode_workspace const&, cudaStream_t);
  cudaError_t (*prefill)(prefill_call const&, cudaStream_t);
};

constexpr auto instances = instance_table([](auto shape, auto type) {
  using type_of = decltype(type);
  constexpr std::size_t index = index_of<decltype(shape)>(attention_head_shapes{});
  return instance_kernels{
      [](decode_call const& call, kernels::decode_workspace const& at, cudaStream_t stream) {
        return kernels::decode<type_of>(index, call, at, stream);
      },
      [](prefill_call const& call, cudaStream_t stream) {
        return kernels::prefill<type_of>(index, call, stream);
      }};
});

}  // namespace

cuda_attention::cuda_attention(cudaStream_t stream, int device) : stream_{stream}, device_{device} {
  check("cudaDeviceGetAttribute",
        cudaDeviceGetAttribute(&processors_, cudaDevAttrMultiProcessorCount, device_));
}

std::int64_t cuda_attention::decode_parts(std::int64_t kv_heads) const {
  std::int64_t const parts = processors_ * blocks_a_processor / kv_heads;
  return parts < 1 ? 1 : parts;
}

void cuda_attention::append(append_call const& call) {
  if (call.tokens == 0) { return; }
  current_device const guard{device_};
  check("append", kernels::append(call, stream_));
}

void cuda_attention::decode(decode_call const& call) {
  if (call.tables.requests == 0) { return; }
  current_device const guard{device_};
  kernels::decode_workspace const at = kernels::decode_workspace_at(
      call.workspace, split_workspace_of(call.split, call.query_heads, call.cache.v_head_dim));
  if (!call.reuse_split) { check("split", kernels::split(call, at, stream_)); }
  check("decode", find_instance(instances, call.cache)->decode(call, at, stream_));
  check("combine", kernels::combine(call, at, stream_));
}

void cuda_attention::prefill(prefill_call const& call) {
  if (call.tables.requests == 0 || call.query_rows == 0) { return; }
  current_device const guard{device_};
  check("prefill", find_instance(instances, call.cache)->prefill(call, stream_));
}

void cuda_attention::merge(merge_call const& call) {
  if (call.rows == 0) { return; }
  current_device const guard{device_};
  check("merge", kernels::merge(call, stream_));
}

void cuda_attention::expand_csr(csr_call const& call) {
  current_device const guard{device_};
  check("expand_csr", kernels::expand_csr(call, stream_));
}

}  // namespace allot::runtime::detail
