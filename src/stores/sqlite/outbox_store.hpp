#pragma once

#include "stores/sql/audit_store.hpp"
#include "stores/sqlite/context.hpp"
#include "stores/sqlite/counts.hpp"
#include "stores/sqlite/expected.hpp"
#include "stores/sqlite/statements.hpp"

#include <sagabox/spi/outbox_store.hpp>

#include <span>

namespace sagabox::sqlite {

/// The store of the relay. Reading takes no lock; a settle is one transaction of the one writer.
class SqliteOutbox final : public spi::OutboxStore {
 public:
  SqliteOutbox(sql::Sections& sections, Context& context, const sql::AuditChain& audit)
      : context_(context), audit_(audit), statements_(sections) {}

  [[nodiscard]] spi::Capabilities capabilities() const override {
    return {
        .late_commits = spi::LateCommits::none, .notifies = true, .shards = 1, .one_process = true};
  }
  Status prepare(const TableName& table) override;
  Result<spi::ReadReply> read(const TableName& table, std::span<const spi::Range> ranges,
                              std::size_t bytes_max) override;
  Result<spi::ReadReply> read_due(const TableName& table, std::span<const spi::DueRange> ranges,
                                  std::size_t bytes_max) override;
  Result<spi::RetryingKeysReply> read_retrying_keys(const TableName& table, Shard shard,
                                                    Sequence after,
                                                    std::uint32_t rows_max) override;
  Result<spi::SettleReply> settle(const spi::SettleRequest& request) override;
  void wait(const TableName& table, Duration timeout) override {
    context_.wake.wait(table, timeout);
  }
  void wake(const TableName& table) override { context_.wake.notify(table); }

 private:
  /// Returns no row before it is on the disk.
  Result<spi::ReadReply> durable(const TableName& table, Result<spi::ReadReply> reply);

  Context& context_;
  const sql::AuditChain& audit_;
  sql::PerTable<OutboxStatements> statements_;
  Expected expected_;  // used by the holder of the writer's turn
};

}  // namespace sagabox::sqlite
