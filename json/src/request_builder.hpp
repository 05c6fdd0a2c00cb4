// SPDX-License-Identifier: Apache-2.0
// The handler of the JSON tokens of one request.
#pragma once

#include "fields.hpp"

#include <allot/json/owned_request.hpp>
#include <allot/json/read_fault.hpp>

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace allot::json {

/// One scalar of the text.
struct scalar {
  enum class type : std::uint8_t { integer, number, boolean, string };

  type is = type::integer;
  bool fits = true;            ///< of an integer: in 64 signed bits; `whole` is then the nearest
  std::int64_t whole = 0;      ///< of an integer; of a boolean 0 or 1
  double number = 0;           ///< of an integer or a number
  std::string_view written{};  ///< of a number or an integer that does not fit: as written; of a
                               ///< string: its characters
};

/// Fills a request from the tokens of its text. A faulty value is passed over, and the first fault
/// kept.
///
/// The member functions are those nlohmann's SAX parser calls.
class request_builder {
 public:
  using numbers = std::vector<std::pair<std::int64_t, std::string>>;

  /// \param text_size  bytes of the whole text
  /// \param huge       what the numbers at these positions were before they were patched
  /// \param ignoring   path of a field to pass over
  request_builder(owned_request& into, read_fault& fault, std::size_t text_size,
                  numbers const& huge, std::string_view ignoring);

  /// A number whose exponent no double can hold: where it stands, once the parser stopped at it.
  struct overflowed_number {
    std::size_t end = 0;  ///< byte offset behind it
    std::int64_t at = 0;  ///< its position among the tokens
    std::string text{};
  };
  [[nodiscard]] std::optional<overflowed_number> const& stopped_at() const { return stopped_at_; }

  bool null();
  bool boolean(bool value);
  bool number_integer(std::int64_t value);
  bool number_unsigned(std::uint64_t value);
  bool number_float(double value, std::string const& written);
  bool string(std::string& value);
  bool binary(std::vector<std::uint8_t>& value);
  bool start_object(std::size_t size);
  bool end_object();
  bool start_array(std::size_t size);
  bool end_array();
  bool key(std::string& name);
  bool parse_error(std::size_t position, std::string const& token,
                   nlohmann::json::exception const& error);

 private:
  /// What was given for one field. Not cleared between objects: `frame::given` says what counts.
  struct given_value {
    std::int64_t whole;
    double number;
    char const* name;  ///< in owned_request::names_
    std::int64_t name_size;
    std::int64_t at;  ///< position among the tokens
  };
  /// One object that has been opened.
  struct frame {
    place where = place::request;
    bool list = false;        ///< the list of such objects, not one of them; or of numbers
    std::int32_t index = -1;  ///< of a list: the item last begun
    field_set seen = 0;       ///< keys met
    field_set absent = 0;     ///< of them, null
    field_set given = 0;      ///< with a usable value
  };
  static constexpr int deepest = 6;  // request, experts, banks list, bank

  frame& top() { return frames_[static_cast<std::size_t>(depth_ - 1)]; }
  [[nodiscard]] given_value const& value_of(place where, unsigned index) const {
    return values_[static_cast<std::size_t>(where)][index];
  }
  [[nodiscard]] static bool has(frame const& f, unsigned index) {
    return (f.given >> index & 1U) != 0;
  }
  /// The whole number given for a field, or another when there is none.
  [[nodiscard]] std::int64_t whole(frame const& f, unsigned index, std::int64_t otherwise) const {
    return has(f, index) ? value_of(f.where, index).whole : otherwise;
  }

  bool take(scalar const& s);
  void take_identity(scalar const& s);
  void take_whole(scalar const& s);
  void take_ratio(scalar const& s);
  void take_name(scalar const& s);
  void take_word(scalar const& s);
  void take_number(scalar const& s);
  void keep(std::int64_t whole, double number = 0);
  bool stray(std::string_view value);
  bool open(bool list);
  bool close();

  [[nodiscard]] std::string path_to(std::string_view name) const;
  [[nodiscard]] std::string current_path() const;
  bool report(read_error what, std::string path, std::int64_t at);
  void report_value(read_error what, scalar const& s, maybe<std::int64_t> nearest = {});
  void report_unknown(std::string_view name, std::int64_t at, field_set allowed,
                      std::string_view owner);
  void report_both(frame const& f, unsigned one, unsigned other);
  void report_missing(std::string path, std::string_view right, std::string_view owner = {});
  void need(frame const& f, field_set needed, std::string_view owner = {});

  void refuse_foreign(frame const& f, family_fields const& family);

  void end_list(frame const& f);
  void end_budget(frame const& f);
  void end_charge(frame const& f);
  void end_pool(frame const& f);
  [[nodiscard]] kv_family window_given(frame const& f);
  [[nodiscard]] kv_family tiers_given(frame const& f);
  void need_one(frame const& f, unsigned one, unsigned other, std::string_view right,
                std::string_view owner);
  void end_index(frame const& f);
  void end_state(frame const& f);
  void end_experts(frame const& f);
  void end_bank(frame const& f);
  void end_demand(frame const& f);
  void end_request(frame const& f);
  [[nodiscard]] text name_given(frame const& f, unsigned index, text otherwise) const;

  owned_request& into_;
  read_fault& fault_;
  numbers const& huge_;
  std::string_view ignoring_;
  std::optional<overflowed_number> stopped_at_;

  std::array<frame, deepest> frames_{};
  int depth_ = 0;
  std::int64_t skipping_ = 0;  // depth of a value that is passed over
  std::int64_t tokens_ = 0;
  field const* current_ = nullptr;  // what the next value is for
  unsigned current_index_ = 0;
  std::array<std::array<given_value, most_fields>, places> values_;
  maybe<index_slab> index_{};
  std::size_t first_ratio_ = 0;  // of the list read last, in owned_request::ratios_
  checked banks_{};
};

}  // namespace allot::json
