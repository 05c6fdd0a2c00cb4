// SPDX-License-Identifier: Apache-2.0
// Allocation, copies, memory pools, symbols and pointer queries.
#include "checks.hpp"
#include "memory.hpp"
#include "runtime.hpp"

namespace ptxemu {

cudaError_t copy(void* dst, void const* src, size_t bytes, cudaMemcpyKind kind) {
  if (sticky_error()) return sticky_error();
  if (!bytes) return cudaSuccess;
  if (!dst || !src) return cudaErrorInvalidValue;
  bool const to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  bool const from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (to_device && !find_allocation(dst, bytes)) return cudaErrorInvalidValue;
  if (from_device && !find_allocation(src, bytes)) return cudaErrorInvalidValue;
  auto is_device = [](void const* p) {
    Allocation const* a = find_allocation(p, 1);
    return a && a->kind == MemoryKind::Device;
  };
  if ((kind == cudaMemcpyHostToDevice && is_device(src)) ||
      (kind == cudaMemcpyDeviceToHost && is_device(dst)) ||
      (kind == cudaMemcpyHostToHost && (is_device(src) || is_device(dst)))) {
    report("COPY", "the direction of a copy does not fit its pointers");
    return cudaErrorInvalidValue;
  }
  // A pointer into a block that is too small would otherwise be taken for host memory.
  for (void const* p : {static_cast<void const*>(dst), src}) {
    if (is_recently_freed(u64(p)) || (find_allocation(p, 1) && !find_allocation(p, bytes))) {
      return cudaErrorInvalidValue;
    }
  }
  if (!copy_memory(dst, src, bytes) && kChecks.uninitialised) {
    report("UNINIT-COPY",
           "copy to the host of " + to_string(bytes) + " bytes, some of which were never written");
  }
  return cudaSuccess;
}

cudaError_t fill(void* dst, int value, size_t bytes) {
  if (sticky_error()) return sticky_error();
  if (!bytes) return cudaSuccess;
  if (!find_allocation(dst, bytes)) return cudaErrorInvalidValue;
  memset(host_view(dst), value, bytes);
  mark_written(dst, bytes);
  return cudaSuccess;
}

namespace {

cudaError_t allocate(void** p, size_t bytes, MemoryKind kind, unsigned flags = 0) {
  PTXEMU_CHECK_STICKY;
  if (!p) return fail(cudaErrorInvalidValue);
  *p = nullptr;
  if (!bytes) return cudaSuccess;
  *p = allocate_memory(bytes, kind, flags);
  return *p ? cudaSuccess : fail(cudaErrorMemoryAllocation);
}

// In a failing asynchronous copy the error belongs to the call, if it is made right away.
cudaError_t copy_async(void* dst, void const* src, size_t bytes, cudaMemcpyKind kind,
                       cudaStream_t stream) {
  Work work = [=] { return copy(dst, src, bytes, kind); };
  // Pageable host memory makes the call synchronous.
  bool const pageable = bytes && (!find_allocation(dst, bytes) || !find_allocation(src, bytes));
  Stream* s = find_stream(stream);
  if (pageable && s && !s->capture) return enqueue_and_wait(stream, work);
  if (!deferred_mode() && s && !s->capture) return enqueue_and_wait(stream, work);
  return enqueue(stream, cudaGraphNodeTypeMemcpy, work);
}

cudaError_t copy_2d(void* dst, size_t dst_pitch, void const* src, size_t src_pitch, size_t width,
                    size_t height, cudaMemcpyKind kind) {
  for (size_t r = 0; r < height; r++) {
    cudaError_t e = copy(static_cast<u8*>(dst) + r * dst_pitch,
                         static_cast<u8 const*>(src) + r * src_pitch, width, kind);
    if (e) return e;
  }
  return cudaSuccess;
}

cudaError_t fill_2d(void* dst, size_t pitch, int value, size_t width, size_t height) {
  for (size_t r = 0; r < height; r++) {
    if (cudaError_t e = fill(static_cast<u8*>(dst) + r * pitch, value, width)) return e;
  }
  return cudaSuccess;
}

cudaError_t copy_symbol(void const* symbol, void* host_dst, void const* host_src, size_t bytes,
                        size_t offset, cudaStream_t stream, bool wait) {
  u64 size = 0;
  auto* p = static_cast<u8*>(symbol_address(symbol, &size));
  if (!p) return fail(cudaErrorInvalidSymbol);
  if (offset + bytes > size) return fail(cudaErrorInvalidValue);
  void* dst = host_dst ? host_dst : p + offset;
  void const* src = host_dst ? p + offset : host_src;
  Work work = [=] { return copy(dst, src, bytes, cudaMemcpyDefault); };
  Stream* s = find_stream(stream);
  if (wait || (s && !s->capture)) return enqueue_and_wait(stream, work);
  return enqueue(stream, cudaGraphNodeTypeMemcpy, work);
}

// Pools only carry attributes; all memory comes from the one device.
struct MemPool {
  u64 release_threshold = 0;
};

MemPool* default_pool() {
  static auto* p = new MemPool;
  return p;
}

}  // namespace
}  // namespace ptxemu

using namespace ptxemu;

extern "C" {

cudaError_t cudaMalloc(void** p, size_t n) {
  PTXEMU_API_LOCK;
  PTXEMU_NOT_IN_CAPTURE;
  return allocate(p, n, MemoryKind::Device);
}

cudaError_t cudaMallocManaged(void** p, size_t n, unsigned) {
  PTXEMU_API_LOCK;
  PTXEMU_NOT_IN_CAPTURE;
  return n ? allocate(p, n, MemoryKind::Managed) : fail(cudaErrorInvalidValue);
}

cudaError_t cudaHostAlloc(void** p, size_t n, unsigned flags) {
  PTXEMU_API_LOCK;
  PTXEMU_NOT_IN_CAPTURE;
  return allocate(p, n, MemoryKind::Pinned, flags);
}

cudaError_t cudaMallocHost(void** p, size_t n) {
  return cudaHostAlloc(p, n, 0);
}

cudaError_t cudaMallocPitch(void** p, size_t* pitch, size_t width, size_t height) {
  *pitch = round_up(width, 512);
  return cudaMalloc(p, *pitch * height);
}

// Waits for all work, like the real one in practice.
cudaError_t cudaFree(void* p) {
  PTXEMU_API_LOCK;
  PTXEMU_NOT_IN_CAPTURE;
  run_all_streams();
  if (p) {
    Allocation* a = find_allocation(p, 1);
    if (!a || a->base != u64(p) ||
        (a->kind != MemoryKind::Device && a->kind != MemoryKind::Managed)) {
      return fail(cudaErrorInvalidValue);
    }
    free_memory(p);
  }
  return sticky_error() ? fail(sticky_error()) : cudaSuccess;
}

cudaError_t cudaFreeHost(void* p) {
  PTXEMU_API_LOCK;
  PTXEMU_NOT_IN_CAPTURE;
  run_all_streams();
  if (p) {
    Allocation* a = find_allocation(p, 1);
    if (!a || a->base != u64(p) || a->kind != MemoryKind::Pinned)
      return fail(cudaErrorInvalidValue);
    free_memory(p);
  }
  return sticky_error() ? fail(sticky_error()) : cudaSuccess;
}

cudaError_t cudaHostRegister(void* p, size_t n, unsigned flags) {
  PTXEMU_API_LOCK;
  PTXEMU_CHECK_STICKY;
  if (!p || !n) return fail(cudaErrorInvalidValue);
  return register_host_memory(p, n, flags) ? cudaSuccess
                                           : fail(cudaErrorHostMemoryAlreadyRegistered);
}

cudaError_t cudaHostUnregister(void* p) {
  PTXEMU_API_LOCK;
  run_all_streams();
  return unregister_host_memory(p) ? cudaSuccess : fail(cudaErrorHostMemoryNotRegistered);
}

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  PTXEMU_API_LOCK;
  Allocation* a = find_allocation(host, 1);
  if (!a || a->kind == MemoryKind::Device) return fail(cudaErrorInvalidValue);
  *device = host;
  return cudaSuccess;
}

cudaError_t cudaHostGetFlags(unsigned* flags, void* host) {
  PTXEMU_API_LOCK;
  Allocation* a = find_allocation(host, 1);
  if (!a || a->kind != MemoryKind::Pinned) return fail(cudaErrorInvalidValue);
  *flags = a->host_flags | cudaHostAllocMapped;
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, void const* p) {
  PTXEMU_API_LOCK;
  if (!attributes) return fail(cudaErrorInvalidValue);
  memset(attributes, 0, sizeof *attributes);
  Allocation* a = find_allocation(p, 1);
  if (!a) {
    attributes->type = cudaMemoryTypeUnregistered;
    attributes->device = cudaInvalidDeviceId;
    return cudaSuccess;
  }
  attributes->devicePointer = const_cast<void*>(p);
  switch (a->kind) {
    case MemoryKind::Device:
    case MemoryKind::ModuleVariable: attributes->type = cudaMemoryTypeDevice; break;
    case MemoryKind::Managed: attributes->type = cudaMemoryTypeManaged; break;
    default: attributes->type = cudaMemoryTypeHost;
  }
  if (attributes->type != cudaMemoryTypeDevice) attributes->hostPointer = const_cast<void*>(p);
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total) {
  PTXEMU_API_LOCK;
  PTXEMU_CHECK_STICKY;
  *total = device_memory_total();
  *free_bytes = device_memory_total() - device_memory_used();
  return cudaSuccess;
}

// --- copies and fills

cudaError_t cudaMemcpy(void* dst, void const* src, size_t n, cudaMemcpyKind kind) {
  PTXEMU_API_LOCK;
  return enqueue_and_wait(nullptr, [=] { return copy(dst, src, n, kind); });
}

cudaError_t cudaMemcpyAsync(void* dst, void const* src, size_t n, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  PTXEMU_API_LOCK;
  return copy_async(dst, src, n, kind, stream);
}

cudaError_t cudaMemcpyPeer(void* dst, int, void const* src, int, size_t n) {
  return cudaMemcpy(dst, src, n, cudaMemcpyDeviceToDevice);
}

cudaError_t cudaMemcpyPeerAsync(void* dst, int, void const* src, int, size_t n,
                                cudaStream_t stream) {
  return cudaMemcpyAsync(dst, src, n, cudaMemcpyDeviceToDevice, stream);
}

cudaError_t cudaMemcpy2D(void* dst, size_t dst_pitch, void const* src, size_t src_pitch,
                         size_t width, size_t height, cudaMemcpyKind kind) {
  PTXEMU_API_LOCK;
  if (width > dst_pitch || width > src_pitch) return fail(cudaErrorInvalidPitchValue);
  return enqueue_and_wait(
      nullptr, [=] { return copy_2d(dst, dst_pitch, src, src_pitch, width, height, kind); });
}

cudaError_t cudaMemcpy2DAsync(void* dst, size_t dst_pitch, void const* src, size_t src_pitch,
                              size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
  PTXEMU_API_LOCK;
  if (width > dst_pitch || width > src_pitch) return fail(cudaErrorInvalidPitchValue);
  Work work = [=] { return copy_2d(dst, dst_pitch, src, src_pitch, width, height, kind); };
  bool const pageable = !find_allocation(dst, 1) || !find_allocation(src, 1);
  Stream* s = find_stream(stream);
  if (s && !s->capture && (pageable || !deferred_mode())) return enqueue_and_wait(stream, work);
  return enqueue(stream, cudaGraphNodeTypeMemcpy, work);
}

// The copies of a batch are not ordered among each other; deferred mode runs them backwards.
// A source that may only be read during the call is copied aside.
cudaError_t cudaMemcpyBatchAsync(void* const* dsts, void const* const* srcs, size_t const* sizes,
                                 size_t count, cudaMemcpyAttributes* attributes,
                                 size_t* attribute_starts, size_t num_attributes,
                                 cudaStream_t stream) {
  PTXEMU_API_LOCK;
  PTXEMU_CHECK_STICKY;
  Stream* s = find_stream(stream);
  if (!s || s->legacy) return fail(cudaErrorInvalidValue);
  if (!count || !dsts || !srcs || !sizes || !attributes || !attribute_starts || !num_attributes ||
      num_attributes > count || attribute_starts[0] != 0) {
    return fail(cudaErrorInvalidValue);
  }
  for (size_t k = 0; k < num_attributes; k++) {
    auto const order = attributes[k].srcAccessOrder;
    if (order != cudaMemcpySrcAccessOrderStream && order != cudaMemcpySrcAccessOrderDuringApiCall &&
        order != cudaMemcpySrcAccessOrderAny) {
      return fail(cudaErrorInvalidValue);
    }
    if (k && (attribute_starts[k] <= attribute_starts[k - 1] || attribute_starts[k] >= count)) {
      return fail(cudaErrorInvalidValue);
    }
  }
  vector<Work> copies;
  size_t attribute = 0;
  for (size_t k = 0; k < count; k++) {
    while (attribute + 1 < num_attributes && attribute_starts[attribute + 1] <= k)
      attribute++;
    void* dst = dsts[k];
    void const* src = srcs[k];
    size_t const n = sizes[k];
    if (!dst || !src || !n) return fail(cudaErrorInvalidValue);
    bool const device_source = find_allocation(src, n) != nullptr;
    if (!device_source && !find_allocation(dst, n)) return fail(cudaErrorInvalidValue);
    if (attributes[attribute].srcAccessOrder == cudaMemcpySrcAccessOrderDuringApiCall &&
        !device_source) {
      auto* bytes = static_cast<u8 const*>(src);
      auto kept = std::make_shared<vector<u8>>(bytes, bytes + n);
      copies.push_back([=] { return copy(dst, kept->data(), n, cudaMemcpyDefault); });
    } else {
      copies.push_back([=] { return copy(dst, src, n, cudaMemcpyDefault); });
    }
  }
  if (deferred_mode()) std::reverse(copies.begin(), copies.end());
  return enqueue(stream, cudaGraphNodeTypeMemcpy, [copies] {
    for (Work const& c : copies) {
      if (cudaError_t e = c()) return fail(e);
    }
    return cudaSuccess;
  });
}

cudaError_t cudaMemset(void* p, int value, size_t n) {
  PTXEMU_API_LOCK;
  return enqueue_and_wait(nullptr, [=] { return fill(p, value, n); });
}

cudaError_t cudaMemsetAsync(void* p, int value, size_t n, cudaStream_t stream) {
  PTXEMU_API_LOCK;
  PTXEMU_CHECK_STICKY;
  if (n && !find_allocation(p, n)) return fail(cudaErrorInvalidValue);
  return enqueue(stream, cudaGraphNodeTypeMemset, [=] { return fill(p, value, n); });
}

cudaError_t cudaMemset2D(void* p, size_t pitch, int value, size_t width, size_t height) {
  PTXEMU_API_LOCK;
  return enqueue_and_wait(nullptr, [=] { return fill_2d(p, pitch, value, width, height); });
}

cudaError_t cudaMemset2DAsync(void* p, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  PTXEMU_API_LOCK;
  return enqueue(stream, cudaGraphNodeTypeMemset,
                 [=] { return fill_2d(p, pitch, value, width, height); });
}

cudaError_t cudaMemPrefetchAsync(void const*, size_t, cudaMemLocation, unsigned, cudaStream_t) {
  return cudaSuccess;
}

cudaError_t cudaMemAdvise(void const*, size_t, cudaMemoryAdvise, cudaMemLocation) {
  return cudaSuccess;
}

// --- symbols

cudaError_t cudaGetSymbolAddress(void** p, void const* symbol) {
  PTXEMU_API_LOCK;
  *p = symbol_address(symbol);
  return *p ? cudaSuccess : fail(cudaErrorInvalidSymbol);
}

cudaError_t cudaGetSymbolSize(size_t* size, void const* symbol) {
  PTXEMU_API_LOCK;
  u64 n = 0;
  if (!symbol_address(symbol, &n)) return fail(cudaErrorInvalidSymbol);
  *size = n;
  return cudaSuccess;
}

cudaError_t cudaMemcpyToSymbol(void const* symbol, void const* src, size_t n, size_t offset,
                               cudaMemcpyKind) {
  PTXEMU_API_LOCK;
  return copy_symbol(symbol, nullptr, src, n, offset, nullptr, true);
}

cudaError_t cudaMemcpyFromSymbol(void* dst, void const* symbol, size_t n, size_t offset,
                                 cudaMemcpyKind) {
  PTXEMU_API_LOCK;
  return copy_symbol(symbol, dst, nullptr, n, offset, nullptr, true);
}

cudaError_t cudaMemcpyToSymbolAsync(void const* symbol, void const* src, size_t n, size_t offset,
                                    cudaMemcpyKind, cudaStream_t stream) {
  PTXEMU_API_LOCK;
  return copy_symbol(symbol, nullptr, src, n, offset, stream, false);
}

cudaError_t cudaMemcpyFromSymbolAsync(void* dst, void const* symbol, size_t n, size_t offset,
                                      cudaMemcpyKind, cudaStream_t stream) {
  PTXEMU_API_LOCK;
  return copy_symbol(symbol, dst, nullptr, n, offset, stream, false);
}

// --- stream-ordered allocation

cudaError_t cudaMallocAsync(void** p, size_t n, cudaStream_t stream) {
  PTXEMU_API_LOCK;
  Stream* s = find_stream(stream);
  if (!s) return fail(cudaErrorInvalidResourceHandle);
  if (s->capture) {  // would be a memory node; only a fixed address is modelled
    report("UNSUPPORTED-API", "cudaMallocAsync during stream capture");
    s->capture->invalidated = true;
    return fail(cudaErrorNotSupported);
  }
  cudaError_t e = allocate(p, n, MemoryKind::Device);
  if (e == cudaErrorMemoryAllocation && deferred_mode()) {
    run_all_streams();  // queued frees may make room
    e = allocate(p, n, MemoryKind::Device);
    if (!e) cudaGetLastError();
  }
  return e;
}

cudaError_t cudaFreeAsync(void* p, cudaStream_t stream) {
  PTXEMU_API_LOCK;
  if (!p) return cudaSuccess;
  Allocation* a = find_allocation(p, 1);
  if (!a || a->base != u64(p) || a->kind != MemoryKind::Device) return fail(cudaErrorInvalidValue);
  return enqueue(stream, cudaGraphNodeTypeMemFree,
                 [p] { return free_memory(p) ? cudaSuccess : fail(cudaErrorInvalidValue); });
}

cudaError_t cudaMallocFromPoolAsync(void** p, size_t n, cudaMemPool_t, cudaStream_t stream) {
  return cudaMallocAsync(p, n, stream);
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  if (device) return fail(cudaErrorInvalidDevice);
  *pool = reinterpret_cast<cudaMemPool_t>(default_pool());
  return cudaSuccess;
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return cudaDeviceGetDefaultMemPool(pool, device);
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t) {
  return device ? fail(cudaErrorInvalidDevice) : cudaSuccess;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, cudaMemPoolProps const*) {
  *pool = reinterpret_cast<cudaMemPool_t>(new MemPool);
  return cudaSuccess;
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  auto* p = reinterpret_cast<MemPool*>(pool);
  if (p == default_pool()) return fail(cudaErrorInvalidValue);
  delete p;
  return cudaSuccess;
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t, cudaMemAccessDesc const*, size_t) {
  return cudaSuccess;
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t) {
  return cudaSuccess;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  if (attribute == cudaMemPoolAttrReleaseThreshold) {
    reinterpret_cast<MemPool*>(pool)->release_threshold = *static_cast<u64*>(value);
  }
  return cudaSuccess;
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  PTXEMU_API_LOCK;
  switch (attribute) {
    case cudaMemPoolReuseFollowEventDependencies:
    case cudaMemPoolReuseAllowOpportunistic:
    case cudaMemPoolReuseAllowInternalDependencies: *static_cast<int*>(value) = 1; break;
    case cudaMemPoolAttrReleaseThreshold:
      *static_cast<u64*>(value) = reinterpret_cast<MemPool*>(pool)->release_threshold;
      break;
    default: *static_cast<u64*>(value) = device_memory_used();
  }
  return cudaSuccess;
}

}  // extern "C"
