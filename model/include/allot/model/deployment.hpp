// SPDX-License-Identifier: Apache-2.0
// A model on one rank of a machine: which pool families it needs, with which dimensions.
#pragma once

#include <allot/family/expert_bank.hpp>
#include <allot/family/gqa.hpp>
#include <allot/family/mla.hpp>
#include <allot/family/recurrent_state.hpp>
#include <allot/model/geometry.hpp>
#include <allot/policy/expert_format.hpp>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace allot::model {

/// How a model is to be run; what its configuration cannot say.
struct deployment {
  std::int64_t tp = 1;                          ///< tensor-parallel ranks                [>= 1]
  std::int64_t page_tokens = 16;                ///< tokens per page                      [>= 1]
  std::int64_t max_running = 4;                 ///< requests that run at once            [>= 1]
  std::optional<element> kv_dtype;              ///< absent: the element type of the model
  std::optional<expert_format> experts_stored;  ///< absent: what the configuration says
  bool prediction_layers = false;               ///< the KV rows of multi-token prediction, too
};

/// A setting of a deployment that this model cannot have.
class deployment_error : public std::runtime_error {
 public:
  /// \param setting  "tp", "expert-format"
  /// \param value    as given; empty when it is missing
  /// \param right    what would be right
  deployment_error(std::string setting, std::string value, std::string const& right)
      : std::runtime_error(right), setting_{std::move(setting)}, value_{std::move(value)} {}

  [[nodiscard]] std::string const& setting() const { return setting_; }
  [[nodiscard]] std::string const& value() const { return value_; }

 private:
  std::string setting_;
  std::string value_;
};

/// The pools of one rank.
struct model_pools {
  std::variant<gqa, mla> kv;
  std::optional<recurrent_state> state;
  std::optional<expert_bank> experts;  ///< pins and buffer mode are the caller's to set
  expert_format experts_stored = expert_format::bf16;  ///< only with `experts`
  std::vector<std::string> notes;                      ///< what was assumed, a sentence each

  std::int64_t kv_bytes_per_token = 0;    ///< bytes of one token in all layers, index keys included
  std::int64_t state_bytes_per_slot = 0;  ///< bytes of one recurrent state, all layers
};

/// \returns the pools of `model`, run as `how`
/// \errors  throws `deployment_error` for a setting, naming it, and for sizes past 2^63 bytes.
///          Heads that the ranks do not split are left to `solve` to refuse.
[[nodiscard]] model_pools describe(model_geometry const& model, deployment const& how);

/// The names of the element types and expert formats, as options and requests spell them.
[[nodiscard]] std::string name_of(element type);
[[nodiscard]] std::string name_of(expert_format format);
[[nodiscard]] std::optional<element> element_named(std::string const& name);
[[nodiscard]] std::optional<expert_format> expert_format_named(std::string const& name);
/// \returns "fp32, fp16, …": for messages and help
[[nodiscard]] std::string element_names();
[[nodiscard]] std::string expert_format_names();

}  // namespace allot::model
