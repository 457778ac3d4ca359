#include "integration/postgres/world.hpp"

#include <sagabox/admin.hpp>

namespace sagabox::integration {
namespace {

/// Rows whose result PostgreSQL does not take.
class PostgresRefusedResult : public PostgresWorld {
 protected:
  void SetUp() override {
    PostgresWorld::SetUp();
    if (store) store->outbox().prepare(table).value();
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
  [[nodiscard]] std::string name(const std::string& kind) const {
    return database->schema() + ".orders_" + kind;
  }
};

TEST_F(PostgresRefusedResult, FortyForeignHistoriesAndFiftyMessagesAreAllSettled) {
  database->sql("INSERT INTO " + outbox_table() +
                " (id, topic, payload, history) SELECT 'foreign' || n, 'orders.order.placed.v1', "
                "'{}', '1' FROM generate_series(1, 40) AS n");
  // They fail once, so that their history is written.
  auto outbox = started(*store, [this](const Delivery& d) -> Outcome {
    if (d.attempt() == 1 && d.id().view().starts_with("foreign")) return retry("not now");
    inbox.add(d);
    return done();
  });
  write(outbox, 50, "later");
  EXPECT_TRUE(settles_to(90));
  EXPECT_EQ(stats().quarantined, 0U);
}

TEST_F(PostgresRefusedResult, RuleOfTheArchiveThatRefusesTwentyCostsOnlyThose) {
  database->sql("ALTER TABLE " + name("archive") +
                " ADD CONSTRAINT only_good CHECK (id NOT LIKE 'bad%')");
  auto outbox = started(*store, into_inbox());
  write(outbox, 20, "bad");
  write(outbox, 150, "good");
  ASSERT_TRUE(settles_to(150));
  EXPECT_EQ(stats().quarantined, 20U);
  const auto row =
      store->outbox_admin().find({.table = table, .id = MessageId::parse("bad3").value()});
  const auto& note = row.value()->note;
  EXPECT_TRUE(note.starts_with("it WAS delivered, but its result could not be stored")) << note;
  EXPECT_NE(note.find("only_good"), std::string::npos) << note;
  outbox.stop().value();
  EXPECT_EQ(inbox.size(), 170U);

  Inbox again;
  auto next = started(*store, [&](const Delivery& d) {
    again.add(d);
    return done();
  });
  write(next, 1, "last");
  ASSERT_TRUE(settles_to(151));
  EXPECT_EQ(again.size(), 1U) << "what was delivered is not delivered again after a restart";
}

TEST_F(PostgresRefusedResult, RuleThatRefusesTheDeathAndTheQuarantineOfTwentyCostsOnlyThose) {
  database->sql("ALTER TABLE " + name("dead") +
                " ADD CONSTRAINT only_good CHECK (id NOT LIKE 'bad%')");
  auto outbox = started(*store, [this](const Delivery& d) -> Outcome {
    if (d.id().view().starts_with("bad")) return reject("never");
    inbox.add(d);
    return done();
  });
  write(outbox, 20, "bad");
  write(outbox, 150, "good");
  ASSERT_TRUE(eventually([&] { return stats().done == 150 && outbox.snapshot().refused == 20; }))
      << stats().done << " done, " << outbox.snapshot().refused << " held back";

  auto admin =
      Admin::open(*store, {.actor = "ann",
                           .refused = [&](Sequence sequence) { return outbox.refused(sequence); }})
          .value();
  const auto why = admin.explain(table, MessageId::parse("bad0").value()).value();
  ASSERT_EQ(why.reasons.size(), 1U);
  EXPECT_EQ(why.reasons[0].why, Why::result_refused);
  EXPECT_NE(why.reasons[0].text.find("only_good"), std::string::npos) << why.reasons[0].text;
  outbox.stop().value();
}

TEST_F(PostgresRefusedResult, TriggerThatFailsForWantOfATableCostsOnlyItsRows) {
  // Not an error of a value: the code says that the configuration is wrong.
  database->sql("CREATE FUNCTION " + database->schema() +
                ".log_death() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                "INSERT INTO no_such_table VALUES (NEW.id); RETURN NEW; END $$");
  database->sql("CREATE TRIGGER log_death BEFORE INSERT ON " + name("dead") +
                " FOR EACH ROW EXECUTE FUNCTION " + database->schema() + ".log_death()");
  auto outbox = started(*store, [this](const Delivery& d) -> Outcome {
    if (d.id().view().starts_with("bad")) return reject("never");
    inbox.add(d);
    return done();
  });
  write(outbox, 3, "bad");
  write(outbox, 150, "good");
  // Messages that come later show that the store itself is well.
  ASSERT_TRUE(eventually([&] {
    write(outbox, 1, "more" + std::to_string(inbox.size()) + "-");
    return stats().done >= 150 && outbox.snapshot().refused == 3;
  })) << stats().done
      << " done, " << outbox.snapshot().refused << " held back";
  EXPECT_EQ(stats().quarantined, 0U);
  outbox.stop().value();
}

}  // namespace
}  // namespace sagabox::integration
