// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"
#include "plan_json.hpp"
#include "plan_text.hpp"
#include "terminal.hpp"

#include <allot/model/read.hpp>

#include <cstdio>

namespace allot::tools {

int run_plan(plan_options const& options) {
  auto const model = model::read_model(options.model);
  solved_plan const solved{model, options};
  auto const& answer = solved.answer();
  int const status = answer ? 0 : answer.error.priced ? 1 : 2;
  if (options.json) {
    std::fputs(plan_json(model, options, solved).c_str(), stdout);
    return status;
  }
  painter const paint{wants_colour()};
  if (status == 2) {
    std::fputs(("allot: " + misuse_text(model, options, solved)).c_str(), stderr);
    return status;
  }
  auto const text = answer ? plan_text(model, options, solved, paint)
                           : shortage_text(model, options, solved, paint);
  std::fputs(text.c_str(), stdout);
  return status;
}

}  // namespace allot::tools
