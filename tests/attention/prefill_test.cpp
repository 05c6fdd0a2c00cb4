// SPDX-License-Identifier: Apache-2.0
// Prefill against double precision, on random shapes.
#include "batch.hpp"
#include "sweep.hpp"

using namespace attention_test;

TEST_CASE("prefill of random batches") {
  sweep({drawn::prefill, sweep_sizes(), 20'261'214}, sweep_shapes(600, 80), try_prefill);
}
