#include "cli/session.hpp"

#include "cli/demo/keys.hpp"
#include "cli/exit_codes.hpp"
#include "cli/remote/http_client.hpp"
#include "cli/remote/server_operations.hpp"
#include "cli/store_operations.hpp"

#include <sagabox/open.hpp>

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <utility>

namespace sagabox::cli {
namespace {

std::string login() {
  std::array<char, 1024> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  const bool known =
      getpwuid_r(geteuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr;
  return known ? std::string(entry.pw_name) : "uid " + std::to_string(geteuid());
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// The key in the given file, or in SAGABOX_KEY; empty: none.
std::string api_key_of(const ServerArguments& arguments) {
  auto text = variable("SAGABOX_KEY");
  std::string where = "SAGABOX_KEY";
  if (!arguments.key_file.empty()) {
    std::ifstream file(arguments.key_file);
    where = arguments.key_file;
    text.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    if (!file) throw WrongUse("--key-file: cannot read " + where);
  } else if (text.empty()) {
    return {};
  }
  auto key = parse_key(text);
  if (!key.ok()) throw WrongUse(where + ": " + key.error().message);
  return *std::move(key);
}

/// The key that encrypts the secrets of endpoints; empty: none.
std::string hub_key_of(const StoreArguments& arguments) {
  if (arguments.hub_key_file.empty()) return variable("SAGABOX_HUB_SECRET_KEY");
  std::ifstream file(arguments.hub_key_file);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file) throw WrongUse("--secret-key-file: cannot read " + arguments.hub_key_file);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

/// Options for a store must not be ignored silently.
void check_for_server(const OperatorArguments& arguments) {
  if (Said{arguments.actor, variable("SAGABOX_ACTOR")}.typed()) {
    throw WrongUse("--actor is for --store: a daemon takes the name of the key that is given");
  }
  if (Said{arguments.hub_key_file, variable("SAGABOX_HUB_SECRET_KEY_FILE")}.typed()) {
    throw WrongUse("--secret-key-file is for --store: a daemon has its own key");
  }
  const auto schema = variable("SAGABOX_SCHEMA");
  if (arguments.schema != StoreArguments{}.schema && arguments.schema != schema) {
    throw WrongUse("--schema is for --store: a daemon knows its own");
  }
}

std::unique_ptr<Operations> operations_over(const OperatorArguments& arguments) {
  check_for_server(arguments);
  const auto url = parse_server(arguments.server.url);
  if (!url.ok()) throw WrongUse(url.error().message);
  const auto key = api_key_of(arguments.server);
  if (!key.empty() && is_readable_by_others(*url)) {
    std::cerr << "sagabox: the key goes to " << *url << " unencrypted; https:// would hide it\n";
  }
  auto client = open_http({.url = *url,
                           .key = key,
                           .ca_file = arguments.server.ca_file,
                           .timeout = arguments.server.timeout});
  if (!client.ok()) throw WrongUse(client.error().message);
  return operate_over(std::move(*client), arguments.server.store);
}

/// Options for a daemon are an error without one.
void check_for_store(const ServerArguments& arguments) {
  const bool key = Said{arguments.key_file, variable("SAGABOX_KEY_FILE")}.typed();
  if (key || !arguments.ca_file.empty() || !arguments.store.empty()) {
    throw WrongUse("--key-file, --ca and --of are for --server URL, which is not given");
  }
}

std::unique_ptr<Operations> operations_of(const OperatorArguments& arguments) {
  const auto over = chooses_server({arguments.url, variable("SAGABOX_STORE")},
                                   {arguments.server.url, variable("SAGABOX_SERVER")});
  if (!over.ok()) throw WrongUse(over.error().message);
  if (*over) return operations_over(arguments);
  check_for_store(arguments.server);
  const auto url = store_url(arguments);
  auto store = assembly::open_store(url, {.schema = arguments.schema}, arguments.backend);
  if (!store.ok() && store.error().code == Code::config_invalid) {
    throw WrongUse(store.error().text());
  }
  auto opened =
      operate_on(std::move(store).value(), arguments.actor.empty() ? login() : arguments.actor,
                 hub_key_of(arguments));
  if (!opened.ok()) throw WrongUse("--actor: " + opened.error().message);
  return std::move(opened).value();
}

std::string names_of(const std::vector<TableName>& tables) {
  std::string names;
  for (const auto& table : tables) names += (names.empty() ? "" : ", ") + table.str();
  return names;
}

}  // namespace

std::string store_url(const StoreArguments& arguments) {
  if (arguments.url.empty()) {
    if (assembly::check_store_there(assembly::default_store_url).ok()) {
      return assembly::default_store_url;
    }
    throw WrongUse(
        "which store? say --store URL (or set SAGABOX_STORE): sqlite:FILE, "
        "postgres://host/database; or --server URL to ask a daemon");
  }
  if (const auto there = assembly::check_store_there(arguments.url); !there.ok()) {
    throw WrongUse(there.error().message);
  }
  return arguments.url;
}

Session::Session(const OperatorArguments& arguments)
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

std::optional<TableName> Session::table_of(const MessageId& id, const std::string& wanted,
                                           const Admin::Whose& tenant) {
  for (const auto& table : tables(wanted)) {
    if (operations().inspect(table, id, Admin::PayloadToo::no, tenant, {}).value()) return table;
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
