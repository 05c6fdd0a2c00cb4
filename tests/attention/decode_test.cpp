// SPDX-License-Identifier: Apache-2.0
// Decode against double precision, on random shapes.
#include "batch.hpp"
#include "sweep.hpp"

using namespace attention_test;

TEST_CASE("decode of random batches") {
  sweep({drawn::decode, sweep_sizes(), 20'261'213}, sweep_shapes(600, 80), try_decode);
}
