#pragma once

#include "spi/saga_rules.hpp"
#include "stores/sql/audit_store.hpp"
#include "stores/sql/session.hpp"

#include <sagabox/spi/saga_store.hpp>
#include <sagabox/spi/transaction.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace sagabox::sql {

struct SagaStatements {
  explicit SagaStatements(Sections& sections);

  Statement shards;  ///< for how many shards the tables were made
  Statement define;
  Statement definitions;
  Statement read;
  Statement draw_transaction;  ///< ends one, so that snapshots name all before it
  Statement load;
  Statement load_due;
  Statement results;
  // Of a batch, in this order.
  Statement hold;
  Statement versions;
  Statement holders;
  Statement write;
  Statement add_history;
  Statement cut_history;
  Statement add_labels;
  Statement take;
  Statement add_results;
};

/// The columns of a record, from 0 on.
SagaRecord saga_record(const Row& row);
/// The columns of a command, from `column` on.
SagaCommand saga_command(const Row& row, int column);

/// What orchestrators need, in SQL.
class SagaStore final : public spi::SagaStore {
 public:
  struct Parts {
    Sessions& sessions;
    const AuditChain& audit;
    const Clock* clock;  ///< of a database that has none itself
    spi::Capabilities capabilities;
    /// Makes the tables.
    std::function<Status()> prepare;
    /// A transaction that messages can be written in, and a session in it.
    std::function<Result<std::unique_ptr<OwnedTransaction>>()> begin;
    std::function<Result<std::unique_ptr<Session>>(Transaction&)> session_of;
    /// What a read could not see, from its first row; null where commits come in order.
    std::optional<spi::Horizon> (*horizon)(const Row& row);
    /// After a read that has a horizon: what it could not see, and how many rows there were.
    std::function<void(const spi::Horizon& unseen, std::size_t rows)> looked{};
    std::function<void(std::string_view definition, Duration timeout)> wait;
    std::function<void(std::string_view definition)> wake;
  };

  SagaStore(Sections& sections, Parts parts) : parts_(std::move(parts)), statements_(sections) {}

  [[nodiscard]] spi::Capabilities capabilities() const override { return parts_.capabilities; }
  Status prepare() override;
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
  void wait(std::string_view definition, Duration timeout) override {
    parts_.wait(definition, timeout);
  }
  void wake(std::string_view definition) override { parts_.wake(definition); }

 private:
  /// What a batch met, once it was looked at in its transaction.
  struct Look {
    spi::SagaBatchReply reply{};
    spi::StoredSagas stored{};
  };

  [[nodiscard]] std::optional<WallTime> now() const;
  Result<Rows> read(const Statement& statement, Values values);
  Result<spi::SagaInboxReply> read_inbox_once(std::string_view definition,
                                              std::span<const spi::SagaInboxRange> ranges,
                                              std::size_t bytes_max);
  [[nodiscard]] Call hold_call(const spi::SagaBatch& batch) const;
  [[nodiscard]] std::vector<Call> look_calls(const spi::SagaBatch& batch) const;
  [[nodiscard]] std::vector<Call> write_calls(const spi::SagaBatch& batch) const;
  /// From the answer of `hold_call`.
  static Look held_from(const spi::SagaBatch& batch, const Rows& answer);
  /// From the answers of `look_calls`.
  static Look look_from(const spi::SagaBatch& batch, std::span<const Rows> answers);
  Result<Look> look(const spi::SagaBatch& batch);
  struct Try {
    bool looks = false;    ///< at what is stored; the first try just writes
    bool complete = true;  ///< false: some of it is stored otherwise than it had to be
  };
  /// In its transaction.
  /// Which results of the batch are stored.
  Result<std::set<CommandId>> results_in(Session& session, const spi::SagaBatch& batch) const;
  Result<Look> write_in(Session& session, const spi::SagaBatch& batch, Try& tried) const;
  Result<Look> write_plain(const spi::SagaBatch& batch, Try& tried);
  Result<Look> write_with_messages(const spi::SagaBatch& batch, Try& tried);

  const Parts parts_;
  const SagaStatements statements_;
};

}  // namespace sagabox::sql
