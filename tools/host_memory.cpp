// SPDX-License-Identifier: Apache-2.0
#include "host_memory.hpp"

#include <fstream>
#include <sstream>

namespace allot::tools {
namespace {

/// The number that a file holds; absent where it holds another word ("max") or is not there.
std::optional<std::int64_t> number_in(std::string const& file) {
  std::ifstream from{file};
  std::int64_t number = 0;
  if (from >> number && number >= 0) { return number; }
  return {};
}

/// A line "MemAvailable:   12345 kB", in bytes.
std::optional<std::int64_t> kilobytes_of(std::string const& name, std::string const& file) {
  std::ifstream from{file};
  std::string line;
  while (std::getline(from, line)) {
    std::istringstream words{line};
    std::string word;
    std::int64_t number = 0;
    if (words >> word >> number && word == name + ":") { return number * 1024; }
  }
  return {};
}

/// Takes the tightest limit of a control group and of those around it. In a container the group may
/// be named as it is outside, where no file can be found: its own limit is then at the mount
/// itself.
void take_limits(host_memory& out, std::string const& mount, std::string group,
                 std::string const& file) {
  for (;;) {
    auto place = mount;
    place += group;
    place += file;
    auto const limit = number_in(place);
    if (limit && (!out.limit_bytes || *limit < *out.limit_bytes)) { out.limit_bytes = limit; }
    auto const parent = group.rfind('/');
    if (parent == std::string::npos) { return; }
    group.resize(parent);
  }
}

}  // namespace

host_memory read_host_memory(std::string const& root) {
  host_memory out;
  auto const meminfo = root + "/proc/meminfo";
  out.total_bytes = kilobytes_of("MemTotal", meminfo);
  out.available_bytes = kilobytes_of("MemAvailable", meminfo);

  // "0::/group" of version 2; "5:memory,…:/group" of version 1.
  std::ifstream groups{root + "/proc/self/cgroup"};
  std::string line;
  while (std::getline(groups, line)) {
    auto const first = line.find(':');
    auto const second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) { continue; }
    auto const controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    auto const group = line.substr(second + 1);
    if (controllers == ",,") {
      take_limits(out, root + "/sys/fs/cgroup", group, "/memory.max");
    } else if (controllers.find(",memory,") != std::string::npos) {
      take_limits(out, root + "/sys/fs/cgroup/memory", group, "/memory.limit_in_bytes");
    }
  }
  // Version 1 writes "no limit" as a number that no machine has.
  if (out.limit_bytes && out.total_bytes && *out.limit_bytes >= *out.total_bytes) {
    out.limit_bytes.reset();
  }
  return out;
}

}  // namespace allot::tools
