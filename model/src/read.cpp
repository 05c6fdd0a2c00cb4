// SPDX-License-Identifier: Apache-2.0
#include "json_document.hpp"
#include "parts.hpp"
#include "unsupported.hpp"

#include <allot/model/config_error.hpp>
#include <allot/model/read.hpp>

namespace allot::model {

std::optional<std::string> read_dtype(config_view const& config, std::string_view field) {
  auto const name = config.text(field);
  if (!name) { return std::nullopt; }
  if (*name == "bfloat16") { return "bf16"; }
  if (*name == "float16" || *name == "half") { return "fp16"; }
  if (*name == "float32" || *name == "float") { return "fp32"; }
  config.fail(config.find_anywhere(field), "expected \"bfloat16\", \"float16\" or \"float32\"");
}

model_geometry read_config(std::string_view text, std::string const& file) {
  auto const document = parse_document(text, file);
  config_view const config{document, file};
  model_geometry out;
  refuse_unsupported(config);
  auto const known = find_architecture(config, out);
  out.max_positions = config.integer({"max_position_embeddings"});
  out.vocab = config.integer({"vocab_size"});
  out.tied_embeddings = config.flag("tie_word_embeddings");
  out.dtype = read_dtype(config, "dtype");
  if (auto const older = read_dtype(config, "torch_dtype")) {
    if (out.dtype && *out.dtype != *older) {
      config.fail(config.find_anywhere("torch_dtype"), "contradicts dtype; they are one fact");
    }
    out.dtype = older;
  }
  read_attention(config, known, out);
  refuse_windows(config, known, out);
  read_mlp(config, known, out);
  out.mtp_layers =
      config.integer({"num_nextn_predict_layers", "mtp_num_hidden_layers"}, 0).value_or(0);
  out.quant = read_quantization(config);
  return out;
}

}  // namespace allot::model
