// SPDX-License-Identifier: Apache-2.0
#include "card.hpp"

#include <allot/runtime/host_backend.hpp>
#include <allot/runtime/host_resources.hpp>

namespace attention_test {

card& the_card() {
  static rt::host_resource heap;
  static rt::reserved_host_resource reserved;
  static rt::host_backend work;
  static rt::attention const attend{work};
  static card it{heap, reserved, heap, work, attend, true, false};
  return it;
}

}  // namespace attention_test
