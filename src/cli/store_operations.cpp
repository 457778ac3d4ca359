#include "cli/store_operations.hpp"

#include "cli/store_hub.hpp"

#include <sagabox/random.hpp>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace sagabox::cli {
namespace {

constexpr std::string_view key_cure =
    "say --secret-key-file FILE, the daemon's hub.secret_key_file (sagabox hub key makes one), or "
    "ask a daemon: --server URL";

class StoreSagas final : public SagaOperations {
 public:
  explicit StoreSagas(SagaAdmin admin) : admin_(std::move(admin)) {}

  Result<SagaPage> list(const SagaQuery& query) override { return admin_.list(query); }
  Result<std::vector<SagaCounted>> count() override { return admin_.count(); }
  Result<std::optional<SagaView>> show(const SagaId& id, Admin::PayloadToo payload) override {
    return admin_.show(id, payload);
  }
  Result<std::optional<SagaHistory>> history(const SagaId& id, std::uint32_t after,
                                             std::uint32_t entries_max, bool verify) override {
    return admin_.history(id, after, entries_max, verify);
  }
  Result<std::optional<SagaExplanation>> explain(const SagaId& id) override {
    return admin_.explain(id);
  }
  Result<std::vector<SagaDefinitionRecord>> definitions(std::string_view name) override {
    return admin_.definitions(name);
  }
  Result<SagaDefinitionRecord> define(const SagaDefinition& definition) override {
    return admin_.define(definition);
  }
  Result<SagaReceipt> start(const SagaStartOrder& order, Duration wait) override {
    return admin_.start(order, wait);
  }
  Result<SagaReceipt> act(const SagaOrder& order, Duration wait) override {
    return admin_.act(order, wait);
  }
  Result<std::uint64_t> purge(std::string_view definition, Duration older_than) override {
    return admin_.purge(definition, older_than);
  }

 private:
  SagaAdmin admin_;
};

class StoreOperations final : public Operations {
 public:
  StoreOperations(std::unique_ptr<Store> store, Admin admin, std::string actor, std::string hub_key)
      : store_(std::move(store)),
        admin_(std::move(admin)),
        actor_(std::move(actor)),
        hub_key_(std::move(hub_key)) {}

  [[nodiscard]] std::string name() const override { return store_->name(); }

  Result<std::vector<TableName>> tables() override {
    const auto doctor = this->doctor();
    return doctor.ok() ? (*doctor)->tables() : doctor.error();
  }
  Result<spi::TableStats> stats(const TableName& table) override { return admin_.stats(table); }
  Result<WallTime> now(const TableName& table) override {
    const auto stats = admin_.stats(table);
    return stats.ok() ? Result<WallTime>(stats->now) : stats.error();
  }
  Result<std::optional<std::vector<DestinationState>>> destinations() override {
    return std::optional<std::vector<DestinationState>>();
  }
  Result<Sequence> last_sequence(const TableName& table) override {
    const auto doctor = this->doctor();
    return doctor.ok() ? (*doctor)->last_sequence(table) : doctor.error();
  }
  Result<Owners> owners(const TableName& table) override {
    return admin::owners_of(*store_, table);
  }
  Result<MessagePage> list(const TableName& table, const ListQuery& query) override {
    return admin_.list(table, query);
  }
  Result<std::uint64_t> count(const TableName& table, MessageState state,
                              const MessageFilter& filter) override {
    return admin_.count(table, state, filter);
  }
  Result<std::optional<MessageRecord>> inspect(const TableName& table, const MessageId& id,
                                               Admin::PayloadToo payload,
                                               const Admin::Whose& tenant,
                                               std::optional<MessageState> state) override {
    return admin_.inspect(table, id, payload, tenant, state);
  }
  Result<Explanation> explain(const TableName& table, const MessageId& id,
                              const Admin::Whose& tenant) override {
    return admin_.explain(table, id, tenant);
  }
  Result<admin::RefusedFacts> refused(const TableName&) override { return admin::RefusedFacts{}; }
  Result<admin::UnroutedFacts> unrouted(const TableName&) override {
    return admin::UnroutedFacts{};
  }
  Result<BlockedKeyPage> blocked_keys(const TableName& table, std::uint32_t keys_max) override {
    return admin_.blocked_keys(table, keys_max);
  }
  Result<std::vector<spi::Stray>> strays(const TableName& table) override {
    return admin_.strays(table);
  }
  Result<std::vector<Pause>> pauses(const TableName& table) override {
    return admin_.pauses(table);
  }
  Result<std::vector<spi::Finding>> findings() override {
    const auto doctor = this->doctor();
    return doctor.ok() ? (*doctor)->findings() : doctor.error();
  }
  Result<bool> is_current() override {
    const auto doctor = this->doctor();
    return doctor.ok() ? (*doctor)->is_current() : doctor.error();
  }

  Result<Written> enqueue(const TableName& table, NewMessage draft) override {
    if (draft.tenant.empty()) draft.tenant = tenant_default;
    UlidSource ids(system_clock(), system_random());
    auto message = Message::build_shared(std::move(draft), {}, ids, system_clock());
    if (!message.ok()) return message.error();
    const std::array messages{*std::move(message)};
    auto written = store_->transaction([&](OwnedTransaction& transaction) {
      return transaction.outbox().insert(table, messages);
    });
    if (!written.ok()) return written.error();
    return written->front();
  }
  Result<std::vector<Moved>> move(const TableName& table, spi::Move move,
                                  std::span<const MessageId> ids, const std::string& note,
                                  const Admin::Whose& tenant, std::span<const Sequence> sequences,
                                  bool as_new) override {
    switch (move) {
      case spi::Move::replay:
        return admin_.replay(table, ids, tenant, sequences, as_new);
      case spi::Move::quarantine:
        return admin_.quarantine(table, ids, note, tenant, sequences);
      case spi::Move::release:
        break;
    }
    return admin_.release(table, ids, tenant, sequences);
  }
  Result<bool> set_pause(const TableName& table, const std::string& topic, bool paused,
                         const std::string& note) override {
    if (topic.empty()) {
      return paused ? admin_.pause_table(table, note) : admin_.resume_table(table);
    }
    return paused ? admin_.pause_topic(table, topic, note) : admin_.resume_topic(table, topic);
  }
  Result<Purged> purge(const TableName& table, const PurgeOrder& order,
                       const Admin::Progress& progress) override {
    return admin_.purge(table, order, progress);
  }

  Result<ReplayPreview> preview_replay(const TableName& table, const ReplayOrder& order) override {
    return admin_.preview_replay(table, order);
  }
  Result<ReplayJob> start_replay(const TableName& table, const ReplayOrder& order) override {
    return admin_.start_replay(table, order);
  }
  Result<std::vector<ReplayJob>> jobs(const TableName& table) override {
    return admin_.jobs(table);
  }
  Result<ReplayJob> job(const TableName& table, ReplayJobId id) override {
    return admin_.job(table, id);
  }
  Result<ReplayJob> change_job(const TableName& table, ReplayJobId id,
                               ReplayJob::State to) override {
    return to == ReplayJob::State::running ? admin_.resume_replay(table, id)
                                           : admin_.stop_replay(table, id);
  }

  Result<IdempotencyPage> idempotency(const IdempotencyQuery& query) override {
    return admin_.idempotency(query);
  }
  Result<std::optional<IdempotencyRecord>> idempotency_record(const IdempotencyKey& key) override {
    return admin_.idempotency_record(key);
  }
  Result<bool> forget_idempotency(const IdempotencyKey& key, const std::string& note) override {
    return admin_.forget_idempotency(key, note);
  }
  Result<std::uint64_t> purge_idempotency() override { return admin_.purge_idempotency(); }

  SagaOperations& sagas() override {
    if (!sagas_) sagas_.emplace(SagaAdmin::open(*store_, {.actor = actor_}).value());
    return *sagas_;
  }
  HubOperations& hub() override {
    if (!hub_) {
      hub_.emplace(HubAdmin::open(*store_, {.admin = {.actor = actor_},
                                            .secret_key = hub_key_,
                                            .secret_key_cure = std::string(key_cure)})
                       .value());
    }
    return *hub_;
  }

  Result<AuditReport> verify_audit(const std::optional<AuditHead>& anchor) override {
    return admin_.verify_audit(anchor);
  }
  Result<std::uint64_t> export_audit(const Admin::LineSink& sink, std::uint64_t after) override {
    return admin_.export_audit(sink, after);
  }

 private:
  Result<spi::DoctorStore*> doctor() {
    if (auto* const doctor = store_->doctor()) return doctor;
    return Error{Code::config_invalid, store_->name() + " does not tell what is in it"};
  }

  const std::unique_ptr<Store> store_;
  Admin admin_;
  const std::string actor_;
  const std::string hub_key_;
  std::optional<StoreSagas> sagas_;
  std::optional<StoreHub> hub_;
};

}  // namespace

Result<std::unique_ptr<Operations>> operate_on(std::unique_ptr<Store> store,
                                               const std::string& actor,
                                               const std::string& hub_key) {
  auto admin = Admin::open(*store, {.actor = actor});
  if (!admin.ok()) return admin.error();
  return std::unique_ptr<Operations>(
      std::make_unique<StoreOperations>(std::move(store), *std::move(admin), actor, hub_key));
}

}  // namespace sagabox::cli
