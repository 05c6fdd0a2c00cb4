// SPDX-License-Identifier: Apache-2.0
#include "bytes_given.hpp"

#include <allot/runtime/limited_resource.hpp>

#include <stdexcept>

namespace allot::runtime {

limited_resource::limited_resource(memory_resource& upstream, std::int64_t limit_bytes)
    : upstream_{&upstream}, limit_bytes_{limit_bytes} {
  if (limit_bytes < 0) {
    throw std::invalid_argument("limited_resource: a limit of " + std::to_string(limit_bytes) +
                                " bytes; it is at least 0");
  }
}

void* limited_resource::allocate(std::int64_t bytes) {
  detail::refuse_negative_allocation(name(), bytes);
  if (bytes > limit_bytes_ - outstanding_bytes_) {
    throw allocation_error{name(), bytes, free_bytes(), "past the limit"};
  }
  void* const memory = upstream_->allocate(bytes);
  outstanding_bytes_ += bytes;
  return memory;
}

void limited_resource::deallocate(void* memory, std::int64_t bytes) noexcept {
  upstream_->deallocate(memory, bytes);
  outstanding_bytes_ -= bytes;
}

std::int64_t limited_resource::free_bytes() const noexcept {
  std::int64_t const left = limit_bytes_ - outstanding_bytes_;
  std::int64_t const upstream = upstream_->free_bytes();
  return upstream >= 0 && upstream < left ? upstream : left;
}

std::string limited_resource::name() const {
  return "limited_resource(" + std::to_string(limit_bytes_) + " bytes)";
}

}  // namespace allot::runtime
