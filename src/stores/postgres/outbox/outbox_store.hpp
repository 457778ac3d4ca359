#pragma once

#include "stores/postgres/driver/context.hpp"
#include "stores/postgres/outbox/settle_parts.hpp"
#include "stores/postgres/outbox/statements.hpp"
#include "stores/postgres/wake/wake.hpp"
#include "stores/sql/audit_store.hpp"

#include <sagabox/spi/outbox_store.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace sagabox::postgres {

/// The store of the relay. Reading takes no row lock; a settle is one transaction, and one round
/// trip unless a row dies or many are deleted. (Archiving many may take two transactions, one for
/// each half, and another round trip for rows that were not found.)
class PostgresOutbox : public spi::OutboxStore {
 public:
  PostgresOutbox(sql::Sections& sections, Context& context, const sql::AuditChain& audit,
                 Wake& wake);

  [[nodiscard]] spi::Capabilities capabilities() const override;
  Status prepare(const TableName& table) override { return context_.migrations.prepare(table); }
  Result<spi::ReadReply> read(const TableName& table, std::span<const spi::Range> ranges,
                              std::size_t bytes_max) final;
  Result<spi::ReadReply> read_due(const TableName& table, std::span<const spi::DueRange> ranges,
                                  std::size_t bytes_max) override;
  Result<spi::RetryingKeysReply> read_retrying_keys(const TableName& table, Shard shard,
                                                    Sequence after,
                                                    std::uint32_t rows_max) override;
  Result<spi::SettleReply> settle(const spi::SettleRequest& request) override;
  void wait(const TableName& table, Duration timeout) override { wake_.wait(table, timeout); }
  void wake(const TableName& table) override { wake_.notify(table); }

 protected:
  virtual const OutboxStatements& statements_of(const TableName& table) {
    return statements_.of(table);
  }
  /// Reads the fresh rows, with the horizon.
  virtual Result<spi::ReadReply> read_fresh(const TableName& table,
                                            std::span<const spi::Range> ranges,
                                            std::size_t bytes_max);
  /// The size above which a payload is fetched separately.
  static std::int64_t payload_share(std::span<const spi::Range> ranges, std::size_t bytes_max);
  static Error too_many_transactions();
  /// An error if `now`, the outbox's number of shards, differs from ours.
  [[nodiscard]] Status check_shards(const TableName& table, std::string_view now) const;
  Context& context() noexcept { return context_; }

 private:
  /// Returns no horizon if the snapshot does not name all transactions.
  Result<spi::ReadReply> read_snapshot(Connection& connection, const TableName& table,
                                       std::span<const spi::Range> ranges, std::size_t bytes_max);
  /// Settles in two halves if that is faster, otherwise at once.
  Result<spi::SettleReply> settle_in_halves(const spi::SettleRequest& request);
  Result<spi::SettleReply> settle_at_once(const spi::SettleRequest& request);
  /// Returns nullopt if some rows were missing: nothing was changed, and the caller has to use the
  /// statements that count.
  Result<std::optional<spi::SettleReply>> delete_all(const spi::SettleRequest& request,
                                                     const OutboxStatements& statements,
                                                     std::span<const DonePart> done);
  Result<spi::SettleReply> archive_all(const spi::SettleRequest& request,
                                       const OutboxStatements& statements,
                                       std::span<const DonePart> done);
  Context& context_;
  const sql::AuditChain& audit_;
  Wake& wake_;
  sql::PerTable<OutboxStatements> statements_;
  struct Reads {
    template <class Call>
    void each(Call&&) {}
    mutable std::atomic<std::size_t> rows_last{0};
  };
  sql::PerTable<Reads> reads_;
};

}  // namespace sagabox::postgres
