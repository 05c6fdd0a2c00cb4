// SPDX-License-Identifier: Apache-2.0
// In place of cuda/ where the library is built without CUDA: the same functions. No object of these
// classes can be made, so what is behind the constructors is never called.
#include <allot/runtime/allocation_error.hpp>
#include <allot/runtime/attention_operators.hpp>
#include <allot/runtime/cuda_backend.hpp>
#include <allot/runtime/cuda_devices.hpp>
#include <allot/runtime/cuda_resources.hpp>

namespace allot::runtime {
namespace {

[[noreturn]] void refuse(char const* what) {
  throw backend_error{what, "this allot-runtime was built without CUDA"};
}

}  // namespace

bool built_with_cuda() noexcept {
  return false;
}
int cuda_device_count() noexcept {
  return 0;
}
std::string cuda_device_name(int) {
  return {};
}
cuda_device_facts cuda_device(int) {
  return {};
}
std::string why_no_cuda_device() {
  return "the library was built without CUDA";
}

device_resource::device_resource(int device) : device_{device} {
  refuse("device_resource");
}
void* device_resource::allocate(std::int64_t) {
  return nullptr;
}
void device_resource::deallocate(void*, std::int64_t) noexcept {}
std::int64_t device_resource::free_bytes() const noexcept {
  return 0;
}
std::string device_resource::name() const {
  return {};
}

stream_ordered_resource::stream_ordered_resource(CUstream_st* stream, int device)
    : stream_{stream}, device_{device} {
  refuse("stream_ordered_resource");
}
void* stream_ordered_resource::allocate(std::int64_t) {
  return nullptr;
}
void stream_ordered_resource::deallocate(void*, std::int64_t) noexcept {}
std::int64_t stream_ordered_resource::free_bytes() const noexcept {
  return 0;
}
std::string stream_ordered_resource::name() const {
  return {};
}

pinned_resource::pinned_resource() {
  refuse("pinned_resource");
}
void* pinned_resource::allocate(std::int64_t) {
  return nullptr;
}
void pinned_resource::deallocate(void*, std::int64_t) noexcept {}

cuda_backend::cuda_backend(CUstream_st* stream, int device) : stream_{stream}, device_{device} {
  refuse("cuda_backend");
}
cuda_backend::~cuda_backend() = default;
void cuda_backend::fill(void*, std::byte, std::int64_t) {}
void cuda_backend::copy(void*, void const*, std::int64_t) {}
void cuda_backend::upload(void*, void const*, std::int64_t) {}
void cuda_backend::download(void*, void const*, std::int64_t) {}
std::int64_t cuda_backend::find_other(void const*, std::byte, std::int64_t) {
  return -1;
}
void cuda_backend::wait() {}

}  // namespace allot::runtime
