#include "stores/postgres/driver/context.hpp"
#include "stores/postgres/driver/transaction.hpp"
#include "stores/postgres/operate/admin_store.hpp"
#include "stores/postgres/operate/doctor_store.hpp"
#include "stores/postgres/operate/hub_grants.hpp"
#include "stores/postgres/outbox/competing_store.hpp"
#include "stores/postgres/outbox/leader.hpp"
#include "stores/postgres/outbox/outbox_store.hpp"
#include "stores/postgres/sql_files.hpp"
#include "stores/postgres/wake/hub_waits.hpp"
#include "stores/postgres/wake/wake.hpp"
#include "stores/sql/audit_store.hpp"
#include "stores/sql/control_store.hpp"
#include "stores/sql/hub_admin.hpp"
#include "stores/sql/hub_deliveries.hpp"
#include "stores/sql/hub_events.hpp"
#include "stores/sql/hub_jobs.hpp"
#include "stores/sql/hub_subscriptions.hpp"
#include "stores/sql/idempotency_store.hpp"
#include "stores/sql/ownership_store.hpp"
#include "stores/sql/saga_admin.hpp"
#include "stores/sql/saga_store.hpp"

#include <sagabox/stores/postgres.hpp>

#include <string>
#include <utility>

namespace sagabox::postgres {
namespace {

class PostgresStore final : public Store {
 public:
  PostgresStore(const Names& names, const ConnectSettings& settings, const Options& options,
                std::string name, sql::Sections& sections)
      : context_(names, settings, options, sections),
        name_(std::move(name)),
        chain_(sections, "audit_head"),
        known_(sections),
        replay_(sections),
        wake_(sections, context_),
        outbox_(sections, context_, chain_, wake_),
        admin_(sections, operator_parts(), context_.relay),
        control_(sections, operator_parts()),
        idempotency_(sections, {context_.request_sessions, context_.lease_sessions, chain_, nullptr,
                                [this] { return make_tables(spi::idempotency_engine); }}),
        inbox_(sections, {context_.request_sessions, nullptr,
                          [this] { return make_tables(spi::inbox_engine); }}),
        sagas_(sections, saga_parts()),
        saga_admin_(sections, context_.sessions, nullptr),
        hub_waits_(sections, context_, wake_),
        hub_parts_(hub_parts()),
        hub_events_(sections, hub_parts_),
        hub_subscriptions_(sections, hub_parts_),
        hub_deliveries_(sections, hub_parts_),
        hub_jobs_(sections, hub_parts_),
        hub_admin_(sections, hub_parts_),
        ownership_(sections, context_.owner_sessions, context_.lease_sessions),
        leader_(sections, context_, ownership_),
        competing_(sections, context_, chain_, wake_),
        doctor_(sections, context_) {}

  spi::OutboxStore& outbox() override { return outbox_; }
  spi::OutboxAdminStore& outbox_admin() override { return admin_; }
  spi::ControlStore& control() override { return control_; }
  spi::OwnershipStore& ownership() override { return ownership_; }
  spi::AuditStore& audit() override { return audit_; }
  spi::DoctorStore* doctor() override { return &doctor_; }
  spi::IdempotencyStore* idempotency() override { return &idempotency_; }
  spi::InboxStore* inbox() override { return &inbox_; }
  spi::SagaStore* sagas() override { return &sagas_; }
  spi::SagaAdminStore* saga_admin() override { return &saga_admin_; }
  std::optional<HubRoles> hub() override {
    return HubRoles{hub_events_, hub_subscriptions_, hub_deliveries_, hub_jobs_, hub_admin_};
  }
  std::optional<ClaimRoles> claim_roles(ClaimMode mode) override {
    switch (mode) {
      case ClaimMode::sharded:
        return ClaimRoles{outbox_, ownership_};
      case ClaimMode::leader:
        return ClaimRoles{outbox_, leader_};
      case ClaimMode::competing:
        return ClaimRoles{competing_, ownership_};
    }
    return std::nullopt;
  }
  Result<std::unique_ptr<OwnedTransaction>> begin() override {
    return StoreTransaction::begin(context_);
  }
  [[nodiscard]] std::string name() const override { return name_; }

  /// Checks that the server can be reached and accepts us, before the store is used.
  Status connect() {
    auto connection = context_.owners.take();
    if (!connection.ok()) return connection.error();
    if ((*connection)->pooled()) context_.notify = false;
    return {};
  }

 private:
  Status make_tables(std::string_view engine) { return context_.migrations.prepare(engine); }
  sql::SagaStore::Parts saga_parts() {
    return {
        .sessions = context_.saga_sessions,
        .audit = chain_,
        .clock = nullptr,
        .capabilities = outbox_.capabilities(),
        .prepare =
            [this] {
              // Owners and the audit log are among the tables of the outbox.
              auto made = make_tables(spi::outbox_engine);
              return made.ok() ? make_tables(spi::saga_engine) : made;
            },
        .begin = [this] { return begin(); },
        .session_of = [](Transaction& tx) { return session_of(tx); },
        .horizon = &horizon_in,
        .looked = [this](const spi::Horizon& unseen,
                         std::size_t rows) { wake_.looked(saga_commands, unseen, rows); },
        .wait = [this](std::string_view, Duration timeout) { wake_.wait(saga_commands, timeout); },
        .wake = [this](std::string_view) { wake_.notify(saga_commands); }};
  }
  sql::HubParts hub_parts() {
    return {
        .sessions = context_.hub_sessions,
        .audit = chain_,
        .clock = nullptr,
        .capabilities = outbox_.capabilities(),
        .requeue_audits = true,
        .prepare =
            [this] {
              // Owners and the audit log are among the tables of the outbox.
              auto made = make_tables(spi::outbox_engine);
              return made.ok() ? make_tables(spi::hub_engine) : made;
            },
        .horizon = &horizon_in,
        .looked = [this](const spi::Horizon& unseen,
                         std::size_t rows) { hub_waits_.looked(unseen, rows); },
        .found = [this](std::string_view feed, std::size_t rows) { hub_waits_.found(feed, rows); },
        .wait = [this](std::string_view feed, Duration timeout) { hub_waits_.wait(feed, timeout); },
        .wake = [this](std::string_view feed) { hub_waits_.notify(feed); }};
  }
  sql::OperatorParts operator_parts() {
    return {context_.sessions, chain_, replay_, known_,
            [this](const TableName& table) { wake_.notify(table); }};
  }

  /// All saga definitions share one flag sequence.
  const WatchedFeed saga_commands{.name = "saga_commands", .flags = "saga_commands_flags"};
  Context context_;
  std::string name_;
  const sql::AuditChain chain_;
  const sql::KnownOutbox known_;
  sql::Replay replay_;
  Wake wake_;
  PostgresOutbox outbox_;
  PostgresAdmin admin_;
  sql::ControlStore control_;
  sql::IdempotencyStore idempotency_;
  sql::InboxStore inbox_;
  sql::SagaStore sagas_;
  sql::SagaAdminStore saga_admin_;
  HubWaits hub_waits_;
  const sql::HubParts hub_parts_;
  sql::HubEventStore hub_events_;
  sql::HubSubscriptionStore hub_subscriptions_;
  sql::HubDeliveryStore hub_deliveries_;
  sql::HubJobStore hub_jobs_;
  sql::HubAdminStore hub_admin_;
  sql::OwnershipStore ownership_;
  LeaderOwnership leader_;
  CompetingOutbox competing_;
  sql::AuditStore audit_{context_.sessions, chain_};
  PostgresDoctor doctor_;
};

Error invalid_option(std::string_view field, std::string_view rule) {
  return {Code::config_invalid, std::string(field) + ": " + std::string(rule)};
}

Status check_shards(std::uint16_t shards) {
  constexpr std::uint16_t shards_max = 1024;
  if (shards == 0 || shards > shards_max) return invalid_option("shards", "give 1 to 1024");
  return {};
}

Status check(const Options& options) {
  if (auto checked = check_shards(options.shards); !checked.ok()) return checked;
  if (options.writers_max == 0) return invalid_option("writers_max", "give 1 or more");
  if (options.relay_connections_max == 0) {
    return invalid_option("relay_connections_max", "give 1 or more");
  }
  // More are not looked at in one read.
  if (options.claim_rows_max == 0 || options.claim_rows_max > 1000) {
    return invalid_option("claim_rows_max", "give 1 to 1000");
  }
  if (options.statement_max <= Duration{}) {
    return invalid_option("statement_max", "give a time above 0: stopping waits for what runs");
  }
  return {};
}

ConnectSettings settings_of(const std::string& url, const Options& options) {
  return {.url = url,
          .connect_max = options.connect_max,
          .statement_max = options.statement_max,
          .lock_max = options.lock_max,
          .pooled = options.pooled,
          .clock = options.clock};
}

/// Opens a new connection in every call.
class PostgresSchema final : public spi::SchemaStore {
 public:
  PostgresSchema(sql::Sections sections, const Names& names, ConnectSettings settings,
                 std::uint16_t shards)
      : sections_(std::move(sections)),
        names_(names),
        settings_(std::move(settings)),
        migrations_(sections_, names_, settings_, shards) {}

  Result<std::vector<spi::SchemaStep>> status() override { return migrations_.status(); }
  Status up(const spi::SchemaUp& request) override { return migrations_.up(request); }
  Status down(const spi::SchemaDown& request) override { return migrations_.down(request); }
  Result<spi::ReshardReport> reshard(const spi::ReshardRequest& request) override {
    if (auto checked = check_shards(request.shards); !checked.ok()) return checked.error();
    return Migrations(sections_, names_, settings_, request.shards).reshard(request);
  }
  Result<std::string> hub_grants(const spi::HubGrants& request) override {
    return postgres::hub_grants(names_, request);
  }

 private:
  sql::Sections sections_;
  const Names names_;
  const ConnectSettings settings_;
  Migrations migrations_;
};

}  // namespace

Result<std::unique_ptr<Store>> open(const std::string& url, const Options& options) {
  if (auto checked = check(options); !checked.ok()) return checked.error();
  auto name = public_name(url);
  if (!name.ok()) return name.error();
  auto names = Names::parse(options.schema);
  if (!names.ok()) return names.error();
  auto sections = sql::Sections::parse(sql_files, names->schema());
  if (!sections.ok()) return sections.error();
  auto store =
      std::make_unique<PostgresStore>(*names, settings_of(url, options), options, *name, *sections);
  if (auto checked = sections->check(); !checked.ok()) return checked.error();
  if (auto connected = store->connect(); !connected.ok()) return connected.error();
  return std::unique_ptr<Store>(std::move(store));
}

Result<std::unique_ptr<Store>> open(PGconn* connection, const Options& options) {
  auto url = url_of(connection);
  if (!url.ok()) return url.error();
  return open(*url, options);
}

Result<std::unique_ptr<spi::SchemaStore>> open_schema(const std::string& url,
                                                      const Options& options) {
  if (auto checked = check(options); !checked.ok()) return checked.error();
  if (auto name = public_name(url); !name.ok()) return name.error();
  auto names = Names::parse(options.schema);
  if (!names.ok()) return names.error();
  auto sections = sql::Sections::parse(sql_files, names->schema());
  if (!sections.ok()) return sections.error();
  return std::unique_ptr<spi::SchemaStore>(std::make_unique<PostgresSchema>(
      std::move(*sections), *names, settings_of(url, options), options.shards));
}

}  // namespace sagabox::postgres
