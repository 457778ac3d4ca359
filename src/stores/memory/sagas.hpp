#pragma once

#include "spi/saga_rules.hpp"

#include <sagabox/spi/saga_inbox.hpp>
#include <sagabox/spi/saga_store.hpp>

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace sagabox::memory {

class Database;
struct Drawn;
struct OpenTransaction;

/// What has been committed about sagas. Not thread-safe.
class SagaRows {
 public:
  struct Saga {
    SagaRecord record;
    std::vector<SagaHistoryEntry> history;
  };
  /// Commands of one definition and shard.
  using Feed = std::map<Sequence, SagaCommand>;

  Status define(const SagaDefinitionRecord& definition);
  [[nodiscard]] std::vector<SagaDefinitionRecord> definitions(std::string_view name) const;

  [[nodiscard]] const Feed* feed(std::string_view definition, Shard shard) const;
  void publish(const SagaCommand& command);

  [[nodiscard]] const Saga* find(const SagaId& id) const;
  [[nodiscard]] const std::map<SagaId, Saga>& all() const noexcept { return sagas_; }
  /// By (due, id), after this one.
  [[nodiscard]] std::vector<SagaId> due(std::string_view definition, const spi::SagaDueRange& range,
                                        WallTime now) const;
  [[nodiscard]] const SagaCommandResult* result(const CommandId& id) const;
  [[nodiscard]] std::vector<SagaCommand> pending(const SagaId& id, std::uint32_t rows_max) const;

  [[nodiscard]] spi::StoredSagas stored(const spi::SagaBatch& batch) const;
  /// All but messages and audit events.
  void apply(const spi::SagaBatch& batch);
  std::uint64_t purge(std::string_view definition, WallTime until, std::uint32_t rows_max);

 private:
  using IsolationKey = std::tuple<std::string, std::string, std::string>;
  using DueKey = std::pair<std::string, std::uint16_t>;

  static IsolationKey isolation_key(const SagaRecord& record);
  void add_to_indexes(const SagaRecord& record);
  void take_from_indexes(const SagaRecord& record);
  void apply(const spi::SagaWrite& write);

  std::map<std::pair<std::string, std::uint32_t>, SagaDefinitionRecord> definitions_;
  std::map<SagaId, Saga> sagas_;
  std::map<std::pair<std::string, std::uint16_t>, Feed> inbox_;
  std::map<CommandId, SagaCommandResult> results_;
  std::map<DueKey, std::set<std::pair<WallTime, SagaId>>> due_;
  std::map<IsolationKey, SagaId> isolated_;  // active sagas only
};

/// The roles of one database that hold sagas.
class Sagas final : public spi::SagaStore, public spi::SagaAdminStore {
 public:
  explicit Sagas(Database& database) : database_(database) {}

  [[nodiscard]] spi::Capabilities capabilities() const override;
  Status prepare() override { return {}; }
  Status define(const SagaDefinitionRecord& definition) override;
  Result<std::vector<SagaDefinitionRecord>> definitions(std::string_view name) override;
  Result<spi::SagaInboxReply> read_inbox(std::string_view definition,
                                         std::span<const spi::SagaInboxRange> ranges,
                                         std::size_t bytes_max) override;
  Result<std::vector<SagaRecord>> load(std::span<const SagaId> ids) override;
  Result<std::vector<SagaRecord>> load_due(std::string_view definition,
                                           const spi::SagaDueRange& range) override;
  Result<std::vector<SagaCommandResult>> results(std::span<const CommandId> ids) override;
  Result<spi::SagaBatchReply> write(const spi::SagaBatch& batch) override;
  void wait(std::string_view definition, Duration timeout) override;
  void wake(std::string_view definition) override;

  Result<std::vector<SagaRecord>> list(const spi::SagaListRequest& request) override;
  Result<std::optional<SagaRecord>> get(const SagaId& id) override;
  Result<std::vector<SagaHistoryEntry>> history(const SagaId& id, std::uint32_t after,
                                                std::uint32_t rows_max) override;
  Result<std::vector<spi::SagaCount>> count(const std::optional<std::string>& tenant) override;
  Result<spi::SagaBacklog> backlog(std::string_view definition) override;
  Result<std::vector<SagaRecord>> without_due(std::string_view definition, const SagaId& after,
                                              std::uint32_t rows_max) override;
  Result<std::vector<SagaCommand>> pending(const SagaId& id, std::uint32_t rows_max) override;
  Result<std::uint64_t> purge(std::string_view definition, Duration older_than,
                              std::uint32_t rows_max) override;

  /// For `Transaction::sagas()`.
  Status append(OpenTransaction& transaction, std::span<const SagaCommand> commands);
  /// What its commands notify when it commits.
  static std::string signal_name(std::string_view definition);

 private:
  Status write_messages(std::span<const spi::SagaMessage> messages);
  Result<spi::SagaBatchReply> write_locked(const spi::SagaBatch& batch);

  Database& database_;
};

}  // namespace sagabox::memory
