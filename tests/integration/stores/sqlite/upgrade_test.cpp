#include "integration/outbox/world.hpp"
#include "integration/stores/sqlite/world.hpp"
#include "support/places.hpp"

#include <fstream>
#include <iterator>
#include <map>
#include <thread>

namespace sagabox::sqlite {
namespace {

using integration::eventually;
using integration::Inbox;
using Strings = std::vector<std::string>;

/// A file as a version had it whose schema ended with step 1: messages of two tenants in every
/// state, with ids that are unique among all, and keys that both of them use.
class SqliteUpgrade : public SqliteTest {
 protected:
  SqliteUpgrade() {
    std::ifstream dump(testing::project_folder() /
                       "tests/integration/stores/sqlite/data/schema_1.sql");
    sql({std::istreambuf_iterator<char>(dump), std::istreambuf_iterator<char>()});
  }

  using Rows = std::vector<Strings>;
  Rows rows(const std::string& from) {
    return sagabox::testing::rows_of(observer_.get(), "SELECT * FROM " + from);
  }
  /// All that a step must leave as it is.
  std::map<std::string, Rows> everything() {
    std::map<std::string, Rows> all;
    for (const auto* from :
         {"orders_pending ORDER BY place", "orders_dead ORDER BY seq",
          "orders_archive ORDER BY seq", "orders_outbox ORDER BY seq", "sagabox_outbox",
          "sagabox_owner", "sagabox_audit_log", "sagabox_audit_head"}) {
      all[from] = rows(from);
    }
    return all;
  }
  Strings ids(Store& store, MessageState state) {
    Strings found;
    for (const auto& row : store.outbox_admin()
                               .list({.table = table_, .state = state, .rows_max = 100})
                               .value()
                               .rows) {
      found.push_back(row.id.str());
    }
    return found;
  }
  static Outbox started(Store& on, Inbox& inbox) {
    OutboxOptions options;
    options.table = "orders";
    auto outbox = Outbox::several_processes(on, std::move(options)).value();
    for (const auto* what : {"done", "retry", "dead"}) {
      outbox
          .listen("shop.order." + std::string(what) + ".v1",
                  [&inbox](const Delivery& d) {
                    inbox.add(d);
                    return done();
                  })
          .value();
    }
    outbox.start().value();
    return outbox;
  }
  /// The ids that a tenant's messages of one key were delivered with.
  static Strings in_order(const Inbox& inbox, const std::string& tenant, const std::string& key) {
    Strings found;
    for (const auto& one : inbox.all()) {
      if (one.key == key && one.id.starts_with(tenant)) found.push_back(one.id);
    }
    return found;
  }
};

TEST_F(SqliteUpgrade, LeavesEveryRowAsItIs) {
  const auto before = everything();
  ASSERT_EQ(before.at("orders_pending ORDER BY place").size(), 17U);
  ASSERT_EQ(before.at("orders_dead ORDER BY seq").size(), 5U);
  ASSERT_EQ(before.at("orders_archive ORDER BY seq").size(), 5U);

  schema()->up({}).value();
  EXPECT_EQ(everything(), before);
  schema()->up({}).value();
  EXPECT_EQ(everything(), before) << "again";
  for (const auto& step : schema()->status().value()) {
    EXPECT_TRUE(step.applied_at.has_value()) << step.number;
  }
}

TEST_F(SqliteUpgrade, CanBeTakenBackAndMadeAgain) {
  const auto before = everything();
  const auto objects = rows("sqlite_schema WHERE name LIKE 'orders_%' ORDER BY name");
  schema()->up({}).value();
  schema()->down({.to = 1}).value();
  EXPECT_EQ(everything(), before);
  EXPECT_EQ(rows("sqlite_schema WHERE name LIKE 'orders_%' ORDER BY name").size(), objects.size());
  EXPECT_THROW(
      sql("INSERT INTO orders_pending SELECT * FROM (SELECT place + 100, id, due, retrying, "
          "attempts, failed_for_good, replays, targets_done, written_at, 'third', topic, "
          "aggregate_type, aggregate_id, key, priority, is_json, digest, content_type, headers, "
          "occurred_at, not_before, traceparent, tracestate, request_id, correlation_id, code, "
          "error, history, payload FROM orders_pending LIMIT 1)"),
      std::runtime_error)
      << "ids are unique among all tenants again";
  schema()->up({}).value();
  EXPECT_EQ(everything(), before);
}

TEST_F(SqliteUpgrade, TakingBackIsRefusedWhereTwoTenantsHaveAnId) {
  schema()->up({}).value();
  sql("INSERT INTO orders_outbox (id, tenant, topic, payload) "
      "VALUES ('acme-new-1', 'other', 't', '1')");
  const auto refused = schema()->down({.to = 1});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("step 2 (tenants, outbox orders) cannot be taken back"),
            std::string::npos)
      << refused.error().message;
  EXPECT_EQ(count("orders_pending"), "18");
  schema()->down({.to = 0, .force = true}).value();
  EXPECT_EQ(count("sqlite_schema WHERE name LIKE '%orders%'"), "0");
}

TEST_F(SqliteUpgrade, SeveralAtOnceMakeItOnce) {
  const auto before = everything();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const auto store = open(path(), {.lock_max = std::chrono::seconds(60)});
      ASSERT_TRUE(store.ok()) << store.error().text();
      const auto prepared = (*store)->outbox().prepare(table_);
      EXPECT_TRUE(prepared.ok()) << prepared.error().text();
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(everything(), before);
  EXPECT_EQ(schema()->status().value().size(), 6U);
}

TEST_F(SqliteUpgrade, MessagesAreListedAndMovedAsBefore) {
  const auto store = open_store();
  EXPECT_EQ(ids(*store, MessageState::dead), (Strings{"acme-dead-1", "other-dead-1"}));
  EXPECT_EQ(ids(*store, MessageState::quarantined),
            (Strings{"acme-aside-1", "other-dead-2", "other-aside-1"}));
  EXPECT_EQ(ids(*store, MessageState::done), (Strings{"acme-done-1", "acme-done-2", "other-done-1",
                                                      "other-done-2", "plain-done-1"}));
  EXPECT_EQ(ids(*store, MessageState::pending).size(), 17U);
  const auto stats = store->outbox_admin().stats(table_).value();
  EXPECT_EQ(stats.pending, 17U);
  EXPECT_EQ(stats.waiting, 6U);

  const auto move = [&](spi::Move how, std::string_view id) {
    const std::vector named{MessageId::parse(id).value()};
    return store->outbox_admin()
        .move({.table = table_, .move = how, .ids = named, .actor = "ann"})
        .value()
        .items.at(0)
        .moved;
  };
  EXPECT_TRUE(move(spi::Move::replay, "acme-dead-1"));
  EXPECT_TRUE(move(spi::Move::replay, "other-done-1"));
  EXPECT_TRUE(move(spi::Move::release, "acme-aside-1"));
  EXPECT_TRUE(move(spi::Move::quarantine, "acme-retry-1"));
  EXPECT_EQ(store->outbox_admin().stats(table_).value().pending, 19U);
  EXPECT_TRUE(write(*store, "acme-new-1").ok()) << "another tenant's id from now on";
  EXPECT_EQ(count("orders_outbox WHERE id = 'acme-new-1'"), "2");
}

TEST_F(SqliteUpgrade, MessagesAreDeliveredInTheOrderOfTheirTenantsKeys) {
  // Whatever the clock of this machine says, the retries are not due.
  sql("UPDATE orders_pending SET due = 4070908800000000 WHERE retrying");
  const auto store = open_store();
  // Not by what is done: a relay may purge the archive of the dump, which grows old.
  const auto pending = [&] { return store->outbox_admin().stats(table_).value().pending; };
  Inbox inbox;
  {
    auto outbox = started(*store, inbox);
    ASSERT_TRUE(eventually([&] { return pending() == 17 - 10; }));
    EXPECT_EQ(in_order(inbox, "other", "customer-9"), Strings{"other-new-2"})
        << "held up by the failing key of another tenant before";
    EXPECT_TRUE(in_order(inbox, "acme", "customer-9").empty()) << "behind its own";
    outbox.stop().value();
  }
  sql("UPDATE orders_pending SET due = 1 WHERE retrying");
  auto outbox = started(*store, inbox);
  ASSERT_TRUE(eventually([&] { return pending() == 17 - 15; }));
  EXPECT_EQ(in_order(inbox, "acme", "customer-7"), (Strings{"acme-new-1", "acme-new-3"}));
  EXPECT_EQ(in_order(inbox, "other", "customer-7"), (Strings{"other-new-1", "other-new-3"}));
  EXPECT_EQ(in_order(inbox, "acme", "customer-9"), (Strings{"acme-retry-1", "acme-new-2"}));
  EXPECT_EQ(in_order(inbox, "other", "customer-5"), Strings{"other-retry-1"});
  EXPECT_EQ(ids(*store, MessageState::pending), (Strings{"acme-later-1", "other-later-1"}));
  for (const auto& [id, times] : inbox.times_by_id()) EXPECT_EQ(times, 1U) << id;
}

}  // namespace
}  // namespace sagabox::sqlite
