#pragma once

#include "assembly/configuration_file.hpp"

#include <string>

namespace sagabox::assembly {

enum class Secrets : std::uint8_t { masked, shown };

/// All effective settings, as a file that reads back as the same, with the origin of each setting
/// after it.
std::string configuration_yaml(const Configured& configured, Secrets secrets = Secrets::masked);

/// A JSON Schema of the file, for editors.
std::string configuration_schema();

/// The table of all settings in docs/configuration.md.
std::string configuration_table();

}  // namespace sagabox::assembly
