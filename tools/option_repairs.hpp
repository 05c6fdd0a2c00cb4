// SPDX-License-Identifier: Apache-2.0
// What to change on the command line so that a refused plan fits.
#pragma once

#include "plan_options.hpp"
#include "plan_request.hpp"

#include <allot/model/geometry.hpp>

#include <string>
#include <vector>

namespace allot::tools {

/// One change of the command line that alone makes the plan fit.
struct option_repair {
  std::string change;    ///< "--context 8192", "leave out --pages"
  plan_options options;  ///< the command line with the change made
};

/// \returns the repairs of the refusal as options, each solved with the change made. Sizes are
///          rounded up to a MiB unless `exact_bytes` is asked for.
[[nodiscard]] std::vector<option_repair> option_repairs(model::model_geometry const& model,
                                                        plan_options const& options,
                                                        solved_plan const& refused);

/// \returns the option that sets what a refusal complains of: "--tp" for `kv[0].tp`; the dotted
/// path
///          when no option does
[[nodiscard]] std::string option_of(request_path const& path);

/// \returns a path of a request as one writes it: "charges[2].bytes"
[[nodiscard]] std::string dotted(request_path const& path);

}  // namespace allot::tools
