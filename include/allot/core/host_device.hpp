// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Before a function that kernels call as well: what they compute of a plan is then computed by the
/// same lines on the host. Nothing where the compiler is not one of CUDA.
#ifdef __CUDACC__
#define ALLOT_HOST_DEVICE __host__ __device__
#else
#define ALLOT_HOST_DEVICE
#endif
