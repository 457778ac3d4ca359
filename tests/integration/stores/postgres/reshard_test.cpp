#include "integration/stores/postgres/world.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <span>
#include <thread>

namespace sagabox::postgres {
namespace {

using sagabox::testing::run_sql;
using std::chrono::seconds;

class PostgresReshard : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (IsSkipped()) return;
    store_ = open_store();
  }
  Result<spi::ReshardReport> to(std::uint16_t shards, bool force = false) {
    return schema()->reshard({.outbox = table_, .shards = shards, .force = force});
  }
  void write(Store& store, int count) {
    std::vector<std::shared_ptr<const Message>> all;
    for (int i = 0; i < count; ++i) all.push_back(message());
    store.transaction([&](OwnedTransaction& tx) { return tx.outbox().insert(table_, all); })
        .value();
  }
  std::vector<std::string> shards_of_everything() {
    return database_->sql("SELECT (SELECT shards FROM " + in_schema("outbox") +
                          "), (SELECT shards FROM " + in_schema("scope") +
                          "), (SELECT count(*) FROM " + in_schema("shard_owner") + ")");
  }
  /// A relay that owns every shard.
  struct Relay {
    WorkerId id;
    std::vector<spi::Fence> fences;
  };
  Relay relay() {
    Relay relay{ids_.next<WorkerId>(), {}};
    EXPECT_TRUE(store_->ownership().join(relay.id, seconds(30), scopes_, 16).value().live);
    for (const auto& taken : store_->ownership().take(scopes_[0], relay.id, 16).value()) {
      relay.fences.push_back({taken.shard, taken.epoch});
    }
    return relay;
  }
  /// How the table computes the shard, and the indexes on it.
  std::string made_of(const std::string& outbox) {
    const auto table = in_schema(outbox + "_outbox");
    const auto text = database_->sql(
        "SELECT (SELECT pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef d JOIN pg_attribute a ON "
        "a.attrelid = d.adrelid AND a.attnum = d.adnum WHERE d.adrelid = '" +
        table +
        "'::regclass AND a.attname = 'shard'), (SELECT string_agg(replace(pg_get_indexdef("
        "indexrelid), '" +
        outbox + "', ''), ' ; ' ORDER BY replace(pg_get_indexdef(indexrelid), '" + outbox +
        "', '')) FROM pg_index WHERE indrelid = '" + table + "'::regclass)");
    return text.at(0) + " | " + text.at(1);
  }

  std::unique_ptr<Store> store_;
  const std::vector<spi::Scope> scopes_{"outbox:orders"};
};

TEST_F(PostgresReshard, TableIsAsOneMadeWithTheNewCount) {
  write(*store_, 50);
  const auto report = to(4).value();
  EXPECT_TRUE(report.changed);
  EXPECT_EQ(report.shards_before, 16U);
  EXPECT_EQ(report.shards, 4U);
  EXPECT_EQ(report.pending, 50U);
  EXPECT_EQ(count("orders_outbox"), "50");
  EXPECT_EQ(count("orders_outbox WHERE shard >= 4"), "0");
  EXPECT_EQ(count("orders_outbox WHERE shard = 3"), "12");
  const auto fresh = open(database_->url(), {.schema = database_->schema(), .shards = 4}).value();
  fresh->outbox().prepare(TableName::parse("other").value()).value();
  EXPECT_EQ(made_of("orders"), made_of("other"));
  EXPECT_TRUE(fresh->outbox().prepare(table_).ok());
  EXPECT_EQ(store_->outbox().prepare(table_).error().code, Code::config_invalid);
}

TEST_F(PostgresReshard, WhatWaitsAndWhatIsDeadStaysAsItIs) {
  write(*store_, 6);
  const auto owner = relay();
  const auto rows = database_->sql(
      "SELECT string_agg(seq::text, ',' ORDER BY seq), string_agg(shard::text, ',' ORDER BY seq), "
      "string_agg(id, ',' ORDER BY seq) FROM (SELECT * FROM " +
      in_schema("orders_outbox") + " ORDER BY seq LIMIT 2) x");
  const auto part = [](const std::string& list, bool second) {
    const auto comma = list.find(',');
    return second ? list.substr(comma + 1) : list.substr(0, comma);
  };
  std::vector<spi::Settlement> items;
  for (const bool second : {false, true}) {
    items.push_back({.sequence = Sequence{std::stoull(part(rows[0], second))},
                     .shard = Shard{static_cast<std::uint16_t>(std::stoul(part(rows[1], second)))},
                     .id = MessageId::parse(part(rows[2], second)).value(),
                     .verdict = second ? spi::Verdict::dead : spi::Verdict::retry,
                     .attempts = 3,
                     .delay = seconds(60),
                     .code = Code::tx_handler_failed,
                     .error = "it failed"});
  }
  (void)store_->outbox()
      .settle(
          {.table = table_, .fencing = {"outbox:orders", owner.id, owner.fences}, .items = items})
      .value();
  store_->ownership().leave(owner.id).value();
  const auto all =
      "SELECT string_agg(r::text, ';' ORDER BY seq) FROM (SELECT xid, seq, id, lane, "
      "due, retrying, attempts, history, error, written_at, payload FROM " +
      in_schema("orders_outbox") + ") r";
  const auto before = database_->sql(all);
  to(32).value();
  EXPECT_EQ(database_->sql(all), before);
  EXPECT_EQ(count("orders_outbox WHERE retrying AND attempts = 3"), "1");
  EXPECT_EQ(count("orders_dead"), "1");
}

TEST_F(PostgresReshard, RefusedWhileARelayRunsAndNothingChanges) {
  write(*store_, 3);
  const auto owner = relay();
  const auto refused = to(4);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::tx_invalid_state);
  EXPECT_NE(refused.error().message.find("1 relay runs on outbox orders"), std::string::npos)
      << refused.error().message;
  EXPECT_EQ(shards_of_everything(), (std::vector<std::string>{"16", "16", "16"}));
  EXPECT_EQ(store_->ownership().census(scopes_[0]).value().live, std::vector{owner.id});
  store_->ownership().leave(owner.id).value();
  EXPECT_TRUE(to(4).value().changed);
}

TEST_F(PostgresReshard, ForcedItTakesEveryShardAwayAtAHigherEpoch) {
  write(*store_, 3);
  const auto stale = relay();
  const auto row = database_->sql("SELECT seq, shard, id FROM " + in_schema("orders_outbox") +
                                  " ORDER BY seq LIMIT 1");
  const auto report = to(32, true).value();
  EXPECT_TRUE(report.changed);
  EXPECT_EQ(report.relays, std::vector{stale.id});
  EXPECT_EQ(shards_of_everything(), (std::vector<std::string>{"32", "32", "32"}));

  const std::vector<spi::Settlement> items{
      {.sequence = Sequence{std::stoull(row[0])},
       .shard = Shard{static_cast<std::uint16_t>(std::stoul(row[1]))},
       .id = MessageId::parse(row[2]).value()}};
  const auto settled = store_->outbox()
                           .settle({.table = table_,
                                    .fencing = {"outbox:orders", stale.id, stale.fences},
                                    .items = items})
                           .value();
  for (const auto& held : settled.parts) EXPECT_FALSE(held.held);
  EXPECT_EQ(count("orders_outbox"), "3") << "the stale settle changed nothing";

  const auto census = store_->ownership().census(scopes_[0]).value();
  EXPECT_TRUE(census.live.empty()) << "it is not counted, and starts over";
  ASSERT_EQ(census.shards.size(), 32U);
  for (const auto& shard : census.shards) {
    EXPECT_TRUE(shard.owner.empty());
    EXPECT_GT(shard.epoch, stale.fences[0].epoch);
  }
  EXPECT_TRUE(store_->ownership().take(scopes_[0], stale.id, 16).value().empty());
  const auto again = store_->ownership().join(ids_.next<WorkerId>(), seconds(30), scopes_, 16);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, Code::config_invalid);
  EXPECT_NE(again.error().message.find("start this process again with Options::shards = 32"),
            std::string::npos)
      << again.error().message;
}

TEST_F(PostgresReshard, AReaderOfTheFormerShardsFindsNothingThatIsDue) {
  write(*store_, 3);
  (void)relay();
  database_->sql("UPDATE " + in_schema("orders_outbox") +
                 " SET due = clock_timestamp() - interval '1 second'");
  const auto found = [&] {
    std::vector<spi::DueRange> ranges;
    for (std::uint16_t shard = 0; shard < 16; ++shard) {
      ranges.push_back({.shard = Shard{shard}, .rows_max = 10});
    }
    return store_->outbox().read_due(table_, ranges, 1U << 20U).value().rows.size();
  };
  EXPECT_EQ(found(), 3U);
  to(32, true).value();
  EXPECT_EQ(found(), 0U) << "their keys lie in other shards now";
}

TEST_F(PostgresReshard, EpochsGrowThoughShardsGoAndComeBack) {
  const auto owner = relay();
  store_->ownership().leave(owner.id).value();
  for (const auto shards : std::to_array<std::uint16_t>({2, 16, 1, 16})) to(shards).value();
  const auto census = store_->ownership().census(scopes_[0]).value();
  for (const auto& shard : census.shards) {
    EXPECT_GE(shard.epoch.value, owner.fences[0].epoch.value + 4);
  }
}

TEST_F(PostgresReshard, DryRunTellsAndChangesNothing) {
  write(*store_, 7);
  const auto owner = relay();
  const auto report = schema()->reshard({.outbox = table_, .shards = 4, .dry_run = true}).value();
  EXPECT_FALSE(report.changed);
  EXPECT_EQ(report.shards_before, 16U);
  EXPECT_EQ(report.shards, 4U);
  EXPECT_EQ(report.pending, 7U);
  EXPECT_EQ(report.relays, std::vector{owner.id});
  EXPECT_EQ(shards_of_everything(), (std::vector<std::string>{"16", "16", "16"}));
}

TEST_F(PostgresReshard, TwiceChangesItOnce) {
  EXPECT_TRUE(to(4).value().changed);
  EXPECT_FALSE(to(4).value().changed);
}

TEST_F(PostgresReshard, SeveralAtOnceLeaveOneCount) {
  write(*store_, 20);
  std::vector<std::thread> threads;
  std::atomic<int> changed{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const auto report = to(i % 2 == 0 ? 4 : 8);
      EXPECT_TRUE(report.ok()) << report.error().text();
      if (report.ok() && report->changed) ++changed;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_GE(changed.load(), 2);
  const auto counts = shards_of_everything();
  EXPECT_EQ(counts[0], counts[1]);
  EXPECT_EQ(counts[0], counts[2]);
  EXPECT_EQ(count("orders_outbox WHERE shard < " + counts[0]), "20");
}

/// Its shards have other keys now: it would deliver the later messages of some first.
TEST_F(PostgresReshard, WhoGoesOnReadingItsOldShardsIsTold) {
  write(*store_, 20);
  const spi::Range range{Shard{0}, spi::Lane{1}, Sequence{0}, 100};
  for (const auto mode : {ClaimMode::sharded, ClaimMode::competing}) {
    auto& outbox = store_->claim_roles(mode).value().outbox;
    outbox.prepare(table_).value();
    EXPECT_TRUE(outbox.read(table_, std::span(&range, 1), 1'000'000).ok());
  }
  EXPECT_TRUE(to(4, true).value().changed);
  for (const auto mode : {ClaimMode::sharded, ClaimMode::competing}) {
    auto& outbox = store_->claim_roles(mode).value().outbox;
    const auto reply = outbox.read(table_, std::span(&range, 1), 1'000'000);
    ASSERT_FALSE(reply.ok());
    EXPECT_NE(reply.error().message.find("has 4 shards now, not 16"), std::string::npos)
        << reply.error().text();
  }
}

TEST_F(PostgresReshard, WhoJoinsMeanwhileIsToldOfTheNewCount) {
  store_->ownership().leave(relay().id).value();
  auto settling = database_->connect();
  run_sql(settling.get(), "BEGIN; SELECT FROM " + in_schema("shard_owner") + " FOR SHARE");
  Result<spi::ReshardReport> report = Error{};
  std::thread resharding([&] { report = to(4); });
  until_blocked("ORDER BY shard FOR UPDATE");
  Result<spi::LeaseReply> joined = Error{};
  const auto worker = ids_.next<WorkerId>();
  std::thread joining([&] { joined = store_->ownership().join(worker, seconds(30), scopes_, 16); });
  until_blocked("FOR KEY SHARE");
  run_sql(settling.get(), "COMMIT");
  resharding.join();
  joining.join();
  ASSERT_TRUE(report.ok()) << report.error().text();
  EXPECT_EQ(joined.error().code, Code::config_invalid);
  EXPECT_EQ(shards_of_everything(), (std::vector<std::string>{"4", "4", "4"}));
}

TEST_F(PostgresReshard, LongTransactionIsNotWaitedForLong) {
  auto writer = database_->connect();
  run_sql(writer.get(), "BEGIN");
  auto tx = enlist(writer.get(), database_->schema()).value();
  const auto one = message();
  tx.outbox().insert(table_, std::span(&one, 1)).value();
  const auto refused = to(4);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::storage_conflict);
  EXPECT_EQ(shards_of_everything()[0], "16");
  run_sql(writer.get(), "COMMIT");
  EXPECT_TRUE(to(4).value().changed);
  EXPECT_EQ(count("orders_outbox"), "1");
}

TEST_F(PostgresReshard, ProducersGoOnWritingOverTheirConnections) {
  auto writer = database_->connect();
  for (const auto shards : std::to_array<std::uint16_t>({4, 32})) {
    for (int i = 0; i < 2; ++i) {
      run_sql(writer.get(), "BEGIN");
      auto tx = enlist(writer.get(), database_->schema()).value();
      const auto one = message();
      tx.outbox().insert(table_, std::span(&one, 1)).value();
      run_sql(writer.get(), "COMMIT");
      write(*store_, 1);
    }
    to(shards).value();
  }
  EXPECT_EQ(count("orders_outbox"), "8");
}

TEST_F(PostgresReshard, ViewsOfTheSchemaAndTheirGrantsSurvive) {
  const std::string role = database_->schema() + "_reader";
  database_->sql("CREATE ROLE " + role + "; CREATE VIEW " + in_schema("backlog") +
                 " AS SELECT shard, count(*) FROM " + in_schema("orders_outbox") +
                 " GROUP BY shard; GRANT SELECT ON " + in_schema("backlog") + " TO " + role);
  write(*store_, 8);
  to(4).value();
  EXPECT_EQ(count("backlog"), "4");
  EXPECT_EQ(database_
                ->sql("SELECT has_table_privilege('" + role + "', '" + in_schema("backlog") +
                      "', 'SELECT')")
                .at(0),
            "t");
  database_->sql("DROP OWNED BY " + role + "; DROP ROLE " + role);
}

TEST_F(PostgresReshard, WrongRequestsAreTold) {
  EXPECT_EQ(to(0).error().code, Code::config_invalid);
  EXPECT_EQ(to(2000).error().code, Code::config_invalid);
  const auto unknown = [&](const std::string& outbox, const std::string& schema) {
    return open_schema(database_->url(), {.schema = schema})
        .value()
        ->reshard({.outbox = TableName::parse(outbox).value(), .shards = 4})
        .error();
  };
  EXPECT_EQ(unknown("nowhere", database_->schema()).code, Code::config_invalid);
  EXPECT_NE(unknown("nowhere", database_->schema()).message.find("\"nowhere\""), std::string::npos);
  EXPECT_EQ(unknown("orders", "nowhere").code, Code::config_invalid);
}

TEST_F(PostgresReshard, StatusShowsTheCount) {
  to(4).value();
  for (const auto& step : schema()->status().value()) {
    EXPECT_EQ(step.shards, step.outbox == "orders" ? 4U : 0U);
  }
}

}  // namespace
}  // namespace sagabox::postgres
