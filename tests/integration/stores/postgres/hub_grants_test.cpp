#include "integration/stores/postgres/world.hpp"
#include "spi/hub_rules.hpp"

#include <map>
#include <utility>

namespace sagabox::postgres {
namespace {

using sagabox::testing::PgConnection;
using std::chrono::seconds;

constexpr std::uint16_t shards = 16;

/// Each role of the hub as a database user of its own, with what `sagabox hub grants` prints.
class PostgresHubGrants : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (IsSkipped()) return;
    open(database_->url(), database_->options()).value()->hub()->events.prepare().value();
    for (const auto role : spi::hub_roles) {
      const auto user = user_of(role);
      database_->sql("CREATE ROLE \"" + user + "\" LOGIN");
      database_->sql(schema()->hub_grants({.role = std::string(role), .user = user}).value());
    }
  }
  void TearDown() override {
    stores_.clear();
    if (IsSkipped()) return;
    for (const auto role : spi::hub_roles) {
      const auto user = "\"" + user_of(role) + "\"";
      database_->sql("DROP OWNED BY " + user + "; DROP ROLE " + user);
    }
  }
  /// With what would need quotes.
  [[nodiscard]] std::string user_of(std::string_view role) const {
    return database_->schema() + "-the " + std::string(role);
  }
  [[nodiscard]] std::string url_of(std::string_view role) const {
    return database_->url() + " user='" + user_of(role) + "'";
  }
  /// Opened by the role's user, and prepared as its process would do it.
  Store& as(const std::string& role) {
    auto& store = stores_[role];
    if (!store) {
      store = open(url_of(role), database_->options()).value();
      store->hub()->events.prepare().value();
    }
    return *store;
  }
  HubRoles hub(const std::string& role) { return *as(role).hub(); }
  /// Holds every shard of a scope; as long as the test does.
  spi::Fencing own(const std::string& role, const std::string& scope) {
    auto& store = as(role).ownership();
    const auto at = owned_.try_emplace(scope).first;
    auto& [owner, fences] = at->second;
    owner = ids_.next<WorkerId>();
    const std::vector<spi::Scope> scopes{scope};
    EXPECT_TRUE(store.join(owner, seconds(60), scopes, shards).value().live);
    for (const auto& taken : store.take(scope, owner, shards).value()) {
      fences.push_back({taken.shard, taken.epoch});
    }
    EXPECT_EQ(fences.size(), shards);
    return {at->first, owner, fences};
  }
  HubEvent event() { return {.id = ids_.next<EventId>(), .message = message(), .source = "shop"}; }
  static SubscriptionRecord subscription() {
    SubscriptionRecord record;
    record.id = SubscriptionId::parse("s1").value();
    record.tenant = "default";
    record.state = SubscriptionState::active;
    record.types = {"**"};
    record.target = "https://hooks.example.com";
    record.settings = "{}";
    record.version = 1;
    return record;
  }
  static AuditEvent act() {
    AuditEvent event;
    event.kind = AuditKind::replayed;
    event.at = system_clock().wall_now();
    event.actor = "ann";
    return event;
  }
  /// What a user is refused, statement by statement; {s} stands for the schema.
  void may_not(const std::string& role, const std::vector<std::string>& statements) {
    const PgConnection connection(PQconnectdb(url_of(role).c_str()));
    ASSERT_EQ(PQstatus(connection.get()), CONNECTION_OK) << PQerrorMessage(connection.get());
    for (auto sql : statements) {
      for (auto at = sql.find("{s}"); at != std::string::npos; at = sql.find("{s}")) {
        sql.replace(at, 3, database_->schema());
      }
      const std::unique_ptr<PGresult, decltype(&PQclear)> result(
          PQexec(connection.get(), sql.c_str()), &PQclear);
      const char* state = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
      EXPECT_EQ(std::string(state == nullptr ? "" : state), "42501") << role << ": " << sql;
    }
  }

  std::map<std::string, std::unique_ptr<Store>> stores_;
  std::map<std::string, std::pair<WorkerId, std::vector<spi::Fence>>> owned_;
};

/// The way of an event through all roles; each test goes on from what the roles before have left.
class PostgresHubRoles : public PostgresHubGrants {
 protected:
  /// What it can do besides: a batch that is refused takes back what it has inserted.
  void work_of_ingest(const HubEvent& told) {
    auto other = told;
    other.message = std::make_shared<const Message>(
        Message::build({.topic = "t", .payload = json("1")}, MessageRules{}, ids_, author_clock_)
            .value());
    const std::array both{event(), other};
    auto tx = as("ingest").begin().value();
    EXPECT_EQ(tx->events().publish(both).error().code, Code::tx_idempotent_mismatch);
    tx->commit().value();
    const PgConnection user(PQconnectdb(url_of("ingest").c_str()));
    sagabox::testing::run_sql(user.get(), "SELECT " + in_schema("publish_event('t', '{}')"));
  }
  void administer() {
    auto& store = hub("admin").subscriptions;
    const std::array acts{act()};
    EXPECT_TRUE(store.write(wanted_, acts).value());
    EXPECT_EQ(store.add_secret(wanted_.id, "sealed", seconds(60), acts).value(), 1U);
    EXPECT_EQ(store.list({}).value().size(), 1U);
  }
  Result<std::vector<Published>> publish(const HubEvent& one) {
    return as("ingest").transaction(
        [&](OwnedTransaction& tx) { return tx.events().publish(std::span(&one, 1)); });
  }
  /// Every event; the first one's delivery is `delivery_`.
  void route() {
    auto router = hub("router");
    const auto routing = own("router", "hub:router");
    std::vector<spi::FeedRange> ranges;
    std::vector<Shard> all_shards;
    for (std::uint16_t s = 0; s < shards; ++s) {
      ranges.push_back({Shard{s}, {}, 100});
      all_shards.push_back(Shard{s});
    }
    const auto read = router.events.read(ranges, 1'000'000, 0).value();
    EXPECT_EQ(read.changed.size(), 1U);
    std::vector<DeliveryRecord> deliveries;
    std::vector<spi::RoutingPosition> positions;
    for (const auto& one : read.events.rows) {
      DeliveryRecord record;
      record.id = delivery_id_of(one.id, wanted_.id, 0);
      record.event = one.id;
      record.subscription = wanted_.id;
      record.tenant = "default";
      record.type = one.message->topic();
      record.shard = spi::delivery_shard(wanted_.id, shards);
      deliveries.push_back(record);
      positions = {{one.shard, one.sequence}};
    }
    EXPECT_EQ(router.deliveries.add(deliveries).value(), deliveries.size());
    EXPECT_EQ(router.deliveries.add(deliveries).value(), 0U);
    EXPECT_EQ(router.events.move(routing, positions).value(), std::vector<bool>(shards, true));
    EXPECT_EQ(router.events.positions(all_shards).value().size(), shards);
    router.events.wait({});
    delivery_ = deliveries.front();
  }
  /// Begins the delivery and makes its job.
  spi::Fencing begin() {
    auto& owner = hub("orchestrator").deliveries;
    const auto owning = own("orchestrator", "hub:deliveries");
    const std::array attempt{spi::AttemptOf{delivery_.id, 1}};
    const auto shard = delivery_.shard;
    EXPECT_EQ(owner.subscriptions(0).value().size(), 1U);
    EXPECT_EQ(owner.open(shard, {}, 10).value().size(), 1U);
    const spi::PendingPage page{.shard = shard, .subscription = wanted_.id, .rows_max = 10};
    EXPECT_EQ(owner.due(std::span(&page, 1)).value().front().id, delivery_.id);
    EXPECT_EQ(owner.begin(owning, attempt).value().begun.size(), 1U);
    EXPECT_EQ(owner.in_progress(shard, {}, 10).value().size(), 1U);
    EXPECT_EQ(owner.without_job(attempt).value().size(), 1U);
    JobRecord job;
    job.delivery = delivery_.id;
    job.attempt = 1;
    job.shard = shard;
    job.subscription = wanted_.id;
    owner.make_jobs(std::span(&job, 1)).value();
    EXPECT_EQ(owner.release_strays(owning, {.shard = shard, .rows_max = 10}).value().released, 0U);
    return owning;
  }
  void work() {
    auto worker = hub("worker");
    const auto lost = ids_.next<LeaseToken>();
    EXPECT_EQ(worker.jobs.lease("w1", lost, Duration{}, 10).value().size(), 1U);
    database_->advance_time(seconds(1));
    EXPECT_EQ(worker.jobs.reset(10).value().reset, 1U);
    const auto token = ids_.next<LeaseToken>();
    const auto leased = worker.jobs.lease("w1", token, seconds(60), 10).value();
    ASSERT_EQ(leased.size(), 1U);
    EXPECT_NE(leased[0].event.message, nullptr);
    const auto subscription = leased[0].job.subscription;
    EXPECT_EQ(worker.subscriptions.secrets(std::span(&subscription, 1)).value()[0].secrets.size(),
              1U);
    EXPECT_TRUE(worker.subscriptions.get(subscription).value());
    const spi::FinishedJob failed{.of = {delivery_.id, 1},
                                  .result = {.code = Code::tx_timeout, .error = "late"}};
    EXPECT_EQ(worker.jobs.finish(token, std::span(&failed, 1)).value(), std::vector<bool>{true});
    worker.jobs.wait({});
  }
  /// The delivery dies, and its subscription is disabled.
  void end(const spi::Fencing& owning) {
    auto& owner = hub("orchestrator").deliveries;
    EXPECT_EQ(owner.ended(delivery_.shard, 10).value().size(), 1U);
    owner.bury(std::array{delivery_.id}).value();
    const AuditEvent told{.kind = AuditKind::dead_letter, .message_id = delivery_.id.str()};
    EXPECT_TRUE(as("orchestrator").audit().append(std::span(&told, 1)).ok());
    const spi::DeliveryChange death{
        .of = {delivery_.id, 1}, .state = DeliveryState::dead, .code = Code::tx_timeout};
    const auto died = owner.change(owning, std::span(&death, 1)).value();
    EXPECT_EQ(died.held, std::vector<bool>(shards, true));
    EXPECT_EQ(died.changed.size(), 1U);
    owner.seen(std::array{death.of}).value();
    const AuditEvent gone{.kind = AuditKind::hub_subscription_disabled};
    EXPECT_TRUE(owner
                    .disable(owning, wanted_.id, owner.subscriptions(0).value().at(0).change,
                             "gone", std::span(&gone, 1))
                    .value()
                    .disabled);
    EXPECT_TRUE(owner.doomed(delivery_.shard, wanted_.id, 10).value().empty());
    EXPECT_TRUE(owner.end_unsent(owning, {}).value().changed.empty());
    owner.wait({});
  }

  SubscriptionRecord wanted_ = subscription();
  DeliveryRecord delivery_;
};

TEST_F(PostgresHubRoles, EachUserCanDoAllOfItsWork) {
  administer();
  const auto told = event();
  EXPECT_FALSE(publish(told).value().front().duplicate);
  EXPECT_TRUE(publish(told).value().front().duplicate);
  route();
  work_of_ingest(told);
  const auto owning = begin();
  work();
  end(owning);

  auto& looked = hub("operator").admin;
  EXPECT_EQ(looked.events({}).value().size(), 2U);
  EXPECT_TRUE(looked.event(told.id).value());
  EXPECT_EQ(looked.deliveries({}).value().size(), 1U);
  EXPECT_EQ(looked.attempts(delivery_.id).value().size(), 1U);
  EXPECT_TRUE(looked.dead(delivery_.id).value());
  EXPECT_EQ(looked.count({}).value().size(), 1U);
  EXPECT_EQ(looked.health(wanted_.id, seconds(60), 100).value().failed, 1U);
  EXPECT_EQ(hub("operator").subscriptions.list({}).value().size(), 1U);
  const std::array acts{act()};
  const auto requeued = looked.requeue(std::array{delivery_.id}, {}, acts).value();
  EXPECT_EQ(requeued[0].outcome, spi::Requeued::Outcome::made);
  EXPECT_EQ(looked.delivery(requeued[0].made).value()->generation, 1U);
  EXPECT_EQ(looked.requeue(std::array{delivery_.id}, {}, acts).value()[0].outcome,
            spi::Requeued::Outcome::repeated);
  const auto entries = as("operator").audit().read({}, 10).value();
  ASSERT_EQ(entries.size(), 5U);
  const auto& last = entries.back().event;
  EXPECT_EQ(last.kind, AuditKind::hub_delivery_requeued);
  EXPECT_EQ(last.message_id, delivery_.id.view());
  EXPECT_EQ(last.detail, act().detail);
  // Who cannot write to the log does not choose the name in it.
  EXPECT_TRUE(last.actor.starts_with(act().actor + " (")) << last.actor;
  EXPECT_TRUE(last.actor.ends_with("operator)")) << last.actor;
}

TEST_F(PostgresHubGrants, NobodyCanDoAnothersWork) {
  const std::vector<std::string> others_deliveries{
      "UPDATE {s}.hub_delivery SET state = 'dead'",
      "DELETE FROM {s}.hub_delivery",
      "TRUNCATE {s}.hub_delivery",
      "SELECT {s}.requeue('d')",
      "SELECT {s}.hub_requeue('d')",
      "SELECT {s}.hub_audit('', '', '', '', 1, '', '', '')",
      "DELETE FROM {s}.hub_event",
      "UPDATE {s}.hub_event SET type = 'x'",
      "DELETE FROM {s}.hub_job",
      "DELETE FROM {s}.hub_dead"};
  const std::vector<std::string> secrets{"SELECT * FROM {s}.hub_secret",
                                         "UPDATE {s}.hub_secret SET sealed = ''"};
  for (const std::string role : {"ingest", "router", "worker", "admin"}) {
    may_not(role, others_deliveries);
  }
  for (const std::string role : {"ingest", "router", "orchestrator", "operator"}) {
    may_not(role, secrets);
  }
  may_not("ingest", {"SELECT payload FROM {s}.hub_event", "SELECT * FROM {s}.hub_subscription",
                     "SELECT * FROM {s}.hub_delivery", "SELECT * FROM {s}.hub_job",
                     "INSERT INTO {s}.hub_event (published_at) VALUES (now())",
                     "INSERT INTO {s}.hub_delivery (id) VALUES ('x')"});
  may_not("router", {"SELECT state FROM {s}.hub_delivery", "SELECT * FROM {s}.hub_job",
                     "INSERT INTO {s}.hub_job (delivery) VALUES ('x')",
                     "INSERT INTO {s}.hub_delivery (state) VALUES ('dead')",
                     "UPDATE {s}.hub_subscription SET state = 'active'"});
  may_not(
      "orchestrator",
      {"INSERT INTO {s}.hub_delivery (id) VALUES ('x')", "UPDATE {s}.hub_delivery SET event = 'x'",
       "DELETE FROM {s}.hub_delivery", "UPDATE {s}.hub_job SET state = 'completed'",
       "UPDATE {s}.hub_subscription SET target = 'x'", "UPDATE {s}.hub_position SET position = 0"});
  may_not("worker",
          {"INSERT INTO {s}.hub_delivery (id) VALUES ('x')",
           "INSERT INTO {s}.hub_job (delivery) VALUES ('x')", "UPDATE {s}.hub_job SET seen = true",
           "UPDATE {s}.hub_subscription SET state = ''", "UPDATE {s}.shard_owner SET epoch = 0",
           "INSERT INTO {s}.hub_event (id) VALUES ('x')"});
  may_not("operator",
          {"INSERT INTO {s}.hub_delivery (id) VALUES ('x')",
           "UPDATE {s}.hub_delivery SET state = 'pending'", "DELETE FROM {s}.hub_delivery",
           "DELETE FROM {s}.hub_dead", "INSERT INTO {s}.hub_event (id) VALUES ('x')",
           "UPDATE {s}.hub_subscription SET state = 'active'", "UPDATE {s}.hub_job SET seen = true",
           "SELECT {s}.hub_requeue('d')", "SELECT {s}.hub_audit('', '', '', '', 1, '', '', '')",
           "INSERT INTO {s}.audit_log SELECT * FROM {s}.audit_log",
           "UPDATE {s}.audit_head SET number = 0", "DELETE FROM {s}.audit_log",
           "SELECT (SELECT {s}.publish_event('t', '{}')).id"});
  may_not("admin", {"SELECT * FROM {s}.hub_event", "SELECT * FROM {s}.hub_delivery",
                    "DELETE FROM {s}.hub_subscription"});
}

TEST_F(PostgresHubGrants, UnknownRolesAndImpossibleUsersAreRefused) {
  const auto code = [&](const std::string& role, const std::string& user) {
    return schema()->hub_grants({.role = role, .user = user}).error().code;
  };
  EXPECT_EQ(code("chief", "ann"), Code::config_invalid);
  EXPECT_EQ(code("worker", "a\nb"), Code::config_invalid);
  EXPECT_EQ(code("worker", std::string(64, 'a')), Code::config_invalid);
  const auto text = schema()->hub_grants({.role = "worker", .user = ""}).value();
  EXPECT_NE(text.find(" TO \"sagabox_worker\";"), std::string::npos) << text;
  EXPECT_NE(schema()->hub_grants({.role = "worker", .user = "a\"b"}).value().find("\"a\"\"b\""),
            std::string::npos);
}

}  // namespace
}  // namespace sagabox::postgres
