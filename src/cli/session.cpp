#include "cli/session.hpp"

#include "cli/exit_codes.hpp"
#include "cli/keys.hpp"
#include "cli/store_operations.hpp"

#include <sagabox/open.hpp>

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <utility>

namespace sagabox::cli {
namespace {

constexpr std::string_view sqlite_scheme = "sqlite:";
/// What `sagabox serve` makes when it is told nothing.
constexpr const char* usual_store = "sqlite:./sagabox.db";

bool is_there(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

std::string login() {
  std::array<char, 1024> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  const bool known =
      getpwuid_r(geteuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr;
  return known ? std::string(entry.pw_name) : "uid " + std::to_string(geteuid());
}

std::unique_ptr<Operations> operations_of(const StoreArguments& arguments) {
  const auto url = store_url(arguments);
  auto store = open_store(url, {.schema = arguments.schema});
  if (!store.ok() && store.error().code == Code::config_invalid) {
    throw WrongUse(store.error().text());
  }
  auto opened =
      operate_on(std::move(store).value(), arguments.actor.empty() ? login() : arguments.actor);
  if (!opened.ok()) throw WrongUse("--actor: " + opened.error().message);
  return std::move(opened).value();
}

std::string names_of(const std::vector<TableName>& tables) {
  std::string names;
  for (const auto& table : tables) names += (names.empty() ? "" : ", ") + table.str();
  return names;
}

}  // namespace

std::string sqlite_path(const std::string& url) {
  return url.starts_with(sqlite_scheme) ? url.substr(sqlite_scheme.size()) : std::string();
}

std::string store_url(const StoreArguments& arguments) {
  if (arguments.url.empty()) {
    if (is_there(sqlite_path(usual_store))) return usual_store;
    throw WrongUse(
        "which store? say --store URL (or set SAGABOX_STORE): sqlite:FILE, "
        "postgres://host/database");
  }
  if (arguments.url.starts_with("memory:")) {
    throw WrongUse("memory: is another store in every process; there is nothing in it to see");
  }
  const auto path = sqlite_path(arguments.url);
  if (!path.empty() && !is_there(path)) {
    throw WrongUse("there is no file " + path + "; sagabox migrate up --table NAME --store " +
                   arguments.url + " makes it");
  }
  return arguments.url;
}

Session::Session(const StoreArguments& arguments)
    : operations_(operations_of(arguments)), json_(arguments.json) {}

std::vector<TableName> Session::tables(const std::string& wanted) {
  auto tables = operations().tables().value();
  if (tables.empty()) {
    throw WrongUse("there is no outbox in " + operations().name() +
                   " yet; sagabox migrate up --table NAME makes one");
  }
  if (!operations().is_current().value()) {
    throw Failure({Code::tx_invalid_state, "the schema in " + operations().name() +
                                               " is older than this version; sagabox migrate up "
                                               "brings it up to date"});
  }
  if (wanted.empty()) return tables;
  const auto named = [&](const TableName& table) { return table.str() == wanted; };
  if (std::ranges::none_of(tables, named)) {
    throw WrongUse("there is no table \"" + wanted + "\" in " + operations().name() + "; it has " +
                   names_of(tables));
  }
  std::erase_if(tables, [&](const TableName& table) { return !named(table); });
  return tables;
}

TableName Session::table(const std::string& wanted) {
  const auto found = tables(wanted);
  if (found.size() > 1) throw WrongUse("which table? say --table: " + names_of(found));
  return found.front();
}

std::optional<TableName> Session::table_of(const MessageId& id, const std::string& wanted) {
  for (const auto& table : tables(wanted)) {
    if (operations().inspect(table, id, Admin::PayloadToo::no).value()) return table;
  }
  return std::nullopt;
}

void Session::print(std::span<const Line> lines) {
  for (const auto& line : lines) out_.print(line);
}

bool confirmed(const std::string& question, bool yes) {
  if (yes) return true;
  if (!stdin_is_terminal()) {
    throw WrongUse(
        "nobody can be asked here: say --yes to do it, --dry-run to see what it would do");
  }
  std::cerr << question << " [y/N] " << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

int nothing_done() {
  std::cerr << "nothing was changed\n";
  return exit_failed;
}

std::string messages_text(std::uint64_t count) {
  return grouped(count) + (count == 1 ? " message" : " messages");
}

}  // namespace sagabox::cli
