// SPDX-License-Identifier: Apache-2.0
// A request together with the lists and names it borrows.
#pragma once

#include <allot/solve/request.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace allot::json {

/// A request that owns its lists. Cleared and filled again for every line, it stops allocating.
class owned_request {
 public:
  owned_request() = default;
  owned_request(owned_request const&) = delete;
  owned_request& operator=(owned_request const&) = delete;

  /// \returns  the request; valid until this object is read into again
  [[nodiscard]] request const& get() const { return request_; }

  /// \returns  the request's `id` as JSON text; "null" when it has none
  [[nodiscard]] std::string_view id() const { return id_; }

  /// \returns  [kv pools] the families as the request spells them: "block_sparse" for a gqa that
  ///           was called so
  [[nodiscard]] std::vector<std::string_view> const& families() const { return families_; }

 private:
  friend class request_builder;

  request request_{};
  std::string id_ = "null";
  std::vector<charge> charges_;
  std::vector<kv_family> kv_;
  std::vector<std::string_view> families_;
  std::string names_;                 // of charges and pools, one after the other
  std::vector<std::int64_t> ratios_;  // of all tiers, one after the other
};

}  // namespace allot::json
