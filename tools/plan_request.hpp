// SPDX-License-Identifier: Apache-2.0
// The solve request that `allot plan` makes of a model and its options.
#pragma once

#include "plan_options.hpp"

#include <allot/model/deployment.hpp>
#include <allot/solve/request.hpp>

#include <string>
#include <vector>

namespace allot::tools {

/// Owns what the request borrows: families, charges and their names.
class plan_request {
 public:
  /// \errors throws `option_error` or `model::deployment_error`
  plan_request(model::model_geometry const& model, plan_options const& options);
  plan_request(plan_request const&) = delete;
  plan_request& operator=(plan_request const&) = delete;

  /// \returns the request; valid as long as this object
  [[nodiscard]] request const& get() const { return request_; }
  [[nodiscard]] model::model_pools const& pools() const { return pools_; }
  /// \returns what was assumed, or asked without effect: a sentence each
  [[nodiscard]] std::vector<std::string> const& notes() const { return notes_; }

 private:
  void set_demand(model::model_geometry const& model, plan_options const& options);
  void add_notes(model::model_geometry const& model, plan_options const& options);

  model::model_pools pools_;
  std::vector<std::string> names_;
  std::vector<charge> charges_;
  std::vector<kv_family> kv_;
  std::vector<std::string> notes_;
  request request_;
};

/// A model's request and its answer.
class solved_plan {
 public:
  solved_plan(model::model_geometry const& model, plan_options const& options)
      : request_{model, options}, answer_{solve(request_.get(), storage_, table_)} {}

  [[nodiscard]] plan_request const& request() const { return request_; }
  [[nodiscard]] outcome const& answer() const { return answer_; }
  [[nodiscard]] table_view const& table() const { return table_; }

 private:
  plan_request request_;
  table_storage storage_;
  table_view table_;
  outcome answer_;
};

}  // namespace allot::tools
