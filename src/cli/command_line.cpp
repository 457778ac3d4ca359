#include "cli/command_line.hpp"

#include "assembly/secret_texts.hpp"
#include "cli/command_tree.hpp"
#include "cli/demo/demo.hpp"
#include "cli/exit_codes.hpp"
#include "cli/verbs/config.hpp"
#include "cli/verbs/key.hpp"
#include "cli/verbs/operator_verbs.hpp"
#include "cli/verbs/serve.hpp"

#include <CLI/CLI.hpp>

#include <cstdlib>
#include <exception>
#include <functional>
#include <iostream>
#include <string>

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

/// What was typed is quoted by errors, and may hold a password.
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

/// Says what is wrong and where to look up what would be right.
int wrong_use(const CLI::App& app, const std::string& error, const std::string& verb) {
  const auto verbs = app.get_subcommands();
  if (verbs.empty() && !verb.empty()) {
    std::cerr << "sagabox: \"" << verb << "\" is not a verb\n";
  } else {
    std::cerr << "sagabox: " << error << '\n';
  }
  if (verbs.empty()) {
    std::cerr << "verbs: " << verbs_of(app) << "; see sagabox --help\n";
  } else {
    std::cerr << "see sagabox";
    for (auto below = verbs; !below.empty(); below = below.front()->get_subcommands()) {
      std::cerr << ' ' << below.front()->get_name();
    }
    std::cerr << " --help\n";
  }
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
    const auto unknown = app.remaining();
    return wrong_use(app, shown(error.what()), unknown.empty() ? "" : shown(unknown.front()));
  } catch (const WrongUse& error) {
    std::cerr << "sagabox: " << shown(error.what()) << '\n';
    return exit_wrong_use;
  } catch (const std::exception& error) {
    std::cerr << "sagabox: " << shown(error.what()) << '\n';
    return exit_failed;
  }
}

}  // namespace sagabox::cli
