// SPDX-License-Identifier: Apache-2.0
#include "bytes_given.hpp"

#include <allot/runtime/host_resources.hpp>

#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>

#if __has_include(<sys/mman.h>)
#include <cerrno>
#include <sys/mman.h>
#define ALLOT_HAS_MMAP 1
#else
#define ALLOT_HAS_MMAP 0
#endif

namespace allot::runtime {

void* host_resource::allocate(std::int64_t bytes) {
  detail::refuse_negative_allocation(name(), bytes);
  if (bytes == 0) { return nullptr; }
  void* const memory = ::operator new(static_cast<std::size_t>(bytes),
                                      std::align_val_t{usual_alignment_bytes}, std::nothrow);
  if (memory == nullptr) { throw allocation_error{name(), bytes, free_bytes(), "out of memory"}; }
  return memory;
}

void host_resource::deallocate(void* memory, std::int64_t) noexcept {
  ::operator delete(memory, std::align_val_t{usual_alignment_bytes});
}

#if ALLOT_HAS_MMAP

void* reserved_host_resource::allocate(std::int64_t bytes) {
  detail::refuse_negative_allocation(name(), bytes);
  if (bytes == 0) { return nullptr; }
  void* const memory = ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw allocation_error{name(), bytes, free_bytes(), std::strerror(errno)};
  }
  return memory;
}

void reserved_host_resource::deallocate(void* memory, std::int64_t bytes) noexcept {
  if (memory != nullptr) { ::munmap(memory, static_cast<std::size_t>(bytes)); }
}

#else

void* reserved_host_resource::allocate(std::int64_t bytes) {
  throw allocation_error{name(), bytes, free_bytes(), "not on this system"};
}

void reserved_host_resource::deallocate(void*, std::int64_t) noexcept {}

#endif

external_resource::external_resource(void* memory, std::int64_t block_bytes, memory_space space,
                                     std::int64_t alignment_bytes)
    : block_{static_cast<std::byte*>(memory)},
      block_bytes_{block_bytes},
      alignment_bytes_{alignment_bytes},
      space_{space} {
  if (block_bytes < 0 || (memory == nullptr && block_bytes > 0)) {
    throw std::invalid_argument{"external_resource: no block of " + std::to_string(block_bytes) +
                                " bytes"};
  }
  if (alignment_bytes <= 0 || (alignment_bytes & (alignment_bytes - 1)) != 0) {
    throw std::invalid_argument{"external_resource: an alignment of " +
                                std::to_string(alignment_bytes) + " bytes is no power of two"};
  }
  auto const past =
      reinterpret_cast<std::uintptr_t>(memory) & static_cast<std::uintptr_t>(alignment_bytes - 1);
  if (past != 0) { skipped_bytes_ = alignment_bytes - static_cast<std::int64_t>(past); }
}

std::int64_t external_resource::next() const noexcept {
  // Offsets past the first aligned byte stay multiples of the alignment. Near the largest number
  // there is no next multiple, and then no byte of the block either.
  std::int64_t const after = used_bytes_ > skipped_bytes_ ? used_bytes_ - skipped_bytes_ : 0;
  std::int64_t const over = after & (alignment_bytes_ - 1);
  std::int64_t const pad = over == 0 ? 0 : alignment_bytes_ - over;
  std::int64_t const at = skipped_bytes_ + after;
  return pad > std::numeric_limits<std::int64_t>::max() - at ? block_bytes_ : at + pad;
}

std::int64_t external_resource::free_bytes() const noexcept {
  std::int64_t const at = next();
  return at < block_bytes_ ? block_bytes_ - at : 0;
}

void* external_resource::allocate(std::int64_t bytes) {
  detail::refuse_negative_allocation(name(), bytes);
  if (bytes == 0) { return nullptr; }
  if (bytes > free_bytes()) {
    throw allocation_error{name(), bytes, free_bytes(), "past the end of the block"};
  }
  std::int64_t const at = next();
  used_bytes_ = at + bytes;
  ++allocations_;
  return block_ + at;
}

void external_resource::deallocate(void* memory, std::int64_t bytes) noexcept {
  if (memory == nullptr) { return; }
  std::int64_t const at = static_cast<std::byte*>(memory) - block_;
  if (at + bytes == used_bytes_) { used_bytes_ = at; }
  if (--allocations_ == 0) { used_bytes_ = 0; }
}

std::string external_resource::name() const {
  return "external_resource(" + std::to_string(block_bytes_) + " bytes)";
}

}  // namespace allot::runtime
