#include "assembly/configuration_file.hpp"

#include "assembly/config_reader.hpp"
#include "assembly/settings_of_stores.hpp"
#include "assembly/yaml_file.hpp"
#include "core/masked_url.hpp"
#include "core/text.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <utility>

namespace sagabox::assembly {
namespace {

/// Our variables that are not settings: the file itself, and those of other verbs and ./dev.
const std::vector<std::string> variables_elsewhere{
    "SAGABOX_CONFIG", "SAGABOX_STORE",    "SAGABOX_SCHEMA", "SAGABOX_SERVER",
    "SAGABOX_KEY",    "SAGABOX_KEY_FILE", "SAGABOX_ACTOR",  "SAGABOX_NO_SETUP"};

/// Replaces `${NAME}` in a file with the variable of the environment.
class Variables {
 public:
  Variables(const Environment& environment, std::vector<std::string>& problems)
      : environment_(environment), problems_(problems) {}

  std::string filled(const std::string& text, const std::string& from) {
    std::string made;
    for (std::size_t begin = 0;;) {
      const auto found = text.find("${", begin);
      made += text.substr(begin, found - begin);
      if (found == std::string::npos) return made;
      const auto end = text.find('}', found);
      if (end == std::string::npos) {
        problems_.push_back(from + ": ${ without its }");
        return made;
      }
      const auto name = text.substr(found + 2, end - found - 2);
      used_.push_back(name);
      if (const auto variable = environment_.find(name); variable != environment_.end()) {
        made += variable->second;
      } else {
        problems_.push_back(from + ": the environment has no " + quoted(masked_url(name)) +
                            "; set it");
      }
      begin = end + 1;
    }
  }

  [[nodiscard]] const std::vector<std::string>& used() const noexcept { return used_; }

 private:
  const Environment& environment_;
  std::vector<std::string>& problems_;
  std::vector<std::string> used_;
};

/// Whether a configuration without stores and routes is accepted for trying out. A file like that
/// is more likely still being written: its messages must not be delivered to the terminal.
enum class Unsaid : std::uint8_t { shown, refused };

std::string why_unreadable(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (error) return error.message();
  if (std::filesystem::is_directory(status)) return "it is a folder; name the file in it";
  if (!std::filesystem::is_regular_file(status)) return "it is not a regular file";
  return access(path.c_str(), R_OK) == 0 ? "reading failed" : "Permission denied";
}

void fill_in(Configured& configured, const Environment& environment, Unsaid unsaid) {
  auto& made = configured.configuration;
  auto& problems = configured.problems;
  if (made.stores.empty()) {
    made.stores.push_back({.name = "default", .url = default_store_url, .defaults = made.defaults});
    // The same variable as for the other verbs.
    if (const auto said = environment.find("SAGABOX_STORE");
        said != environment.end() && !said->second.empty()) {
      made.stores.back().url = said->second;
      configured.secrets.add_text(said->second);
      configured.origins["stores.default"] = configured.origins["stores.default.url"] = said->first;
    }
    // Nothing is configured: messages are printed and sent nowhere else.
    if (made.routes.empty() && unsaid == Unsaid::shown) {
      made.routes.push_back({.options = {.topic = "**", .to = {{.to = show_address}}}});
      // For a first try, the messages are of interest, not the log.
      if (!configured.origins.contains("log.level")) made.log.level = LogLevel::warning;
    }
  }
  for (auto& store : made.stores) {
    if (store.url.empty()) {
      problems.push_back("stores." + store.name + " has no url; such as sqlite:" + store.name +
                         ".db");
    }
    for (const auto& problem : wrong_store_options(store)) {
      problems.push_back(located(configured, problem));
    }
    if (!store.tables.empty()) continue;
    store.tables.push_back(store.defaults);
    store.tables.back().options.table = "default";
    // The daemon only runs its hub: neither a table nor routes are configured.
    const bool hub_only = made.hub.enabled && made.routes.empty();
    if (hub_only && !configured.origins.contains("delivery")) {
      store.tables.back().delivery = Delivery::elsewhere;
    }
  }
  const bool delivers = std::ranges::any_of(made.stores, [](const StoreSettings& store) {
    return std::ranges::any_of(
        store.tables, [](const TableSettings& table) { return table.delivery == Delivery::here; });
  });
  if (delivers && made.routes.empty() && problems.empty()) {
    problems.emplace_back(
        "there are no routes: every message would be dead; add routes: [{ topic: \"**\", to: "
        "\"https://…\" }], or say delivery: elsewhere");
  }
}

Configured read(const std::string& text, const std::string& name, const std::string& folder,
                const Environment& environment, Unsaid unsaid) {
  Configured configured;
  Variables variables(environment, configured.problems);
  auto given = read_yaml(
      text, name,
      [&](const std::string& written, const std::string& from) {
        return variables.filled(written, from);
      },
      configured.problems);
  auto known = variables_elsewhere;
  known.insert(known.end(), variables.used().begin(), variables.used().end());
  if (given.shape == ConfigNode::Shape::nothing || given.shape == ConfigNode::Shape::map) {
    add_environment(environment, known, given, configured.problems);
  }
  read_config(given, folder, configured);
  fill_in(configured, environment, unsaid);
  for (auto& problem : configured.problems) problem = configured.secrets.masked(problem);
  sort_by_line(configured.problems);
  return configured;
}

}  // namespace

Environment process_environment() {
  Environment made;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    made.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return made;
}

Configured read_configuration(const Source& source) {
  if (source.path.empty()) return read("", "", "", source.environment, Unsaid::shown);
  const auto text = file_text(source.path);
  if (!text) {
    Configured configured;
    configured.problems.push_back(source.path + ": cannot be read: " + why_unreadable(source.path));
    return configured;
  }
  const auto folder = std::filesystem::path(source.path).parent_path().string();
  return read(*text, source.path, folder, source.environment, Unsaid::refused);
}

Configured read_configuration(const std::string& text, const std::string& name,
                              const Environment& environment) {
  return read(text, name, "", environment, Unsaid::shown);
}

void sort_by_line(std::vector<std::string>& problems) {
  // "sagabox.yaml:9: …"; a message about a variable has no line.
  const auto line_of = [](const std::string& problem) {
    const auto place = problem.substr(0, problem.find(": "));
    const auto digits = place.find_last_not_of("0123456789");
    const bool has_line = digits != std::string::npos && digits + 1 < place.size() &&
                          place[digits] == ':' && place.size() - digits < 10;
    return has_line ? std::stoul(place.substr(digits + 1))
                    : std::numeric_limits<unsigned long>::max();
  };
  std::ranges::stable_sort(problems, {}, line_of);
  const auto repeated = std::ranges::unique(problems);
  problems.erase(repeated.begin(), repeated.end());
}

std::string located(const Configured& configured, const std::string& message) {
  const auto found = configured.origins.find(message.substr(0, message.find_first_of(" :")));
  const auto shown = configured.secrets.masked(message);
  return found == configured.origins.end() ? shown : found->second + ": " + shown;
}

}  // namespace sagabox::assembly
