#pragma once

#include "cli/verbs/verbs.hpp"

#include <CLI/CLI.hpp>

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

/// The operator's verbs on the command line: their arguments, not their work.
namespace sagabox::cli {

/// Runs the chosen verb.
using Chosen = std::function<int()>;

void add_looking_verbs(CLI::App& app, Chosen& run);
void add_acting_verbs(CLI::App& app, Chosen& run);
void add_saga_verbs(CLI::App& app, Chosen& run);
void add_delivery_verbs(CLI::App& app, Chosen& run);
void add_schema_verbs(CLI::App& app, Chosen& run);
void add_hub_verbs(CLI::App& app, Chosen& run);

void add_store_options(CLI::App& verb, StoreArguments& arguments);
void add_server_options(CLI::App& verb, ServerArguments& arguments);
void add_table_option(CLI::App& verb, std::string& table);
void add_yes_options(CLI::App& verb, ActArguments& arguments);

/// A verb that calls `act` with the parsed arguments, which the caller's options fill in.
template <class Arguments>
std::pair<CLI::App*, std::shared_ptr<Arguments>> add_verb(CLI::App& app, const std::string& name,
                                                          const std::string& description,
                                                          Chosen& run,
                                                          int (*act)(const Arguments&)) {
  auto arguments = std::make_shared<Arguments>();
  auto* verb = app.add_subcommand(name, description);
  add_store_options(*verb, *arguments);
  if constexpr (std::is_base_of_v<OperatorArguments, Arguments>) {
    add_server_options(*verb, arguments->server);
  }
  verb->callback([verb, arguments, act, &run] {
    // A sub-verb of this one was chosen.
    if (!verb->get_subcommands().empty()) return;
    run = [arguments, act] { return act(*arguments); };
  });
  return {verb, arguments};
}

}  // namespace sagabox::cli
