#pragma once

#include <sagabox/random.hpp>
#include <sagabox/store.hpp>
#include <sagabox/testing/fake_clock.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace sagabox::conformance {

/// A connection as a user of the store has it, with its own BEGIN and COMMIT.
class UserConnection {
 public:
  virtual ~UserConnection() = default;
  virtual Status begin() = 0;
  virtual Status commit() = 0;
  virtual Status rollback() = 0;
  virtual Result<std::unique_ptr<Transaction>> enlist() = 0;
};

/// A row as it lies in the database.
struct StoredRow {
  enum class State : std::uint8_t { pending, waiting, done, dead, quarantined };
  State state = State::pending;
  Sequence sequence{};
  std::uint32_t attempts = 0;
  Code code = Code::unknown_internal;
  std::string error;
};
std::ostream& operator<<(std::ostream& out, StoredRow::State state);

/// What the suite needs of a store beyond its SPIs. Each one has a database of its own.
class StoreFixture {
 public:
  virtual ~StoreFixture() = default;
  virtual Store& store() = 0;
  /// The tables are there, and nothing else has been done.
  virtual void prepared() {}
  /// From now on the store behaves as if this time had passed on the database's clock.
  virtual void advance_time(Duration by) = 0;
  virtual std::unique_ptr<UserConnection> connect() = 0;
  /// Makes a pending row undecodable.
  virtual Status corrupt(const TableName& table, Sequence sequence) = 0;
  /// Puts JSON into the history of a pending row, as a producer may; no-op where it is not JSON.
  virtual Status put_history(const TableName& table, Sequence sequence,
                             const std::string& json) = 0;
  /// Removes entries of the audit log behind the store's back; its head stays.
  virtual void remove_audit(std::uint64_t first, std::uint64_t last) = 0;
  /// Removes the row that names the end of the audit log; false where there is no such row.
  virtual bool remove_audit_head() { return false; }
  /// Nothing for an id that is nowhere in the table, its archive and its dead letters.
  virtual std::optional<StoredRow> look(const TableName& table, const MessageId& id) = 0;
  /// Where others use the same server, to find a transaction among theirs: the one that is open,
  /// and the one that wrote a pending row. Nothing: nobody else is there.
  virtual std::optional<TransactionId> id_of(OwnedTransaction&) { return std::nullopt; }
  virtual std::optional<TransactionId> writer_of(const TableName&, Sequence) {
    return std::nullopt;
  }
};

/// One instantiation of the suite.
struct StoreKind {
  std::string name;
  std::function<std::unique_ptr<StoreFixture>()> make;
  /// What this machine lacks to run it: the tests are skipped and say so. Empty: nothing.
  std::function<std::string()> missing = [] { return std::string(); };
  /// Runs of a random property; fewer where a step goes to a server.
  int property_runs = 100;
};
std::ostream& operator<<(std::ostream& out, const StoreKind& kind);
std::string kind_name(const ::testing::TestParamInfo<StoreKind>& info);

using MessagePtr = std::shared_ptr<const Message>;

/// A worker that holds shards of a scope, by shard.
struct Owner {
  spi::Scope scope;
  WorkerId id;
  std::vector<spi::Fence> fences;
};

class StoreConformance : public ::testing::TestWithParam<StoreKind> {
 protected:
  static constexpr spi::Lane lane_high{0};
  static constexpr spi::Lane lane_normal{1};
  static constexpr spi::Lane lane_low{2};
  static constexpr Duration ttl = std::chrono::seconds(15);
  static constexpr std::size_t bytes_unbounded = std::size_t{1} << 40;

  void SetUp() override;

  Store& store() { return fixture_->store(); }
  spi::OutboxStore& outbox() { return store().outbox(); }
  spi::OutboxAdminStore& admin() { return store().outbox_admin(); }
  spi::ControlStore& control() { return store().control(); }
  spi::OwnershipStore& ownership() { return store().ownership(); }
  spi::AuditStore& audit() { return store().audit(); }
  [[nodiscard]] std::uint16_t shards() { return outbox().capabilities().shards; }
  spi::TableStats stats() { return admin().stats(table_).value(); }

  MessagePtr build(NewMessage draft);
  MessagePtr message(std::string key = {});
  std::vector<MessagePtr> messages(std::size_t count, const std::string& key = {});

  /// In a committed transaction of its own.
  std::vector<Written> write(const std::vector<MessagePtr>& messages);
  Written write(const MessagePtr& message) { return write(std::vector{message}).front(); }
  std::vector<Written> write_to(const TableName& table, const std::vector<MessagePtr>& messages);

  /// Every fresh row of a lane, all shards, by sequence.
  std::vector<spi::Row> read_lane(spi::Lane lane, Sequence after = {});
  std::vector<spi::Row> read_lane_of(const TableName& table, spi::Lane lane, Sequence after = {});
  /// Every fresh row, all lanes.
  std::vector<spi::Row> read_fresh();
  /// Every waiting row that is due, all shards, by time.
  std::vector<spi::Row> read_due();
  /// What a read cannot see now.
  spi::Horizon horizon();
  /// The transaction that is open, which a read could not see that another before it need not have
  /// named.
  TransactionId only_new(const spi::Horizon& before, const spi::Horizon& during,
                         OwnedTransaction& open);
  spi::ReadReply read(const spi::Range& range, std::size_t bytes_max = bytes_unbounded);

  WorkerId join(Duration lease = ttl);
  /// Joins and takes every shard that is free.
  Owner own();
  spi::SettleReply settle(const Owner& owner, const std::vector<spi::Settlement>& items,
                          bool retain_done = true);
  /// All rows that a settle changed.
  std::uint32_t settled(const Owner& owner, const std::vector<spi::Settlement>& items,
                        bool retain_done = true);
  StoredRow look(const MessageId& id);
  /// Dead, quarantined or done, in a settle of its own.
  void end(const Owner& owner, const Written& row, spi::Verdict verdict,
           Code code = Code::tx_handler_failed);

  /// As an operator sees it; with its history.
  MessageRecord record(const MessageId& id);
  std::vector<MessageRecord> list(MessageState state, MessageFilter filter = {});
  std::uint64_t count(MessageState state, const MessageFilter& filter = {}) {
    return admin().count(table_, state, filter).value();
  }
  spi::MoveReply move(spi::Move how, const std::vector<MessageId>& ids, std::string note = {});
  /// The one row that is named by its id and sequence.
  spi::MoveReply::Item move_row(spi::Move how, const MessageId& id, Sequence sequence) {
    return admin()
        .move({.table = table_,
               .move = how,
               .ids = std::span(&id, 1),
               .actor = "ann",
               .note = "why",
               .sequences = std::span(&sequence, 1)})
        .value()
        .items.at(0);
  }
  bool moved(spi::Move how, const MessageId& id) { return move(how, {id}).items.at(0).moved; }
  spi::PurgeReply purge(MessageState state, Duration older_than = {}, std::string actor = {});
  std::uint64_t taken() { return control().controls(table_).value().taken; }

  /// The whole audit log, or what came after an entry.
  std::vector<AuditEntry> log(std::uint64_t after = 0);
  std::uint64_t log_end() { return audit().head().value().number; }

  /// Who may run the replay jobs of the table.
  struct Replayer {
    WorkerId id;
    Epoch epoch{};
  };
  Replayer own_replays();
  spi::JobAdvanceReply advance(const Replayer& replayer, ReplayJobId job,
                               std::uint32_t rows_max = 1000);

  static spi::Settlement settlement(const Written& row, spi::Verdict verdict,
                                    std::uint32_t attempts = 1);
  [[nodiscard]] spi::Scope scope() const { return "outbox:" + table_.str(); }
  [[nodiscard]] spi::Scope replay_scope() const { return "replay:" + table_.str(); }

  std::unique_ptr<StoreFixture> fixture_;
  TableName table_ = TableName::parse("orders").value();
  TableName other_table_ = TableName::parse("billing").value();
  testing::FakeClock author_clock_;
  std::unique_ptr<Random> random_ = seeded_random(1);
  UlidSource ids_{author_clock_, *random_};
};

std::vector<std::string> ids_of(const std::vector<spi::Row>& rows);
std::vector<std::string> ids_of(const std::vector<MessagePtr>& messages);
std::vector<std::string> ids_of(const std::vector<Written>& written);
std::vector<std::string> ids_of(const std::vector<MessageRecord>& records);

}  // namespace sagabox::conformance
