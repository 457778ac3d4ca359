#include "cli/command_tree.hpp"

#include "cli/exit_codes.hpp"

#include <sagabox/error.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>

namespace sagabox::cli {
namespace {

/// "NAME:{outbox,saga}" has two values.
std::vector<std::string> values_in(std::string_view type) {
  std::vector<std::string> values;
  const auto open = type.find('{');
  if (open == std::string_view::npos || !type.ends_with('}')) return values;
  auto list = type.substr(open + 1, type.size() - open - 2);
  while (!list.empty()) {
    const auto comma = std::min(list.find(','), list.size());
    values.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return values;
}

std::vector<std::string> code_names() {
  std::vector<std::string> names;
  for (std::size_t at = 0; at < code_count; ++at) {
    names.emplace_back(code_name(static_cast<Code>(at)));
  }
  return names;
}

CommandOption option_of(const CLI::Option& option) {
  CommandOption made;
  for (const auto& name : option.get_snames()) made.names.push_back("-" + name);
  for (const auto& name : option.get_lnames()) made.names.push_back("--" + name);
  made.positional = made.names.empty();
  if (made.positional) made.names.push_back(option.get_name());
  if (!made.positional && option.get_expected_min() > 0) made.type = option.get_type_name();
  const auto type = option.get_type_name();
  made.values = type == "CODE" ? code_names() : values_in(type);
  made.names_table = made.names.back() == "--table";
  made.description = option.get_description();
  made.variable = option.get_envname();
  made.required = option.get_required();
  return made;
}

void visit_below(const std::string& path, const Command& command,
                 const std::function<void(const std::string&, const Command&)>& visit) {
  visit(path, command);
  for (const auto& verb : command.verbs) {
    visit_below(path.empty() ? verb.name : path + " " + verb.name, verb, visit);
  }
}

}  // namespace

Command command_tree(const CLI::App& app) {
  Command command{.name = app.get_name(),
                  .description = app.get_description(),
                  .footer = app.get_footer(),
                  .group = app.get_group()};
  for (const auto* option : app.get_options()) command.options.push_back(option_of(*option));
  for (const auto* verb : app.get_subcommands({})) {
    if (!verb->get_group().empty()) command.verbs.push_back(command_tree(*verb));
  }
  return command;
}

void for_each_command(const Command& command,
                      const std::function<void(const std::string&, const Command&)>& visit) {
  visit_below({}, command, visit);
}

void add_document_verbs(CLI::App& app, std::function<int()>& run) {
  auto shell = std::make_shared<std::string>();
  auto* verb = app.add_subcommand("completion", "A script that completes commands in your shell");
  verb->group("Set up")->footer(R"(Examples:
  sagabox completion bash > /etc/bash_completion.d/sagabox
  sagabox completion zsh > "${fpath[1]}/_sagabox"
  sagabox completion fish > ~/.config/fish/completions/sagabox.fish)");
  verb->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->type_name("")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}, CLI::ignore_case));
  verb->callback([&app, &run, shell] {
    run = [&app, shell] {
      std::cout << completion(command_tree(app), *shell);
      return exit_fine;
    };
  });
  auto* man = app.add_subcommand("man", "The manual, as packaging/man/sagabox.1 has it");
  man->group("");
  man->callback([&app, &run] {
    run = [&app] {
      std::cout << man_page(command_tree(app), SAGABOX_VERSION);
      return exit_fine;
    };
  });
}

}  // namespace sagabox::cli
