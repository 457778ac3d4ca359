#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

/// The command line as data. Completions and the manual are generated from it, so that they match
/// what it accepts.
namespace sagabox::cli {

struct CommandOption {
  std::vector<std::string> names{};  ///< "-y", "--yes"; for a positional argument its own name
  std::string type{};                ///< "URL"; empty for a flag
  std::string description{};
  std::string variable{};  ///< an environment variable
  /// The allowed values; empty: any. The names of tables are read from the store.
  std::vector<std::string> values{};
  bool names_table = false;
  bool positional = false;
  bool required = false;
};

struct Command {
  std::string name{};
  std::string description{};
  std::string footer{};
  std::string group{};
  std::vector<CommandOption> options{};
  std::vector<Command> verbs{};  ///< without hidden ones
};

Command command_tree(const CLI::App& app);

/// Calls `visit` for a command and all below it; `path` is "" for the first, then "dead list".
void for_each_command(
    const Command& command,
    const std::function<void(const std::string& path, const Command& command)>& visit);

/// For `bash`, `zsh` or `fish`; empty for any other.
std::string completion(const Command& command, std::string_view shell);

/// A manual page in roff, for man(7).
std::string man_page(const Command& command, std::string_view version);

/// `completion SHELL`, and a hidden `man`.
void add_document_verbs(CLI::App& app, std::function<int()>& run);

}  // namespace sagabox::cli
