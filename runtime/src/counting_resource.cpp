// SPDX-License-Identifier: Apache-2.0
#include <allot/runtime/counting_resource.hpp>

#include <algorithm>
#include <cstdio>
#include <new>

namespace allot::runtime {

void* counting_resource::allocate(std::int64_t bytes) {
  void* memory = nullptr;
  try {
    if (bytes != 0) {
      memory = upstream_->allocate(bytes);
      blocks_.emplace(memory, bytes);
    }
  } catch (...) {
    // Either the upstream has nothing, or the map has no room to remember it.
    if (memory != nullptr) { upstream_->deallocate(memory, bytes); }
    ++counts_.failed_calls;
    throw;
  }
  ++counts_.allocate_calls;
  if (bytes != 0) { ++counts_.outstanding_allocations; }
  counts_.outstanding_bytes += bytes;
  counts_.peak_bytes = std::max(counts_.peak_bytes, counts_.outstanding_bytes);
  return memory;
}

void counting_resource::deallocate(void* memory, std::int64_t bytes) noexcept {
  ++counts_.deallocate_calls;
  if (memory == nullptr && bytes == 0) { return; }
  auto const block = blocks_.find(memory);
  bool const known = block != blocks_.end();
  if (!known || block->second != bytes) {
    if (counts_.misuses == 0) { first_misuse_ = {memory, bytes, known ? block->second : -1}; }
    ++counts_.misuses;
  }
  if (!known) { return; }
  std::int64_t const allocated_bytes = block->second;
  blocks_.erase(block);
  --counts_.outstanding_allocations;
  counts_.outstanding_bytes -= allocated_bytes;
  upstream_->deallocate(memory, allocated_bytes);
}

std::vector<allocated_block> counting_resource::outstanding() const {
  std::vector<allocated_block> result;
  result.reserve(blocks_.size());
  for (auto const& [memory, bytes] : blocks_) {
    result.push_back({memory, bytes});
  }
  return result;
}

std::string misuse::text() const {
  char address[32];
  std::snprintf(address, sizeof address, "%p", memory);
  std::string const call =
      std::string{"deallocate("} + address + ", " + std::to_string(given_bytes) + " bytes): ";
  if (allocated_bytes < 0) { return call + "not allocated here, or given back already"; }
  return call + std::to_string(allocated_bytes) + " bytes were allocated there";
}

}  // namespace allot::runtime
