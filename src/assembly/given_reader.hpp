#pragma once

#include "assembly/configuration_file.hpp"
#include "assembly/setting.hpp"

#include <string>

namespace sagabox::assembly {

/// Puts what is given into `configured`, by the descriptions. Relative paths are meant from
/// `folder`.
void read_given(const Given& given, const std::string& folder, Configured& configured);

/// Puts every `SAGABOX_…` of the environment into `given`, over what the file says. `known`: those
/// that mean something else.
void add_environment(const Environment& environment, const std::vector<std::string>& known,
                     Given& given, std::vector<std::string>& problems);

/// What a file holds, without the end of its last line; nothing: it cannot be read.
std::optional<std::string> file_text(const std::string& path);

/// `key` as part of the name of a variable: "order-book" is ORDER_BOOK.
std::string variable_part(std::string_view key);

}  // namespace sagabox::assembly
