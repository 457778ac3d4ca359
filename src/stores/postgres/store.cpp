#include "stores/postgres/driver/context.hpp"
#include "stores/postgres/driver/transaction.hpp"
#include "stores/postgres/operate/admin_store.hpp"
#include "stores/postgres/operate/doctor_store.hpp"
#include "stores/postgres/outbox/competing_store.hpp"
#include "stores/postgres/outbox/leader.hpp"
#include "stores/postgres/outbox/outbox_store.hpp"
#include "stores/postgres/outbox/ownership.hpp"
#include "stores/postgres/sql_files.hpp"
#include "stores/postgres/wake/wake.hpp"
#include "stores/sql/audit_store.hpp"
#include "stores/sql/control_store.hpp"

#include <sagabox/stores/postgres.hpp>

#include <string>
#include <utility>

namespace sagabox::postgres {
namespace {

class PostgresStore final : public Store {
 public:
  PostgresStore(const Names& names, const ConnectSettings& settings, const Options& options,
                std::string name, sql::Sections& sections)
      : context_(names, settings, options),
        name_(std::move(name)),
        chain_(sections, "audit_head"),
        known_(sections),
        replay_(sections),
        admin_(sections, operator_parts(), context_.relay),
        control_(sections, operator_parts()),
        doctor_(sections, context_) {}

  spi::OutboxStore& outbox() override { return outbox_; }
  spi::OutboxAdminStore& outbox_admin() override { return admin_; }
  spi::ControlStore& control() override { return control_; }
  spi::OwnershipStore& ownership() override { return ownership_; }
  spi::AuditStore& audit() override { return audit_; }
  spi::DoctorStore* doctor() override { return &doctor_; }
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

  /// Whether the server can be reached and takes us. Before anybody uses the store.
  Status connect() {
    auto connection = context_.owners.take();
    if (!connection.ok()) return connection.error();
    if ((*connection)->pooled()) context_.notify = false;
    return {};
  }

 private:
  sql::OperatorParts operator_parts() {
    return {context_.sessions, chain_, replay_, known_,
            [this](const TableName& table) { wake_.ring(table); }};
  }

  Context context_;
  std::string name_;
  const sql::AuditChain chain_;
  const sql::KnownOutbox known_;
  sql::Replay replay_;
  Wake wake_{context_};
  PostgresOutbox outbox_{context_, chain_, wake_};
  PostgresAdmin admin_;
  sql::ControlStore control_;
  Ownership ownership_{context_};
  LeaderOwnership leader_{context_, ownership_};
  CompetingOutbox competing_{context_, chain_, wake_};
  sql::AuditStore audit_{context_.sessions, chain_};
  PostgresDoctor doctor_;
};

Status check(const Options& options) {
  const auto invalid = [](std::string_view field, std::string_view rule) {
    return Error{Code::config_invalid, std::string(field) + ": " + std::string(rule)};
  };
  constexpr std::uint16_t shards_max = 1024;
  if (options.shards == 0 || options.shards > shards_max) {
    return invalid("shards", "give 1 to 1024");
  }
  if (options.writers_max == 0) return invalid("writers_max", "give 1 or more");
  if (options.relay_connections_max == 0) {
    return invalid("relay_connections_max", "give 1 or more");
  }
  if (options.statement_max <= Duration{}) {
    return invalid("statement_max", "give a time above 0: stopping waits for what runs");
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

Result<Migrations> migrations_of(const std::string& url, const Options& options) {
  if (auto checked = check(options); !checked.ok()) return checked.error();
  if (auto name = public_name(url); !name.ok()) return name.error();
  auto names = Names::parse(options.schema);
  if (!names.ok()) return names.error();
  return Migrations(*names, settings_of(url, options), options.shards);
}

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

Status migrate(const std::string& url, const Options& options) {
  auto migrations = migrations_of(url, options);
  if (!migrations.ok()) return migrations.error();
  return migrations->up();
}

Status migrate_down(const std::string& url, const DownRequest& request, const Options& options) {
  auto migrations = migrations_of(url, options);
  if (!migrations.ok()) return migrations.error();
  return migrations->down(request);
}

Result<std::vector<MigrationStatus>> migration_status(const std::string& url,
                                                      const Options& options) {
  auto migrations = migrations_of(url, options);
  if (!migrations.ok()) return migrations.error();
  return migrations->status();
}

Result<ReshardReport> reshard(const std::string& url, const ReshardRequest& request,
                              const Options& options) {
  Options with = options;
  with.shards = request.shards;
  auto migrations = migrations_of(url, with);
  if (!migrations.ok()) return migrations.error();
  auto outbox = TableName::parse(request.outbox);
  if (!outbox.ok()) return outbox.error();
  return migrations->reshard(*outbox, request);
}

}  // namespace sagabox::postgres
