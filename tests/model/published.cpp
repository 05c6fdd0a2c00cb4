// SPDX-License-Identifier: Apache-2.0
#include "published.hpp"

#include <allot/model/config_error.hpp>
#include <allot/model/read.hpp>

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace allot::model_test {

std::string path_of(std::string const& file) {
  return std::string{ALLOT_MODELS} + "/" + file;
}

std::string text_of(std::string const& file) {
  std::ifstream in{path_of(file), std::ios::binary};
  if (!in) { throw std::runtime_error("cannot open " + path_of(file)); }
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::vector<nlohmann::json> const& published() {
  static auto const entries =
      nlohmann::json::parse(text_of("index.json"))["models"].get<std::vector<nlohmann::json>>();
  return entries;
}

bool is_planned(std::string const& family) {
  return family == "gqa" || family == "mla" || family == "mla_dsa" || family == "linear_hybrid";
}

nlohmann::json config_of(std::string const& file) {
  return nlohmann::json::parse(text_of(file));
}

std::string failure_of(std::string const& text) {
  try {
    (void)model::read_config(text, "config.json");
  } catch (model::config_error const& error) { return error.what(); }
  return {};
}

}  // namespace allot::model_test
