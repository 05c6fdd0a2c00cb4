// SPDX-License-Identifier: Apache-2.0
// The tokens: which value belongs to which field. What the objects mean is in request_objects.cpp.
#include "request_builder.hpp"
#include "shorten.hpp"

#include <allot/json/answer_writer.hpp>

#include <algorithm>
#include <limits>

namespace allot::json {

namespace {

constexpr field passed_over{};
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();

}  // namespace

request_builder::request_builder(owned_request& into, read_fault& fault, std::size_t text_size,
                                 numbers const& huge, std::string_view ignoring)
    : into_{into}, fault_{fault}, huge_{huge}, ignoring_{ignoring} {
  into_.request_ = request{};
  into_.id_ = "null";
  into_.charges_.clear();
  into_.kv_.clear();
  into_.families_.clear();
  into_.names_.clear();
  into_.ratios_.clear();
  into_.names_.reserve(text_size);  // names are no longer than the text: they stay where they are
  fault_ = read_fault{};
}

bool request_builder::key(std::string& name) {
  if (skipping_ > 0) { return true; }
  ++tokens_;
  frame& f = top();
  auto const fields = fields_of(f.where);
  auto const found = std::ranges::find(fields, name, &field::name);
  current_ = &passed_over;
  if (!ignoring_.empty() && path_to(name) == ignoring_) { return true; }
  if (found == fields.end()) {
    report_unknown(name, tokens_, ~field_set{0}, {});
    return true;
  }
  auto const index = static_cast<unsigned>(found - fields.begin());
  field_set const bit = set_of(index);
  if ((f.seen & bit) != 0) {
    report(read_error::repeated, path_to(name), tokens_);
    return true;
  }
  f.seen |= bit;
  current_ = &*found;
  current_index_ = index;
  values_[static_cast<std::size_t>(f.where)][index].at = tokens_;
  return true;
}

bool request_builder::null() {
  if (skipping_ > 0) { return true; }
  ++tokens_;
  if (depth_ == 0 || top().list) { return stray("null"); }
  if (current_->kind != takes::anything) { top().absent |= set_of(current_index_); }
  return true;
}

bool request_builder::boolean(bool value) {
  return take({.is = scalar::type::boolean,
               .whole = value ? 1 : 0,
               .written = value ? std::string_view{"true"} : std::string_view{"false"}});
}

bool request_builder::number_integer(std::int64_t value) {
  return take({.whole = value, .number = static_cast<double>(value)});
}

bool request_builder::number_unsigned(std::uint64_t value) {
  if (value <= static_cast<std::uint64_t>(most)) {
    // Huge numbers have been patched to 0; what they were is found by their position.
    if (value == 0 && !huge_.empty()) {
      for (auto const& [at, written] : huge_) {
        if (at == tokens_ + 1) {
          return number_float(std::numeric_limits<double>::infinity(), written);
        }
      }
    }
    return number_integer(static_cast<std::int64_t>(value));
  }
  auto const written = std::to_string(value);
  return take(
      {.fits = false, .whole = most, .number = static_cast<double>(value), .written = written});
}

bool request_builder::number_float(double value, std::string const& written) {
  // The lexer writes the decimal point of the process's locale.
  std::string fixed;
  std::string_view as_written = written;
  if (written.find_first_not_of("+-0123456789.eE") != std::string::npos) {
    fixed = written;
    for (char& c : fixed) {
      if (std::string_view{"+-0123456789.eE"}.find(c) == std::string_view::npos) { c = '.'; }
    }
    as_written = fixed;
  }
  bool const whole = as_written.find_first_of(".eE") == std::string_view::npos;
  if (whole) {
    return take({.fits = false,
                 .whole = as_written.front() == '-' ? least : most,
                 .number = value,
                 .written = as_written});
  }
  return take({.is = scalar::type::number, .number = value, .written = as_written});
}

bool request_builder::string(std::string& value) {
  return take({.is = scalar::type::string, .written = value});
}

bool request_builder::binary(std::vector<std::uint8_t>& /*value*/) {
  return true;  // JSON text has none
}

bool request_builder::start_object(std::size_t /*size*/) {
  return open(false);
}
bool request_builder::start_array(std::size_t /*size*/) {
  return open(true);
}
bool request_builder::end_object() {
  return close();
}
bool request_builder::end_array() {
  return close();
}

bool request_builder::open(bool list) {
  if (skipping_ > 0) {
    ++skipping_;
    return true;
  }
  ++tokens_;
  char const* const shown = list ? "[…]" : "{…}";
  frame next{.list = list};
  if (depth_ == 0) {
    if (list) {
      skipping_ = 1;
      return stray(shown);
    }
  } else if (top().list) {
    if (list || top().where == place::ratios) {
      skipping_ = 1;
      return stray(shown);
    }
    next.where = top().where;
    next.index = ++top().index;
  } else {
    bool const fitting = list ? current_->kind == takes::list || current_->kind == takes::numbers
                              : current_->kind == takes::object;
    if (!fitting) {
      skipping_ = 1;
      if (current_->kind != takes::anything) {
        report_value(read_error::wrong_value, {.is = scalar::type::boolean, .written = shown});
      }
      return true;
    }
    top().given |= set_of(current_index_);
    next.where = current_->inside;
    if (next.where == place::index) { index_ = {}; }
    if (next.where == place::bank) { banks_ = {}; }
    if (next.where == place::ratios) { first_ratio_ = into_.ratios_.size(); }
  }
  frames_[static_cast<std::size_t>(depth_++)] = next;
  return true;
}

bool request_builder::close() {
  if (skipping_ > 0) {
    --skipping_;
    return true;
  }
  ++tokens_;
  frame const f = top();
  if (f.list) {
    end_list(f);
  } else {
    switch (f.where) {
      case place::request: end_request(f); break;
      case place::budget: end_budget(f); break;
      case place::charge: end_charge(f); break;
      case place::pool: end_pool(f); break;
      case place::index: end_index(f); break;
      case place::state: end_state(f); break;
      case place::experts: end_experts(f); break;
      case place::bank: end_bank(f); break;
      case place::demand: end_demand(f); break;
      case place::ratios: break;  // only ever a list
    }
  }
  --depth_;
  return true;
}

bool request_builder::parse_error(std::size_t position, std::string const& token,
                                  nlohmann::json::exception const& error) {
  constexpr int number_overflow = 406;
  if (error.id == number_overflow) {
    stopped_at_ = overflowed_number{position, tokens_ + 1, token};
    return false;
  }
  // "[json.exception.parse_error.101] parse error at line 1, column 5: syntax error while …; last
  // read: '…'"
  std::string_view reason = error.what();
  if (auto const start = reason.find(": "); start != std::string_view::npos) {
    reason.remove_prefix(start + 2);
  }
  reason = reason.substr(0, reason.find("; last read"));
  fault_ = read_fault{.what = read_error::not_json, .error = solve_error::bad_input};
  fault_.value = shortened(reason, 160);
  fault_.at = static_cast<std::int64_t>(position > 0 ? position - 1 : 0);
  into_.id_ = "null";
  return false;
}

}  // namespace allot::json
