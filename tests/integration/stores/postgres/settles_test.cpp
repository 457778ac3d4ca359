#include "integration/stores/postgres/world.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <span>

namespace sagabox::postgres {
namespace {

using sagabox::testing::run_sql;
using std::chrono::seconds;

struct Kind {
  ClaimMode mode;
  bool retains;
  /// Rows are named shard by shard, as a relay does: those to be archived go in two settles at
  /// once.
  bool by_shard = false;
};

/// Settles of many rows: what lies close together is found by walking along the table, the rest one
/// by one, as everything is in mode competing.
class PostgresSettles : public PostgresTest, public ::testing::WithParamInterface<Kind> {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (IsSkipped()) return;
    store_ = open_store();
    roles_.emplace(store_->claim_roles(GetParam().mode).value());
    roles_->outbox.prepare(table_).value();
    const std::vector<spi::Scope> scopes{"outbox:orders"};
    ASSERT_TRUE(roles_->ownership.join(worker_, seconds(60), scopes, 16).value().live);
    for (const auto& owned : roles_->ownership.take(scopes[0], worker_, 16).value()) {
      fences_.push_back({owned.shard, owned.epoch});
    }
    ASSERT_EQ(fences_.size(), 16U);
  }

  void write(std::size_t count) {
    std::vector<std::shared_ptr<const Message>> messages;
    for (std::size_t i = 0; i < count; ++i) messages.push_back(message());
    const auto written = store_
                             ->transaction([&](OwnedTransaction& tx) {
                               return tx.outbox().insert(table_, messages);
                             })
                             .value();
    for (const auto& row : written) {
      rows_.push_back({.sequence = row.sequence,
                       .shard = row.shard,
                       .id = row.id,
                       .attempts = 3,
                       .lane = normal});
    }
  }
  void leave_a_gap() {
    database_->sql("SELECT setval('" + in_schema("orders_seq") + "', nextval('" +
                   in_schema("orders_seq") + "') + 5000)");
  }
  Result<spi::SettleReply> try_settle(std::span<const spi::Settlement> rows) {
    std::vector<spi::Settlement> items(rows.begin(), rows.end());
    if (GetParam().by_shard) {
      std::ranges::stable_sort(items, {}, [](const auto& item) { return item.shard.value; });
    }
    return roles_->outbox.settle(
        {table_, {"outbox:orders", worker_, fences_}, items, GetParam().retains});
  }
  spi::SettleReply settle(std::span<const spi::Settlement> rows) {
    return try_settle(rows).value();
  }
  static std::uint32_t rows_of(const spi::SettleReply& reply) {
    std::uint32_t rows = 0;
    for (const auto& part : reply.parts) rows += part.rows;
    return rows;
  }
  void expect_left(std::size_t left) {
    EXPECT_EQ(count("orders_outbox"), std::to_string(left));
    EXPECT_EQ(count("orders_archive"),
              std::to_string(GetParam().retains ? rows_.size() - left : 0));
  }

  static constexpr spi::Lane normal{1};
  std::unique_ptr<Store> store_;
  std::optional<ClaimRoles> roles_;
  WorkerId worker_ = ids_.next<WorkerId>();
  std::vector<spi::Fence> fences_;
  std::vector<spi::Settlement> rows_;
};

TEST_P(PostgresSettles, TakeRowsWhereverTheyLie) {
  write(1'000);
  for (const std::size_t few : {3, 700, 1, 300, 20}) {
    leave_a_gap();
    write(few);
  }
  std::map<std::uint16_t, std::uint32_t> of_shard;
  for (const auto& row : rows_) ++of_shard[row.shard.value];
  std::ranges::reverse(rows_);
  const auto reply = settle(rows_);
  ASSERT_EQ(reply.parts.size(), fences_.size());
  for (std::size_t at = 0; at < fences_.size(); ++at) {
    EXPECT_TRUE(reply.parts[at].held);
    EXPECT_EQ(reply.parts[at].rows, of_shard[fences_[at].shard.value]);
  }
  expect_left(0);
  if (GetParam().retains) {
    EXPECT_EQ(database_->sql("SELECT DISTINCT attempts FROM " + in_schema("orders_archive")),
              std::vector<std::string>{"3"});
  }
  EXPECT_EQ(rows_of(settle(rows_)), 0U) << "a settle in doubt is repeated";
  expect_left(0);
}

TEST_P(PostgresSettles, LeaveTheRowsBetween) {
  write(2'000);
  std::vector<spi::Settlement> every_third;
  for (std::size_t at = 0; at < rows_.size(); at += 3) every_third.push_back(rows_[at]);
  EXPECT_EQ(rows_of(settle(every_third)), every_third.size());
  expect_left(rows_.size() - every_third.size());
}

TEST_P(PostgresSettles, LeaveTheRowsOfOtherShardsBetween) {
  write(8'000);
  fences_ = {fences_[3], fences_[8]};
  std::vector<spi::Settlement> ours;
  std::ranges::copy_if(rows_, std::back_inserter(ours), [&](const spi::Settlement& row) {
    return row.shard == fences_[0].shard || row.shard == fences_[1].shard;
  });
  ASSERT_GT(ours.size(), 512U);
  EXPECT_EQ(rows_of(settle(ours)), ours.size());
  expect_left(rows_.size() - ours.size());
}

/// They stand in another index.
TEST_P(PostgresSettles, TakeRowsThatHaveWaited) {
  for (const bool told : {true, false}) {
    write(1'000);
    database_->sql("UPDATE " + in_schema("orders_outbox") +
                   " SET due = clock_timestamp() WHERE seq % 1000 < 400");
    if (told) {
      for (auto& row : rows_) {
        if (row.sequence.value % 1000 < 400) row.lane.reset();
      }
    }
    EXPECT_EQ(rows_of(settle(std::span(rows_).last(1'000))), 1'000U);
    expect_left(0);
  }
}

TEST_P(PostgresSettles, TakeRowsOfEveryLane) {
  for (const bool told : {true, false}) {
    write(2'000);
    // Some far from others of their lane, some close.
    database_->sql("UPDATE " + in_schema("orders_outbox") +
                   " SET priority = CASE WHEN seq % 1000 < 400 THEN 2 ELSE seq % 2 END");
    if (told) {
      for (auto& row : rows_) {
        const auto number = row.sequence.value;
        row.lane = spi::Lane{static_cast<std::uint8_t>(number % 1000 < 400 ? 2 : number % 2)};
      }
    }
    EXPECT_EQ(rows_of(settle(std::span(rows_).last(2'000))), 2'000U);
    expect_left(0);
  }
}

TEST_P(PostgresSettles, LeaveTheRowsOfAShardThatIsNoLongerHeld) {
  write(2'000);
  ++fences_[5].epoch.value;
  const auto lost = static_cast<std::size_t>(std::ranges::count_if(
      rows_, [&](const spi::Settlement& row) { return row.shard == fences_[5].shard; }));
  ASSERT_GT(lost, 0U);
  const auto reply = settle(rows_);
  EXPECT_FALSE(reply.parts[5].held);
  EXPECT_EQ(rows_of(reply), rows_.size() - lost);
  expect_left(lost);
}

TEST_P(PostgresSettles, LeaveTheRowsOfAShardThatIsTakenWhileTheyWait) {
  write(2'000);
  const auto taken = fences_[5].shard;
  const auto lost = static_cast<std::size_t>(
      std::ranges::count_if(rows_, [&](const spi::Settlement& row) { return row.shard == taken; }));
  const auto other = database_->connect();
  run_sql(other.get(), "BEGIN");
  run_sql(other.get(), "UPDATE " + in_schema("shard_owner") +
                           " SET epoch = epoch + 1 WHERE scope = 'outbox:orders' AND shard = " +
                           std::to_string(taken.value));
  std::optional<spi::SettleReply> reply;
  std::thread settling([&] { reply.emplace(settle(rows_)); });
  until_blocked("FOR NO KEY UPDATE");
  if (GetParam().by_shard) {
    // Half of the shards do not wait for it.
    while (count("orders_outbox") == "2000") std::this_thread::yield();
  }
  run_sql(other.get(), "COMMIT");
  settling.join();
  EXPECT_FALSE(reply->parts[5].held);
  EXPECT_EQ(rows_of(*reply), rows_.size() - lost);
  expect_left(lost);
}

/// A server that crashed may give a number again that it had not written down.
TEST_P(PostgresSettles, LeaveAnotherMessageUnderTheSameSequence) {
  write(1'000);
  leave_a_gap();
  write(2);
  for (const auto at : {std::size_t{400}, rows_.size() - 1}) {
    database_->sql(
        "UPDATE " + in_schema("orders_outbox") +
        " SET id = 'other' || seq WHERE seq = " + std::to_string(rows_[at].sequence.value));
  }
  EXPECT_EQ(rows_of(settle(rows_)), rows_.size() - 2);
  expect_left(2);
}

TEST_P(PostgresSettles, FailAsAWholeOrInPartAndAreDoneWhenRepeated) {
  write(2'000);
  const auto& last = rows_.back();
  database_->sql("CREATE FUNCTION " + in_schema("refuse") +
                 "() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF OLD.seq = " +
                 std::to_string(last.sequence.value) +
                 " THEN RAISE 'not this one'; END IF; RETURN OLD; END $$; CREATE TRIGGER refuse "
                 "BEFORE DELETE ON " +
                 in_schema("orders_outbox") + " FOR EACH ROW EXECUTE FUNCTION " +
                 in_schema("refuse") + "()");
  const auto refused = try_settle(rows_);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("not this one"), std::string::npos);
  const auto left = std::stoul(count("orders_outbox"));
  if (GetParam().by_shard) {
    EXPECT_LT(left, rows_.size());
    EXPECT_GT(left, 0U);
  } else {
    EXPECT_EQ(left, rows_.size());
  }
  expect_left(left);
  database_->sql("DROP TRIGGER refuse ON " + in_schema("orders_outbox"));
  EXPECT_EQ(rows_of(settle(rows_)), left);
  expect_left(0);
}

INSTANTIATE_TEST_SUITE_P(
    Modes, PostgresSettles,
    ::testing::Values(Kind{ClaimMode::sharded, false}, Kind{ClaimMode::sharded, true},
                      Kind{ClaimMode::sharded, true, true}, Kind{ClaimMode::competing, false},
                      Kind{ClaimMode::competing, true}),
    [](const auto& kind) {
      return std::string(kind.param.mode == ClaimMode::sharded ? "Sharded" : "Competing") +
             (kind.param.retains ? "Retained" : "Deleted") + (kind.param.by_shard ? "ByShard" : "");
    });

}  // namespace
}  // namespace sagabox::postgres
