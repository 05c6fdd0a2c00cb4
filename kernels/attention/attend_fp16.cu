// SPDX-License-Identifier: Apache-2.0
// Every head shape over a cache of fp16. A file an element, for they take longest to compile.
#include "kernels/attention/decode_kernel.hpp"
#include "kernels/attention/prefill_kernel.hpp"

namespace allot::kernels {

template cudaError_t decode<element_type<element::fp16>>(std::size_t, decode_call const&,
                                                         decode_workspace const&, cudaStream_t);
template cudaError_t prefill<element_type<element::fp16>>(std::size_t, prefill_call const&,
                                                          cudaStream_t);

}  // namespace allot::kernels
