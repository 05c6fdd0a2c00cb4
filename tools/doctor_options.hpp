// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace allot::tools {

/// What `allot doctor` was asked.
struct doctor_options {
  bool json = false;         ///< one JSON object instead of text
  bool exact_bytes = false;  ///< exact bytes instead of GiB
};

}  // namespace allot::tools
