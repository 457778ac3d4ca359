#include "cli/exit_codes.hpp"
#include "cli/session.hpp"
#include "cli/verbs/hub_texts.hpp"
#include "cli/verbs/operator_verbs.hpp"
#include "core/secret_random.hpp"
#include "core/text.hpp"
#include "delivery/secret_box.hpp"

#include <sagabox/open.hpp>
#include <sagabox/spi/schema_store.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

namespace sagabox::cli {
namespace {

struct GrantsArguments : StoreArguments {
  spi::HubGrants request{};
};

int run_hub_grants(const GrantsArguments& arguments) {
  auto schema = open_schema(store_url(arguments), {.schema = arguments.schema});
  if (!schema.ok()) throw WrongUse(schema.error().text());
  const auto grants = (*schema)->hub_grants(arguments.request);
  if (!grants.ok()) throw WrongUse(grants.error().text());
  fmt::print("{}", *grants);
  return exit_fine;
}

struct KeyArguments {
  std::string file{};
  std::string id = "k1";
};

/// Throws Failure. An existing file is not replaced: data encrypted with its key would be lost.
void write_new_file(const std::string& name, const std::string& text) {
  constexpr mode_t mode = 0600;
  const int file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (file < 0 && errno == EEXIST) {
    throw Failure({Code::tx_invalid_state,
                   name + " is there already, and stays: secrets that it seals could not be opened "
                          "any more; name another file"});
  }
  const auto failed = [&] {
    return Failure({Code::storage_unavailable,
                    "cannot write " + name + ": " + std::generic_category().message(errno)});
  };
  if (file < 0) throw failed();
  const bool written = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const bool kept = written && ::fsync(file) == 0;
  if (::close(file) != 0 || !kept) {
    const auto failure = failed();
    (void)::unlink(name.c_str());
    throw failure;
  }
}

int run_hub_key(const KeyArguments& arguments) {
  const auto key = delivery::SecretBox::new_key(arguments.id, secret_random());
  if (!key.ok()) throw WrongUse("--id: " + key.error().message);
  write_new_file(arguments.file, *key + "\n");
  fmt::print(
      "{} has a new key, {}: it seals the secrets of endpoints. Name the file in "
      "hub.secret_key_file, and keep a copy\n",
      arguments.file, arguments.id);
  return exit_fine;
}

void add_hub_key(CLI::App& hub, Chosen& run) {
  auto arguments = std::make_shared<KeyArguments>();
  auto* key = hub.add_subcommand("key", "Makes a key that seals the secrets of endpoints");
  key->add_option("--out", arguments->file, "a new file, which only its owner may read")
      ->type_name("FILE")
      ->required();
  key->add_option("--id", arguments->id, "the key's name, k1 unless told")->type_name("ID");
  key->callback([arguments, &run] { run = [arguments] { return run_hub_key(*arguments); }; });
  key->footer(
      "A key that is to replace another gets another id, and its line goes before the old one's "
      "in the\nfile of the daemon: the first one seals, all of them open.");
}

struct ResealArguments : OperatorArguments {
  bool dry_run = false;
};

std::string secrets_text(std::uint64_t count) {
  return fmt::format("{} {}", count, count == 1 ? "secret" : "secrets");
}

/// The result in one line.
std::string reseal_text(const ResealReport& report, bool dry_run) {
  const auto all = secrets_text(report.secrets);
  if (dry_run) return fmt::format("{}, {} would be sealed again", all, report.resealed);
  const auto done = fmt::format("{}, {} sealed again", all, report.resealed);
  if (report.unreadable > 0) return done;
  if (!report.complete()) return done + "; others were changed meanwhile: run it again";
  return done + ": all of them are sealed by the first key, and the others can go";
}

int run_hub_reseal(const ResealArguments& arguments) {
  Session session(arguments);
  const auto say_how_far = [&](const ResealReport& report) {
    if (session.json()) return;
    fmt::print(stderr, "{} looked at\n", secrets_text(report.secrets));
  };
  const auto report = right_use(session.operations().hub().reseal(arguments.dry_run, say_how_far));
  if (session.json()) {
    session.out().print(fmt::format(
        R"({{"secrets":{},"current":{},"resealed":{},"unreadable":{},"dry_run":{}}})",
        report.secrets, report.current, report.resealed, report.unreadable, arguments.dry_run));
    return report.complete() ? exit_fine : exit_failed;
  }
  session.out().print(reseal_text(report, arguments.dry_run));
  if (report.unreadable == 0) return report.complete() ? exit_fine : exit_failed;
  std::string whose;
  for (const auto& id : report.unreadable_first) {
    whose += (whose.empty() ? "" : ", ") + id.str();
  }
  session.out().print(
      Line().add(fmt::format("{} cannot be opened by these keys, of {}: add the key that sealed "
                             "them, or sagabox subscription rotate-secret ID",
                             secrets_text(report.unreadable), whose),
                 Style::bad));
  return exit_failed;
}

void add_hub_reseal(CLI::App& hub, Chosen& run) {
  auto [reseal, arguments] = add_verb(
      hub, "reseal", "Seals all secrets of endpoints by the first key, so that older keys can go",
      run, run_hub_reseal);
  reseal
      ->add_option("--secret-key-file", arguments->hub_key_file,
                   "the new key and the old ones, the new one first; else they are in "
                   "$SAGABOX_HUB_SECRET_KEY")
      ->type_name("FILE")
      ->envname("SAGABOX_HUB_SECRET_KEY_FILE");
  reseal->add_flag("--dry-run", arguments->dry_run, "only counts");
  reseal->footer(
      "Give it the file that all daemons of the store have by now. It may be stopped and said "
      "again; what is\nsealed by the first key is left as it is.");
}

}  // namespace

void add_hub_verbs(CLI::App& app, Chosen& run) {
  auto* hub = app.add_subcommand("hub", "The delivery hub: its keys, grants");
  hub->group("Set up")->require_subcommand(1);
  add_hub_key(*hub, run);
  add_hub_reseal(*hub, run);
  auto [grants, arguments] =
      add_verb(*hub, "grants", "Prints what a role's database user may do, as SQL for psql", run,
               run_hub_grants);
  std::vector<std::string> roles(spi::hub_roles.begin(), spi::hub_roles.end());
  grants->add_option("--role", arguments->request.role, "what the user's process does")
      ->type_name("ROLE")
      ->required()
      ->check(CLI::IsMember(std::move(roles)));
  grants->add_option("--user", arguments->request.user, "sagabox_ROLE unless told")
      ->type_name("NAME");
  grants->footer("The user itself is made with CREATE ROLE. Nothing is granted by this verb.");
}

}  // namespace sagabox::cli
