#pragma once

#include "assembly/setting.hpp"

#include <functional>
#include <string>
#include <vector>

namespace sagabox::assembly {

/// What a text of a file stands for; notes itself what is wrong. `from`: "sagabox.yaml:9".
using YamlText = std::function<std::string(const std::string& text, const std::string& from)>;

/// One YAML document, within bounds. `text_of` may be empty: texts are taken as they are. What is
/// wrong is added to `problems`, a line each that says where; `name` is shown in them.
Given read_yaml(const std::string& text, const std::string& name, const YamlText& text_of,
                std::vector<std::string>& problems);

}  // namespace sagabox::assembly
