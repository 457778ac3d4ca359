#include "core/base64.hpp"
#include "support/http_server.hpp"
#include "support/hub_log_fields.hpp"
#include "support/sqlite_database.hpp"

#include <sagabox/hub.hpp>
#include <sagabox/stores/sqlite.hpp>
#include <sagabox/testing/recording.hpp>
#include <sagabox/transports/http.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace sagabox::testing {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view quick_waits = R"("retry": {"waits": ["20ms", "20ms"], "jitter": 0})";

/// A hub with all its roles and threads on a SQLite file, with receivers on loopback.
class WholeHub : public ::testing::Test {
 protected:
  ~WholeHub() override {
    hub_.reset();
    http_->close(system_clock().boot_now() + 1s);
  }

  HubOptions options() {
    HubOptions made{.transports = {{"http", http_}}, .metrics = &metrics_};
    made.secret_key = "k1:";
    append_base64(std::string(32, '1'), made.secret_key);
    return made;
  }
  void start(HubOptions with) {
    hub_.emplace(Hub::create(*store_, std::move(with)).value());
    ASSERT_TRUE(hub_->start().ok());
  }
  void start() { start(options()); }

  SubscriptionRecord subscribe(std::string_view id, std::string_view settings = quick_waits,
                               SubscriptionState state = SubscriptionState::active) {
    SubscriptionRecord record;
    record.id = SubscriptionId::parse(id).value();
    record.tenant = std::string(tenant_default);
    record.state = state;
    record.types = {"shop.**"};
    record.target = server_.url("/" + std::string(id));
    record.settings = "{" + std::string(settings) + "}";
    return write(record);
  }
  SubscriptionRecord write(SubscriptionRecord record) {
    ++record.version;
    EXPECT_TRUE(roles().subscriptions.write(record, {}).value());
    if (hub_) hub_->subscriptions_changed();
    return roles().subscriptions.get(record.id).value().value();
  }
  void set_state(const SubscriptionId& id, SubscriptionState state) {
    auto record = roles().subscriptions.get(id).value().value();
    record.state = state;
    (void)write(record);
  }
  static NewEvent event(std::string external_id = {}, std::string key = {}) {
    return {.message = {.topic = "shop.order.placed.v1",
                        .key = std::move(key),
                        .payload = json(R"({"n":1})")},
            .source = "shop",
            .external_id = std::move(external_id)};
  }
  Published publish(std::string external_id = {}, std::string key = {}) {
    return hub_->publish(event(std::move(external_id), std::move(key))).value();
  }

  HubRoles roles() { return store_->hub().value(); }
  std::vector<DeliveryRecord> in_state(DeliveryState state) {
    return roles().admin.deliveries({.filter = {.state = state}, .rows_max = 10'000}).value();
  }
  template <class Condition>
  [[nodiscard]] static bool comes_true(Condition&& condition) {
    for (const auto end = system_clock().boot_now() + 60s; system_clock().boot_now() < end;) {
      if (condition()) return true;
      std::this_thread::sleep_for(2ms);
    }
    return false;
  }
  [[nodiscard]] bool ends_as(DeliveryState state, std::size_t count = 1) {
    return comes_true([&] { return in_state(state).size() == count; });
  }
  HttpReply reply_to(const HttpRequest& request) {
    const std::scoped_lock lock(mutex_);
    const auto script = scripts_.find(request.path);
    return script == scripts_.end() ? HttpReply{} : script->second(request);
  }

  SqliteFolder folder_;
  RecordingMetrics metrics_;
  std::unique_ptr<Store> store_ = sqlite::open(folder_.file()).value();
  std::mutex mutex_;  // of scripts_
  std::map<std::string, HttpServer::Handler> scripts_;
  HttpServer server_{[this](const HttpRequest& request) { return reply_to(request); }};
  std::shared_ptr<spi::Transport> http_ = http::open({.allow = {"127.0.0.0/8"}}).value();
  std::optional<Hub> hub_;
};

TEST_F(WholeHub, TellsWhoHasSubscribed) {
  start();
  const auto one = subscribe("one");
  (void)subscribe("two");
  const auto published = publish("order-1");
  EXPECT_FALSE(published.duplicate);
  EXPECT_EQ(server_.requests("/one", 1).at(0).body, R"({"n":1})");
  EXPECT_EQ(server_.requests("/two", 1).at(0).header("ce-id"), published.id.str());
  ASSERT_TRUE(ends_as(DeliveryState::completed, 2));
  EXPECT_TRUE(publish("order-1").duplicate);
  EXPECT_TRUE(comes_true([&] { return hub_->snapshot().completed == 2; }));
  EXPECT_EQ(metrics_.counter_value("hub_ended_total", {{"result", "completed"}}), 2);
  EXPECT_TRUE(hub_->stop().ok());
}

TEST_F(WholeHub, NobodyPublishesInItsName) {
  start(options());
  auto forged = event();
  forged.source = "hub";
  EXPECT_EQ(hub_->publish(std::move(forged)).error().code, Code::schema_validation_failed);
  auto notice = event();
  notice.message.topic = "hub.subscription.disabled.v1";
  EXPECT_EQ(hub_->publish(std::move(notice)).error().code, Code::schema_validation_failed);
  EXPECT_TRUE(roles().admin.events({.rows_max = 10}).value().empty());
}

TEST_F(WholeHub, AnEventThatDoesNotFitTheCatalogueIsNotPublished) {
  auto with = options();
  with.event_types.known["shop.order.placed.v1"] = {
      .schema = JsonSchema::parse(R"({"type": "object", "required": ["order"]})").value()};
  with.event_types.known_only = true;
  start(std::move(with));
  const auto refused = hub_->publish(event());
  EXPECT_EQ(refused.error().code, Code::schema_validation_failed);
  EXPECT_TRUE(refused.error().message.starts_with("payload of type \"shop.order.placed.v1\" "))
      << refused.error().message;
  auto other = event();
  other.message.topic = "shop.order.lost.v1";
  EXPECT_EQ(hub_->publish(std::move(other)).error().message,
            "type \"shop.order.lost.v1\" is not in the catalogue of event types");
  auto fits = event();
  fits.message.payload = json(R"({"order":17})");
  EXPECT_TRUE(hub_->publish(std::move(fits)).ok());
  EXPECT_EQ(roles().admin.events({.rows_max = 10}).value().size(), 1U);
}

TEST_F(WholeHub, LogsAnEventOnceItsTransactionIsCommitted) {
  RecordingLogger log;
  auto with = options();
  with.log = &log;
  start(std::move(with));
  auto lost = store_->begin().value();
  auto wanted = event("lost");
  wanted.message.trace.correlation_id = "c-7";
  ASSERT_TRUE(hub_->publish(*lost, wanted).ok());
  ASSERT_TRUE(lost->rollback().ok());
  EXPECT_EQ(log.count("an event is published"), 0U);
  wanted.external_id = "kept";
  const auto published = hub_->publish(wanted).value();
  const auto lines = lines_of(log, "an event is published");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].fields.at("correlation_id"), "c-7");
  EXPECT_EQ(lines[0].fields.at("event_id"), published.id.str());
  EXPECT_EQ(lines[0].fields.at("external_id"), "kept");
  hub_.reset();
}

TEST_F(WholeHub, AnEventOfATransactionThatIsRolledBackIsNotTold) {
  start();
  (void)subscribe("one");
  {
    auto tx = store_->begin().value();
    ASSERT_TRUE(hub_->publish(*tx, event("lost")).ok());
    ASSERT_TRUE(tx->rollback().ok());
  }
  ASSERT_TRUE(
      store_->transaction([&](Transaction& tx) { return hub_->publish(tx, event("kept")); }).ok());
  ASSERT_TRUE(ends_as(DeliveryState::completed));
  EXPECT_EQ(server_.requests("/one", 1).size(), 1U);
}

TEST_F(WholeHub, RetriesWhatFailsUntilItArrives) {
  std::atomic<int> calls{0};
  scripts_["/one"] = [&](const HttpRequest&) { return HttpReply{++calls < 3 ? 500U : 200U}; };
  start();
  (void)subscribe("one");
  (void)publish();
  ASSERT_TRUE(ends_as(DeliveryState::completed));
  const auto delivery = in_state(DeliveryState::completed).at(0);
  EXPECT_EQ(delivery.attempt, 3U);
  EXPECT_EQ(delivery.failures, 2U);
  const auto attempts = roles().admin.attempts(delivery.id).value();
  ASSERT_EQ(attempts.size(), 3U);
  EXPECT_EQ(attempts[0].result.status, 500);
  EXPECT_EQ(attempts[2].result.status, 200);
  EXPECT_EQ(server_.requests("/one", 3).at(2).header("hub-attempt"), "3");
}

TEST_F(WholeHub, WhatFailsForGoodIsKeptAsDead) {
  scripts_["/one"] = [](const HttpRequest&) { return HttpReply{.status = 500}; };
  start();
  (void)subscribe("one");
  (void)publish();
  ASSERT_TRUE(ends_as(DeliveryState::dead));
  const auto id = in_state(DeliveryState::dead).at(0).id;
  const auto dead = roles().admin.dead(id).value();
  ASSERT_TRUE(dead);
  EXPECT_EQ(dead->delivery.attempt, 3U);
  EXPECT_EQ(dead->event.message->payload().view(), R"({"n":1})");
  EXPECT_TRUE(comes_true([&] { return !store_->audit().read(0, 10).value().empty(); }));
  EXPECT_EQ(store_->audit().read(0, 10).value().at(0).event.message_id, id.str());
  // It goes out again once somebody wants it.
  {
    const std::scoped_lock lock(mutex_);
    scripts_.clear();
  }
  ASSERT_TRUE(roles().admin.requeue(std::span(&id, 1), std::nullopt, {}).ok());
  ASSERT_TRUE(ends_as(DeliveryState::completed));
  EXPECT_EQ(in_state(DeliveryState::completed).at(0).generation, 1U);
}

TEST_F(WholeHub, PausedSubscriptionsGetTheirEventsLater) {
  start();
  const auto one = subscribe("one");
  set_state(one.id, SubscriptionState::paused);
  ASSERT_TRUE(comes_true([&] {
    (void)publish();
    return in_state(DeliveryState::pending).size() >= 3;
  }));
  const auto waiting = in_state(DeliveryState::pending).size();
  set_state(one.id, SubscriptionState::active);
  EXPECT_TRUE(comes_true([&] { return in_state(DeliveryState::completed).size() >= waiting; }));
}

TEST_F(WholeHub, AnEndpointThatIsGoneIsDisabledAndToldAbout) {
  scripts_["/gone"] = [](const HttpRequest&) { return HttpReply{.status = 410}; };
  start();
  const auto gone = subscribe("gone");
  auto watcher = subscribe("watcher");
  watcher.types = {"hub.**"};
  (void)write(watcher);
  (void)publish();
  ASSERT_TRUE(ends_as(DeliveryState::dead));
  EXPECT_EQ(roles().subscriptions.get(gone.id).value()->state, SubscriptionState::disabled);
  const auto told = server_.requests("/watcher", 1).at(0);
  EXPECT_EQ(told.header("ce-type"), "hub.subscription.disabled.v1");
  EXPECT_NE(told.body.find("the endpoint answered 410 Gone"), std::string::npos) << told.body;
}

TEST_F(WholeHub, OfAKeyOneGoesAtATimeInOrder) {
  std::vector<std::string> came;
  scripts_["/one"] = [&](const HttpRequest& request) {
    came.push_back(request.header("ce-id"));
    return HttpReply{.status = came.size() == 2 ? 500U : 200U};
  };
  start();
  (void)subscribe("one", R"("order": "key", "retry": {"waits": ["20ms"], "jitter": 0})");
  std::vector<std::string> sent;
  for (int count = 0; count < 10; ++count) sent.push_back(publish({}, "k").id.str());
  ASSERT_TRUE(ends_as(DeliveryState::completed, 10));
  const std::scoped_lock lock(mutex_);
  ASSERT_EQ(came.size(), 11U);
  came.erase(came.begin() + 2);  // the second one once more
  EXPECT_EQ(came, sent);
}

TEST_F(WholeHub, WhatOneHubHasLeftTheNextOneEnds) {
  start();
  const auto one = subscribe("one");
  set_state(one.id, SubscriptionState::paused);
  ASSERT_TRUE(comes_true([&] {
    (void)publish();
    return !in_state(DeliveryState::pending).empty();
  }));
  EXPECT_TRUE(hub_->stop().ok());
  EXPECT_FALSE(hub_->start().ok());
  set_state(one.id, SubscriptionState::active);
  start();
  EXPECT_TRUE(comes_true([&] { return in_state(DeliveryState::pending).empty(); }));
  EXPECT_TRUE(comes_true([&] { return in_state(DeliveryState::in_progress).empty(); }));
  EXPECT_GE(in_state(DeliveryState::completed).size(), 1U);
}

TEST_F(WholeHub, RunsOnlyTheRolesItIsGiven) {
  auto publisher = options();
  publisher.roles = {};
  start(publisher);
  (void)subscribe("one");
  (void)publish();
  EXPECT_EQ(hub_->snapshot().routing_shards, 0U);
  auto others = options();
  others.roles = {HubRole::router, HubRole::orchestrator};
  auto deciding = Hub::create(*store_, others).value();
  ASSERT_TRUE(deciding.start().ok());
  ASSERT_TRUE(ends_as(DeliveryState::in_progress));
  auto sending = options();
  sending.roles = {HubRole::worker, HubRole::cleaner};
  auto worker = Hub::create(*store_, sending).value();
  ASSERT_TRUE(worker.start().ok());
  EXPECT_TRUE(ends_as(DeliveryState::completed));
}

TEST_F(WholeHub, ASecondProcessStandsByUntilTheFirstOneEnds) {
  start();
  (void)subscribe("one");
  (void)publish();
  ASSERT_TRUE(ends_as(DeliveryState::completed));
  // Another store on the same file is as another process.
  const auto other_store = sqlite::open(folder_.file()).value();
  RecordingLogger log;
  auto settings = options();
  settings.log = &log;
  auto other = Hub::create(*other_store, settings).value();
  ASSERT_TRUE(other.start().ok());
  EXPECT_TRUE(other.snapshot().stands_by);
  EXPECT_FALSE(hub_->snapshot().stands_by);
  const auto said = log.lines();
  ASSERT_FALSE(said.empty());
  EXPECT_EQ(said[0].level, LogLevel::warning);
  EXPECT_EQ(said[0].event,
            "another process has the delivery hub of this store, and only one can: this one stands "
            "by, and sends nothing until that one ends");
  for (int count = 0; count < 20; ++count) (void)publish();
  ASSERT_TRUE(ends_as(DeliveryState::completed, 21));
  for (const auto& delivery : in_state(DeliveryState::completed)) {
    EXPECT_EQ(roles().admin.attempts(delivery.id).value().at(0).worker, "hub");
  }
  EXPECT_EQ(other.snapshot().completed, 0U);
  EXPECT_EQ(other.snapshot().requests, 0U);
  EXPECT_TRUE(hub_->stop().ok());
  (void)publish();
  EXPECT_TRUE(ends_as(DeliveryState::completed, 22));
  EXPECT_FALSE(other.snapshot().stands_by);
  EXPECT_TRUE(comes_true([&] { return other.snapshot().completed == 1U; }));
  EXPECT_TRUE(other.stop().ok());
}

TEST_F(WholeHub, ManyEventsAllArrive) {
  start();
  (void)subscribe("one");
  (void)subscribe("two", R"("order": "key")");
  constexpr std::size_t events = 500;
  for (std::size_t count = 0; count < events; count += 50) {
    std::vector<NewEvent> some;
    for (std::size_t at = 0; at < 50; ++at) some.push_back(event({}, std::to_string(at)));
    ASSERT_TRUE(
        store_->transaction([&](Transaction& tx) { return hub_->publish(tx, std::move(some)); })
            .ok());
  }
  ASSERT_TRUE(ends_as(DeliveryState::completed, 2 * events));
  std::set<std::string> ids;
  for (const auto& request : server_.requests("/one", events)) {
    EXPECT_TRUE(ids.insert(request.header("ce-id")).second) << "sent twice";
  }
  EXPECT_EQ(hub_->snapshot().findings, 0U);
}

TEST_F(WholeHub, RolesWakeEachOther) {
  start();
  (void)subscribe("one");
  std::vector<Duration> took;
  for (std::size_t count = 0; count < 30; ++count) {
    const auto began = system_clock().boot_now();
    (void)publish();
    (void)server_.requests("/one", count + 1);
    took.push_back(system_clock().boot_now() - began);
    std::this_thread::sleep_for(5ms);
  }
  std::ranges::sort(took);
  const auto half = took[took.size() / 2];
  std::cout << "p50 " << std::chrono::duration<double, std::milli>(half).count() << " ms, slowest "
            << std::chrono::duration<double, std::milli>(took.back()).count() << " ms\n";
  // A poll is 100 ms, and there are five roles.
  EXPECT_LT(half, 100ms);
}

TEST(HubOptions, WhatIsWrongIsNamed) {
  HubOptions options;
  options.requests_max = 0;
  EXPECT_EQ(options.check().error().message, "requests_max is 0; a worker needs at least one");
  options.requests_max = 1;
  options.job_lease = 2min;
  EXPECT_EQ(options.check().error().message,
            "job_lease: 2m is too short for requests of request_timeout_max (2m) and 10s to write "
            "the result; give 130s or more, or a shorter request_timeout_max");
  options.request_timeout_max = 3min;
  EXPECT_EQ(options.check().error().message, "request_timeout_max: 3m is not between 100ms and 2m");
  EXPECT_EQ(hub_role_from_name("cleaner"), HubRole::cleaner);
  EXPECT_EQ(hub_role_from_name("boss"), std::nullopt);
}

}  // namespace
}  // namespace sagabox::testing
