#pragma once

#include "assembly/configuration.hpp"
#include "assembly/secret_texts.hpp"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace sagabox::assembly {

using Environment = std::map<std::string, std::string>;

/// The variables of this process.
Environment process_environment();

/// Where a configuration comes from.
struct Source {
  /// Empty: no file, only the environment and the defaults.
  std::string path{};
  /// Only `SAGABOX_…`, and what `${…}` in the file names, is looked at.
  Environment environment{};
};

/// A configuration and where each of its settings was said.
struct Configured {
  Configuration configuration{};
  /// By path, `routes[1].retry.attempts_max`: "sagabox.yaml:9", "SAGABOX_LISTEN". What is not there
  /// is a default.
  std::map<std::string, std::string> origins{};
  /// Everything that is wrong, each a line that says where, what, and what would be right. Then the
  /// configuration is not to be used.
  std::vector<std::string> problems{};
  /// What no problem, and no error about the configuration, may repeat.
  SecretTexts secrets{};
};

/// Reads a file and the environment; opens nothing.
Configured read_configuration(const Source& source);
/// The same with the text of the file at hand; `name` is shown in problems.
Configured read_configuration(const std::string& text, const std::string& name,
                              const Environment& environment);

/// In the order of the lines that they name, of each line only once; those without one come last.
void sort_by_line(std::vector<std::string>& problems);

/// A message that begins with the path of a setting ("routes[1] (orders.**): …"), with where that
/// was said before it. It may quote what was configured: secrets are masked.
std::string located(const Configured& configured, const std::string& message);

}  // namespace sagabox::assembly
