// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"
#include "host_memory.hpp"
#include "terminal.hpp"
#include "text_format.hpp"

#include <allot/json/answer_writer.hpp>
#include <allot/model/deployment.hpp>
#include <allot/runtime/attention.hpp>
#include <allot/runtime/cuda_devices.hpp>

#include <cstdio>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace allot::tools {
namespace {

/// All that is told, in either form.
struct findings {
  unsigned threads = std::thread::hardware_concurrency();
  host_memory memory = read_host_memory();
  bool with_cuda = runtime::built_with_cuda();
  std::string why_no_device = runtime::why_no_cuda_device();
  std::vector<runtime::cuda_device_facts> devices = all_devices();
  std::vector<runtime::attention_instance> const& kernels = runtime::attention_instances();

 private:
  static std::vector<runtime::cuda_device_facts> all_devices() {
    std::vector<runtime::cuda_device_facts> out;
    int const count = runtime::cuda_device_count();
    out.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      out.push_back(runtime::cuda_device(i));
    }
    return out;
  }
};

std::string capability(runtime::cuda_device_facts const& device) {
  return fmt::format("{}.{}", device.compute_capability / 10, device.compute_capability % 10);
}

// -- text ----------------------------------------------------------------------------------------

std::string label(std::string const& name) {
  return fmt::format("  {:<9} ", name);
}

std::string memory_text(host_memory const& memory, doctor_options const& how) {
  auto const size = [&](std::int64_t bytes) { return size_text(bytes, how.exact_bytes); };
  if (!memory.total_bytes) { return "unknown"; }
  auto out = memory.available_bytes ? size(*memory.available_bytes) + " available of " : "";
  out += size(*memory.total_bytes);
  if (memory.limit_bytes) { out += "; this control group may use " + size(*memory.limit_bytes); }
  return out;
}

std::string devices_text(findings const& found, doctor_options const& how, painter const& paint) {
  auto const size = [&](std::int64_t bytes) { return size_text(bytes, how.exact_bytes); };
  if (!found.with_cuda) {
    return label("cuda") + paint(colour::warning, "not built in") +
           "; `./x` builds it in where there is a GPU and nvcc\n";
  }
  if (found.devices.empty()) {
    return label("cuda") + "built in; " + paint(colour::warning, "no GPU can be used") + ":\n" +
           wrapped(label(""), found.why_no_device);
  }
  auto out = label("cuda") + paint(colour::good, "built in") + "\n";
  for (std::size_t i = 0; i < found.devices.size(); ++i) {
    auto const& device = found.devices[i];
    out += label(fmt::format("gpu {}", i)) + paint(colour::strong, device.name) +
           fmt::format(", compute capability {}, {} SMs\n", capability(device), device.processors);
    out += label("") +
           (device.free_bytes < 0 ? std::string{"an unknown part"} : size(device.free_bytes)) +
           " free of " + size(device.total_bytes) + "\n";
  }
  return out;
}

/// One line a head shape, one column an element type.
std::string kernels_text(findings const& found, painter const& paint) {
  auto const left = [](std::int32_t head_dim, std::int32_t v_head_dim) {
    return fmt::format("    {:>8}  {:>10} ", head_dim, v_head_dim);
  };
  auto out = paint(colour::dim, "    head_dim  v_head_dim  elements") + "\n";
  for (std::size_t i = 0; i < found.kernels.size();) {
    auto const& first = found.kernels[i];
    out += left(first.head_dim, first.v_head_dim);
    for (; i < found.kernels.size() && found.kernels[i].head_dim == first.head_dim &&
           found.kernels[i].v_head_dim == first.v_head_dim;
         ++i) {
      out += fmt::format(" {:<4}", model::name_of(found.kernels[i].dtype));
    }
    out.resize(out.find_last_not_of(' ') + 1);
    out += "\n";
  }
  return out;
}

std::string text_of(findings const& found, doctor_options const& how, painter const& paint) {
  auto out = paint(colour::strong, "allot " ALLOT_VERSION) + "\n\n";
  out += label("host") + fmt::format("{} threads\n", found.threads);
  out += wrapped(label("memory"), memory_text(found.memory, how));
  out += devices_text(found, how, paint);
  out += fmt::format("\n  attention kernels, on the host{}\n", found.with_cuda ? " and CUDA" : "");
  return out + kernels_text(found, paint);
}

// -- JSON ----------------------------------------------------------------------------------------

std::string quoted(std::string const& text) {
  std::string out;
  json::append_string(out, text);
  return out;
}

std::string json_of(findings const& found) {
  auto const number = [](std::optional<std::int64_t> const& value) {
    return value ? std::to_string(*value) : std::string{"null"};
  };
  auto out = fmt::format(R"({{"version":{},"host":{{"threads":{},"total_bytes":{})",
                         quoted(ALLOT_VERSION), found.threads, number(found.memory.total_bytes));
  out += fmt::format(R"(,"available_bytes":{},"limit_bytes":{}}})",
                     number(found.memory.available_bytes), number(found.memory.limit_bytes));
  out += fmt::format(R"(,"cuda":{{"built":{},"why_no_device":{},"devices":[)", found.with_cuda,
                     found.devices.empty() ? quoted(found.why_no_device) : "null");
  bool first = true;
  for (auto const& device : found.devices) {
    out += first ? "" : ",";
    first = false;
    out += fmt::format(
        R"({{"name":{},"compute_capability":"{}","processors":{},"total_bytes":{},"free_bytes":{}}})",
        quoted(device.name), capability(device), device.processors, device.total_bytes,
        device.free_bytes < 0 ? "null" : std::to_string(device.free_bytes));
  }
  out += R"(]},"attention":[)";
  first = true;
  for (auto const& one : found.kernels) {
    out += first ? "" : ",";
    first = false;
    out += fmt::format(R"({{"head_dim":{},"v_head_dim":{},"dtype":{}}})", one.head_dim,
                       one.v_head_dim, quoted(model::name_of(one.dtype)));
  }
  return out + "]}\n";
}

}  // namespace

int run_doctor(doctor_options const& options) {
  findings const found;
  auto const out = options.json ? json_of(found) : text_of(found, options, painter{wants_colour()});
  std::fputs(out.c_str(), stdout);
  return 0;
}

}  // namespace allot::tools
