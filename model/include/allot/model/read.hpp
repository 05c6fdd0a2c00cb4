// SPDX-License-Identifier: Apache-2.0
// Reading a published config.json into a geometry.
#pragma once

#include <allot/model/geometry.hpp>

#include <string>
#include <string_view>

namespace allot::model {

/// Reads the model at `path`: a `config.json`, or a folder that holds one.
/// \param path  a file, a folder, or "-" for the standard input
/// \returns the geometry; its id is made of the file or folder name ("Qwen--Qwen3-8B.json" and a
///          hub cache folder "models--Qwen--Qwen3-8B" both give "Qwen/Qwen3-8B")
/// \errors throws `config_error`
[[nodiscard]] model_geometry read_model(std::string const& path);

/// Reads the text of a config.json.
/// \param text  the JSON document
/// \param file  name used in messages
/// \errors throws `config_error`; every input gives a geometry or that error
[[nodiscard]] model_geometry read_config(std::string_view text, std::string const& file);

/// \returns "Qwen/Qwen3-8B" for ".../Qwen--Qwen3-8B.json", ".../Qwen--Qwen3-8B/config.json",
///          ".../Qwen/Qwen3-8B/config.json" stays "Qwen3-8B": a parent folder need not be an owner
[[nodiscard]] std::string model_id(std::string const& path);

}  // namespace allot::model
