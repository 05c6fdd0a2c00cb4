// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"
#include "line_files.hpp"

#include <allot/json/answer_writer.hpp>
#include <allot/runtime/arena.hpp>
#include <allot/runtime/cuda_backend.hpp>
#include <allot/runtime/cuda_devices.hpp>
#include <allot/runtime/cuda_resources.hpp>
#include <allot/runtime/host_backend.hpp>
#include <allot/runtime/host_resources.hpp>
#include <allot/runtime/limited_resource.hpp>
#include <allot/runtime/verify.hpp>

#include <fmt/format.h>
#include <memory>
#include <stdexcept>

namespace allot::tools {
namespace {

/// The memory that plans are tried in, and who works on it.
struct place_to_try {
  std::unique_ptr<runtime::memory_resource> memory;
  std::unique_ptr<runtime::backend> work;
};

place_to_try on_host() {
  return {std::make_unique<runtime::reserved_host_resource>(),
          std::make_unique<runtime::host_backend>()};
}

place_to_try on_device(int device) {
  if (!runtime::built_with_cuda()) {
    throw std::runtime_error(
        "--device: this allot was built without CUDA (`./x` builds it in where there is a GPU and "
        "nvcc, "
        "Meson with -Dcuda=enabled); without --device it verifies in host memory");
  }
  int const devices = runtime::cuda_device_count();
  if (device < 0 || device >= devices) {
    throw std::runtime_error(
        fmt::format("--device={}: {}; without --device it verifies in host memory", device,
                    devices == 0 ? std::string{"no CUDA device can be used"}
                                 : fmt::format("expected 0 to {}", devices - 1)));
  }
  return {std::make_unique<runtime::device_resource>(device),
          std::make_unique<runtime::cuda_backend>(nullptr, device)};
}

/// Answers plans by allocating them.
class verifier {
 public:
  explicit verifier(place_to_try where) : where_{std::move(where)} {}

  void answer(std::string& out, json::answered const& a) {
    plan const& p = *a.found;
    auto const give = [&](std::string const& fields) {
      out += fmt::format("{{\"id\":{},{}}}", a.id, fields);
    };
    try {
      std::int64_t const arena = p.budget.count - a.table.charge_bytes.value;
      runtime::limited_resource card{*where_.memory, arena};
      auto const v = runtime::verify(a.table, p, card, *where_.work);
      give(fmt::format("\"ok\":true,\"planned_bytes\":{},\"carved_bytes\":{},\"peak_bytes\":{}",
                       v.planned.count, v.carved.count, v.peak.count));
    } catch (runtime::allocation_error const& error) {
      ++failed_;
      give(refusal("allocation_failed", error.what()) +
           fmt::format(",\"asked_bytes\":{},\"free_bytes\":{}", error.asked_bytes(),
                       error.free_bytes() < 0 ? "null" : std::to_string(error.free_bytes())));
    } catch (std::bad_alloc const&) {
      ++failed_;
      give(refusal("allocation_failed", "the plan needs more memory than there is to check it") +
           ",\"asked_bytes\":null,\"free_bytes\":null");
    } catch (runtime::carving_error const& error) {
      ++failed_;
      give(refusal("carving_failed", error.what()));
    } catch (runtime::backend_error const& error) {
      ++failed_;
      give(refusal("device_failed", error.what()));
    }
  }

  [[nodiscard]] std::int64_t failed() const { return failed_; }
  [[nodiscard]] std::int64_t alignment() const { return where_.memory->alignment(); }

 private:
  static std::string refusal(char const* error, char const* text) {
    std::string out = fmt::format("\"ok\":false,\"error\":\"{}\",\"text\":", error);
    json::append_string(out, text);
    return out;
  }

  place_to_try where_;
  std::int64_t failed_ = 0;
};

}  // namespace

int run_verify(verify_options const& options) {
  verifier tried{options.device ? on_device(*options.device) : on_host()};
  json::line_options how;
  how.least_granularity = tried.alignment();
  how.answer_plan = [&](std::string& out, json::answered const& a) { tried.answer(out, a); };
  auto const result = answer_lines(options.file, how);
  if (result.not_requests > 0) { return 2; }
  return tried.failed() == 0 ? 0 : 1;
}

}  // namespace allot::tools
