#pragma once

#include "assembly/setting.hpp"

#include <functional>
#include <string>
#include <vector>

namespace sagabox::assembly {

/// Converts a text of the file; reports its own errors. `from`: "sagabox.yaml:9".
using YamlText = std::function<std::string(const std::string& text, const std::string& from)>;

/// Reads one YAML document, within bounds. If `text_of` is empty, texts are taken unchanged. Errors
/// are added to `problems`, one line each with its position; `name` is shown in them.
ConfigNode read_yaml(const std::string& text, const std::string& name, const YamlText& text_of,
                     std::vector<std::string>& problems);

}  // namespace sagabox::assembly
