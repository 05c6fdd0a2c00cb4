// SPDX-License-Identifier: Apache-2.0
// One value of one field, and the faults it may have.
#include "request_builder.hpp"
#include "shorten.hpp"

#include <allot/json/answer_writer.hpp>

#include <string>

namespace allot::json {

namespace {

constexpr std::string_view name_of(place p) {
  switch (p) {
    case place::request: return "";
    case place::budget: return "budget";
    case place::charge: return "charges";
    case place::pool: return "kv";
    case place::index: return "index";
    case place::state: return "state";
    case place::experts: return "experts";
    case place::bank: return "banks";
    case place::demand: return "demand";
    case place::ratios: return "compress_ratios";
  }
  return "";
}

/// What such an object is called in a sentence.
constexpr std::string_view called(place p) {
  switch (p) {
    case place::request: return "a request";
    case place::charge: return "a charge";
    case place::pool: return "a kv pool";
    case place::index: return "an index";
    case place::bank: return "a bank";
    default: return name_of(p);
  }
}

std::string list_of(std::span<word const> words) {
  std::string out = "one of ";
  for (word const& w : words) {
    if (&w != words.data()) { out += ", "; }
    out += w.text;
  }
  return out;
}

std::string right_for(field const& f) {
  if (!f.right.empty()) { return std::string{f.right}; }
  switch (f.kind) {
    case takes::whole:
      return f.lowest == INT64_MIN ? "an integer"
                                   : "an integer of at least " + std::to_string(f.lowest);
    case takes::word: return list_of(f.words);
    default: return "";
  }
}

std::string as_written(scalar const& s) {
  if (s.is == scalar::type::string) { return quoted(s.written); }
  return s.written.empty() ? std::to_string(s.whole) : shortened(s.written);
}

/// Whether a path of such names can be parsed back into them.
bool is_plain(std::string_view name) {
  return !name.empty() && name.size() <= 64 &&
         name.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") ==
             std::string_view::npos;
}

}  // namespace

std::string request_builder::path_to(std::string_view name) const {
  std::string out;
  for (int i = 1; i < depth_; ++i) {
    frame const& f = frames_[static_cast<std::size_t>(i)];
    bool const item = frames_[static_cast<std::size_t>(i - 1)].list;
    if (item) {
      out += '[' + std::to_string(f.index) + ']';
    } else {
      if (!out.empty()) { out += '.'; }
      out += name_of(f.where);
    }
  }
  if (!name.empty()) {
    if (!out.empty()) { out += '.'; }
    out += shortened(name);
  }
  return out;
}

std::string request_builder::current_path() const {
  return path_to(current_->name);
}

/// Whether the new fault is the one to report; then all but its particulars is set.
bool request_builder::report(read_error what, std::string path, std::int64_t at) {
  solve_error const error =
      what == read_error::too_big ? solve_error::overflow : solve_error::bad_input;
  bool const first = !fault_ || error < fault_.error || (error == fault_.error && at < fault_.at);
  std::int64_t const faults = fault_.faults + 1;
  if (!first) {
    fault_.faults = faults;
    return false;
  }
  fault_ = read_fault{.what = what, .error = error};
  fault_.faults = faults;
  fault_.path = std::move(path);
  fault_.at = at;
  fault_.removable = what != read_error::missing;
  return true;
}

void request_builder::report_value(read_error what, scalar const& s, maybe<std::int64_t> nearest) {
  if (!report(what, current_path(), tokens_)) { return; }
  fault_.value = as_written(s);
  fault_.expected = right_for(*current_);
  if (current_->setting) { fault_.nearest = nearest ? nearest : current_->lowest; }
}

void request_builder::report_unknown(std::string_view name, std::int64_t at, field_set allowed,
                                     std::string_view owner) {
  if (!report(read_error::unknown_field, path_to(name), at)) { return; }
  fault_.removable = is_plain(name);
  place const where = top().where;
  fault_.value = owner.empty() ? called(where) : owner;
  auto const fields = fields_of(where);
  for (unsigned i = 0; i < fields.size(); ++i) {
    if ((allowed & set_of(i)) == 0 || fields[i].kind == takes::anything) { continue; }
    if (!fault_.expected.empty()) { fault_.expected += ", "; }
    fault_.expected += fields[i].name;
  }
}

void request_builder::report_both(frame const& f, unsigned one, unsigned other) {
  if (value_of(f.where, one).at > value_of(f.where, other).at) { std::swap(one, other); }
  auto const fields = fields_of(f.where);
  if (!report(read_error::both_given, path_to(fields[other].name), value_of(f.where, other).at)) {
    return;
  }
  fault_.other = path_to(fields[one].name);
}

void request_builder::report_missing(std::string path, std::string_view right,
                                     std::string_view owner) {
  if (!report(read_error::missing, std::move(path), tokens_)) { return; }
  fault_.expected = right;
  fault_.value = owner;
}

/// \param owner  who needs them; empty: the object
void request_builder::need(frame const& f, field_set needed, std::string_view owner) {
  field_set const missing = needed & ~f.given;
  if (missing == 0) { return; }
  auto const fields = fields_of(f.where);
  for (unsigned i = 0; i < fields.size(); ++i) {
    if ((missing & set_of(i)) != 0) {
      report_missing(path_to(fields[i].name), right_for(fields[i]),
                     owner.empty() ? called(f.where) : owner);
      if (fault_.at == tokens_ && fields[i].setting) { fault_.nearest = fields[i].lowest; }
      return;
    }
  }
}

/// A value where an object must be: an item of a list, or the whole text.
bool request_builder::stray(std::string_view value) {
  if (depth_ == 0) {
    if (report(read_error::not_an_object, {}, tokens_)) { fault_.value = shortened(value); }
    return true;
  }
  frame& f = top();
  ++f.index;
  if (report(read_error::wrong_value, path_to({}) + '[' + std::to_string(f.index) + ']', tokens_)) {
    fault_.value = shortened(value);
    fault_.expected = f.where == place::ratios ? "an integer of at least 0" : "an object";
    fault_.removable = false;
  }
  return true;
}

void request_builder::keep(std::int64_t whole, double number) {
  frame& f = top();
  given_value& v = values_[static_cast<std::size_t>(f.where)][current_index_];
  v.whole = whole;
  v.number = number;
  f.given |= set_of(current_index_);
}

bool request_builder::take(scalar const& s) {
  if (skipping_ > 0) { return true; }
  ++tokens_;
  if (depth_ > 0 && top().list && top().where == place::ratios) {
    take_number(s);
    return true;
  }
  if (depth_ == 0 || top().list) { return stray(as_written(s)); }
  switch (current_->kind) {
    case takes::identity: take_identity(s); break;
    case takes::whole: take_whole(s); break;
    case takes::ratio: take_ratio(s); break;
    case takes::name: take_name(s); break;
    case takes::word: take_word(s); break;
    case takes::flag:
      if (s.is == scalar::type::boolean) {
        keep(s.whole);
      } else {
        report_value(read_error::wrong_value, s);
      }
      break;
    case takes::object:
    case takes::numbers:
    case takes::list: report_value(read_error::wrong_value, s); break;
    case takes::anything: break;
  }
  return true;
}

void request_builder::take_identity(scalar const& s) {
  into_.id_.clear();
  if (s.is == scalar::type::string) {
    append_string(into_.id_, s.written);
  } else if (s.written.empty()) {
    into_.id_ = std::to_string(s.whole);
  } else {
    into_.id_ = s.written;
  }
}

void request_builder::take_whole(scalar const& s) {
  if (s.is != scalar::type::integer) {
    report_value(read_error::wrong_value, s);
    return;
  }
  std::int64_t const lowest = current_->lowest;
  std::int64_t const kept = s.whole < lowest ? lowest : s.whole;
  if (!s.fits) {
    report_value(read_error::too_big, s, kept);
  } else if (s.whole < lowest) {
    report_value(read_error::out_of_range, s, lowest);
  }
  keep(kept);
}

void request_builder::take_ratio(scalar const& s) {
  bool const number = s.is == scalar::type::integer || s.is == scalar::type::number;
  bool const right =
      current_->share ? s.number > 0 && s.number <= 1 : s.number >= 0 && s.number < 1e18;
  if (!number || !right) {
    report_value(number ? read_error::out_of_range : read_error::wrong_value, s);
    return;
  }
  keep(0, s.number);
}

void request_builder::take_name(scalar const& s) {
  if (s.is != scalar::type::string) {
    report_value(read_error::wrong_value, s);
    return;
  }
  frame& f = top();
  given_value& v = values_[static_cast<std::size_t>(f.where)][current_index_];
  std::size_t const start = into_.names_.size();
  into_.names_ += s.written;
  v.name = into_.names_.data() + start;
  v.name_size = static_cast<std::int64_t>(s.written.size());
  f.given |= set_of(current_index_);
}

/// An item of a list of numbers.
void request_builder::take_number(scalar const& s) {
  if (s.is != scalar::type::integer || !s.fits || s.whole < 0) {
    stray(as_written(s));
    return;
  }
  ++top().index;
  into_.ratios_.push_back(s.whole);
}

void request_builder::take_word(scalar const& s) {
  if (s.is == scalar::type::string) {
    for (word const& w : current_->words) {
      if (w.text == s.written) {
        keep(w.value);
        return;
      }
    }
  }
  report_value(read_error::wrong_value, s);
}

}  // namespace allot::json
