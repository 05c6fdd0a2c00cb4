// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reference.hpp"
#include "shape.hpp"

namespace attention_test {

/// Runs the shapes of a source through `attempt`, counted and noted. ALLOT_ATTENTION_SHAPE in the
/// environment: only the shape of that number.
///
/// \param shapes  to be tried
void sweep(shape_source source, int shapes, judge (*attempt)(attention_shape const&));

/// How large the shapes of sweeps are on this card, and how many there are: fewer under a
/// sanitizer, and ALLOT_ATTENTION_SHAPES of the environment, where that is less.
sizes sweep_sizes();
int sweep_shapes(int on_host, int on_gpu);

}  // namespace attention_test
