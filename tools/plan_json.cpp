// SPDX-License-Identifier: Apache-2.0
#include "ledger.hpp"
#include "plan_json.hpp"

#include <allot/json/answer_writer.hpp>
#include <allot/json/solve_lines.hpp>

#include <fmt/format.h>
#include <stdexcept>

namespace allot::tools {
namespace {

std::string quoted(std::string const& text) {
  std::string out;
  json::append_string(out, text);
  return out;
}

std::string model_json(model::model_geometry const& model, plan_options const& options,
                       plan_request const& request) {
  auto const& pools = request.pools();
  auto const number = [](std::optional<std::int64_t> const& value) {
    return value ? std::to_string(*value) : std::string{"null"};
  };
  auto out = fmt::format(
      R"("id":{},"kv_bytes_per_token":{},"request_fixed_bytes":{},"state_bytes_per_slot":{})",
      quoted(model.id), pools.kv_bytes_per_token, pools.state_bytes_per_slot,
      pools.state_bytes_per_slot);
  out += fmt::format(R"(,"expert_slot_bytes":{},"experts_per_layer":{},"moe_layers":{})",
                     pools.experts ? pools.experts->slot_bytes.count : 0,
                     pools.experts ? pools.experts->per_layer : 0,
                     pools.experts ? pools.experts->layers : 0);
  out += fmt::format(R"(,"expert_format":{})",
                     pools.experts ? quoted(model::name_of(pools.experts_stored)) : "null");
  out += fmt::format(
      R"(,"max_positions":{},"dense_weight_bytes":{},"dense_weight_origin":{},"notes":[)",
      number(model.max_positions), options.weights_bytes.value_or(0),
      options.weights_bytes ? R"("declared")" : R"("not given")");
  bool first = true;
  for (auto const& one : request.notes()) {
    out += (first ? "" : ",") + quoted(one);
    first = false;
  }
  return "{" + out + "]}";
}

std::string ledger_json(solved_plan const& solved) {
  std::string out;
  for (auto const& one : solved.answer() ? ledger_of(solved) : shortfall_ledger_of(solved)) {
    out += fmt::format(R"({}{{"name":{},"bytes":{},"origin":"{}"}})", out.empty() ? "" : ",",
                       quoted(one.name), one.bytes, one.origin);
  }
  return "[" + out + "]";
}

}  // namespace

std::string plan_json(model::model_geometry const& model, plan_options const& options,
                      solved_plan const& solved) {
  std::string request;
  json::append_request(request, solved.request().get());
  // Answered by the very code of `allot solve`, from the very text that is printed.
  std::string out;
  json::line_solver{}.answer(request, out);
  if (out.size() < 2 || out.compare(out.size() - 2, 2, "}\n") != 0) {
    throw std::runtime_error("the request could not be answered");
  }
  out.resize(out.size() - 2);
  return out + R"(,"request":)" + request + R"(,"model":)" +
         model_json(model, options, solved.request()) + R"(,"ledger":)" + ledger_json(solved) +
         "}\n";
}

}  // namespace allot::tools
