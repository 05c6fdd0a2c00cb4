// SPDX-License-Identifier: Apache-2.0
#include <allot/runtime/allocation_error.hpp>

#include <utility>

namespace allot::runtime {

allocation_error::allocation_error(std::string call, std::int64_t asked_bytes,
                                   std::int64_t free_bytes, std::string const& why)
    : call_{std::move(call)}, asked_bytes_{asked_bytes}, free_bytes_{free_bytes} {
  text_ = call_ + ": " + std::to_string(asked_bytes) + " bytes asked";
  if (free_bytes != unknown) { text_ += ", " + std::to_string(free_bytes) + " bytes free"; }
  if (!why.empty()) { text_ += " (" + why + ")"; }
}

backend_error::backend_error(std::string call, std::string const& why)
    : call_{std::move(call)}, text_{call_ + ": " + why} {}

}  // namespace allot::runtime
