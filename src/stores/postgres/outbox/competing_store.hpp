#pragma once

#include "stores/postgres/outbox/outbox_store.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sagabox::postgres {

/// Mode competing. Shards are owned and settles are fenced as ever; messages with a key, and those
/// that wait, belong to their shard. A fresh message without a key belongs to the shard that claims
/// it: its own when it is read there, or that of a relay with room to spare. See decision 011.
class CompetingOutbox final : public PostgresOutbox {
 public:
  CompetingOutbox(sql::Sections& sections, Context& context, const sql::AuditChain& audit,
                  Wake& wake)
      : PostgresOutbox(sections, context, audit, wake), statements_(sections) {}

  [[nodiscard]] spi::Capabilities capabilities() const override;
  Status prepare(const TableName& table) override;

 private:
  /// Two round trips: claims what is free, and reads what is ours then. No lock is held while rows
  /// are on their way to a process that may have been stopped. In quiet times it looks first, and
  /// writes nothing when there is nothing to claim.
  Result<spi::ReadReply> read_fresh(const TableName& table, std::span<const spi::Range> ranges,
                                    std::size_t bytes_max) override;

  /// What a claim has found.
  struct Claimed {
    std::int64_t rows = 0;
    std::string horizon;   ///< the snapshot in which it looked, as `decode_horizon` takes it
    std::string snapshot;  ///< the same, as text
    std::optional<TransactionId> own;
    std::vector<std::int64_t> stops;  ///< a range; the highest number: there is no more
  };

  const OutboxStatements& statements_of(const TableName& table) override {
    return statements_.of(table);
  }
  /// Claims what is free, if there is anything.
  Result<Claimed> claim(Connection& connection, const TableName& table,
                        std::span<const spi::Range> ranges);
  static Claimed decode(const Rows& rows, std::size_t ranges);
  /// Without a horizon when more transactions began meanwhile than it can name.
  Result<spi::ReadReply> read_claimed(Connection& connection, const TableName& table,
                                      std::span<const spi::Range> ranges, const Claimed& claimed,
                                      std::size_t bytes_max);

  sql::PerTable<CompetingStatements> statements_;
  /// The last claim found nothing, in whatever table: the next one looks first.
  std::atomic<bool> quiet_{true};
};

}  // namespace sagabox::postgres
