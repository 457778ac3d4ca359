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

/// The source of a configuration.
struct Source {
  /// Empty: no file, only the environment and the defaults.
  std::string path{};
  /// Only `SAGABOX_…` and the variables that `${…}` in the file names are used.
  Environment environment{};
};

/// A configuration and the origin of each of its settings.
struct Configured {
  Configuration configuration{};
  /// By path, `routes[1].retry.attempts_max`: "sagabox.yaml:9", "SAGABOX_LISTEN". A setting without
  /// an entry has its default.
  std::map<std::string, std::string> origins{};
  /// Every error, each in a line that says where, what, and what would be right. If there are any,
  /// the configuration must not be used.
  std::vector<std::string> problems{};
  /// Texts that no problem, and no error about the configuration, may repeat.
  SecretTexts secrets{};
};

/// Reads a file and the environment; opens nothing.
Configured read_configuration(const Source& source);
/// The same with the given text of the file; `name` is shown in problems.
Configured read_configuration(const std::string& text, const std::string& name,
                              const Environment& environment);

/// Sorts them by the lines that they name, and keeps one of each line; those without a line come
/// last.
void sort_by_line(std::vector<std::string>& problems);

/// A message that begins with the path of a setting ("routes[1] (orders.**): …"), preceded by the
/// origin of that setting. It may quote the configuration: secrets are masked.
std::string located(const Configured& configured, const std::string& message);

}  // namespace sagabox::assembly
