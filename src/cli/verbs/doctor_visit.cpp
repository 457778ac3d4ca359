#include "cli/verbs/doctor_visit.hpp"

#include "admin/doctor.hpp"
#include "assembly/open_store.hpp"
#include "assembly/routes.hpp"
#include "cli/connect_cure.hpp"
#include "cli/exit_codes.hpp"
#include "cli/session.hpp"
#include "cli/views/facts.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>

namespace sagabox::cli {
namespace {

constexpr Duration transport_patience = std::chrono::seconds(5);

BootTime deadline() { return system_clock().boot_now() + transport_patience; }

/// The finding for what brokers of this kind cannot report.
std::optional<spi::Finding> not_asked(std::string_view transport) {
  if (transport == "mqtt") {
    return spi::Finding{Severity::info,
                        "whether it keeps messages across a restart cannot be asked over MQTT",
                        "Mosquitto: `persistence true`"};
  }
  if (transport == "amqp") {
    return spi::Finding{Severity::info,
                        "whether its exchanges and queues are durable cannot be asked over AMQP",
                        "rabbitmqctl list_queues name durable"};
  }
  return std::nullopt;
}

}  // namespace

void DoctorVisit::add(const std::string& where, const std::vector<spi::Finding>& found) {
  for (const auto& finding : found) findings_.emplace_back(where, finding);
}

void DoctorVisit::mask(const assembly::SecretTexts& secrets) {
  for (auto& [where, finding] : findings_) {
    where = secrets.masked(where);
    finding.what = secrets.masked(finding.what);
    finding.cure = secrets.masked(finding.cure);
  }
}

bool DoctorVisit::fine() const {
  return std::ranges::all_of(findings_, [](const PlacedFinding& placed) {
    return placed.second.severity == Severity::info;
  });
}

void DoctorVisit::store(Operations& operations) {
  add(operations.name(), operations.findings().value());
  if (!operations.is_current().value()) return;
  std::optional<TableName> seen;
  for (const auto& table : operations.tables().value()) {
    const auto where = "table " + table.str();
    // Behind a daemon, the store of one table may be down while others work.
    try {
      auto facts = facts_of(operations, table);
      facts.strays = operations.strays(table).value();
      add(where, admin::findings_of(facts));
      if (!seen) seen = table;
    } catch (const Failure& problem) {
      add(where, {{Severity::error, problem.what(), connect_cure(problem.what())}});
    }
  }
  if (seen) clock(operations, *seen);
  hub(operations);
}

/// Nothing is said of a store without one.
void DoctorVisit::hub(Operations& operations) {
  try {
    add("hub", operations.hub().findings().value());
  } catch (const Failure&) {
  }
}

void DoctorVisit::clock(Operations& operations, const TableName& table) {
  const auto before = system_clock().wall_now();
  const auto stats = operations.stats(table).value();
  const auto finding = admin::clock_finding(before, stats.now, system_clock().wall_now());
  if (finding) add(operations.name(), {*finding});
}

void DoctorVisit::transport(const std::string& where, spi::Transport& way) {
  const auto found = way.findings(deadline());
  if (!found.ok()) {
    add(where, {{Severity::error, found.error().text(), connect_cure(found.error().text())}});
  } else {
    for (const auto& text : *found) add(where, {{Severity::warning, text, {}}});
  }
  way.close(deadline());
}

void DoctorVisit::configuration(const assembly::Configuration& configuration) {
  for (const auto& store : configuration.stores) store_of(store);
  routes_of(configuration);
}

void DoctorVisit::store_of(const assembly::StoreSettings& settings) {
  const auto where = "store " + settings.name;
  if (assembly::backend_of(settings.url) == assembly::Backend::memory) {
    return add(where, {{Severity::info, "it is in memory, which cannot be seen from here", {}}});
  }
  try {
    OperatorArguments arguments;
    arguments.url = settings.url;
    arguments.schema = settings.options.schema;
    arguments.backend = settings.backend;
    Session session(arguments);
    store(session.operations());
    tables_of(session.operations(), settings);
  } catch (const WrongUse& problem) {
    add(where, {{Severity::warning, problem.what(), "sagabox serve makes what is missing"}});
  } catch (const Failure& problem) {
    add(where, {{Severity::error, problem.what(), connect_cure(problem.what())}});
  }
}

void DoctorVisit::tables_of(Operations& operations, const assembly::StoreSettings& settings) {
  const auto there = operations.tables().value();
  for (const auto& table : settings.tables) {
    const auto& name = table.options.table;
    const bool known =
        std::ranges::any_of(there, [&](const TableName& one) { return one.str() == name; });
    if (known) continue;
    add("table " + name, {{Severity::warning, "it is configured, but not in " + operations.name(),
                           "sagabox serve makes it, or sagabox migrate up --table " + name}});
  }
}

void DoctorVisit::routes_of(const assembly::Configuration& configuration) {
  const auto silent = [](const sagabox::Delivery&) { return done(); };
  const auto transports = assembly::open_transports(configuration, {.show = silent}).value();
  // Transports check the addresses that are still referenced.
  std::vector<std::shared_ptr<const spi::Address>> addresses;
  for (const auto& route : configuration.routes) {
    for (const auto& target : route.options.to) {
      const auto& way = transports.at(assembly::transport_of(target));
      addresses.push_back(way->address(target.to, target.settings).value());
    }
  }
  for (const auto& [name, way] : transports) {
    const auto where = "transport " + name;
    transport(where, *way);
    if (const auto finding = not_asked(name)) add(where, {*finding});
  }
}

}  // namespace sagabox::cli
