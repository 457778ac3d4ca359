#include "cli/command_line.hpp"

#include "assembly/secret_texts.hpp"
#include "cli/command_tree.hpp"
#include "cli/demo/demo.hpp"
#include "cli/exit_codes.hpp"
#include "cli/verbs/config.hpp"
#include "cli/verbs/key.hpp"
#include "cli/verbs/operator_verbs.hpp"
#include "cli/verbs/serve.hpp"
#include "core/nearest.hpp"
#include "core/text.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

namespace sagabox::cli {
namespace {

constexpr const char* examples_of_all = R"(Examples:
  sagabox demo               see it work, on a store in memory
  sagabox demo --help        what else the demo can do
  sagabox serve              the daemon, on a SQLite file in this folder
  sagabox status --store postgres://sagabox@db/orders
  sagabox status --server https://ops.example.com:8700 --key-file ops.key
  sagabox explain 01JC9Y3B6W8QK3T5V0ZC2N7A4F
  sagabox dead replay --table billing --code PROVIDER.REJECTED --since 2h --dry-run

Exit code 0: fine. 1: it failed, or something is wrong. 2: wrong use.)";

std::string verbs_of(const CLI::App& app) {
  std::string names;
  for (const auto* verb : app.get_subcommands({})) {
    if (verb->get_group().empty()) continue;
    names += (names.empty() ? "" : ", ") + verb->get_name();
  }
  return names;
}

/// Errors quote what was typed, which may contain a password.
std::string without_secrets(int argc, char** argv, std::string text) {
  assembly::SecretTexts secrets;
  const auto add = [&](const std::string& said) {
    secrets.add_text(said);
    secrets.add_text(said.substr(said.find('=') + 1));
  };
  for (int at = 1; at < argc; ++at) add(argv[at]);
  for (const auto* name : {"SAGABOX_STORE", "SAGABOX_SERVER"}) {
    if (const char* const said = std::getenv(name)) add(said);
  }
  for (const auto* name : {"SAGABOX_KEY", "SAGABOX_HUB_SECRET_KEY"}) {
    if (const char* const key = std::getenv(name)) secrets.add_secret(key);
  }
  return secrets.masked(std::move(text));
}

/// The chosen verb, preceded by its parents: {"dead", "list"}.
struct ChosenVerb {
  const CLI::App* verb;
  std::string path = "sagabox";
};

ChosenVerb chosen_verb(const CLI::App& app) {
  ChosenVerb chosen{.verb = &app};
  for (auto below = app.get_subcommands(); !below.empty(); below = chosen.verb->get_subcommands()) {
    chosen.verb = below.front();
    chosen.path += " " + chosen.verb->get_name();
  }
  return chosen;
}

std::vector<std::string> names_below(const CLI::App& verb) {
  std::vector<std::string> names;
  for (const auto* below : verb.get_subcommands({})) {
    if (!below->get_group().empty()) names.push_back(below->get_name());
  }
  return names;
}

std::vector<std::string> options_of(const CLI::App& verb) {
  std::vector<std::string> names;
  for (const auto* option : verb.get_options()) {
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string suggestion(const std::string& typed, const std::vector<std::string>& names) {
  const auto near = nearest(typed.substr(0, typed.find('=')), names);
  return near.empty() ? "" : "; did you mean \"" + near + "\"?";
}

/// Reports an argument that was not recognized, without its secrets, with the nearest known name.
std::string complaint_about(const ChosenVerb& chosen, const std::string& error,
                            const std::vector<std::string>& unknown) {
  const auto verbs = names_below(*chosen.verb);
  const auto typed =
      std::ranges::find_if(unknown, [](const std::string& text) { return !text.starts_with('-'); });
  if (!verbs.empty() && typed != unknown.end()) {
    const auto of = chosen.path == "sagabox" ? "" : " of " + chosen.path;
    return quoted(*typed) + " is not a verb" + of + suggestion(*typed, verbs);
  }
  for (const auto& text : unknown) {
    if (!text.starts_with("--")) continue;
    const auto near = suggestion(text, options_of(*chosen.verb));
    if (near.empty()) continue;
    const bool named = error.find(text) != std::string::npos;
    return error + (named ? "" : "; " + quoted(text) + " is not an option") + near;
  }
  return error;
}

/// Reports the error, and where to find the correct usage.
int wrong_use(const CLI::App& app, const std::string& error,
              const std::vector<std::string>& unknown) {
  const auto chosen = chosen_verb(app);
  std::cerr << "sagabox: " << complaint_about(chosen, error, unknown) << '\n';
  const auto verbs =
      names_below(*chosen.verb).empty() ? "" : "verbs: " + verbs_of(*chosen.verb) + "; ";
  std::cerr << verbs << "see " << chosen.path << " --help\n";
  return exit_wrong_use;
}

}  // namespace

int command_line(int argc, char** argv) {
  CLI::App app("Change the database and tell the world, reliably.", "sagabox");
  app.set_version_flag("--version", "sagabox " SAGABOX_VERSION);
  app.footer(examples_of_all);
  app.require_subcommand(1);
  std::function<int()> run;
  const auto shown = [&](std::string text) { return without_secrets(argc, argv, std::move(text)); };
  add_demo(app, run);
  add_serve(app, run);
  add_config(app, run);
  add_key(app, run);
  add_looking_verbs(app, run);
  add_acting_verbs(app, run);
  add_saga_verbs(app, run);
  add_delivery_verbs(app, run);
  add_schema_verbs(app, run);
  add_hub_verbs(app, run);
  add_document_verbs(app, run);
  try {
    app.parse(argc, argv);
    return run();
  } catch (const CLI::Success& asked_for_help) {
    return app.exit(asked_for_help);
  } catch (const CLI::ParseError& error) {
    auto unknown = app.remaining(true);
    for (auto& text : unknown) text = shown(text);
    return wrong_use(app, shown(error.what()), unknown);
  } catch (const WrongUse& error) {
    std::cerr << "sagabox: " << shown(error.what()) << '\n';
    return exit_wrong_use;
  } catch (const std::exception& error) {
    std::cerr << "sagabox: " << shown(error.what()) << '\n';
    return exit_failed;
  }
}

}  // namespace sagabox::cli
