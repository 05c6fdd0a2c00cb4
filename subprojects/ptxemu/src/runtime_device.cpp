// SPDX-License-Identifier: Apache-2.0
// Device properties, function attributes, occupancy and driver entry points.
//
// The values are those of the compute capability, so that a library's own tuning takes the path it
// would take on such a device.
#include "checks.hpp"
#include "memory.hpp"
#include "runtime.hpp"
#include "tensor_map.hpp"

namespace ptxemu {
namespace {

struct Limits {
  int capability;
  int shared_per_block, shared_per_sm, threads_per_sm, blocks_per_sm;
};

constexpr Limits kLimits[] = {
    {75, 64 << 10, 64 << 10, 1024, 16},    {80, 163 << 10, 164 << 10, 2048, 32},
    {86, 99 << 10, 100 << 10, 1536, 16},   {87, 163 << 10, 164 << 10, 1536, 16},
    {89, 99 << 10, 100 << 10, 1536, 24},   {90, 227 << 10, 228 << 10, 2048, 32},
    {100, 227 << 10, 228 << 10, 2048, 32}, {120, 99 << 10, 100 << 10, 1536, 24},
};

Limits const& limits() {
  Limits const* best = &kLimits[0];
  for (Limits const& l : kLimits) {
    if (l.capability <= compute_capability()) best = &l;
  }
  return *best;
}

constexpr int kReservedShared = 1024;  // per block, from compute capability 8.0 on
constexpr int kRegistersPerSm = 65536;
constexpr int kRegistersPerThread = 32;  // not known without ptxas

int occupancy(void const* function, int threads, size_t dynamic_shared) {
  KernelRef k = find_kernel(function);
  if (!k.func || threads <= 0 || threads > 1024) return 0;
  int const warps = (threads + kWarpSize - 1) / kWarpSize;
  u64 const shared = round_up(static_shared_bytes(*k.func) + dynamic_shared + kReservedShared, 128);
  if (static_shared_bytes(*k.func) + dynamic_shared > u64(max_shared_per_block())) return 0;
  int blocks = min(limits().blocks_per_sm, limits().threads_per_sm / (warps * kWarpSize));
  return min<int>(blocks, int(max_shared_per_sm() / shared));
}

cudaError_t check_device(int device) {
  return device ? fail(cudaErrorInvalidDevice) : cudaSuccess;
}

}  // namespace

int compute_capability() {
  static int const cc = env_int("PTXEMU_CC", 90);
  return cc;
}
int sm_count() {
  static int const n = max(env_int("PTXEMU_SMS", 4), 1);
  return n;
}
int max_shared_per_block() {
  return limits().shared_per_block;
}
int max_shared_per_sm() {
  return limits().shared_per_sm;
}

}  // namespace ptxemu

using namespace ptxemu;

extern "C" {

cudaError_t cudaGetDeviceCount(int* n) {
  *n = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* d) {
  *d = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int d) {
  return check_device(d);
}
cudaError_t cudaInitDevice(int d, unsigned, unsigned) {
  return check_device(d);
}
cudaError_t cudaSetDeviceFlags(unsigned) {
  return cudaSuccess;
}
cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  *flags = cudaDeviceScheduleAuto | cudaDeviceMapHost;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* v) {
  *v = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* v) {
  *v = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* id, int len, int device) {
  snprintf(id, len, "0000:00:00.0");
  return check_device(device);
}
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) {
  return cudaSuccess;
}
cudaError_t cudaFuncSetCacheConfig(void const*, cudaFuncCache) {
  return cudaSuccess;
}
cudaError_t cudaDeviceSetLimit(cudaLimit, size_t) {
  return cudaSuccess;
}
cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  *value = limit == cudaLimitStackSize        ? 1024
           : limit == cudaLimitPrintfFifoSize ? 1 << 20
                                              : 8 << 20;
  return cudaSuccess;
}
cudaError_t cudaCtxResetPersistingL2Cache() {
  return cudaSuccess;
}
cudaError_t cudaProfilerStart() {
  return cudaSuccess;
}
cudaError_t cudaProfilerStop() {
  return cudaSuccess;
}

// Clears a kernel's error; allocations stay (a real reset would release them).
cudaError_t cudaDeviceReset() {
  PTXEMU_API_LOCK;
  run_all_streams();
  set_sticky_error(cudaSuccess);
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
  if (check_device(device)) return cudaErrorInvalidDevice;
  memset(p, 0, sizeof *p);
  snprintf(p->name, sizeof p->name, "ptxemu (compute capability %d.%d)", compute_capability() / 10,
           compute_capability() % 10);
  p->major = compute_capability() / 10;
  p->minor = compute_capability() % 10;
  p->multiProcessorCount = sm_count();
  p->warpSize = kWarpSize;
  p->maxThreadsPerBlock = 1024;
  p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
  p->maxThreadsDim[2] = 64;
  p->maxGridSize[0] = 2147483647;
  p->maxGridSize[1] = p->maxGridSize[2] = 65535;
  p->maxThreadsPerMultiProcessor = limits().threads_per_sm;
  p->maxBlocksPerMultiProcessor = limits().blocks_per_sm;
  p->regsPerBlock = p->regsPerMultiprocessor = kRegistersPerSm;
  p->sharedMemPerBlock = 48 << 10;
  p->sharedMemPerBlockOptin = max_shared_per_block();
  p->sharedMemPerMultiprocessor = max_shared_per_sm();
  p->reservedSharedMemPerBlock = kReservedShared;
  p->totalGlobalMem = device_memory_total();
  p->totalConstMem = 64 << 10;
  p->l2CacheSize = 50 << 20;
  p->memoryBusWidth = 5120;
  p->concurrentKernels = p->unifiedAddressing = p->canMapHostMemory = 1;
  p->managedMemory = p->concurrentManagedAccess = p->cooperativeLaunch = 1;
  p->memoryPoolsSupported = p->streamPrioritiesSupported = p->hostRegisterSupported = 1;
  p->globalL1CacheSupported = p->localL1CacheSupported = 1;
  p->asyncEngineCount = 2;
  p->textureAlignment = 512;
  p->memPitch = 2147483647;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (check_device(device)) return cudaErrorInvalidDevice;
  switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor: *value = compute_capability() / 10; break;
    case cudaDevAttrComputeCapabilityMinor: *value = compute_capability() % 10; break;
    case cudaDevAttrMultiProcessorCount: *value = sm_count(); break;
    case cudaDevAttrWarpSize: *value = kWarpSize; break;
    case cudaDevAttrMaxThreadsPerBlock: *value = 1024; break;
    case cudaDevAttrMaxBlockDimX: *value = 1024; break;
    case cudaDevAttrMaxBlockDimY: *value = 1024; break;
    case cudaDevAttrMaxBlockDimZ: *value = 64; break;
    case cudaDevAttrMaxGridDimX: *value = 2147483647; break;
    case cudaDevAttrMaxGridDimY: *value = 65535; break;
    case cudaDevAttrMaxGridDimZ: *value = 65535; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = 48 << 10; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = max_shared_per_block(); break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = max_shared_per_sm(); break;
    case cudaDevAttrReservedSharedMemoryPerBlock: *value = kReservedShared; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = limits().threads_per_sm; break;
    case cudaDevAttrMaxBlocksPerMultiprocessor: *value = limits().blocks_per_sm; break;
    case cudaDevAttrMaxRegistersPerBlock: *value = kRegistersPerSm; break;
    case cudaDevAttrMaxRegistersPerMultiprocessor: *value = kRegistersPerSm; break;
    case cudaDevAttrTotalConstantMemory: *value = 64 << 10; break;
    case cudaDevAttrL2CacheSize: *value = 50 << 20; break;
    case cudaDevAttrClockRate: *value = 1000000; break;
    case cudaDevAttrMemoryClockRate: *value = 1000000; break;
    case cudaDevAttrGlobalMemoryBusWidth: *value = 5120; break;
    case cudaDevAttrAsyncEngineCount: *value = 2; break;
    case cudaDevAttrTextureAlignment: *value = 512; break;
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrConcurrentManagedAccess:
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrMemoryPoolsSupported:
    case cudaDevAttrStreamPrioritiesSupported:
    case cudaDevAttrHostRegisterSupported:
    case cudaDevAttrCanUseHostPointerForRegisteredMem:
    case cudaDevAttrGlobalL1CacheSupported:
    case cudaDevAttrLocalL1CacheSupported: *value = 1; break;
    default: *value = 0;
  }
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(void const* function, cudaFuncAttribute attribute, int value) {
  PTXEMU_API_LOCK;
  PTXEMU_CHECK_STICKY;
  KernelRef k = find_kernel(function);
  if (!k.func) return fail(cudaErrorInvalidDeviceFunction);
  if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
    if (value < 0 || u64(value) + static_shared_bytes(*k.func) > u64(max_shared_per_block())) {
      return fail(cudaErrorInvalidValue);
    }
    k.func->max_dynamic_shared = value;
  }
  return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* a, void const* function) {
  PTXEMU_API_LOCK;
  PTXEMU_CHECK_STICKY;
  KernelRef k = find_kernel(function);
  if (!k.func) return fail(cudaErrorInvalidDeviceFunction);
  memset(a, 0, sizeof *a);
  a->maxThreadsPerBlock = k.func->max_threads ? k.func->max_threads : 1024;
  a->numRegs = kRegistersPerThread;
  a->ptxVersion = k.module->target;
  a->binaryVersion = max(k.module->target, compute_capability());
  a->sharedSizeBytes = static_shared_bytes(*k.func);
  a->localSizeBytes = k.func->local_bytes;
  a->maxDynamicSharedSizeBytes = k.func->max_dynamic_shared;
  return cudaSuccess;
}

cudaError_t cudaFuncGetName(char const** name, void const* function) {
  PTXEMU_API_LOCK;
  KernelRef k = find_kernel(function);
  if (!k.func) return fail(cudaErrorInvalidDeviceFunction);
  *name = k.func->name.c_str();
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* n, void const* function,
                                                                   int threads, size_t shared,
                                                                   unsigned) {
  PTXEMU_API_LOCK;
  if (!find_kernel(function).func) return fail(cudaErrorInvalidDeviceFunction);
  *n = occupancy(function, threads, shared);
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* n, void const* function, int threads,
                                                          size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(n, function, threads, shared, 0);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, void const* function,
                                                      int blocks, int) {
  PTXEMU_API_LOCK;
  KernelRef k = find_kernel(function);
  if (!k.func || blocks <= 0) return fail(cudaErrorInvalidValue);
  s64 each = max_shared_per_sm() / blocks - kReservedShared - s64(static_shared_bytes(*k.func));
  *bytes = size_t(std::clamp<s64>(each, 0, max_shared_per_block()));
  return cudaSuccess;
}

// Only cuTensorMapEncodeTiled exists; other names are reported as not found, which callers handle
// as an older driver.
cudaError_t cudaGetDriverEntryPointByVersion(char const* name, void** function, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  if (!name || !function) return fail(cudaErrorInvalidValue);
  bool const found = string(name) == "cuTensorMapEncodeTiled";
  *function = found ? reinterpret_cast<void*>(&encode_tiled_tensor_map) : nullptr;
  if (result) {
    *result = found ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
  }
  return found ? cudaSuccess : fail(cudaErrorSymbolNotFound);
}

cudaError_t cudaGetDriverEntryPoint(char const* name, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* result) {
  return cudaGetDriverEntryPointByVersion(name, function, CUDART_VERSION, flags, result);
}

}  // extern "C"
