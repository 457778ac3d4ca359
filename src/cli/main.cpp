#include "cli/config.hpp"
#include "cli/demo.hpp"
#include "cli/key.hpp"
#include "cli/serve.hpp"

#include <CLI/CLI.hpp>

#include <exception>
#include <functional>
#include <iostream>
#include <string>

namespace {

constexpr int exit_failed = 1;
constexpr int exit_wrong_use = 2;

constexpr const char* examples = R"(Examples:
  sagabox demo               see it work, on a store in memory
  sagabox demo --help        what else the demo can do
  sagabox serve              the daemon, on a SQLite file in this folder)";

std::string verbs_of(const CLI::App& app) {
  std::string names;
  for (const auto* verb : app.get_subcommands({})) {
    names += (names.empty() ? "" : ", ") + verb->get_name();
  }
  return names;
}

/// Says what is wrong and where to look up what would be right.
int wrong_use(const CLI::App& app, const CLI::ParseError& error) {
  const auto verbs = app.get_subcommands();
  const auto unknown = app.remaining();
  if (verbs.empty() && !unknown.empty()) {
    std::cerr << "sagabox: \"" << unknown.front() << "\" is not a verb\n";
  } else {
    std::cerr << "sagabox: " << error.what() << '\n';
  }
  if (verbs.empty()) {
    std::cerr << "verbs: " << verbs_of(app) << "; see sagabox --help\n";
  } else {
    std::cerr << "see sagabox " << verbs.front()->get_name() << " --help\n";
  }
  return exit_wrong_use;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Change the database and tell the world, reliably.", "sagabox");
  app.set_version_flag("--version", "sagabox " SAGABOX_VERSION);
  app.footer(examples);
  app.require_subcommand(1);
  std::function<int()> run;
  sagabox::cli::add_demo(app, run);
  sagabox::cli::add_serve(app, run);
  sagabox::cli::add_config(app, run);
  sagabox::cli::add_key(app, run);
  try {
    app.parse(argc, argv);
    return run();
  } catch (const CLI::Success& asked_for_help) {
    return app.exit(asked_for_help);
  } catch (const CLI::ParseError& error) {
    return wrong_use(app, error);
  } catch (const std::exception& error) {
    std::cerr << "sagabox: " << error.what() << '\n';
    return exit_failed;
  }
}
