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

/// Mode competing. Shards are owned and settles are fenced as in the other modes; messages with a
/// key, and those that wait, belong to their shard. A fresh message without a key belongs to the
/// shard that claims it: its own when it is read there, or that of a relay with spare capacity. See
/// decision 011.
class CompetingOutbox final : public PostgresOutbox {
 public:
  CompetingOutbox(sql::Sections& sections, Context& context, const sql::AuditChain& audit,
                  Wake& wake)
      : PostgresOutbox(sections, context, audit, wake), statements_(sections) {}

  [[nodiscard]] spi::Capabilities capabilities() const override;
  Status prepare(const TableName& table) override;

 private:
  /// Two round trips: the first claims free rows, the second reads the rows of this relay. No lock
  /// is held while rows are sent to a process that may have been stopped. After a claim that found
  /// nothing it looks first, and writes nothing if there is nothing to claim.
  Result<spi::ReadReply> read_fresh(const TableName& table, std::span<const spi::Range> ranges,
                                    std::size_t bytes_max) override;

  /// The result of a claim.
  struct Claimed {
    std::int64_t rows = 0;
    std::string horizon;   ///< the snapshot in which it looked, in the format of `decode_horizon`
    std::string snapshot;  ///< the same, as text
    std::optional<TransactionId> own;
    std::vector<std::int64_t> stops;  ///< one per range; the highest number: there is no more
  };

  const OutboxStatements& statements_of(const TableName& table) override {
    return statements_.of(table);
  }
  /// Claims free rows, if there are any.
  Result<Claimed> claim(Connection& connection, const TableName& table,
                        std::span<const spi::Range> ranges);
  static Claimed decode(const Rows& rows, std::size_t ranges);
  /// Returns no horizon if more transactions began meanwhile than it can name.
  Result<spi::ReadReply> read_claimed(Connection& connection, const TableName& table,
                                      std::span<const spi::Range> ranges, const Claimed& claimed,
                                      std::size_t bytes_max);

  sql::PerTable<CompetingStatements> statements_;
  /// The last claim of any table found nothing: the next one looks first.
  std::atomic<bool> quiet_{true};
};

}  // namespace sagabox::postgres
