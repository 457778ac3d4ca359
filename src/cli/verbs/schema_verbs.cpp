#include "cli/option.hpp"
#include "cli/verbs/operator_verbs.hpp"
#include "core/digest_text.hpp"

#include <sagabox/spi/schema_store.hpp>

#include <charconv>
#include <string>
#include <utility>
#include <vector>

namespace sagabox::cli {
namespace {

constexpr const char* setting_up = "Set up";

/// "17:0123…": the head of a log at an earlier check.
Result<AuditHead> parse_anchor(std::string_view text) {
  const Error wrong{Code::config_invalid, "anchor \"" + std::string(text) +
                                              "\": write NUMBER:HASH, as audit verify printed it"};
  AuditHead head;
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return wrong;
  const auto number = text.substr(0, colon);
  const auto digits = text.substr(colon + 1);
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), head.number);
  if (error != std::errc() || end != number.data() + number.size()) return wrong;
  const auto hash = digest_from_hex(digits);
  if (!hash) return wrong;
  head.hash = *hash;
  return head;
}

void add_engine(CLI::App& verb, MigrateArguments& arguments, const std::string& help) {
  std::vector<std::string> engines(spi::schema_engines.begin(), spi::schema_engines.end());
  verb.add_option("--engine", arguments.engine, help)
      ->type_name("NAME")
      ->check(CLI::IsMember(std::move(engines)));
}

void add_migrate(CLI::App& app, Chosen& run) {
  auto* migrate = app.add_subcommand("migrate", "The schema: up, down, status, reshard");
  migrate->group(setting_up)->require_subcommand(1);
  const auto shards = [](std::string_view text) -> Result<std::uint16_t> {
    const auto count = parse_count("shards", text, 1, 1024);
    if (!count.ok()) return count.error();
    return static_cast<std::uint16_t>(*count);
  };
  {
    auto [up, arguments] = add_verb(*migrate, "up", "Makes and updates tables; safe to run twice",
                                    run, run_migrate_up);
    up->add_option("--table", arguments->table, "makes this outbox, too")->type_name("NAME");
    add_engine(*up, *arguments, "only this engine's tables, all of them unless told");
    add_option(*up, "--shards", "N", arguments->shards, shards,
               "of the outbox that is made, 16 unless told (PostgreSQL)");
    up->add_flag("--dry-run", arguments->act.dry_run, "changes nothing");
  }
  {
    auto [down, arguments] =
        add_verb(*migrate, "down", "Takes steps back, with what is in them", run, run_migrate_down);
    auto* to = add_option(
        *down, "--to", "STEP", arguments->to,
        [](std::string_view text) -> Result<int> {
          // Only --all removes everything: a script may pass a 0 by mistake.
          const auto step = parse_count("step", text, 1, 1'000'000);
          if (!step.ok()) return step.error();
          return static_cast<int>(*step);
        },
        "the last step that stays");
    down->add_flag("--all", arguments->all, "removes everything")->excludes(to);
    add_engine(*down, *arguments, "whose tables; unless told the outbox's, or all for --all");
    down->add_flag("--force", arguments->force, "drops undelivered messages, too");
    add_yes_options(*down, arguments->act);
  }
  add_verb(*migrate, "status", "Every step, applied or not; exit code 1 when one is missing", run,
           run_migrate_status);
  {
    auto [reshard, arguments] =
        add_verb(*migrate, "reshard", "Changes how many shards an outbox has", run, run_reshard);
    reshard->add_option("--table", arguments->table, "of the outbox")
        ->type_name("NAME")
        ->required();
    add_option(*reshard, "--shards", "N", arguments->shards, shards, "the new count")->required();
    reshard->add_flag("--force", arguments->force, "while relays run, too");
    add_yes_options(*reshard, arguments->act);
  }
}

}  // namespace

void add_store_options(CLI::App& verb, StoreArguments& arguments) {
  verb.add_option("--store", arguments.url,
                  "sqlite:FILE, postgres://user@host/database; ./sagabox.db unless told")
      ->type_name("URL")
      ->envname("SAGABOX_STORE");
  verb.add_option("--schema", arguments.schema,
                  "where our tables are, for databases that have schemas")
      ->type_name("NAME")
      ->envname("SAGABOX_SCHEMA");
  verb.add_option("--actor", arguments.actor,
                  "who acts, as the audit log will say; the user unless told")
      ->type_name("NAME")
      ->envname("SAGABOX_ACTOR");
  verb.add_flag("--json", arguments.json, "for programs: see docs/cli.md");
}

void add_server_options(CLI::App& verb, ServerArguments& arguments) {
  verb.add_option("--server", arguments.url,
                  "asks this daemon instead of a store: http://127.0.0.1:8700")
      ->type_name("URL")
      ->envname("SAGABOX_SERVER");
  verb.add_option("--key-file", arguments.key_file,
                  "has the key for the daemon; else the key is in $SAGABOX_KEY")
      ->type_name("FILE")
      ->envname("SAGABOX_KEY_FILE");
  verb.add_option("--ca", arguments.ca_file,
                  "who signed the daemon's certificate; whom the system trusts unless told")
      ->type_name("FILE");
  add_option(verb, "--timeout", "DURATION", arguments.timeout, parse_duration,
             "how long to wait for each answer of the daemon, 30s unless told");
}

void add_table_option(CLI::App& verb, std::string& table) {
  verb.add_option("--table", table, "the outbox; may be left out when there is only one")
      ->type_name("NAME");
}

void add_yes_options(CLI::App& verb, ActArguments& arguments) {
  verb.add_flag("--yes,-y", arguments.yes, "does it without asking");
  verb.add_flag("--dry-run", arguments.dry_run, "shows what it would do, and changes nothing");
}

void add_schema_verbs(CLI::App& app, Chosen& run) {
  add_migrate(app, run);
  const auto add_store_of_daemon = [](CLI::App& verb, AuditArguments& arguments) {
    verb.add_option("--of", arguments.server.store,
                    "the store of the daemon that is meant, where it has several")
        ->type_name("NAME");
  };
  auto* audit = app.add_subcommand("audit", "The audit log: verify, export");
  audit->group("Look")->require_subcommand(1);
  {
    auto [verify, arguments] =
        add_verb(*audit, "verify", "Whether anybody edited, removed, reordered or cut it", run,
                 run_audit_verify);
    add_option(*verify, "--anchor", "NUMBER:HASH", arguments->anchor, parse_anchor,
               "an end that was kept elsewhere: that entry must be there, unchanged");
    add_store_of_daemon(*verify, *arguments);
    verify->footer("Exit code 0: the log holds. 1: it was tampered with, or could not be read.");
  }
  {
    auto [verb, arguments] =
        add_verb(*audit, "export", "JSON lines, on standard output", run, run_audit_export);
    verb->add_option("--after", arguments->after, "only entries with a higher number")
        ->type_name("NUMBER");
    add_store_of_daemon(*verb, *arguments);
  }
}

}  // namespace sagabox::cli
