// SPDX-License-Identifier: Apache-2.0
// One line of JSON into a request of the solve contract.
#pragma once

#include <allot/json/owned_request.hpp>
#include <allot/json/read_fault.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace allot::json {

/// Reads requests, straight from the tokens into the struct: no document is built. Reading goes on
/// past a fault, so that the `id` is known and the fault reported is the first one.
///
/// \source  docs/contract.md, "JSON form". null means absent. A field is refused when it is
/// unknown, twice
///          in one object, of the wrong type, or out of range.
class request_reader {
 public:
  /// Reads one JSON text.
  ///
  /// \param text      UTF-8, one request
  /// \param into      holds the request afterwards; after a fault its `id`, and the other fields as
  ///                  far as they could be read (a count out of range as the nearest legal one)
  /// \param ignoring  a field to pass over as if it were absent, e.g. "kv[0].index"
  /// \returns         whether the text is a request
  /// \errors          see fault()
  bool read(std::string_view text, owned_request& into, std::string_view ignoring = {});

  /// \returns  what was wrong with the text read last
  [[nodiscard]] read_fault const& fault() const { return fault_; }

 private:
  read_fault fault_{};
  std::string patched_;  // the text without numbers that no double can hold
  std::vector<std::pair<std::int64_t, std::string>> huge_;  // those numbers, by their position
};

}  // namespace allot::json
