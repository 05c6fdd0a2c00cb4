// SPDX-License-Identifier: Apache-2.0
// Results on the host do not depend on the number of threads.
#include "batch.hpp"
#include "sweep.hpp"

#include <omp.h>

using namespace attention_test;

namespace {

template <class Trial>
std::pair<std::vector<std::byte>, std::vector<float>> bits_of(attention_shape const& s,
                                                              int threads) {
  omp_set_num_threads(threads);
  Trial trial{s};
  trial.run();
  return {trial.rows.out.read(), trial.rows.lse.read()};
}

template <class Trial>
int compare(drawn kind) {
  shape_source source{kind, sweep_sizes(), 20'261'221};
  int checked = 0;
  for (int i = 0; i < sweep_shapes(60, 0); ++i) {
    attention_shape s = source.next();
    if (s.parts == 0) { s.parts = 6; }  // parts of the backend are as many as it has threads
    auto const wanted = bits_of<Trial>(s, 1);
    INFO(s.in_words());
    for (int const threads : {2, 3, 5}) {
      CHECK((bits_of<Trial>(s, threads) == wanted));
      ++checked;
    }
  }
  return checked;
}

}  // namespace

TEST_CASE("1, 2, 3 and 5 threads give the same bits") {
  int const usual = omp_get_max_threads();
  CHECK(compare<decode_trial>(drawn::decode) >= 36);
  CHECK(compare<prefill_trial>(drawn::prefill) >= 36);
  CHECK(compare<decode_trial>(drawn::latent_decode) >= 36);
  omp_set_num_threads(usual);
}
