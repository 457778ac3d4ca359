#include "stores/sql/admin_store.hpp"
#include "stores/sql/audit_store.hpp"
#include "stores/sql/control_store.hpp"
#include "stores/sql/hub_admin.hpp"
#include "stores/sql/hub_deliveries.hpp"
#include "stores/sql/hub_events.hpp"
#include "stores/sql/hub_jobs.hpp"
#include "stores/sql/hub_subscriptions.hpp"
#include "stores/sql/idempotency_store.hpp"
#include "stores/sql/saga_admin.hpp"
#include "stores/sql/saga_store.hpp"
#include "stores/sqlite/context.hpp"
#include "stores/sqlite/doctor_store.hpp"
#include "stores/sqlite/outbox_store.hpp"
#include "stores/sqlite/ownership.hpp"
#include "stores/sqlite/sql_files.hpp"
#include "stores/sqlite/transaction.hpp"

#include <sagabox/stores/sqlite.hpp>

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

namespace sagabox::sqlite {
namespace {

class SqliteStore final : public Store {
 public:
  SqliteStore(const std::string& path, const Options& options, std::unique_ptr<Writer> writer,
              OwnerLocks locks, sql::Sections& sections)
      : name_("sqlite:" + path),
        chain_(sections, "sagabox_audit_head"),
        known_(sections),
        replay_(sections),
        context_(path, options, std::move(writer), sections),
        outbox_(sections, context_, chain_),
        admin_(sections, operator_parts()),
        control_(sections, operator_parts()),
        idempotency_(sections, {context_.sessions, context_.sessions, chain_, &context_.clock,
                                [this] { return make_tables(spi::idempotency_engine); }}),
        inbox_(sections, {context_.sessions, &context_.clock,
                          [this] { return make_tables(spi::inbox_engine); }}),
        sagas_(sections, saga_parts()),
        saga_admin_(sections, context_.sessions, &context_.clock),
        hub_parts_(hub_parts()),
        hub_events_(sections, hub_parts_),
        hub_subscriptions_(sections, hub_parts_),
        hub_deliveries_(sections, hub_parts_),
        hub_jobs_(sections, hub_parts_),
        hub_admin_(sections, hub_parts_),
        doctor_(sections, context_),
        ownership_(sections, context_, std::move(locks)) {}

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
  Result<std::unique_ptr<OwnedTransaction>> begin() override {
    return StoreTransaction::begin(context_);
  }
  [[nodiscard]] std::string name() const override { return name_; }

 private:
  Status make_tables(std::string_view engine) {
    return context_.migrations.up(*context_.writer, {.engine = std::string(engine)});
  }
  sql::SagaStore::Parts saga_parts() {
    return {.sessions = context_.sessions,
            .audit = chain_,
            .clock = &context_.clock,
            .capabilities = outbox_.capabilities(),
            .prepare =
                [this] {
                  // Owners and the audit log are among the tables of the outbox.
                  auto made = make_tables(spi::outbox_engine);
                  return made.ok() ? make_tables(spi::saga_engine) : made;
                },
            .begin = [this] { return begin(); },
            .session_of = [](Transaction& tx) { return session_of(tx); },
            .horizon = nullptr,
            .wait =
                [this](std::string_view definition, Duration timeout) {
                  context_.wake.wait(sql::saga_feed(definition), timeout);
                },
            .wake =
                [this](std::string_view definition) {
                  context_.wake.notify(sql::saga_feed(definition));
                }};
  }
  sql::HubParts hub_parts() {
    return {.sessions = context_.sessions,
            .audit = chain_,
            .clock = &context_.clock,
            .capabilities = outbox_.capabilities(),
            .prepare =
                [this] {
                  // Owners and the audit log are among the tables of the outbox.
                  auto made = make_tables(spi::outbox_engine);
                  return made.ok() ? make_tables(spi::hub_engine) : made;
                },
            .horizon = nullptr,
            .wait = [this](std::string_view feed,
                           Duration timeout) { context_.wake.wait(feed, timeout); },
            .wake = [this](std::string_view feed) { context_.wake.notify(feed); }};
  }
  sql::OperatorParts operator_parts() {
    return {context_.sessions, chain_, replay_, known_,
            [this](const TableName& table) { context_.wake.notify(table); }};
  }

  const std::string name_;
  const sql::AuditChain chain_;
  const sql::KnownOutbox known_;
  sql::Replay replay_;
  Context context_;
  SqliteOutbox outbox_;
  sql::AdminStore admin_;
  sql::ControlStore control_;
  sql::IdempotencyStore idempotency_;
  sql::InboxStore inbox_;
  sql::SagaStore sagas_;
  sql::SagaAdminStore saga_admin_;
  const sql::HubParts hub_parts_;
  sql::HubEventStore hub_events_;
  sql::HubSubscriptionStore hub_subscriptions_;
  sql::HubDeliveryStore hub_deliveries_;
  sql::HubJobStore hub_jobs_;
  sql::HubAdminStore hub_admin_;
  sql::AuditStore audit_{context_.sessions, chain_};
  SqliteDoctor doctor_;
  Ownership ownership_;
};

Status check(const std::string& path, const Options& options) {
  const auto invalid = [](std::string_view field, std::string_view rule) {
    return Error{Code::config_invalid, std::string(field) + ": " + std::string(rule)};
  };
  constexpr std::uint64_t wal_bytes_min = 64ULL * 1024;
  if (path.empty() || path == ":memory:") {
    return invalid("path", "give the path of a file; for a store in memory use MemoryStore");
  }
  if (options.lock_max < Duration{}) return invalid("lock_max", "give a time of 0 or more");
  if (options.readers_max == 0) return invalid("readers_max", "give 1 or more");
  if (options.wal_bytes_max < wal_bytes_min) return invalid("wal_bytes_max", "give 65536 or more");
  if (options.watch_interval <= Duration{}) {
    return invalid("watch_interval", "give a time above 0");
  }
  return {};
}

/// Opens the file in every call.
class SqliteSchema final : public spi::SchemaStore {
 public:
  SqliteSchema(sql::Sections& sections, std::string path, Options options)
      : path_(std::move(path)),
        options_(std::move(options)),
        migrations_(sections, *options_.clock) {}

  Result<std::vector<spi::SchemaStep>> status() override {
    std::error_code ignored;
    // With a VFS of the user's the file need not be on the disk.
    const bool on_disk = options_.vfs.empty();
    if (on_disk && !std::filesystem::exists(path_, ignored)) return migrations_.nothing_applied();
    auto connection = Connection::open(path_, Connection::Use::read, options_);
    if (!connection.ok()) return connection.error();
    return migrations_.status(**connection);
  }
  Status up(const spi::SchemaUp& request) override {
    auto writer = Writer::open(path_, options_);
    if (!writer.ok()) return writer.error();
    return migrations_.up(**writer, request);
  }
  Status down(const spi::SchemaDown& request) override {
    // If the file does not exist, there is nothing to remove, and no file is made.
    auto there = Connection::open(path_, Connection::Use::read, options_);
    if (!there.ok()) return there.error();
    auto writer = Writer::open(path_, options_);
    if (!writer.ok()) return writer.error();
    return migrations_.down(**writer, request);
  }
  Result<spi::ReshardReport> reshard(const spi::ReshardRequest&) override {
    return Error{Code::config_invalid,
                 "a SQLite file has one shard for each outbox; there is nothing to reshard"};
  }
  Result<std::string> hub_grants(const spi::HubGrants&) override {
    return Error{Code::config_invalid,
                 "a SQLite file has no users: all roles of the hub run in one process"};
  }

 private:
  const std::string path_;
  const Options options_;
  const Migrations migrations_;
};

}  // namespace

Result<std::unique_ptr<Store>> open(const std::string& path, const Options& options) {
  if (auto checked = check(path, options); !checked.ok()) return checked.error();
  auto writer = Writer::open(path, options);
  if (!writer.ok()) return writer.error();
  // The real path of the file: another process may use a link to it.
  const auto file = (*writer)->path();
  auto locks = OwnerLocks::open(file);
  if (!locks.ok()) return locks.error();
  auto sections = sql::Sections::parse(sql_files);
  if (!sections.ok()) return sections.error();
  auto store = std::make_unique<SqliteStore>(file, options, std::move(writer).value(),
                                             std::move(locks).value(), *sections);
  if (auto checked = sections->check(); !checked.ok()) return checked.error();
  return std::unique_ptr<Store>(std::move(store));
}

Result<std::unique_ptr<Store>> open(sqlite3* connection, const Options& options) {
  const char* path = connection == nullptr ? nullptr : sqlite3_db_filename(connection, "main");
  if (path == nullptr || *path == '\0') {
    return Error{Code::config_invalid,
                 "open() needs a connection to a file; this one is closed, or its database lies in "
                 "memory"};
  }
  return open(std::string(path), options);
}

Result<std::unique_ptr<spi::SchemaStore>> open_schema(const std::string& path,
                                                      const Options& options) {
  if (auto checked = check(path, options); !checked.ok()) return checked.error();
  auto sections = sql::Sections::parse(sql_files);
  if (!sections.ok()) return sections.error();
  return std::unique_ptr<spi::SchemaStore>(
      std::make_unique<SqliteSchema>(*sections, path, options));
}

}  // namespace sagabox::sqlite
