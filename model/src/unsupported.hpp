// SPDX-License-Identifier: Apache-2.0
// Fields that change what a layer keeps in memory in a way this reader cannot describe yet.
#pragma once

#include "architecture.hpp"
#include "config_view.hpp"

namespace allot::model {

/// Refuses a configuration in which such a field is in effect (present, not null, not zero, false
/// or empty). Runs before the architecture is looked up, so that the message names the very field.
/// \errors throws `config_error`
void refuse_unsupported(config_view const& config);

/// Refuses sliding windows that are in effect: smaller than the context and switched on.
/// \errors throws `config_error`
void refuse_windows(config_view const& config, architecture const& known, model_geometry& out);

}  // namespace allot::model
