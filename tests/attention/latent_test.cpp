// SPDX-License-Identifier: Apache-2.0
// Latent rows (MLA) against double precision, on random shapes.
#include "batch.hpp"
#include "sweep.hpp"

using namespace attention_test;

TEST_CASE("decode of random latent batches") {
  sweep({drawn::latent_decode, sweep_sizes(), 20'261'215}, sweep_shapes(500, 60), try_decode);
}

TEST_CASE("prefill of random latent batches") {
  sweep({drawn::latent_prefill, sweep_sizes(), 20'261'216}, sweep_shapes(500, 60), try_prefill);
}
