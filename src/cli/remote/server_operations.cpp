#include "cli/remote/server_operations.hpp"

#include "admin/doctor.hpp"
#include "cli/connect_cure.hpp"
#include "cli/exit_codes.hpp"
#include "cli/remote/daemon_client.hpp"
#include "cli/remote/rest_requests.hpp"
#include "cli/remote/server_hub.hpp"
#include "cli/remote/server_sagas.hpp"
#include "core/text.hpp"
#include "wire/idempotency.hpp"
#include "wire/messages.hpp"
#include "wire/orders.hpp"
#include "wire/replays.hpp"
#include "wire/stores.hpp"
#include "wire/tables.hpp"

#include <sagabox/audit.hpp>
#include <sagabox/random.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace sagabox::cli {
namespace {

using requests::Target;

/// Lines of the audit log that one request asks for.
constexpr std::uint64_t audit_lines = 1000;

class ServerOperations final : public Operations {
 public:
  ServerOperations(std::unique_ptr<HttpClient> client, std::string store)
      : daemon_(std::move(client)), store_(std::move(store)) {}

  [[nodiscard]] std::string name() const override { return daemon_.url(); }

  Result<std::vector<TableName>> tables() override {
    auto stores = this->stores();
    if (!stores.ok()) return stores.error();
    std::vector<TableName> tables;
    for (auto& store : *stores) std::ranges::move(store.tables, std::back_inserter(tables));
    std::ranges::sort(tables, {}, &TableName::str);  // in the order in which a store lists them
    return tables;
  }
  Result<bool> is_current() override {
    const auto stores = this->stores();
    if (!stores.ok()) return stores.error();
    // If a store is down, it is not known whether sagas are missing.
    return std::ranges::all_of(*stores, [](const wire::StoreState& store) {
      return store.current || !store.error.empty();
    });
  }
  Result<spi::TableStats> stats(const TableName& table) override {
    const auto found = daemon_.get(Target(table, ""), wire::read_table);
    if (!found.ok()) return found.error();
    if (found->stats) return *found->stats;
    return Error{Code::auth_denied,
                 "the counts of a table concern all tenants; this key is bound to one"};
  }
  Result<WallTime> now(const TableName& table) override {
    const auto found = daemon_.get(Target(table, ""), wire::read_table);
    if (!found.ok()) return found.error();
    return found->now;
  }
  Result<Sequence> last_sequence(const TableName& table) override {
    const auto found = daemon_.get(Target(table, ""), wire::read_table);
    if (!found.ok()) return found.error();
    if (found->last_sequence) return *found->last_sequence;
    return Error{Code::tx_invalid_state,
                 "the daemon does not tell how much is written to table " + table.str()};
  }
  Result<Owners> owners(const TableName& table) override {
    return daemon_.get(Target(table, "/owners"), wire::read_owners);
  }
  Result<MessagePage> list(const TableName& table, const ListQuery& query) override {
    return daemon_.get(requests::list(table, query), wire::read_page);
  }
  Result<std::uint64_t> count(const TableName& table, MessageState state,
                              const MessageFilter& filter) override {
    return daemon_.get(Target(table, "/count").add_filter(state, filter), wire::read_count);
  }
  Result<std::optional<MessageRecord>> inspect(const TableName& table, const MessageId& id,
                                               Admin::PayloadToo payload,
                                               const Admin::Whose& tenant,
                                               std::optional<MessageState> state) override {
    auto target = requests::message(table, id);
    if (state) target.add("state", state_name(*state));
    if (tenant) target.add("tenant", *tenant);
    if (payload == Admin::PayloadToo::yes) target.add("payload", "true");
    return daemon_.find(target, wire::read_message);
  }
  Result<Explanation> explain(const TableName& table, const MessageId& id,
                              const Admin::Whose& tenant) override {
    auto target = requests::message(table, id, "/explain");
    if (tenant) target.add("tenant", *tenant);
    return daemon_.get(target, wire::read_explanation);
  }
  Result<BlockedKeyPage> blocked_keys(const TableName& table, std::uint32_t keys_max) override {
    return daemon_.get(Target(table, "/blocked-keys").add("limit", keys_max),
                       wire::read_blocked_keys);
  }
  Result<admin::RefusedFacts> refused(const TableName& table) override {
    auto found = daemon_.get(Target(table, ""), wire::read_table);
    if (!found.ok()) return found.error();
    if (!found->here) return admin::RefusedFacts{};
    return admin::RefusedFacts{.count = found->here->snapshot.refused,
                               .first = std::move(found->here->refused)};
  }
  Result<admin::UnroutedFacts> unrouted(const TableName& table) override {
    auto found = daemon_.get(Target(table, ""), wire::read_table);
    if (!found.ok()) return found.error();
    if (!found->here) return admin::UnroutedFacts{};
    return admin::UnroutedFacts{.count = found->here->snapshot.unrouted_topics,
                                .first = std::move(found->here->unrouted)};
  }
  Result<std::vector<spi::Stray>> strays(const TableName& table) override {
    return daemon_.get(Target(table, "/strays"), wire::read_strays);
  }
  Result<std::vector<Pause>> pauses(const TableName& table) override {
    return daemon_.get(Target(table, "/pauses"), wire::read_pauses);
  }
  Result<std::optional<std::vector<DestinationState>>> destinations() override {
    auto found = daemon_.get(Target("/v1/destinations"), wire::read_destinations);
    if (!found.ok()) return found.error();
    return std::optional(*std::move(found));
  }
  /// Findings of the daemon, and of the databases behind it.
  Result<std::vector<spi::Finding>> findings() override {
    const auto stores = this->stores();
    if (!stores.ok()) return stores.error();
    auto all = daemon_.readiness();
    if (!all.ok()) return all;
    for (const auto& store : *stores) {
      if (!store.error.empty()) {
        all->push_back({.severity = Severity::error,
                        .what = "store " + store.store + " does not answer: " + store.error,
                        .cure = connect_cure(store.error)});
        continue;
      }
      auto found = daemon_.get(Target(requests::findings_path(store.store)), wire::read_findings);
      if (!found.ok()) return found;
      for (auto& finding : *found) {
        if (stores->size() > 1) finding.what = "store " + store.store + ": " + finding.what;
        all->push_back(std::move(finding));
      }
    }
    const auto targets = destinations();
    if (!targets.ok()) return targets.error();
    for (const auto& target : **targets) {
      if (target.down) all->push_back(admin::down_finding(target));
    }
    return all;
  }

  Result<Written> enqueue(const TableName& table, NewMessage draft) override {
    std::optional<std::string> tenant;
    if (!draft.tenant.empty()) tenant = draft.tenant;
    if (!tenant) draft.tenant = tenant_default;
    // Checked here, so that it has its id before it is sent, and only one valid message is sent.
    UlidSource ids(system_clock(), system_random());
    const auto message = Message::build_shared(std::move(draft), {}, ids, system_clock());
    if (!message.ok()) return message.error();
    auto written = daemon_.act(Target(table, "/messages"), requests::body(**message, tenant),
                               wire::read_written);
    if (written.ok() || written.error().code != Code::storage_in_doubt) return written;
    return Error{Code::storage_in_doubt,
                 written.error().message + ", or with --id " + (*message)->id().str()};
  }
  Result<std::vector<Moved>> move(const TableName& table, spi::Move move,
                                  std::span<const MessageId> ids, const std::string& note,
                                  const Admin::Whose& tenant, std::span<const Sequence> sequences,
                                  bool as_new) override {
    const bool quarantines = move == spi::Move::quarantine;
    const auto path = quarantines                 ? "/dead-letters/quarantine"
                      : move == spi::Move::replay ? "/dead-letters/replay"
                                                  : "/dead-letters/release";
    const wire::MoveOrder order{.ids = {ids.begin(), ids.end()},
                                .sequences = {sequences.begin(), sequences.end()},
                                .note = quarantines ? note : std::string(),
                                .tenant = tenant,
                                .as_new = as_new};
    auto moved = daemon_.act(Target(table, path), requests::body(order), wire::read_moved);
    if (moved.ok() && moved->size() != ids.size()) {
      return Error{Code::storage_in_doubt,
                   "the daemon was given " + std::to_string(ids.size()) + " ids and answered for " +
                       std::to_string(moved->size()) + ": look before you do it again"};
    }
    return moved;
  }
  Result<bool> set_pause(const TableName& table, const std::string& topic, bool paused,
                         const std::string& note) override {
    wire::PauseOrder order{.note = paused ? note : std::string()};
    if (!topic.empty()) order.topic = topic;
    return daemon_.act(Target(table, paused ? "/pause" : "/resume"), requests::body(order),
                       wire::read_changed);
  }
  /// At most this many in one request; an error tells how many were deleted before it.
  Result<Purged> purge(const TableName& table, const PurgeOrder& order,
                       const Admin::Progress& progress) override {
    Purged purged;
    for (;;) {
      const Target target(table, "/purge");
      const auto part = order.dry_run
                            ? daemon_.look(target, requests::body(order), wire::read_purged)
                            : daemon_.act(target, requests::body(order), wire::read_purged);
      if (!part.ok()) {
        if (purged.rows == 0) return part.error();
        return Error{part.error().code, part.error().message + " (" + std::to_string(purged.rows) +
                                            " messages were purged before)"};
      }
      purged.rows += part->rows;
      const bool goes_on = !progress || progress(purged.rows);
      if (!part->stopped || part->rows == 0 || order.dry_run) return purged;
      if (goes_on) continue;
      purged.stopped = true;
      return purged;
    }
  }

  Result<ReplayPreview> preview_replay(const TableName& table, const ReplayOrder& order) override {
    wire::JsonOut json;
    wire::put_preview(json.begin_object(), order);
    return daemon_.look(Target(table, "/replays/preview"), std::move(json.end_object()).take(),
                        wire::read_preview);
  }
  Result<ReplayJob> start_replay(const TableName& table, const ReplayOrder& order) override {
    return daemon_.act(Target(table, "/replays"), requests::body(order), wire::read_job);
  }
  Result<std::vector<ReplayJob>> jobs(const TableName& table) override {
    return daemon_.get(Target(table, "/replays"), wire::read_jobs);
  }
  Result<ReplayJob> job(const TableName& table, ReplayJobId id) override {
    return daemon_.get(requests::job(table, id), wire::read_job);
  }
  Result<ReplayJob> change_job(const TableName& table, ReplayJobId id,
                               ReplayJob::State to) override {
    const bool resumes = to == ReplayJob::State::running;
    return daemon_.act(requests::job(table, id, resumes ? "/resume" : "/stop"), "", wire::read_job);
  }

  Result<IdempotencyPage> idempotency(const IdempotencyQuery& query) override {
    Target target("/v1/idempotency-keys");
    add_store(target);
    if (query.tenant) target.add("tenant", *query.tenant);
    if (query.consumer) target.add("consumer", *query.consumer);
    if (query.state) target.add("state", idempotency_state_name(*query.state));
    target.add("limit", query.rows_max);
    if (!query.cursor.empty()) target.add("cursor", query.cursor);
    return daemon_.get(target, wire::read_idempotency_page);
  }
  Result<std::optional<IdempotencyRecord>> idempotency_record(const IdempotencyKey& key) override {
    Target target("/v1/idempotency-keys");
    add_store(target);
    target.add("tenant", key.tenant).add("consumer", key.consumer).add("key", key.key);
    auto page = daemon_.get(target, wire::read_idempotency_page);
    if (!page.ok()) return page.error();
    if (page->rows.empty()) return std::optional<IdempotencyRecord>();
    return std::optional(std::move(page->rows.front()));
  }
  Result<bool> forget_idempotency(const IdempotencyKey& key, const std::string& note) override {
    const auto purged =
        purge_keys({.tenant = key.tenant, .consumer = key.consumer, .key = key.key, .note = note});
    if (!purged.ok()) return purged.error();
    return *purged > 0;
  }
  Result<std::uint64_t> purge_idempotency() override { return purge_keys({.expired = true}); }

  SagaOperations& sagas() override { return sagas_; }
  HubOperations& hub() override { return hub_; }

  Result<AuditReport> verify_audit(const std::optional<AuditHead>& anchor) override {
    Target target("/v1/audit/verify");
    add_store(target);
    if (anchor) target.add("number", anchor->number).add("hash", hex(anchor->hash));
    return daemon_.get(target, wire::read_audit_report);
  }
  Result<std::uint64_t> export_audit(const Admin::LineSink& sink, std::uint64_t after) override {
    std::uint64_t lines = 0;
    for (;;) {
      Target target("/v1/audit");
      add_store(target);
      target.add("after", after).add("limit", audit_lines);
      const auto page = daemon_.lines(target);
      if (!page.ok()) return page.error();
      for (const auto& line : *page) {
        ++lines;
        if (!sink(line)) return lines;
      }
      if (page->size() < audit_lines) return lines;
      const auto last = audit_from_json(page->back());
      if (!last.ok()) return last.error();
      after = last->number;
    }
  }

 private:
  Result<std::vector<wire::StoreState>> stores() {
    return daemon_.get(Target("/v1/stores"), wire::read_stores);
  }

  Result<std::uint64_t> purge_keys(const wire::IdempotencyPurgeOrder& order) {
    const auto purged =
        daemon_.act(Target("/v1/idempotency-keys/purge"), requests::body(named_store(), order),
                    wire::read_idempotency_purged);
    if (!purged.ok()) return purged.error();
    return purged->purged;
  }

  /// Empty if it need not be named. Throws WrongUse if it must be.
  const std::string& named_store() {
    const auto stores = this->stores().value();
    std::string names;
    bool known = store_.empty();
    for (const auto& store : stores) {
      names += (names.empty() ? "" : ", ") + store.store;
      known = known || store.store == store_;
    }
    if (!known || (store_.empty() && stores.size() > 1)) {
      throw WrongUse(
          (known ? "the daemon has several stores" : "the daemon has no store " + quoted(store_)) +
          "; say --of with one of them: " + names);
    }
    return store_;
  }
  void add_store(Target& target) {
    if (const auto& store = named_store(); !store.empty()) target.add("store", store);
  }

  DaemonClient daemon_;
  const std::string store_;
  ServerSagas sagas_{daemon_, [this] { return named_store(); }};
  ServerHub hub_{daemon_};
};

}  // namespace

std::unique_ptr<Operations> operate_over(std::unique_ptr<HttpClient> client, std::string store) {
  return std::make_unique<ServerOperations>(std::move(client), std::move(store));
}

}  // namespace sagabox::cli
