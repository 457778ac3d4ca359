#include "integration/postgres/world.hpp"

#include <atomic>

namespace sagabox::integration {
namespace {

class PostgresReshardDelivery : public PostgresWorld {
 protected:
  [[nodiscard]] std::unique_ptr<Store> open_with(std::uint16_t shards) const {
    auto options = database->options();
    options.shards = shards;
    return postgres::open(database->url(), options).value();
  }
  void write_batch(Outbox& outbox, int from, int until) {
    for (int batch = from; batch < until; ++batch) {
      std::vector<NewMessage> messages;
      for (int key = 0; key < keys; ++key) {
        messages.push_back(placed(std::to_string(1000 + batch), name(key)));
      }
      messages.push_back(placed("\"keyless\""));
      (void)store
          ->transaction(
              [&](OwnedTransaction& tx) { return outbox.write_all(tx, std::move(messages)); })
          .value();
    }
  }
  static std::string name(int key) { return "key " + std::to_string(key); }
  /// The first time each message of the key was delivered, in order.
  [[nodiscard]] std::vector<std::string> firsts(int key) const {
    std::vector<std::string> payloads;
    for (auto& payload : inbox.payloads_of_key(name(key))) {
      if (std::ranges::find(payloads, payload) == payloads.end()) payloads.push_back(payload);
    }
    return payloads;
  }
  static bool tells(const testing::RecordingLogger& log, std::string_view what) {
    return std::ranges::any_of(log.lines(), [&](const auto& line) {
      return std::ranges::any_of(line.fields, [&](const auto& field) {
        return field.second.find(what) != std::string::npos;
      });
    });
  }
  Result<spi::ReshardReport> reshard(std::uint16_t shards, bool force) {
    return postgres::open_schema(database->url(), database->options())
        .value()
        ->reshard({.outbox = TableName::parse("orders").value(), .shards = shards, .force = force});
  }

  static constexpr int keys = 12;
};

TEST_F(PostgresReshardDelivery, PendingRetryingAndDeadGoOnInOrderOfTheirKeys) {
  auto options = defaults();
  options.retry.attempts_max = 100;
  options.retry.backoff_min = options.retry.backoff_max = milliseconds(200);
  std::atomic<bool> healthy{false};
  const auto listener = [&](const Delivery& d) {
    if (d.payload().view() == "\"poison\"") return reject("for good");
    if (!healthy && d.key() == name(0)) return retry("later");
    inbox.add(d);
    return done();
  };
  {
    auto outbox = started(*store, listener, options);
    write(outbox, placed("\"poison\""));
    write_batch(outbox, 0, 5);
    ASSERT_TRUE(eventually([&] { return stats().dead >= 1 && stats().waiting >= 1; }));
    outbox.stop().value();
  }
  healthy = true;
  auto producer = Outbox::writer_only(*store, defaults()).value();
  write_batch(producer, 5, 10);
  const auto before = stats();
  ASSERT_GT(before.pending, 0U);

  const auto report = reshard(5, false).value();
  EXPECT_EQ(report.pending, before.pending);
  EXPECT_EQ(stats().dead, before.dead);

  const auto resharded = open_with(5);
  auto outbox = started(*resharded, listener, options);
  write_batch(producer, 10, 12);
  ASSERT_TRUE(eventually([&] { return stats().pending == 0; }));
  EXPECT_EQ(stats().done + stats().dead, 1U + 12U * (keys + 1));
  EXPECT_EQ(stats().dead, before.dead);
  for (int key = 1; key < keys; ++key) {
    EXPECT_EQ(inbox.payloads_of_key(name(key)).size(), 12U) << "each once";
    EXPECT_TRUE(std::ranges::is_sorted(inbox.payloads_of_key(name(key)))) << key;
  }
  EXPECT_TRUE(std::ranges::is_sorted(inbox.payloads_of_key(name(0))));
}

TEST_F(PostgresReshardDelivery, RunningRelayLosesItsShardsAndANewOneDeliversTheRest) {
  testing::RecordingLogger log;
  auto options = defaults();
  options.log = &log;
  auto former = started(*store, into_inbox(), options);
  ASSERT_TRUE(eventually([&] { return former.snapshot().shards_owned == 16; }));
  auto producer = Outbox::writer_only(*store, defaults()).value();
  write_batch(producer, 0, 10);
  EXPECT_EQ(reshard(6, false).error().code, Code::tx_invalid_state);
  EXPECT_TRUE(reshard(6, true).value().changed);
  write_batch(producer, 10, 20);
  ASSERT_TRUE(eventually([&] { return former.snapshot().shards_owned == 0; }));
  EXPECT_TRUE(eventually([&] { return tells(log, "Options::shards = 6"); }))
      << "and is told what to do";

  const auto resharded = open_with(6);
  auto next = started(*resharded, into_inbox());
  ASSERT_TRUE(settles_to(20U * (keys + 1)));
  EXPECT_EQ(next.snapshot().shards_owned, 6U);
  EXPECT_EQ(inbox.times_by_id().size(), 20U * (keys + 1)) << "nothing is lost";
  for (int key = 0; key < keys; ++key) {
    EXPECT_EQ(firsts(key).size(), 20U);
    EXPECT_TRUE(std::ranges::is_sorted(firsts(key))) << key;
  }
}

TEST_F(PostgresReshardDelivery, WhatAShardThatIsGoneHadClaimedIsDelivered) {
  auto& competing = store->claim_roles(ClaimMode::competing).value().outbox;
  competing.prepare(table).value();
  auto producer = Outbox::writer_only(*store, defaults()).value();
  write_batch(producer, 0, 20);
  std::vector<spi::Range> everything;
  for (std::uint16_t shard = 0; shard < 16; ++shard) {
    everything.push_back({.shard = Shard{shard}, .lane = spi::Lane{1}, .rows_max = 100});
  }
  ASSERT_EQ(competing.read(table, everything, 1U << 20U).value().rows.size(), 20U * (keys + 1));
  ASSERT_EQ(database->sql("SELECT count(*) FROM " + database->schema() + ".orders_claim"),
            std::vector<std::string>{"20"});

  EXPECT_TRUE(reshard(4, false).value().changed);
  const auto resharded = open_with(4);
  auto options = defaults();
  options.claim = ClaimMode::competing;
  auto outbox = started(*resharded, into_inbox(), options);
  EXPECT_TRUE(settles_to(20U * (keys + 1)));
}

}  // namespace
}  // namespace sagabox::integration
