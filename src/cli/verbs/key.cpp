#include "cli/verbs/key.hpp"

#include "cli/exit_codes.hpp"
#include "cli/option.hpp"
#include "core/secret_random.hpp"
#include "core/text.hpp"
#include "server/api/keys.hpp"
#include "wire/json_out.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

namespace sagabox::cli {
namespace {

constexpr const char* key_examples = R"(Examples:
  sagabox key create --name shop --role operate     prints the key, once
  sagabox key create --name acme --role operate --tenant acme --payloads
  sagabox key list
  sagabox key revoke abcd1234                       the 8 characters after sbx_)";

struct KeyOptions {
  std::string file = "sagabox.keys";
  server::NewKey wanted{};
  std::string id;
  bool json = false;
};

int failed(const Error& error) {
  fmt::print(stderr, "sagabox key: {}\n", error.message);
  return exit_failed;
}

Result<server::Role> parse_role(const std::string& text) {
  if (const auto role = server::role_from_name(text)) return *role;
  return Error{Code::config_invalid, quoted(text) + "; give read, operate or admin"};
}

void put(wire::JsonOut& json, const server::ApiKey& key, const std::string& secret) {
  json.begin_object()
      .field("id", key.id)
      .field("name", key.name)
      .field("role", server::role_name(key.role))
      .field_if("tenant", key.tenant)
      .field("payloads", key.payloads)
      .field("created_at", key.created_at)
      .field_if("revoked_at", key.revoked_at)
      .field_if("key", secret)
      .end_object();
}

void print_json(const server::ApiKey& key, const std::string& secret = {}) {
  wire::JsonOut json;
  put(json, key, secret);
  fmt::print("{}\n", std::move(json).take());
}

int create(const KeyOptions& options) {
  server::KeyFile file(options.file);
  const auto created = file.create(options.wanted, secret_random(), system_clock());
  if (!created.ok()) return failed(created.error());
  if (options.json) {
    print_json(created->key, created->secret);
    return 0;
  }
  fmt::print("{}\n", created->secret);
  fmt::print(stderr, "keep it: it is shown once, {} has only its hash. Callers send\n",
             options.file);
  fmt::print(stderr, "  Authorization: Bearer {}_…\n", created->secret.substr(0, 12));
  return 0;
}

int list(const KeyOptions& options) {
  const auto keys = server::KeyFile(options.file).list();
  if (!keys.ok()) return failed(keys.error());
  if (options.json) {
    for (const auto& key : *keys) print_json(key);
    return 0;
  }
  if (keys->empty()) {
    fmt::print(stderr, "{} has no keys; sagabox key create makes one\n", options.file);
    return 0;
  }
  fmt::print("{:<9} {:<8} {:<9} {:<16} {:<25} {}\n", "ID", "ROLE", "PAYLOADS", "TENANT", "STATE",
             "NAME");
  for (const auto& key : *keys) {
    const auto state = key.revoked_at ? "revoked " + utc_text(*key.revoked_at).substr(0, 16)
                                      : "since " + utc_text(key.created_at).substr(0, 16);
    fmt::print("{:<9} {:<8} {:<9} {:<16} {:<25} {}\n", key.id, server::role_name(key.role),
               key.payloads ? "yes" : "no", key.tenant.value_or("(all)"), state, key.name);
  }
  return 0;
}

int revoke(const KeyOptions& options) {
  const auto revoked = server::KeyFile(options.file).revoke(options.id, system_clock());
  if (!revoked.ok()) return failed(revoked.error());
  if (options.json) {
    print_json(*revoked);
  } else {
    fmt::print("{} ({}) is revoked; daemons notice within a second\n", revoked->id, revoked->name);
  }
  return 0;
}

/// Options that all three verbs have.
CLI::App* add_act(CLI::App& verb, const std::string& name, const std::string& description,
                  const std::shared_ptr<KeyOptions>& options, std::function<int()>& run,
                  int (*act)(const KeyOptions&)) {
  auto* added = verb.add_subcommand(name, description);
  added->add_option("--keys", options->file, "the key file, sagabox.keys unless told")
      ->type_name("FILE");
  added->add_flag("--json", options->json, "for programs");
  added->callback([options, &run, act] { run = [options, act] { return act(*options); }; });
  return added;
}

}  // namespace

void add_key(CLI::App& app, std::function<int()>& run) {
  auto options = std::make_shared<KeyOptions>();
  auto* verb = app.add_subcommand("key", "Who may call a daemon: API keys");
  verb->require_subcommand(1);
  verb->footer(key_examples);

  auto* create_verb =
      add_act(*verb, "create", "Makes a key and prints it, once", options, run, create);
  create_verb->add_option("--name", options->wanted.name, "what it is for")
      ->type_name("TEXT")
      ->required();
  add_option(*create_verb, "--role", one_of("ROLE", {"read", "operate", "admin"}),
             options->wanted.role, parse_role,
             "read (unless told), operate or admin; each includes the ones before");
  add_option(
      *create_verb, "--tenant", "TENANT", options->wanted.tenant,
      [](const std::string& text) { return Result<std::optional<std::string>>(text); },
      "sees and writes this tenant only");
  create_verb->add_flag("--payloads", options->wanted.payloads, "may see payloads");

  add_act(*verb, "list", "All keys of the file, never the secrets", options, run, list);
  auto* revoke_verb =
      add_act(*verb, "revoke", "The key is refused from now on", options, run, revoke);
  revoke_verb->add_option("ID", options->id, "the 8 characters after sbx_")->required();
}

}  // namespace sagabox::cli
