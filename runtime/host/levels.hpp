// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

/// The kernels of host attention are one source that is compiled once for each of these levels of
/// the instruction set: the names are those of the x86-64 psABI. Elsewhere there is the baseline.
namespace allot::runtime::host {

struct baseline;
struct x86_64_v3;
struct x86_64_v4;

enum class level : std::size_t { baseline, x86_64_v3, x86_64_v4 };

/// The highest level of this processor that was compiled, or the one that the environment variable
/// ALLOT_HOST_ISA names: "baseline", "x86-64-v3" or "x86-64-v4". Looked up once.
///
/// \errors  backend_error when the variable names another, or one that cannot run here
level chosen_level();

}  // namespace allot::runtime::host
