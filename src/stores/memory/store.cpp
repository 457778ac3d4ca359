#include "stores/memory/database.hpp"

#include <sagabox/stores/memory.hpp>

#include <utility>

namespace sagabox::memory {
namespace {

class StoreTransaction final : public OwnedTransaction,
                               private OutboxWriter,
                               private Inbox,
                               private SagaInbox,
                               private EventWriter {
 public:
  explicit StoreTransaction(Connection connection) : connection_(std::move(connection)) {}

  ~StoreTransaction() override {
    if (is_open()) (void)rollback();
  }

  [[nodiscard]] bool is_open() const override { return connection_.in_transaction(); }

  OutboxWriter& outbox() override { return *this; }
  Inbox& inbox() override { return *this; }
  SagaInbox& sagas() override { return *this; }
  EventWriter& events() override { return *this; }

  Status commit() override {
    auto status = connection_.commit();
    if (status.ok()) {
      committed();
    } else if (!is_open()) {
      abandoned();
    }
    return status;
  }

  Status rollback() override {
    auto status = connection_.rollback();
    if (status.ok()) rolled_back();
    return status;
  }

 private:
  Result<std::vector<Written>> insert(
      const TableName& table, std::span<const std::shared_ptr<const Message>> messages) override {
    return Enlisted(connection_).outbox().insert(table, messages);
  }
  Result<bool> first_time(const IdempotencyKey& key) override {
    return Enlisted(connection_).inbox().first_time(key);
  }
  Result<BarrierAnswer> barrier(const BarrierCall& call) override {
    return Enlisted(connection_).inbox().barrier(call);
  }
  Status append(std::span<const SagaCommand> commands) override {
    return Enlisted(connection_).sagas().append(commands);
  }
  Result<std::vector<Published>> publish(std::span<const HubEvent> events) override {
    return Enlisted(connection_).events().publish(events);
  }

  Connection connection_;
};

}  // namespace

MemoryStore::MemoryStore(Options options)
    : database_(std::make_shared<Database>(std::move(options))) {}

MemoryStore::~MemoryStore() = default;

spi::OutboxStore& MemoryStore::outbox() { return *database_; }
spi::OutboxAdminStore& MemoryStore::outbox_admin() { return *database_; }
spi::ControlStore& MemoryStore::control() { return *database_; }
spi::OwnershipStore& MemoryStore::ownership() { return *database_; }
spi::AuditStore& MemoryStore::audit() { return *database_; }
spi::IdempotencyStore* MemoryStore::idempotency() { return &database_->idempotency(); }
spi::InboxStore* MemoryStore::inbox() { return &database_->inbox(); }
spi::SagaStore* MemoryStore::sagas() { return &database_->sagas(); }
spi::SagaAdminStore* MemoryStore::saga_admin() { return &database_->sagas(); }
std::optional<HubRoles> MemoryStore::hub() {
  return HubRoles{database_->hub_events(), database_->hub_subscriptions(),
                  database_->hub_deliveries(), database_->hub_jobs(), database_->hub_admin()};
}

Result<std::unique_ptr<OwnedTransaction>> MemoryStore::begin() {
  Connection connection = connect();
  if (auto begun = connection.begin(); !begun.ok()) return begun.error();
  return std::unique_ptr<OwnedTransaction>(
      std::make_unique<StoreTransaction>(std::move(connection)));
}

Connection MemoryStore::connect() { return Connection(database_); }

std::uint64_t MemoryStore::count(std::string_view table) const { return database_->count(table); }

void MemoryStore::set_faults(FaultPlan faults) { database_->set_faults(std::move(faults)); }

Status MemoryStore::corrupt(const TableName& table, Sequence sequence) {
  return database_->corrupt(table, sequence);
}

void MemoryStore::remove_audit(std::uint64_t first, std::uint64_t last) {
  database_->remove_audit(first, last);
}

void MemoryStore::begin_requeue() { database_->begin_requeue(); }

Status MemoryStore::misplace(const TableName& table, Sequence sequence) {
  return database_->misplace(table, sequence);
}

void MemoryStore::checkpoint() { database_->checkpoint(); }
bool MemoryStore::fail_over() { return database_->fail_over(); }

std::vector<Inspected> MemoryStore::inspect(const TableName& table) const {
  return database_->inspect(table);
}

}  // namespace sagabox::memory
