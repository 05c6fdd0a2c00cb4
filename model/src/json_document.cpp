// SPDX-License-Identifier: Apache-2.0
#include "json_document.hpp"

#include <allot/model/config_error.hpp>

#include <set>
#include <vector>

namespace allot::model {
namespace {

using nlohmann::json;

constexpr int deepest = 64;  ///< levels; published files use fewer than ten

/// Follows the parser and remembers the keys of every open object: the library's document keeps the
/// last of two equal keys without a word.
class strict_watch {
 public:
  explicit strict_watch(std::string const& file) : file_{file} {}

  bool operator()(int depth, json::parse_event_t event, json& parsed) {
    switch (event) {
      case json::parse_event_t::object_start:
      case json::parse_event_t::array_start:
        if (depth >= deepest) {
          throw config_error(file_, path(), "",
                             "nested deeper than " + std::to_string(deepest) +
                                 " levels; a model configuration is not");
        }
        open_.emplace_back();
        break;
      case json::parse_event_t::object_end:
      case json::parse_event_t::array_end:
        if (!open_.empty()) { open_.pop_back(); }
        break;
      case json::parse_event_t::key: {
        auto const& key = parsed.get_ref<std::string const&>();
        open_.back().last = key;
        if (!open_.back().seen.insert(key).second) {
          throw config_error(file_, path(), "", "the key appears twice in one object; keep one");
        }
        break;
      }
      case json::parse_event_t::value: break;
    }
    return true;
  }

 private:
  struct level {
    std::set<std::string> seen;
    std::string last;
  };

  [[nodiscard]] std::string path() const {
    std::string out;
    for (auto const& one : open_) {
      if (one.last.empty()) { continue; }
      if (!out.empty()) { out += '.'; }
      out += one.last.substr(0, 64);
    }
    return out;
  }

  std::string const& file_;
  std::vector<level> open_;
};

/// The library's text without its prefix "[json.exception…] ", which is of no use here, and without
/// what it quotes of the file as it stands: no terminal should obey it.
std::string library_reason(std::string text) {
  auto const end = text.find("] ");
  if (end != std::string::npos) { text.erase(0, end + 2); }
  for (auto& c : text) {
    auto const byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f) { c = '?'; }
  }
  return text;
}

}  // namespace

json parse_document(std::string_view text, std::string const& file) {
  json document;
  try {
    strict_watch watch{file};
    document = json::parse(text, [&watch](int depth, json::parse_event_t event, json& parsed) {
      return watch(depth, event, parsed);
    });
  } catch (json::exception const& error) {
    throw config_error(file, "", "", "not valid JSON: " + library_reason(error.what()));
  }
  if (!document.is_object()) {
    throw config_error(
        file, "", "",
        "expected a JSON object (the config.json of a model), found " + shown(document));
  }
  return document;
}

std::string shown(json const& value) {
  constexpr std::size_t longest = 48;
  auto text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > longest) { text = text.substr(0, longest - 3) + "..."; }
  return text;
}

}  // namespace allot::model
