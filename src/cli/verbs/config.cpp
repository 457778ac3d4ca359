#include "cli/verbs/config.hpp"

#include "assembly/configuration_text.hpp"
#include "assembly/daemon.hpp"
#include "cli/exit_codes.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>

namespace sagabox::cli {
namespace {

constexpr auto file_default = "sagabox.yaml";

int check(const assembly::Source& source) {
  const auto configured = checked_configuration(source);
  if (!configured.problems.empty()) return refuse(configured);
  const auto& made = configured.configuration;
  std::size_t tables = 0;
  for (const auto& store : made.stores) tables += store.tables.size();
  fmt::print("{}: fine; stores: {}, tables: {}, routes: {}\n",
             source.path.empty() ? "no file" : source.path, made.stores.size(), tables,
             made.routes.size());
  return 0;
}

int print(const assembly::Source& source) {
  const auto configured = checked_configuration(source);
  if (!configured.problems.empty()) return refuse(configured);
  fmt::print("{}", assembly::configuration_yaml(configured));
  return 0;
}

int schema() {
  fmt::print("{}", assembly::configuration_schema());
  return 0;
}

}  // namespace

void add_config_option(CLI::App& verb, std::string& path) {
  verb.add_option("--config", path,
                  "the configuration; else $SAGABOX_CONFIG, else sagabox.yaml if it is there")
      ->type_name("FILE");
}

assembly::Source configuration_source(const std::string& path) {
  assembly::Source source{.path = path, .environment = assembly::process_environment()};
  if (!source.path.empty()) return source;
  const auto named = source.environment.find("SAGABOX_CONFIG");
  std::error_code ignored;
  if (named != source.environment.end()) {
    source.path = named->second;
  } else if (std::filesystem::exists(file_default, ignored)) {
    source.path = file_default;
  }
  return source;
}

assembly::Configured checked_configuration(const assembly::Source& source) {
  auto configured = assembly::read_configuration(source);
  for (const auto& problem : assembly::Daemon::check(configured.configuration)) {
    configured.problems.push_back(assembly::located(configured, problem.message));
  }
  assembly::sort_by_line(configured.problems);
  return configured;
}

int refuse(const assembly::Configured& configured) {
  for (const auto& problem : configured.problems) fmt::print(stderr, "{}\n", problem);
  return exit_wrong_use;
}

void add_config(CLI::App& app, std::function<int()>& run) {
  auto path = std::make_shared<std::string>();
  auto* verb = app.add_subcommand("config", "What is configured, and whether it is right");
  verb->require_subcommand(1);
  verb->footer("Exit code 0: fine. 2: something is wrong; each line says where and what.");
  const auto add = [&](const char* name, const char* what, int (*act)(const assembly::Source&)) {
    auto* sub = verb->add_subcommand(name, what);
    add_config_option(*sub, *path);
    sub->callback(
        [path, act, &run] { run = [path, act] { return act(configuration_source(*path)); }; });
  };
  add("check", "Reads the file and the environment and says everything that is wrong", check);
  add("print", "What is in effect and where each setting comes from; secrets are masked", print);
  verb->add_subcommand("schema", "A JSON Schema of the file, for editors")->callback([&run] {
    run = schema;
  });
}

}  // namespace sagabox::cli
