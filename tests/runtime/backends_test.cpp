// SPDX-License-Identifier: Apache-2.0
// The backend of the host, and what those of CUDA say where there is none.
#include <allot/runtime/allocation_error.hpp>
#include <allot/runtime/cuda_backend.hpp>
#include <allot/runtime/cuda_devices.hpp>
#include <allot/runtime/cuda_resources.hpp>
#include <allot/runtime/host_backend.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using namespace allot::runtime;

TEST_CASE("the host fills and copies what it is told and nothing beside") {
  host_backend host;
  CHECK(std::string{host.name()} == "host");
  std::vector<std::byte> a(300, std::byte{1});
  std::vector<std::byte> b(300, std::byte{2});
  host.fill(a.data() + 10, std::byte{0xAB}, 100);
  CHECK(host.find_other(a.data(), std::byte{1}, 300) == 10);
  CHECK(host.find_other(a.data() + 10, std::byte{0xAB}, 290) == 100);
  host.copy(b.data() + 1, a.data() + 10, 100);
  CHECK(host.find_other(b.data() + 1, std::byte{0xAB}, 299) == 100);
  CHECK(b[0] == std::byte{2});
  host.upload(b.data(), a.data(), 300);
  CHECK(b == a);
  host.fill(b.data(), std::byte{0}, 300);
  host.download(b.data(), a.data(), 300);
  CHECK(b == a);
  host.wait();

  // Nothing, from nowhere.
  host.fill(nullptr, std::byte{1}, 0);
  host.copy(nullptr, nullptr, 0);
  host.upload(nullptr, nullptr, 0);
  host.download(nullptr, nullptr, 0);
  CHECK(host.find_other(nullptr, std::byte{1}, 0) == -1);

  CHECK_THROWS_WITH_AS(host.fill(a.data(), std::byte{1}, -1), "fill: -1 bytes, fewer than none",
                       backend_error);
  CHECK_THROWS_WITH_AS(host.copy(a.data(), b.data(), -2), "copy: -2 bytes, fewer than none",
                       backend_error);
  CHECK_THROWS_WITH_AS(host.find_other(a.data(), std::byte{1}, -3),
                       "find_other: -3 bytes, fewer than none", backend_error);
}

TEST_CASE("the first other byte is found wherever it is") {
  host_backend host;
  std::int64_t checked = 0;
  for (std::byte const value : {std::byte{0}, std::byte{0xA5}, std::byte{0xFF}}) {
    for (std::int64_t length = 0; length <= 140; ++length) {
      for (std::int64_t offset = 0; offset < 8; ++offset) {
        // Exactly as long as is read, for AddressSanitizer; the bytes before differ.
        std::vector<std::byte> memory(static_cast<std::size_t>(offset + length), ~value);
        std::byte* const range = memory.data() + offset;
        host.fill(range, value, length);
        REQUIRE(host.find_other(range, value, length) == -1);
        for (std::int64_t at = length - 1; at >= 0; --at) {
          range[at] ^= std::byte{0x10};  // stays other: the ones behind it must not matter
          REQUIRE(host.find_other(range, value, length) == at);
          ++checked;
        }
      }
    }
  }
  CHECK(checked == 3 * 8 * (140 * 141 / 2));
}

TEST_CASE("without CUDA, or without a GPU, nothing of it can be made") {
  if (cuda_device_count() > 0) {
    MESSAGE("there is a GPU: " << cuda_device_name(0));
    return;
  }
  CHECK(cuda_device_name(0).empty());
  CHECK(cuda_device_name(-1).empty());
  std::string const why = "this allot-runtime was built without CUDA";
  auto const message = [](auto make) -> std::string {
    try {
      make();
    } catch (backend_error const& error) { return error.what(); }
    return "made";
  };
  std::string const device = message([] { device_resource{}; });
  std::string const ordered = message([] { stream_ordered_resource{nullptr}; });
  std::string const pinned = message([] { pinned_resource{}; });
  std::string const backend = message([] { cuda_backend{}; });
  if (built_with_cuda()) {
    // The driver is missing, or sees nothing: the words are CUDA's.
    for (auto const& text : {device, ordered, pinned, backend}) {
      CHECK(text.starts_with("cudaGetDeviceCount: cudaError"));
    }
  } else {
    CHECK(device == "device_resource: " + why);
    CHECK(ordered == "stream_ordered_resource: " + why);
    CHECK(pinned == "pinned_resource: " + why);
    CHECK(backend == "cuda_backend: " + why);
  }
}
