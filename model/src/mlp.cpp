// SPDX-License-Identifier: Apache-2.0
#include "layers.hpp"
#include "parts.hpp"

#include <string>

namespace allot::model {

void read_mlp(config_view const& config, architecture const& known, model_geometry& out) {
  auto const experts =
      config.integer({"n_routed_experts", "num_local_experts", "num_experts"}, 0).value_or(0);
  auto const width = config.integer({"intermediate_size"});
  if (experts == 0) {
    out.dense_intermediate = width;
    return;
  }
  moe_dims moe;
  moe.experts = experts;
  moe.top_k = config.require({"num_experts_per_tok", "num_experts_per_token", "moe_topk"},
                             "the experts a token uses");
  if (moe.top_k > experts) {
    config.fail_missing("num_experts_per_tok", std::to_string(moe.top_k) +
                                                   " experts a token, more than the " +
                                                   std::to_string(experts) + " of a layer");
  }
  auto const own_width = config.integer({"moe_intermediate_size"});
  if (own_width) {
    moe.intermediate = *own_width;
  } else if (known.expert_is_intermediate) {
    moe.intermediate = config.require({"intermediate_size"}, "the bytes of an expert");
  } else {
    config.fail_missing(
        "moe_intermediate_size",
        "missing; needed for the bytes of an expert (intermediate_size is the width "
        "of this architecture's dense layers)");
  }
  moe.layers = count_moe_layers(config, out.layers);
  if (moe.layers == 0) {
    config.fail_missing("first_k_dense_replace",
                        "the layer fields leave no layer with experts, but there are " +
                            std::to_string(experts) + " of them");
  }
  moe.dense_layers = out.layers - moe.layers;
  moe.shared_experts = config.integer({"n_shared_experts", "num_shared_expert"}, 0);
  moe.shared_intermediate =
      config.integer({"shared_expert_intermediate_size", "shared_intermediate_size"}, 0);
  // A width that is the expert's is not also a dense layer's; Llama 4 names the dense one apart.
  if (own_width) {
    out.dense_intermediate = width;
  } else if (moe.dense_layers > 0) {
    out.dense_intermediate = config.integer({"intermediate_size_mlp"});
  }
  out.moe = moe;
}

}  // namespace allot::model
