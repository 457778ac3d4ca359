#pragma once

#include "assembly/configuration_file.hpp"
#include "assembly/setting.hpp"

#include <string>

namespace sagabox::assembly {

/// Reads the given values into `configured`, by the descriptions. Relative paths are relative to
/// `folder`.
void read_config(const ConfigNode& given, const std::string& folder, Configured& configured);

/// Puts every `SAGABOX_…` of the environment into `given`, in place of the values of the file.
/// `known` lists variables with another purpose.
void add_environment(const Environment& environment, const std::vector<std::string>& known,
                     ConfigNode& given, std::vector<std::string>& problems);

/// The content of a file without its last newline; nullopt if it cannot be read.
std::optional<std::string> file_text(const std::string& path);

/// `key` as part of the name of a variable: "order-book" is ORDER_BOOK.
std::string variable_part(std::string_view key);

}  // namespace sagabox::assembly
