// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <allot/plan/layout.hpp>
#include <allot/solve/request.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

/// The reports of tests/data/cases/planner.jsonl, by id: faults that planners in the field had, as
/// numbers. A test says which report it is about; README.md says which test each report has.
namespace allot_test {

class published {
 public:
  /// Fails the test when there is no such report.
  explicit published(std::string const& id);
  ~published();
  published(published const&) = delete;
  published& operator=(published const&) = delete;

  std::string const& kind() const { return kind_; }

  /// The number at a JSON pointer such as "/expect/slots"; fails the test when there is none.
  std::int64_t number(std::string const& pointer) const;
  std::vector<std::int64_t> numbers(std::string const& pointer) const;
  std::string text(std::string const& pointer) const;
  bool has(std::string const& pointer) const;

  /// The request under "/given"; a field this does not know fails the test.
  allot::request& request() { return request_; }

  /// Solves the request as it is now.
  allot::outcome solve();
  allot::table_view const& table() const { return table_; }

  static std::vector<std::string> ids();

 private:
  void read_request();

  struct document;
  std::unique_ptr<document> json_;
  std::string kind_;
  std::vector<allot::kv_family> kv_;
  std::vector<std::string> names_;
  std::vector<allot::charge> charges_;
  allot::request request_{};
  allot::table_storage storage_;
  allot::table_view table_{};
};

}  // namespace allot_test
