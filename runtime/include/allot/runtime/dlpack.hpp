// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/runtime/extent_view.hpp>

#include <cstddef>
#include <cstdint>

/// Extents for other libraries, without their headers: the members of DLPack's `DLTensor`, in its
/// order and of its types.
///
/// \source  DLPack 1.0, dlpack.h
namespace allot::runtime {

/// `DLDeviceType` of the memory an arena can lie in.
enum class dl_device_type : std::int32_t { cpu = 1, cuda = 2, cuda_host = 3 };

/// `DLDevice`
struct dl_device {
  dl_device_type type = dl_device_type::cpu;
  std::int32_t id = 0;
};

/// `DLDataTypeCode`
enum class dl_type_code : std::uint8_t {
  signed_integer = 0,
  unsigned_integer = 1,
  real = 2,
  bfloat = 4
};

/// `DLDataType`
struct dl_data_type {
  dl_type_code code = dl_type_code::unsigned_integer;
  std::uint8_t bits = 8;
  std::uint16_t lanes = 1;
};

/// `DLTensor`; shape and strides are borrowed from the view it was made of.
struct dl_tensor {
  void* data = nullptr;
  dl_device device{};
  std::int32_t ndim = 0;
  dl_data_type dtype{};
  std::int64_t* shape = nullptr;    ///< [ndim] elements
  std::int64_t* strides = nullptr;  ///< [ndim] elements
  std::uint64_t byte_offset = 0;
};
static_assert(sizeof(dl_tensor) == 48 && offsetof(dl_tensor, device) == 8 &&
              offsetof(dl_tensor, ndim) == 16 && offsetof(dl_tensor, dtype) == 20 &&
              offsetof(dl_tensor, shape) == 24 && offsetof(dl_tensor, strides) == 32 &&
              offsetof(dl_tensor, byte_offset) == 40);

/// \param view   outlives the tensor
/// \param dtype  of one `T`
template <class T>
dl_tensor dl_tensor_of(extent_view<T>& view, dl_data_type dtype, dl_device device) noexcept {
  return {view.data, device, extent_view<T>::rank, dtype, view.shape, view.strides, 0};
}

}  // namespace allot::runtime
