// SPDX-License-Identifier: Apache-2.0
// Fat binaries, modules, symbols and kernel launches.
#include "checks.hpp"
#include "decode.hpp"
#include "exec.hpp"
#include "memory.hpp"
#include "parser.hpp"
#include "runtime.hpp"

#include <cstdio>
#include <unordered_map>

namespace ptxemu {
namespace {

// A translation unit's PTX; parsed when first needed.
struct Image {
  string ptx;
  unique_ptr<Module> module;
  bool failed = false;
};

struct Registered {
  Image* image;
  string device_name;
};

auto& host_functions() {
  static auto* m = new std::unordered_map<void const*, Registered>;
  return *m;
}
auto& host_variables() {
  static auto* m = new std::unordered_map<void const*, Registered>;
  return *m;
}

Module* load(Image& image) {
  if (image.module || image.failed) return image.module.get();
  if (image.ptx.empty()) {
    fprintf(stderr,
            "PTXEMU note: no PTX in the binary; build with -gencode "
            "arch=compute_XX,code=compute_XX --no-compress\n");
    image.failed = true;
    return nullptr;
  }
  auto m = std::make_unique<Module>();
  m->text = image.ptx;
  try {
    Parser parser(*m);
    parser.parse();
    for (string const& u : parser.unsupported) {
      fprintf(stderr, "PTXEMU note: unsupported instruction (traps if executed): %s\n", u.c_str());
    }
  } catch (std::exception& e) {
    report("LOAD", e.what());
    image.failed = true;
    return nullptr;
  }
  image.module = std::move(m);
  return image.module.get();
}

// Of several PTX images take the newest that the device may run.
int target_of(string const& ptx) {
  size_t at = ptx.find(".target sm_");
  return at == string::npos ? 0 : atoi(ptx.c_str() + at + 11);
}

string extract_ptx(u8 const* fatbin) {
  u16 header_size;
  u64 size;
  memcpy(&header_size, fatbin + 6, 2);
  memcpy(&size, fatbin + 8, 8);
  string best;
  int const limit = env_int("PTXEMU_CC", 1000);
  for (u8 const *p = fatbin + header_size, *end = p + size; p < end;) {
    u16 kind;
    u32 entry_header;
    u64 entry_size;
    memcpy(&kind, p, 2);
    memcpy(&entry_header, p + 4, 4);
    memcpy(&entry_size, p + 8, 8);
    if (kind == 1) {
      auto* text = reinterpret_cast<char const*>(p) + entry_header;
      string ptx(text, strnlen(text, entry_size));
      if (ptx.find(".version") == string::npos) {
        fprintf(stderr, "PTXEMU note: compressed PTX, rebuild with --no-compress\n");
      } else if (target_of(ptx) <= limit && target_of(ptx) >= target_of(best)) {
        best = ptx;
      }
    }
    p += entry_header + entry_size;
  }
  return best;
}

cudaError_t run_kernel(Module& m, Func& f, dim3 grid, dim3 block, vector<vector<u8>> const& args,
                       size_t shared, bool cooperative) {
  if (sticky_error()) return sticky_error();
  for (size_t k = 0; k < f.params.size(); k++) {
    memcpy(reinterpret_cast<void*>(f.params[k].addr), args[k].data(), f.params[k].size);
  }
  u64 const num_blocks = u64(grid.x) * grid.y * grid.z;
  u64 const resident = cooperative ? num_blocks : max(env_int("PTXEMU_BLOCKS", 1), 1);
  configure_schedule(resident > 1);
  launch_number++;
  Statistics const before = g_statistics;
  auto index = [&](u64 k) {
    if (g_schedule.reverse_blocks) k = num_blocks - 1 - k;
    return uint3{u32(k % grid.x), u32(k / grid.x % grid.y), u32(k / grid.x / grid.y)};
  };
  try {
    if (resident <= 1) {
      Machine machine(m, f, grid, block, shared);
      for (u64 k = 0; k < num_blocks; k++)
        machine.run(index(k));
    } else {
      static u64 workspace = 0;  // grid.sync() keeps its barrier here
      if (cooperative) {
        if (!workspace) workspace = u64(allocate_memory(4096, MemoryKind::ModuleVariable));
        memset(reinterpret_cast<void*>(workspace), 0, 4096);
      }
      vector<unique_ptr<Machine>> machines;
      u64 next = 0, done = 0;
      for (; machines.size() < resident && next < num_blocks; next++) {
        machines.push_back(std::make_unique<Machine>(m, f, grid, block, shared));
        machines.back()->set_grid_workspace(workspace);
        machines.back()->begin(index(next));
      }
      while (done < num_blocks) {
        for (auto& machine : machines) {
          if (!machine->busy() || !machine->slice()) continue;
          done++;
          if (next < num_blocks) machine->begin(index(next++));
        }
      }
    }
  } catch (Error& e) {
    report("ERROR", e.what());
    set_sticky_error(cudaError_t(e.code));
    return sticky_error();
  } catch (std::exception& e) {
    report("ERROR", string("kernel ") + f.name + ": " + e.what());
    set_sticky_error(cudaErrorLaunchFailure);
    return sticky_error();
  }
  static bool const print_statistics = env_int("PTXEMU_STATS", 0) != 0;
  if (print_statistics) {
    fprintf(stderr, "PTXEMU launch %s grid %lu block %u: %lu warp-instr, %lu thread-instr\n",
            f.name.c_str(), num_blocks, block.x * block.y * block.z,
            g_statistics.warp_instructions - before.warp_instructions,
            g_statistics.thread_instructions - before.thread_instructions);
  }
  return cudaSuccess;
}

}  // namespace

KernelRef find_kernel(void const* host_function) {
  auto it = host_functions().find(host_function);
  if (it == host_functions().end()) return {};
  Module* m = load(*it->second.image);
  if (!m) return {};
  auto f = m->funcs.find(it->second.device_name);
  if (f == m->funcs.end()) return {};
  return {m, f->second};
}

u64 static_shared_bytes(Func const& f) {
  u64 bytes = f.shared_bytes;
  for (auto& [offset, size] : f.red_zones)
    bytes -= size;
  return bytes;
}

void* symbol_address(void const* host_variable, u64* size) {
  auto it = host_variables().find(host_variable);
  if (it == host_variables().end()) return nullptr;
  Module* m = load(*it->second.image);
  if (!m) return nullptr;
  auto v = m->vars.find(it->second.device_name);
  if (v == m->vars.end()) return nullptr;
  if (size) *size = v->second.size;
  return reinterpret_cast<void*>(v->second.addr);
}

cudaError_t prepare_launch(void const* function, dim3 grid, dim3 block, void** args, size_t shared,
                           bool cooperative, Work& work) {
  KernelRef k = find_kernel(function);
  if (!k.func) {
    bool known = host_functions().count(function);
    return known ? cudaErrorNoKernelImageForDevice : cudaErrorInvalidDeviceFunction;
  }
  if (k.func->cluster_blocks > 1) {
    report("UNSUPPORTED-API", "launch of " + k.func->name + ": clusters of more than one block");
    return cudaErrorNotSupported;
  }
  u64 const threads = u64(block.x) * block.y * block.z;
  if (!threads || threads > 1024 || block.z > 64 || !grid.x || !grid.y || !grid.z ||
      grid.x > 0x7fffffff || grid.y > 65535 || grid.z > 65535 ||
      (k.func->max_threads && threads > u64(k.func->max_threads))) {
    return cudaErrorInvalidConfiguration;
  }
  // Beyond 48 KiB the kernel must have asked for it with cudaFuncSetAttribute.
  u64 const fixed = static_shared_bytes(*k.func);
  if (fixed + shared > u64(max_shared_per_block()) ||
      (fixed + shared > (48 << 10) && shared > u64(k.func->max_dynamic_shared))) {
    return cudaErrorInvalidValue;
  }
  if (cooperative) {
    int per_sm = 0;
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, function, int(threads), shared);
    if (u64(grid.x) * grid.y * grid.z > u64(per_sm) * sm_count()) {
      return cudaErrorCooperativeLaunchTooLarge;
    }
  }
  vector<vector<u8>> values;
  for (size_t p = 0; p < k.func->params.size(); p++) {
    auto* bytes = static_cast<u8 const*>(args[p]);
    values.emplace_back(bytes, bytes + k.func->params[p].size);
  }
  work = [=] { return run_kernel(*k.module, *k.func, grid, block, values, shared, cooperative); };
  return cudaSuccess;
}

// As on a device, a failing kernel shows up at the next call, not at its launch.
cudaError_t launch(void const* function, dim3 grid, dim3 block, void** args, size_t shared,
                   cudaStream_t stream, bool cooperative) {
  PTXEMU_CHECK_STICKY;
  Work work;
  if (cudaError_t e = prepare_launch(function, grid, block, args, shared, cooperative, work)) {
    return fail(e);
  }
  return enqueue(stream, cudaGraphNodeTypeKernel, std::move(work), function);
}

}  // namespace ptxemu

using namespace ptxemu;

namespace {

struct PushedConfig {
  dim3 grid, block;
  size_t shared;
  void* stream;
};
thread_local vector<PushedConfig> pushed_configs;

}  // namespace

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
  PTXEMU_API_LOCK;
  struct FatBinaryWrapper {
    int magic, version;
    u8 const* data;
    void* filename;
  };
  auto* image = new Image;
  image->ptx = extract_ptx(static_cast<FatBinaryWrapper*>(wrapper)->data);
  return reinterpret_cast<void**>(image);
}

void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) {
  return 0;
}

void __cudaRegisterFunction(void** handle, char const* host_function, char*, char const* name, int,
                            uint3*, uint3*, dim3*, dim3*, int*) {
  PTXEMU_API_LOCK;
  host_functions()[host_function] = {reinterpret_cast<Image*>(handle), name};
}

void __cudaRegisterVar(void** handle, char* host_variable, char*, char const* name, int, size_t,
                       int, int) {
  PTXEMU_API_LOCK;
  host_variables()[host_variable] = {reinterpret_cast<Image*>(handle), name};
}

void __cudaRegisterManagedVar(void** handle, void** host_variable, char*, char const* name, int,
                              size_t, int, int) {
  PTXEMU_API_LOCK;
  host_variables()[host_variable] = {reinterpret_cast<Image*>(handle), name};
  *host_variable = symbol_address(host_variable);
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void* stream) {
  pushed_configs.push_back({grid, block, shared, stream});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  PushedConfig c = pushed_configs.back();
  pushed_configs.pop_back();
  *grid = c.grid;
  *block = c.block;
  *shared = c.shared;
  *static_cast<void**>(stream) = c.stream;
  return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, void const* function) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(function));
  return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** args,
                               size_t shared, cudaStream_t stream) {
  PTXEMU_API_LOCK;
  return launch(kernel, grid, block, args, shared, stream, false);
}

cudaError_t cudaLaunchKernel(void const* function, dim3 grid, dim3 block, void** args,
                             size_t shared, cudaStream_t stream) {
  PTXEMU_API_LOCK;
  return launch(function, grid, block, args, shared, stream, false);
}

cudaError_t cudaLaunchCooperativeKernel(void const* function, dim3 grid, dim3 block, void** args,
                                        size_t shared, cudaStream_t stream) {
  PTXEMU_API_LOCK;
  return launch(function, grid, block, args, shared, stream, true);
}

// Programmatic dependent launch and scheduling hints are ignored: work runs in stream order.
cudaError_t cudaLaunchKernelExC(cudaLaunchConfig_t const* config, void const* function,
                                void** args) {
  PTXEMU_API_LOCK;
  bool cooperative = false;
  for (unsigned k = 0; k < config->numAttrs; k++) {
    cudaLaunchAttribute const& a = config->attrs[k];
    if (a.id == cudaLaunchAttributeCooperative) cooperative = a.val.cooperative != 0;
    if (a.id == cudaLaunchAttributeClusterDimension &&
        u64(a.val.clusterDim.x) * a.val.clusterDim.y * a.val.clusterDim.z > 1) {
      report("UNSUPPORTED-API", "cudaLaunchKernelExC: clusters of more than one block");
      return fail(cudaErrorNotSupported);
    }
  }
  return launch(function, config->gridDim, config->blockDim, args, config->dynamicSmemBytes,
                config->stream, cooperative);
}

}  // extern "C"
