// SPDX-License-Identifier: Apache-2.0
// The memory of this machine, and of it what this process may have.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace allot::tools {

/// What the system says. Absent: it does not, or there is no such limit.
struct host_memory {
  std::optional<std::int64_t> total_bytes{};
  std::optional<std::int64_t> available_bytes{};  ///< without swapping
  std::optional<std::int64_t> limit_bytes{};      ///< of the control group: of a container
};

/// Linux: /proc/meminfo, and the tightest control group that this process is in.
///
/// \param root  of the files: for tests
[[nodiscard]] host_memory read_host_memory(std::string const& root = "");

}  // namespace allot::tools
