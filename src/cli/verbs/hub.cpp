#include "cli/exit_codes.hpp"
#include "cli/verbs/operator_verbs.hpp"
#include "core/text.hpp"

#include <sagabox/open.hpp>
#include <sagabox/spi/schema_store.hpp>

#include <fmt/format.h>

#include <string>
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

}  // namespace

void add_hub_verbs(CLI::App& app, Chosen& run) {
  auto* hub = app.add_subcommand("hub", "The delivery hub: grants");
  hub->group("Set up")->require_subcommand(1);
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
