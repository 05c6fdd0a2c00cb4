// SPDX-License-Identifier: Apache-2.0
#include <allot/model/config_error.hpp>
#include <allot/model/read.hpp>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>

namespace allot::model {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_bytes = std::size_t{16} << 20;  ///< a configuration is a few KiB

struct close_file {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

std::string read_all(std::FILE* file, std::string const& name) {
  std::string text;
  char buffer[65536];
  while (auto const got = std::fread(buffer, 1, sizeof buffer, file)) {
    text.append(buffer, got);
    if (text.size() > most_bytes) {
      throw config_error(name, "", "", "larger than 16 MiB: not the config.json of a model");
    }
  }
  if (std::ferror(file) != 0) { throw config_error(name, "", "", "could not be read to its end"); }
  return text;
}

std::string read_file(std::string const& path) {
  std::unique_ptr<std::FILE, close_file> const file{std::fopen(path.c_str(), "rb")};
  if (!file) {
    throw config_error(
        path, "", "",
        "could not be opened: " + std::error_code(errno, std::generic_category()).message());
  }
  return read_all(file.get(), path);
}

/// "models--Qwen--Qwen3-8B" and "Qwen--Qwen3-8B" to "Qwen/Qwen3-8B".
std::string with_owner(std::string name) {
  constexpr std::string_view cache = "models--";
  if (name.starts_with(cache)) { name.erase(0, cache.size()); }
  auto const at = name.find("--");
  if (at != std::string::npos && at > 0 && at + 2 < name.size()) { name.replace(at, 2, "/"); }
  return name;
}

}  // namespace

std::string model_id(std::string const& path) {
  if (path == "-") { return "stdin"; }
  auto where = fs::path{path}.lexically_normal();
  if (!where.has_filename()) { where = where.parent_path(); }
  if (where.extension() == ".json" && where.filename() != "config.json") {
    return with_owner(where.stem().string());
  }
  if (where.filename() == "config.json") { where = where.parent_path(); }
  if (where.filename().empty() || where.filename() == "." || where.filename() == "..") {
    std::error_code ignored;
    where = fs::weakly_canonical(where.empty() ? fs::path{"."} : where, ignored);
  }
  // A hub cache keeps each revision in models--OWNER--NAME/snapshots/REVISION.
  if (where.parent_path().filename() == "snapshots") {
    return with_owner(where.parent_path().parent_path().filename().string());
  }
  return with_owner(where.filename().string());
}

model_geometry read_model(std::string const& path) {
  std::string file = path;
  std::string text;
  if (path == "-") {
    file = "<stdin>";
    text = read_all(stdin, file);
  } else {
    std::error_code failed;
    auto const status = fs::status(path, failed);
    if (status.type() == fs::file_type::not_found) {
      throw config_error(path, "", "",
                         "no such file or folder; expected a config.json or a folder that holds "
                         "one (nothing is downloaded)");
    }
    if (status.type() == fs::file_type::directory) {
      file = (fs::path{path} / "config.json").string();
      if (!fs::exists(file, failed)) {
        throw config_error(path, "", "", "this folder holds no config.json");
      }
    }
    text = read_file(file);
  }
  auto out = read_config(text, file);
  out.id = model_id(path);
  return out;
}

}  // namespace allot::model
