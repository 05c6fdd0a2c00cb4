// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/core/rounding.hpp>

#include <cstdint>

namespace allot {

/// How the three matrices of an expert (gate and up, [2 * inner, hidden]; down, [hidden, inner])
/// are stored.
enum class expert_format : std::uint8_t { bf16, fp8_block128, nvfp4, mxfp4, q4_0, q4_k, q8_0 };

/// Elements along a matrix row that one format block covers: `hidden` and `inner` must be whole
/// multiples of it. 1 where any size works.
constexpr std::int64_t block_elements(expert_format f) {
  switch (f) {
    case expert_format::bf16:
    case expert_format::fp8_block128: return 1;  // the last 128-block may be partial
    case expert_format::nvfp4: return 16;
    case expert_format::mxfp4:
    case expert_format::q4_0:
    case expert_format::q8_0: return 32;
    case expert_format::q4_k: return 256;
  }
  return 1;
}

/// The parts of one expert's storage.
struct expert_storage {
  checked codes{};   ///< bytes of the weights themselves
  checked scales{};  ///< bytes of what scales them

  constexpr checked total() const { return codes + scales; }
};

/// Bytes of one expert.
///
/// \param hidden  width of the model       [>= 1, multiple of block_elements]
/// \param inner   width of the expert      [>= 1, multiple of block_elements]
/// \source  docs/formulas.md; block sizes of the GGUF formats (q4_0: 16
///          codes + 2 per 32; q8_0: 32 + 2 per 32; q4_k: 128 + 16 per 256) and of OCP MX (mxfp4:
///          one e8m0 byte per 32)
constexpr expert_storage expert_storage_of(expert_format f, std::int64_t hidden,
                                           std::int64_t inner) {
  checked const weights = checked{3} * hidden * inner;
  if (weights.overflowed) { return {weights, weights}; }
  std::int64_t const n = weights.value;
  switch (f) {
    case expert_format::bf16: return {checked{n} * 2, 0};
    case expert_format::fp8_block128: {
      checked const across = divide_up(hidden, 128);
      checked const gate_up = checked{divide_up(2 * inner, 128)} * across;
      checked const down = across * divide_up(inner, 128);
      return {n, (gate_up + down) * 2};
    }
    case expert_format::nvfp4:  // e4m3 scale per 16, and one fp16 scale per matrix row
      return {n / 2, checked{n / 16} + (checked{inner} * 2 + hidden) * 2};
    case expert_format::mxfp4: return {n / 2, n / 32};
    case expert_format::q4_0: return {n / 2, n / 32 * 2};
    case expert_format::q4_k: return {n / 2, n / 256 * 16};
    case expert_format::q8_0: return {n, n / 32 * 2};
  }
  return {};
}

/// Bytes of one expert: codes and scales. Same requirements as `expert_storage_of`.
constexpr checked expert_bytes(expert_format f, std::int64_t hidden, std::int64_t inner) {
  return expert_storage_of(f, hidden, inner).total();
}

static_assert(expert_bytes(expert_format::nvfp4, 2560, 640).value == 2'772'480);
static_assert(expert_bytes(expert_format::nvfp4, 2048, 512).value == 1'775'616);
static_assert(expert_bytes(expert_format::nvfp4, 2816, 704).value == 3'353'856);
static_assert(expert_bytes(expert_format::nvfp4, 3072, 1536).value == 7'974'912);

}  // namespace allot
