#include "integration/outbox/world.hpp"
#include "support/sqlite_database.hpp"

#include <sagabox/admin.hpp>
#include <sagabox/stores/sqlite.hpp>

#include <memory>
#include <string>

namespace sagabox::integration {
namespace {

using testing::connect_sqlite;
using testing::run_sql;

/// Rows of a file whose result SQLite does not take.
class SqliteRefusedResult : public ::testing::Test {
 protected:
  void SetUp() override { store->outbox().prepare(table).value(); }

  static OutboxOptions defaults() {
    OutboxOptions options;
    options.table = "orders";
    options.retry.backoff_min = milliseconds(1);
    options.retry.backoff_max = milliseconds(5);
    options.lease = seconds(30);
    return options;
  }
  Outbox started(Listener listener) {
    auto outbox = Outbox::several_processes(*store, defaults()).value();
    outbox.listen(topic, std::move(listener)).value();
    outbox.start().value();
    return outbox;
  }
  Listener into_inbox() {
    return [this](const Delivery& d) {
      inbox.add(d);
      return done();
    };
  }
  void write(Outbox& outbox, std::size_t count, const std::string& id) {
    std::vector<NewMessage> messages;
    for (std::size_t n = 0; n < count; ++n) {
      messages.push_back(placed("1"));
      messages.back().id = id + std::to_string(n);
    }
    (void)store
        ->transaction(
            [&](OwnedTransaction& tx) { return outbox.write_all(tx, std::move(messages)); })
        .value();
  }
  void sql(const std::string& text) {
    run_sql(connect_sqlite(folder.file(), seconds(60)).get(), text);
  }
  [[nodiscard]] spi::TableStats stats() { return store->outbox_admin().stats(table).value(); }

  const TableName table = TableName::parse("orders").value();
  testing::SqliteFolder folder;
  std::unique_ptr<Store> store = sqlite::open(folder.file(), {.lock_max = seconds(60)}).value();
  Inbox inbox;
};

TEST_F(SqliteRefusedResult, FortyForeignHistoriesAndFiftyMessagesAreAllSettled) {
  auto writer = Outbox::writer_only(*store, defaults()).value();
  write(writer, 40, "foreign");
  sql("UPDATE orders_pending SET history = '1'");
  // They fail once, so that their history is written.
  auto outbox = started([this](const Delivery& d) -> Outcome {
    if (d.attempt() == 1 && d.id().view().starts_with("foreign")) return retry("not now");
    inbox.add(d);
    return done();
  });
  write(outbox, 50, "later");
  EXPECT_TRUE(eventually([&] { return stats().done == 90; }));
  EXPECT_EQ(stats().pending, 0U);
  EXPECT_EQ(stats().quarantined, 0U);
}

TEST_F(SqliteRefusedResult, TriggerThatRefusesTheArchiveOfTwentyCostsOnlyThose) {
  sql("CREATE TRIGGER no_archive BEFORE INSERT ON orders_archive WHEN NEW.id LIKE 'bad%' "
      "BEGIN SELECT RAISE(ABORT, 'not into this archive'); END");
  auto outbox = started(into_inbox());
  write(outbox, 20, "bad");
  write(outbox, 150, "good");
  ASSERT_TRUE(eventually([&] { return stats().done == 150 && stats().quarantined == 20; }));
  const auto note =
      store->outbox_admin().find({.table = table, .id = MessageId::parse("bad3").value()});
  EXPECT_TRUE(
      note.value()->note.starts_with("it WAS delivered, but its result could not be stored"))
      << note.value()->note;
  outbox.stop().value();
  EXPECT_EQ(inbox.size(), 170U);

  Inbox again;
  auto next = Outbox::several_processes(*store, defaults()).value();
  next.listen(topic,
              [&](const Delivery& d) {
                again.add(d);
                return done();
              })
      .value();
  next.start().value();
  write(next, 1, "last");
  ASSERT_TRUE(eventually([&] { return stats().done == 151; }));
  EXPECT_EQ(again.size(), 1U) << "what was delivered is not delivered again after a restart";
}

TEST_F(SqliteRefusedResult, TriggerThatRefusesTheDeathAndTheQuarantineOfTwentyCostsOnlyThose) {
  sql("CREATE TRIGGER no_death BEFORE INSERT ON orders_dead WHEN NEW.id LIKE 'bad%' "
      "BEGIN SELECT RAISE(ABORT, 'not into these dead letters'); END");
  auto outbox = started([this](const Delivery& d) -> Outcome {
    if (d.id().view().starts_with("bad")) return reject("never");
    inbox.add(d);
    return done();
  });
  write(outbox, 20, "bad");
  write(outbox, 150, "good");
  ASSERT_TRUE(eventually([&] { return stats().done == 150 && outbox.snapshot().refused == 20; }));
  EXPECT_EQ(stats().pending, 20U);

  auto admin =
      Admin::open(*store, {.actor = "ann",
                           .refused = [&](Sequence sequence) { return outbox.refused(sequence); }})
          .value();
  const auto why = admin.explain(table, MessageId::parse("bad0").value()).value();
  ASSERT_EQ(why.reasons.size(), 1U);
  EXPECT_EQ(why.reasons[0].why, Why::result_refused);
  EXPECT_NE(why.reasons[0].text.find("not into these dead letters"), std::string::npos)
      << why.reasons[0].text;
  outbox.stop().value();
}

TEST_F(SqliteRefusedResult, RowWhoseIdCannotBeReadDies) {
  auto outbox = started(into_inbox());
  sql("INSERT INTO orders_outbox (id, topic, payload) VALUES ('with a space', "
      "'orders.order.placed.v1', '1')");
  write(outbox, 1, "good");
  EXPECT_TRUE(eventually([&] { return stats().done == 1 && stats().dead == 1; }))
      << stats().pending << " pending";
}

}  // namespace
}  // namespace sagabox::integration
