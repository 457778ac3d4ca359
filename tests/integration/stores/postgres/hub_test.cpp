#include "integration/stores/postgres/world.hpp"

#include <algorithm>
#include <stdexcept>
#include <thread>

namespace sagabox::postgres {
namespace {

using sagabox::testing::run_sql;

/// The delivery hub as SQL users meet it.
class PostgresHub : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (IsSkipped()) return;
    store_ = open(database_->url(), database_->options()).value();
    store_->hub()->events.prepare().value();
    user_ = database_->connect();
    sql("SET search_path = " + database_->schema());
  }
  std::vector<std::string> sql(const std::string& text) { return run_sql(user_.get(), text); }
  std::string one(const std::string& text) { return sql(text).at(0); }
  std::vector<HubEvent> events() {
    std::vector<spi::FeedRange> ranges;
    for (std::uint16_t s = 0; s < 16; ++s) ranges.push_back({Shard{s}, {}, 1000});
    auto rows = store_->hub()->events.read(ranges, 1'000'000, 0).value().events.rows;
    std::ranges::sort(rows, {}, &HubEvent::sequence);
    return rows;
  }
  /// The message of the error that it ends with; empty if it works.
  std::string refused(const std::string& text) {
    try {
      sql(text);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return {};
  }
  void refused_with(const std::string& call, const std::string& part) {
    const auto error = refused("SELECT " + call);
    EXPECT_NE(error.find("ERROR:  " + part), std::string::npos) << call << ": " << error;
  }
  /// What a NOTIFY of this transaction is about; empty if it sent none.
  std::string notified_by(const std::string& text) {
    sql(text);
    PQconsumeInput(user_.get());
    std::string about;
    while (auto* const notify = PQnotifies(user_.get())) {
      about = notify->extra;
      PQfreemem(notify);
    }
    return about;
  }
  /// A delivery in this state, as the router would have made it; its id.
  std::string add_delivery(const std::string& event, const std::string& state,
                           const std::string& tenant = "default") {
    return one(
        "INSERT INTO hub_delivery (id, event, subscription, generation, tenant, type, key, shard, "
        "state, next_attempt_at, created_at, correlation_id) VALUES ('d' || "
        "left(encode(sha256(convert_to('" +
        event + " s1 0', 'UTF8')), 'hex'), 32), '" + event + "', 's1', 0, '" + tenant +
        "', 't', '', 3, '" + state + "', now(), now(), '') RETURNING id");
  }

  /// Of all shards, in the name of one owner.
  spi::Fencing own_deliveries() {
    static const spi::Scope scope("hub:deliveries");
    const auto owner = ids_.next<WorkerId>();
    auto& ownership = store_->ownership();
    EXPECT_TRUE(ownership.join(owner, std::chrono::hours(1), std::span(&scope, 1), 16).ok());
    fences_.clear();
    for (const auto& shard : ownership.take(scope, owner, 16).value()) {
      fences_.push_back({shard.shard, shard.epoch});
    }
    return {scope, owner, fences_};
  }

  std::unique_ptr<Store> store_;
  sagabox::testing::PgConnection user_;
  std::vector<spi::Fence> fences_;
};

TEST_F(PostgresHub, PublishedEventIsWhatItsArgumentsSay) {
  const auto id = one(
      R"(SELECT id FROM publish_event('shop.order.placed.v1', '{"city":"Köln"}', key => 'order-7',
           external_id => 'o7', source => 'shop', tenant => 'acme', headers => '{"a":"b"}',
           occurred_at => '2026-01-02 03:04:05Z', aggregate_type => 'order', aggregate_id => '7',
           priority => 0, traceparent => '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
           tracestate => 'x=y', request_id => 'r1', correlation_id => 'c1'))");
  const auto stored = events();
  ASSERT_EQ(stored.size(), 1U);
  const auto& event = stored[0];
  EXPECT_EQ(event.id.view(), id);
  EXPECT_EQ(event.source, "shop");
  EXPECT_EQ(event.external_id, "o7");
  const auto& message = *event.message;
  EXPECT_EQ(message.topic(), "shop.order.placed.v1");
  EXPECT_EQ(message.payload().view(), R"({"city":"Köln"})");
  EXPECT_EQ(message.payload().form(), PayloadForm::json);
  EXPECT_EQ(message.digest(), sha256(message.payload().view()));
  EXPECT_EQ(message.tenant(), "acme");
  EXPECT_EQ(message.key(), "order-7");
  EXPECT_EQ(message.headers().at(0), std::pair(std::string("a"), std::string("b")));
  EXPECT_EQ(message.content_type(), "application/json");
  EXPECT_EQ(message.aggregate_type(), "order");
  EXPECT_EQ(message.aggregate_id(), "7");
  EXPECT_EQ(message.priority(), Priority::high);
  EXPECT_EQ(message.trace().tracestate, "x=y");
  EXPECT_EQ(message.trace().request_id, "r1");
  EXPECT_EQ(message.trace().correlation_id, "c1");
}

TEST_F(PostgresHub, PayloadsOfEveryTypeAreStored) {
  sql("SELECT publish_event('t', '{ \"a\" : 1 }')");
  sql("SELECT publish_event('t', '{ \"a\" : 1 }'::json)");
  sql("SELECT publish_event('t', '{ \"a\" : 1 }'::jsonb)");
  sql("SELECT publish_event('t', '\\x0001'::bytea)");
  const auto stored = events();
  ASSERT_EQ(stored.size(), 4U);
  EXPECT_EQ(stored[0].message->payload().view(), "{ \"a\" : 1 }");
  EXPECT_EQ(stored[1].message->payload().view(), "{ \"a\" : 1 }");
  EXPECT_EQ(stored[2].message->payload().view(), "{\"a\": 1}");
  EXPECT_EQ(stored[3].message->payload().view(), std::string("\0\1", 2));
  EXPECT_EQ(stored[3].message->payload().form(), PayloadForm::bytes);
  EXPECT_EQ(stored[3].message->content_type(), "application/octet-stream");
}

TEST_F(PostgresHub, PublishingIsOneWithTheTransactionOfTheCaller) {
  sql("BEGIN; SELECT publish_event('t', '{}')");
  EXPECT_TRUE(events().empty());
  sql("ROLLBACK");
  EXPECT_TRUE(events().empty());
  sql("BEGIN; SELECT publish_event('t', '{}'); COMMIT");
  EXPECT_EQ(events().size(), 1U);
}

TEST_F(PostgresHub, RepeatedExternalIdIsTheSameEvent) {
  const std::string call =
      "publish_event('t', '{}', external_id => 'e1', source => 'shop', tenant => 'acme')";
  const auto first = sql("SELECT * FROM " + call);
  EXPECT_EQ(first.at(1), "f");
  EXPECT_EQ(sql("SELECT * FROM " + call), (std::vector<std::string>{first[0], "t"}));
  // Of another source or tenant it is another one, and without an id each is.
  EXPECT_NE(one("SELECT id FROM publish_event('t', '{}', external_id => 'e1', tenant => 'acme')"),
            first[0]);
  EXPECT_NE(one("SELECT id FROM publish_event('t', '{}', external_id => 'e1', source => 'shop')"),
            first[0]);
  EXPECT_NE(one("SELECT id FROM publish_event('t', '{}')"),
            one("SELECT id FROM publish_event('t', '{}')"));
  EXPECT_EQ(events().size(), 5U);
}

TEST_F(PostgresHub, LibraryAndSqlKnowEachOthersEvents) {
  sql("SELECT publish_event('orders.order.placed.v1', '{}', external_id => 'e1', source => 's')");
  const auto published = [&](const std::string& external_id) {
    const HubEvent event{.id = ids_.next<EventId>(),
                         .message = message(),
                         .source = "s",
                         .external_id = external_id};
    return store_
        ->transaction(
            [&](OwnedTransaction& tx) { return tx.events().publish(std::span(&event, 1)); })
        .value()
        .front();
  };
  EXPECT_TRUE(published("e1").duplicate);
  const auto ours = published("e2");
  EXPECT_FALSE(ours.duplicate);
  EXPECT_EQ(sql("SELECT * FROM publish_event('orders.order.placed.v1', '{}', external_id => 'e2', "
                "source => 's')"),
            (std::vector<std::string>{ours.id.str(), "t"}));
}

TEST_F(PostgresHub, AnotherEventUnderAKnownExternalIdIsRefused) {
  sql("SELECT publish_event('t', '{}', external_id => 'e1')");
  refused_with("publish_event('t', '{\"a\":1}', external_id => 'e1')",
               "external_id: an event with 'e1' of source '' was published with another type or "
               "payload; another event needs another id");
  refused_with("publish_event('u', '{}', external_id => 'e1')", "external_id: an event with 'e1'");
  EXPECT_EQ(events().size(), 1U);
}

TEST_F(PostgresHub, WhatIsWrongWithAnEventIsSaid) {
  refused_with("publish_event('', '{}')", "type: empty; give 1 to 128 printable characters");
  refused_with("publish_event(NULL, '{}')", "type: empty");
  refused_with("publish_event('t', '{')", "payload: not JSON");
  refused_with("publish_event('t', NULL::text)", "payload: missing");
  refused_with(R"(publish_event('t', '"\ud800"'))", "payload: not JSON");
  refused_with("publish_event('t', repeat('[', 513) || repeat(']', 513))",
               "payload: nested deeper than 512 levels");
  refused_with("publish_event('t', '{}', tenant => '')", "tenant: empty");
  refused_with("publish_event('t', '{}', key => E'a\\nb')", "key: has a control character");
  refused_with("publish_event('t', '{}', source => repeat('s', 256))", "source: 256 characters");
  refused_with("publish_event('t', '{}', external_id => E'\\x01')", "external_id: has a control");
  refused_with("publish_event('t', '{}', headers => '[1]')", "headers: not a JSON object");
  refused_with("publish_event('t', '{}', traceparent => 'x')", "traceparent: not W3C");
  refused_with("publish_event('t', '{}', priority => 5)", "priority: 5 is none");
  refused_with("publish_event('t', '{}', source => 'hub')", "source: \"hub\" is the hub itself");
  refused_with("publish_event('hub.subscription.disabled.v1', '{}')",
               "type: types that begin with \"hub.\" are of the hub itself");
  EXPECT_TRUE(events().empty());
  // As the library does.
  sql("SELECT publish_event('t', repeat('[', 512) || repeat(']', 512))");
  sql(R"(SELECT publish_event('t', '"\u0000"'))");
  EXPECT_EQ(events().size(), 2U);
}

TEST_F(PostgresHub, CommitsNotifyThoseWhoSleepAndOnlyThen) {
  sql("LISTEN \"sagabox " + database_->schema() + "\"");
  sql("SET sagabox.notify = on");
  auto roles = *store_->hub();
  const auto sleeps = [&](const std::string& feed) {
    return one("SELECT coalesce(pg_sequence_last_value('hub_" + feed +
               "_flags'), 0) & 2147483647") != "0";
  };
  const auto job = [&](const std::string& delivery) {
    return "INSERT INTO hub_job (delivery, attempt, shard, subscription) VALUES ('" + delivery +
           "', 1, 3, 's1')";
  };
  while (!sleeps("events")) {
    roles.events.wait(std::chrono::milliseconds(50));
    (void)events();
  }
  EXPECT_EQ(notified_by("SELECT publish_event('t', '{}')"), "hub:events");
  EXPECT_EQ(notified_by(job("d1")), "") << "nobody sleeps there";
  while (!sleeps("deliveries")) roles.deliveries.wait(std::chrono::milliseconds(50));
  EXPECT_EQ(notified_by("UPDATE hub_job SET ended_at = now(), state = 'completed'"),
            "hub:deliveries");
  while (!sleeps("deliveries")) roles.deliveries.wait(std::chrono::milliseconds(50));
  EXPECT_EQ(notified_by("INSERT INTO hub_delivery (id, event, subscription, generation, tenant, "
                        "type, key, shard, next_attempt_at, created_at, correlation_id) VALUES "
                        "('d2', 'e', 's', 0, 't', 't', '', 3, now(), now(), '')"),
            "hub:deliveries");
  while (!sleeps("jobs")) roles.jobs.wait(std::chrono::milliseconds(50));
  EXPECT_EQ(notified_by(job("d2")), "hub:jobs");
}

TEST_F(PostgresHub, PublishersDoNotWaitForEachOther) {
  sql("BEGIN; SELECT publish_event('t', '{}', key => 'k', external_id => 'e1')");
  const auto other = database_->connect();
  run_sql(other.get(), "SET lock_timeout = '1ms'");
  run_sql(other.get(), "SELECT " + in_schema("publish_event('t', '{}', key => 'k', "
                                             "external_id => 'e2')"));
  EXPECT_EQ(events().size(), 1U);
  sql("COMMIT");
  EXPECT_EQ(events().size(), 2U);
}

TEST_F(PostgresHub, WorkersPassOverTheJobsThatOthersHaveLocked) {
  auto& jobs = store_->hub()->jobs;
  std::vector<std::string> deliveries;
  for (int i = 0; i < 2; ++i) {
    deliveries.push_back(
        add_delivery(one("SELECT id FROM publish_event('t', '{}')"), "in_progress"));
    sql("INSERT INTO hub_job (delivery, attempt, shard, subscription) VALUES ('" +
        deliveries.back() + "', 1, 3, 's1')");
  }
  const auto lock =
      "BEGIN; SELECT FROM hub_job WHERE delivery = '" + deliveries[0] + "' FOR NO KEY UPDATE";
  sql(lock);
  const auto other = jobs.lease("w", ids_.next<LeaseToken>(), Duration{}, 10).value();
  ASSERT_EQ(other.size(), 1U);
  EXPECT_EQ(other[0].job.delivery.view(), deliveries[1]);
  sql("COMMIT");
  EXPECT_EQ(jobs.lease("w", ids_.next<LeaseToken>(), Duration{}, 10).value().size(), 1U);
  // So does the cleaner.
  sql(lock);
  EXPECT_EQ(jobs.reset(10).value().reset, 1U);
  sql("COMMIT");
  EXPECT_EQ(jobs.reset(10).value().reset, 1U);
}

TEST_F(PostgresHub, ExecuteIsAllThatAPublisherNeeds) {
  const auto role = database_->schema() + "_publisher";
  database_->sql("CREATE ROLE " + role + " LOGIN");
  database_->sql("GRANT USAGE ON SCHEMA " + database_->schema() + " TO " + role);
  const auto as_role = [&](const std::string& text) {
    sql("SET ROLE " + role);
    const auto error = refused(text);
    sql("RESET ROLE");
    return error.empty();
  };
  EXPECT_FALSE(as_role("SELECT publish_event('t', '{}')"));
  database_->sql("GRANT EXECUTE ON FUNCTION " +
                 in_schema("publish_event(text, text, text, text, text, text, jsonb, text, "
                           "timestamptz, text, text, integer, text, text, text, text)") +
                 " TO " + role);
  EXPECT_TRUE(as_role("SELECT publish_event('t', '{}')"));
  EXPECT_FALSE(as_role("SELECT * FROM hub_event"));
  EXPECT_FALSE(as_role("SELECT requeue('d')"));
  database_->sql("DROP OWNED BY " + role + "; DROP ROLE " + role);
}

TEST_F(PostgresHub, DeadDeliveryIsRequeuedOnce) {
  sql("SELECT publish_event('t', '{}')");
  const auto event = one("SELECT id FROM hub_event");
  const auto dead = add_delivery(event, "dead");
  refused_with("requeue('nobody')", "delivery: there is no dead one 'nobody'");
  refused_with("requeue('" + dead + "', 'acme')", "delivery: there is no dead one");
  const auto made = one("SELECT requeue('" + dead + "', 'default')");
  EXPECT_EQ(
      made,
      delivery_id_of(EventId::parse(event).value(), SubscriptionId::parse("s1").value(), 1).view());
  EXPECT_EQ(one("SELECT requeue('" + dead + "')"), made) << "repeated, it is the same";
  refused_with("requeue('" + made + "')", "delivery: there is no dead one");
  EXPECT_EQ(
      sql("SELECT generation, state, shard, attempt FROM hub_delivery WHERE id = '" + made + "'"),
      (std::vector<std::string>{"1", "pending", "3", "0"}));
  sql("UPDATE hub_delivery SET state = 'dead' WHERE id = '" + made + "'");
  refused_with("requeue('" + dead + "')", "delivery: '" + dead + "' was sent again and died again");
  EXPECT_EQ(one("SELECT state FROM hub_delivery WHERE id = '" + dead + "'"), "dead");
}

TEST_F(PostgresHub, RequeueInSqlIsInTheAuditLog) {
  auto& audit = store_->audit();
  const AuditEvent before{.kind = AuditKind::paused, .detail = "by the library"};
  ASSERT_TRUE(audit.append(std::span(&before, 1)).ok());
  const auto dead = add_delivery(one("SELECT id FROM publish_event('t.ö', '{}')"), "dead", "süd");
  sql("UPDATE hub_delivery SET type = 't.ö', attempt = 3, code = 'TX.TIMEOUT'");
  const auto made = one("SELECT requeue('" + dead + "')");
  EXPECT_EQ(one("SELECT requeue('" + dead + "')"), made);
  ASSERT_TRUE(audit.append(std::span(&before, 1)).ok());
  const auto entries = audit.read(0, 10).value();
  ASSERT_EQ(entries.size(), 3U) << "a repetition changes nothing";
  AuditVerifier verifier;
  for (const auto& entry : entries) EXPECT_EQ(verifier.next(entry), "");
  EXPECT_EQ(verifier.end(audit.head().value()), "");
  const auto& event = entries[1].event;
  EXPECT_EQ(event.kind, AuditKind::hub_delivery_requeued);
  EXPECT_EQ(event.table, "hub");
  EXPECT_EQ(event.tenant, "süd");
  EXPECT_EQ(event.topic, "t.ö");
  EXPECT_EQ(event.message_id, dead);
  EXPECT_EQ(event.attempt, 3U);
  EXPECT_EQ(event.code, "TX.TIMEOUT");
  EXPECT_EQ(event.detail, "requeue() in SQL");
  EXPECT_EQ(event.actor, one("SELECT session_user"));
}

TEST_F(PostgresHub, RequeueInSqlRefusesDisabledSubscriptions) {
  const auto dead = add_delivery(one("SELECT id FROM publish_event('t', '{}')"), "dead");
  SubscriptionRecord record;
  record.id = SubscriptionId::parse("s1").value();
  record.tenant = "default";
  record.types = {"**"};
  record.target = "http://hooks/";
  record.state = SubscriptionState::disabled;
  record.version = 1;
  ASSERT_TRUE(store_->hub()->subscriptions.write(record, {}).value());
  refused_with("requeue('" + dead + "')", "delivery: subscription s1 of '" + dead +
                                              "' is disabled, and what is requeued would die at "
                                              "once; enable it first");
  EXPECT_EQ(one("SELECT count(*) FROM hub_delivery"), "1");
  record.state = SubscriptionState::active;
  record.version = 2;
  ASSERT_TRUE(store_->hub()->subscriptions.write(record, {}).value());
  EXPECT_NE(one("SELECT requeue('" + dead + "')"), "");
}

TEST_F(PostgresHub, OfTwoRequeuesAtOnceOneMakesItAndIsInTheAuditLog) {
  const auto dead = add_delivery(one("SELECT id FROM publish_event('t', '{}')"), "dead");
  const auto gone = add_delivery(one("SELECT id FROM publish_event('t', '{}')"), "dead");
  const auto dead_id = DeliveryId::parse(dead).value();
  const auto gone_id = DeliveryId::parse(gone).value();
  const auto other = database_->connect();
  run_sql(other.get(), "SET search_path = " + database_->schema() + "; BEGIN");
  const auto made = run_sql(other.get(), "SELECT requeue('" + dead + "')").at(0);
  // It dies again before the other one looks: that one answers for it, and for the rest.
  run_sql(other.get(), "UPDATE hub_delivery SET state = 'dead' WHERE id = '" + made + "'");
  const std::array ids{dead_id, gone_id};
  AuditEvent act{.kind = AuditKind::hub_delivery_requeued, .actor = "ann"};
  const std::array acts{act, act};
  Result<std::vector<spi::Requeued>> answers{std::vector<spi::Requeued>()};
  std::thread second([&] { answers = store_->hub()->admin.requeue(ids, std::nullopt, acts); });
  while (one("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") == "0") {
    std::this_thread::yield();
  }
  run_sql(other.get(), "COMMIT");
  second.join();
  ASSERT_TRUE(answers.ok()) << answers.error().message;
  EXPECT_EQ((*answers)[0].outcome, spi::Requeued::Outcome::not_newest);
  EXPECT_EQ((*answers)[1].outcome, spi::Requeued::Outcome::made);
  EXPECT_EQ(store_->audit().read(0, 10).value().size(), 2U);
}

TEST_F(PostgresHub, RequeueThatCommitsLateIsNotInFlightBesideALaterOneOfItsKey) {
  const auto owner = own_deliveries();
  auto& deliveries = store_->hub()->deliveries;
  const auto add = [&](const std::string& id, const std::string& state) {
    sql("INSERT INTO hub_delivery (id, event, subscription, generation, tenant, type, key, shard, "
        "state, next_attempt_at, created_at, correlation_id) VALUES ('" +
        id + "', 'e" + id + "', 's1', 0, 'default', 't', 'k', 3, '" + state +
        "', now(), now(), '')");
  };
  const auto begin = [&](const std::string& id, std::uint32_t attempt) {
    const spi::AttemptOf of{DeliveryId::parse(id).value(), attempt};
    return deliveries.begin(owner, std::span(&of, 1)).value();
  };
  const auto state = [&](const std::string& id) {
    return one("SELECT state FROM hub_delivery WHERE id = '" + id + "'");
  };
  add("dead", "dead");
  const auto other = database_->connect();
  run_sql(other.get(), "SET search_path = " + database_->schema() + "; BEGIN");
  const auto requeued = run_sql(other.get(), "SELECT requeue('dead')").at(0);
  add("later", "pending");
  EXPECT_EQ(begin("later", 1).begun.size(), 1U) << "there is nothing before it yet";
  run_sql(other.get(), "COMMIT");
  EXPECT_TRUE(begin(requeued, 1).begun.empty()) << "one of its key is under way";
  EXPECT_EQ(state(requeued), "waiting");
  EXPECT_EQ(deliveries.release_strays(owner, {.shard = Shard{3}, .rows_max = 10}).value().released,
            0U);
  // A retry of the later one lets it go first.
  const spi::DeliveryChange again{.of = {DeliveryId::parse("later").value(), 1},
                                  .state = DeliveryState::pending,
                                  .failures = 1,
                                  .next_attempt_at = WallTime{}};
  EXPECT_EQ(deliveries.change(owner, std::span(&again, 1)).value().changed.size(), 1U);
  EXPECT_EQ(state(requeued), "pending");
  EXPECT_EQ(begin("later", 2).waiting.size(), 1U);
  EXPECT_EQ(begin(requeued, 1).begun.size(), 1U);
  const spi::DeliveryChange ends{.of = {DeliveryId::parse(requeued).value(), 1},
                                 .state = DeliveryState::completed};
  EXPECT_EQ(deliveries.change(owner, std::span(&ends, 1)).value().changed.size(), 1U);
  EXPECT_EQ(state("later"), "pending");
  EXPECT_EQ(begin("later", 2).begun.size(), 1U);
  // The table itself keeps it.
  add("third", "pending");
  EXPECT_NE(refused("UPDATE hub_delivery SET state = 'in_progress' WHERE id = 'third'")
                .find("hub_delivery_key_in_progress"),
            std::string::npos);
}

TEST_F(PostgresHub, StepBackBringsTheRequeueOfBefore) {
  const auto dead = add_delivery(one("SELECT id FROM publish_event('t', '{}')"), "dead");
  sql("INSERT INTO hub_position SELECT shard, seq FROM hub_event");
  schema()->down({.engine = "hub", .to = 1}).value();
  EXPECT_NE(one("SELECT requeue('" + dead + "')"), "");
  EXPECT_TRUE(store_->audit().read(0, 10).value().empty());
  sql("DELETE FROM hub_delivery WHERE state = 'pending'");
  store_->hub()->events.prepare().value();
  EXPECT_NE(one("SELECT requeue('" + dead + "')"), "");
  EXPECT_EQ(store_->audit().read(0, 10).value().size(), 1U);
}

TEST_F(PostgresHub, StraysAreReleasedPageByPage) {
  sql("INSERT INTO hub_delivery (id, event, subscription, generation, tenant, type, key, shard, "
      "state, next_attempt_at, created_at, correlation_id) SELECT 'd' || n, 'e' || n, 's' || n % "
      "3, "
      "0, 'default', 't', 'k' || n / 3, 3, CASE WHEN n < 3 THEN 'in_progress' ELSE 'waiting' END, "
      "now(), now(), '' FROM generate_series(0, 29) AS n");
  // Behind one that is open, it is no stray.
  sql("UPDATE hub_delivery SET key = 'k0' WHERE id IN ('d3', 'd4', 'd5')");
  const auto owner = own_deliveries();
  std::optional<spi::WaitingPage> page =
      spi::WaitingPage{.shard = Shard{3}, .subscription = {}, .after = {}, .rows_max = 10};
  std::vector<std::uint64_t> released;
  while (page) {
    const auto reply = store_->hub()->deliveries.release_strays(owner, *page).value();
    released.push_back(reply.released);
    page = reply.next;
  }
  EXPECT_EQ(released, (std::vector<std::uint64_t>{8, 9, 7}));
  EXPECT_EQ(one("SELECT string_agg(id, ' ' ORDER BY id) FROM hub_delivery "
                "WHERE state = 'waiting'"),
            "d3 d4 d5");
}

TEST_F(PostgresHub, TablesOfOtherShardsAreRefused) {
  auto options = database_->options();
  options.shards = 8;
  const auto other = open(database_->url(), options).value();
  EXPECT_EQ(other->hub()->events.prepare().error().code, Code::config_invalid);
}

TEST_F(PostgresHub, MigrateDownRefusesWhileSomethingIsOnItsWay) {
  const spi::SchemaDown everything{.engine = "hub", .to = 0};
  sql("SELECT publish_event('t', '{}')");
  EXPECT_EQ(schema()->down(everything).error().code, Code::tx_invalid_state) << "not routed";
  sql("INSERT INTO hub_position SELECT shard, seq FROM hub_event");
  const auto delivery = add_delivery(one("SELECT id FROM hub_event"), "waiting");
  const auto error = schema()->down(everything).error();
  EXPECT_EQ(error.code, Code::tx_invalid_state);
  EXPECT_NE(error.message.find("let the hub finish them"), std::string::npos) << error.message;
  for (const auto* state : {"pending", "in_progress"}) {
    sql("UPDATE hub_delivery SET state = '" + std::string(state) + "'");
    EXPECT_EQ(schema()->down(everything).error().code, Code::tx_invalid_state) << state;
  }
  sql("UPDATE hub_delivery SET state = 'dead'");
  schema()->down(everything).value();
  EXPECT_NE(refused("SELECT * FROM hub_event"), "");
  store_->hub()->events.prepare().value();
  sql("SELECT publish_event('t', '{}')");
  auto forced = everything;
  forced.force = true;
  schema()->down(forced).value();
}

}  // namespace
}  // namespace sagabox::postgres
