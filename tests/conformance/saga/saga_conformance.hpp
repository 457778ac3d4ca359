#pragma once

#include "conformance/store_conformance.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sagabox::conformance {

/// What every store of sagas must do.
class SagaConformance : public StoreConformance {
 protected:
  static constexpr std::string_view travel = "travel";

  spi::SagaStore& sagas() { return *store().sagas(); }
  spi::SagaAdminStore& saga_admin() { return *store().saga_admin(); }

  static SagaId saga_id(std::string_view text) { return SagaId::parse(text).value(); }
  SagaCommand command(std::string_view saga, SagaCommandKind kind = SagaCommandKind::start,
                      std::string body = "{}");
  /// In a committed transaction of its own.
  void append(const std::vector<SagaCommand>& commands);
  void append(const SagaCommand& command) { append(std::vector{command}); }
  /// Every command of a definition, all shards, by sequence.
  std::vector<SagaCommand> inbox(std::string_view definition = travel, Sequence after = {});
  spi::SagaInboxReply read_inbox(const spi::SagaInboxRange& range,
                                 std::size_t bytes_max = bytes_unbounded);
  /// Appends a command and takes its shard from what is stored; all commands of the saga are then
  /// removed, so that its shard is known and nothing else.
  Shard shard_of(std::string_view saga);

  /// Who owns all shards of the definition.
  Owner own_sagas(std::string_view definition = travel);
  /// A new saga, not stored yet.
  SagaRecord fresh(std::string_view id);
  /// The same with the next version.
  static SagaRecord next(SagaRecord record);

  struct Batch {
    std::vector<spi::SagaWrite> writes{};
    std::vector<spi::SagaBatch::Taken> taken{};
    std::vector<SagaCommandResult> results{};
    std::vector<spi::SagaMessage> messages{};
    std::vector<AuditEvent> audit{};
  };
  Result<spi::SagaBatchReply> try_write(const Owner& owner, const Batch& batch,
                                        std::string_view definition = travel);
  spi::SagaBatchReply write_batch(const Owner& owner, const Batch& batch) {
    return try_write(owner, batch).value();
  }
  /// Must succeed.
  void store_all(const Owner& owner, const std::vector<SagaRecord>& records);
  void store(const Owner& owner, const SagaRecord& record) { store_all(owner, {record}); }
  using StoreConformance::store;

  std::optional<SagaRecord> get(std::string_view id) {
    return saga_admin().get(saga_id(id)).value();
  }
  std::vector<SagaHistoryEntry> history(std::string_view id, std::uint32_t after = 0,
                                        std::uint32_t rows_max = 10'000) {
    return saga_admin().history(saga_id(id), after, rows_max).value();
  }
  std::vector<std::string> listed(spi::SagaFilter filter);
  std::vector<std::string> due_ids(Shard shard, std::uint32_t rows_max = 100,
                                   WallTime after_due = {}, SagaId after = {});
  static SagaHistoryEntry entry(std::uint32_t number, WallTime at, std::string event = "Happened");
  WallTime now() { return stats().now; }

 private:
  std::map<std::string, Shard, std::less<>> shards_;
};

}  // namespace sagabox::conformance
