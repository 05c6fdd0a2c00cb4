// SPDX-License-Identifier: Apache-2.0
// Memory of the machine and limits of control groups, read from files as Linux has them.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "host_memory.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

using namespace allot::tools;
namespace fs = std::filesystem;

namespace {

/// A root folder with files in it.
class scratch {
 public:
  scratch() {
    auto name = (fs::temp_directory_path() / "allot-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    root_ = name;
    write("proc/meminfo",
          "MemTotal:       16000000 kB\nMemFree:          100 kB\nMemAvailable:    9000000 kB\n");
  }
  scratch(scratch const&) = delete;
  scratch& operator=(scratch const&) = delete;
  ~scratch() { fs::remove_all(root_); }

  void write(std::string const& file, std::string const& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream{root_ / file} << text;
  }
  host_memory read() const { return read_host_memory(root_.string()); }

 private:
  fs::path root_;
};

}  // namespace

TEST_CASE("a machine without control groups") {
  scratch const machine;
  CHECK(machine.read().total_bytes == 16'000'000LL * 1024);
  CHECK(machine.read().available_bytes == 9'000'000LL * 1024);
  CHECK_FALSE(machine.read().limit_bytes);
}

TEST_CASE("a system that tells nothing") {
  scratch const machine;
  machine.write("proc/meminfo", "");
  CHECK_FALSE(machine.read().total_bytes);
  CHECK_FALSE(machine.read().available_bytes);
}

TEST_CASE("version 2: the tightest of the groups around") {
  scratch const machine;
  machine.write("proc/self/cgroup", "0::/outer/inner\n");
  machine.write("sys/fs/cgroup/outer/inner/memory.max", "max\n");
  CHECK_FALSE(machine.read().limit_bytes);
  machine.write("sys/fs/cgroup/outer/memory.max", "2147483648\n");
  CHECK(machine.read().limit_bytes == 2147483648);
  machine.write("sys/fs/cgroup/outer/inner/memory.max", "1073741824\n");
  CHECK(machine.read().limit_bytes == 1073741824);
  machine.write("sys/fs/cgroup/outer/inner/memory.max", "4294967296\n");
  CHECK(machine.read().limit_bytes == 2147483648);
}

TEST_CASE("version 1, in a container that sees its own group at the mount") {
  scratch const machine;
  machine.write("proc/self/cgroup", "5:cpu,cpuacct:/docker/ab\n4:memory:/docker/ab\n0::/\n");
  machine.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  CHECK_FALSE(machine.read().limit_bytes);  // how it writes "none"
  machine.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n");
  CHECK(machine.read().limit_bytes == 536870912);
}

TEST_CASE("lines that are none") {
  scratch const machine;
  machine.write("proc/self/cgroup", "\n:\n0:\n0::\n0::name\n::::/x\n");
  CHECK_FALSE(machine.read().limit_bytes);
}
