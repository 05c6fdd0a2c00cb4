// SPDX-License-Identifier: Apache-2.0
#include <allot/runtime/faulting_resource.hpp>

namespace allot::runtime {

void* faulting_resource::allocate(std::int64_t bytes) {
  if (++calls_ == failing_call_) {
    throw allocation_error{name(), bytes, free_bytes(), "made to fail"};
  }
  return upstream_->allocate(bytes);
}

std::string faulting_resource::name() const {
  return "faulting_resource(call " + std::to_string(failing_call_) + ")";
}

}  // namespace allot::runtime
