// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/attention/calls.hpp>
#include <allot/attention/visible.hpp>

#include <cstdint>

namespace allot::kernels {

/// Keys that the last token of a request attends to. The planner and the kernel that follows its
/// cut must agree on them.
__device__ inline kv_range decode_keys(decode_call const& call, std::int32_t request) {
  std::int32_t const kv_len = call.tables.kv_len[request];
  if (kv_len <= 0) { return {}; }
  std::int32_t const reachable = reachable_len(kv_len, call.tables.columns, call.cache.page_tokens);
  return visible_keys(kv_len - 1, reachable, call.options.window_tokens, true);
}

}  // namespace allot::kernels
