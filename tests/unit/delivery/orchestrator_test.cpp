#include "delivery/orchestrator/orchestrator.hpp"

#include "delivery/subscription_book.hpp"
#include "ownership/worker.hpp"
#include "support/hub_deliveries_through.hpp"
#include "support/hub_log_fields.hpp"

#include <sagabox/stores/memory.hpp>
#include <sagabox/testing/fake_clock.hpp>
#include <sagabox/testing/recording.hpp>

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace sagabox::delivery {
namespace {

using namespace std::chrono_literals;
using Delivered = DeliveryState;

constexpr std::uint16_t shard_count = 4;

JobResult answered(int status) {
  JobResult result{.completed = status < 300, .status = status, .took = 5ms};
  if (!result.completed) result.code = Code::provider_unavailable;
  if (!result.completed) result.error = "answered " + std::to_string(status);
  return result;
}

JobResult unreached() {
  return {.code = Code::provider_unavailable, .error = "refused", .took = 1ms};
}

/// An orchestrator with the worker whose lease it needs.
struct OneOrchestrator {
  OneOrchestrator(memory::MemoryStore& store, const testing::FakeClock& clock, Random& random,
                  Metrics& metrics = no_metrics(), Logger& log = no_log(),
                  const OrchestratorOptions& options = {}, spi::DeliveryStore* deliveries = nullptr)
      : ids(clock, random),
        orchestrator({.store = deliveries == nullptr ? store.hub()->deliveries : *deliveries,
                      .health = store.hub()->admin,
                      .audit = &store.audit(),
                      .clock = clock,
                      .random = random,
                      .metrics = metrics,
                      .log = log},
                     options, shard_count),
        worker({.store = store.ownership(), .ids = ids, .clock = clock},
               {{.scope = spi::Scope(Orchestrator::scope),
                 .shards = shard_count,
                 .holder = &orchestrator}}),
        time(clock) {
    orchestrator.attach(worker);
  }

  /// Until there is nothing to do at this time. At most so many steps, of those that start.
  void run(std::size_t starts_max = 10'000) {
    for (bool worked = true; worked;) {
      worked = worker.step();
      const auto now = time.boot_now();
      if (starts_max > 0) {
        if (auto step = orchestrator.plan_start(now)) {
          orchestrator.apply(*step, orchestrator.perform(*step), now);
          --starts_max;
          worked = true;
        }
      }
      if (auto step = orchestrator.plan_end(now)) {
        orchestrator.apply(*step, orchestrator.perform(*step), now);
        worked = true;
      }
    }
  }

  UlidSource ids;
  Orchestrator orchestrator;
  ownership::Worker worker;
  const testing::FakeClock& time;
};

class OrchestratorTest : public ::testing::Test {
 protected:
  SubscriptionRecord subscribe(std::string_view id, std::string settings = {},
                               SubscriptionState state = SubscriptionState::active) {
    SubscriptionRecord record;
    record.id = SubscriptionId::parse(id).value();
    record.tenant = "acme";
    record.state = state;
    record.types = {"**"};
    record.target = "https://hooks.example.com/";
    record.settings = std::move(settings);
    return write(record);
  }
  SubscriptionRecord write(SubscriptionRecord record) {
    ++record.version;
    EXPECT_TRUE(hub.subscriptions.write(record, {}).value());
    return hub.subscriptions.get(record.id).value().value();
  }
  SubscriptionRecord change_state(const SubscriptionRecord& of, SubscriptionState state) {
    auto record = hub.subscriptions.get(of.id).value().value();
    record.state = state;
    return write(record);
  }

  /// One delivery of a new event, as the router would make it.
  DeliveryRecord deliver(const SubscriptionRecord& to, std::string key = {}) {
    TraceContext trace;
    trace.correlation_id = "c-7";
    auto message = Message::build_shared({.topic = "shop.order.placed.v1",
                                          .key = std::move(key),
                                          .payload = json("{}"),
                                          .tenant = "acme",
                                          .trace = trace},
                                         {}, ids, clock);
    HubEvent event{.id = ids.next<EventId>(), .message = std::move(message).value()};
    EXPECT_TRUE(store
                    .transaction([&](OwnedTransaction& tx) {
                      return tx.events().publish(std::span(&event, 1));
                    })
                    .ok());
    auto delivery = delivery_of(event, Subscription(to), shard_count);
    EXPECT_EQ(hub.deliveries.add(std::span(&delivery, 1)).value(), 1U);
    return delivery;
  }
  DeliveryRecord look(const DeliveryRecord& of) {
    return hub.admin.delivery(of.id).value().value();
  }

  std::vector<spi::LeasedJob> lease() {
    token = ids.next<LeaseToken>();
    return hub.jobs.lease("w", token, 60s, 1000).value();
  }
  /// Every pending job ends so. How many there were.
  std::size_t work(const JobResult& result) {
    const auto leased = lease();
    finish(leased, result);
    return leased.size();
  }
  void finish(const std::vector<spi::LeasedJob>& leased, const JobResult& result) {
    std::vector<spi::FinishedJob> finished;
    for (const auto& one : leased) {
      finished.push_back({{one.job.delivery, one.job.attempt}, result});
    }
    EXPECT_TRUE(hub.jobs.finish(token, finished).ok());
  }
  /// As when time passes in small steps.
  void pass(Duration time) {
    for (const auto end = clock.boot_now() + time; clock.boot_now() < end;) {
      clock.advance(std::min<Duration>(1s, end - clock.boot_now()));
      one->run();
    }
  }
  void run() {
    one->run();
    pass(1100ms);
  }

  testing::FakeClock clock;
  std::unique_ptr<Random> random = seeded_random(1);
  UlidSource ids{clock, *random};
  testing::RecordingMetrics metrics;
  memory::MemoryStore store{{.shards = shard_count, .clock = &clock}};
  HubRoles hub = store.hub().value();
  std::unique_ptr<OneOrchestrator> one =
      std::make_unique<OneOrchestrator>(store, clock, *random, metrics);
  LeaseToken token;
};

TEST_F(OrchestratorTest, BeginsADeliveryMakesItsJobAndAppliesItsResult) {
  const auto delivery = deliver(subscribe("a"));
  run();
  EXPECT_EQ(look(delivery).state, Delivered::in_progress);
  EXPECT_EQ(look(delivery).attempt, 1U);
  EXPECT_EQ(work(answered(200)), 1U);
  run();
  EXPECT_EQ(look(delivery).state, Delivered::completed);
  EXPECT_EQ(one->orchestrator.snapshot().completed, 1U);
  EXPECT_EQ(one->orchestrator.snapshot().in_progress, 0U);
  EXPECT_TRUE(hub.deliveries.ended(delivery.shard, 10).value().empty());
}

TEST_F(OrchestratorTest, RetriesAfterTheWaitsAndBuriesTheDead) {
  const auto delivery = deliver(subscribe("a", R"({"retry": {"waits": ["10s", "20s"]}})"));
  for (std::uint32_t attempt = 1; attempt <= 3; ++attempt) {
    run();
    EXPECT_EQ(look(delivery).attempt, attempt);
    EXPECT_EQ(work(answered(500)), 1U);
    run();
    EXPECT_EQ(work(answered(200)), 0U) << "not before its time";
    pass(25s);
  }
  EXPECT_EQ(look(delivery).state, Delivered::dead);
  EXPECT_EQ(look(delivery).failures, 3U);
  EXPECT_EQ(hub.admin.attempts(delivery.id)->size(), 3U);
  ASSERT_TRUE(hub.admin.dead(delivery.id)->has_value());
  EXPECT_NE((*hub.admin.dead(delivery.id))->event.message, nullptr);
  const auto log = store.audit().read(0, 10).value();
  ASSERT_EQ(log.size(), 1U);
  EXPECT_EQ(log[0].event.kind, AuditKind::dead_letter);
  EXPECT_EQ(log[0].event.message_id, delivery.id.str());
  EXPECT_EQ(metrics.counter_sum("hub_dead_total"), 1);
}

TEST_F(OrchestratorTest, EveryRetryIsMadeAtItsTime) {
  one.reset();
  clock.advance(1min);  // its lease has run out
  one = std::make_unique<OneOrchestrator>(store, clock, *random, metrics, no_log(),
                                          OrchestratorOptions{.look_interval = 1h});
  const auto to = subscribe("a", R"({"retry": {"waits": ["10s"], "jitter": 0}})");
  for (int number = 0; number < 2; ++number) {
    deliver(to);
    one->orchestrator.notified();
    run();
    EXPECT_EQ(work(answered(500)), 1U);
    one->orchestrator.notified();
    run();
    pass(3s);
  }
  pass(5s);
  EXPECT_EQ(work(answered(200)), 1U);
  pass(5s);
  EXPECT_EQ(work(answered(200)), 1U);
}

TEST_F(OrchestratorTest, AnEndpointMayAskForALongerWait) {
  const auto delivery = deliver(subscribe("a", R"({"retry": {"waits": ["10s"]}})"));
  run();
  auto busy = answered(503);
  busy.retry_after = 100s;
  EXPECT_EQ(work(busy), 1U);
  run();
  pass(90s);
  EXPECT_EQ(work(answered(200)), 0U);
  pass(15s);
  EXPECT_EQ(work(answered(200)), 1U);
  run();
  EXPECT_EQ(look(delivery).state, Delivered::completed);
}

TEST_F(OrchestratorTest, PausedDeliveriesWait) {
  const auto subscription = subscribe("a");
  run();
  change_state(subscription, SubscriptionState::paused);
  run();
  const auto delivery = deliver(subscription);
  run();
  EXPECT_EQ(look(delivery).state, Delivered::pending);
  change_state(subscription, SubscriptionState::active);
  run();
  EXPECT_EQ(look(delivery).state, Delivered::in_progress);
}

TEST_F(OrchestratorTest, OpenDeliveriesOfADisabledSubscriptionDie) {
  const auto subscription = subscribe("a", R"({"order": "key"})", SubscriptionState::paused);
  std::vector<DeliveryRecord> deliveries;
  for (int count = 0; count < 3; ++count) deliveries.push_back(deliver(subscription, "k"));
  run();
  change_state(subscription, SubscriptionState::disabled);
  run();
  for (const auto& delivery : deliveries) {
    EXPECT_EQ(look(delivery).state, Delivered::dead);
    EXPECT_TRUE(hub.admin.dead(delivery.id)->has_value());
  }
  EXPECT_EQ(work(answered(200)), 0U);
}

TEST_F(OrchestratorTest, GoneDisablesTheSubscriptionBeforeAnythingElseGoes) {
  const auto subscription = subscribe("a", R"({"limits": {"concurrency": 1}})");
  std::vector<DeliveryRecord> deliveries;
  for (int count = 0; count < 3; ++count) deliveries.push_back(deliver(subscription));
  run();
  EXPECT_EQ(work(answered(410)), 1U);
  run();
  EXPECT_EQ(work(answered(200)), 0U);
  const auto after = hub.subscriptions.get(subscription.id).value().value();
  EXPECT_EQ(after.state, SubscriptionState::disabled);
  EXPECT_EQ(after.reason, "the endpoint answered 410 Gone");
  for (const auto& delivery : deliveries) EXPECT_EQ(look(delivery).state, Delivered::dead);
  const auto told = one->orchestrator.take_disabled();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].id, subscription.id);
  const auto log = store.audit().read(0, 10).value();
  ASSERT_FALSE(log.empty());
  const auto& act = log.front().event;
  EXPECT_EQ(act.kind, AuditKind::hub_subscription_disabled);
  EXPECT_EQ(act.tenant, "acme");
  EXPECT_EQ(act.message_id, subscription.id.view());
  EXPECT_EQ(act.detail, "the endpoint answered 410 Gone");
}

TEST_F(OrchestratorTest, AnOwnerThatIsNoneAnyMoreDisablesNobody) {
  const auto subscription = subscribe("a", R"({"retry": {"waits": ["1s"]}})");
  const auto delivery = deliver(subscription);
  run();
  EXPECT_EQ(work(answered(410)), 1U);
  // It has decided, and stands still.
  std::optional<EndStep> decided;
  for (int step = 0; step < 2000 && !decided; ++step) {
    clock.advance(1ms);
    const auto now = clock.boot_now();
    auto end = one->orchestrator.plan_end(now);
    if (!end) continue;
    if (std::holds_alternative<DisableSubscription>(*end)) {
      decided = std::move(end);
    } else {
      one->orchestrator.apply(*end, one->orchestrator.perform(*end), now);
    }
  }
  ASSERT_TRUE(decided);
  // Meanwhile another one takes over.
  const spi::Scope scope(Orchestrator::scope);
  ASSERT_TRUE(store.ownership().leave(one->worker.id()).ok());
  const auto next = ids.next<WorkerId>();
  ASSERT_TRUE(store.ownership().join(next, 1h, std::vector{scope}, shard_count).ok());
  ASSERT_EQ(store.ownership().take(scope, next, shard_count).value().size(), shard_count);
  one->orchestrator.apply(*decided, one->orchestrator.perform(*decided), clock.boot_now());
  EXPECT_EQ(hub.subscriptions.get(subscription.id)->value().state, SubscriptionState::active);
  EXPECT_TRUE(store.audit().read(0, 10).value().empty());
  EXPECT_EQ(look(delivery).state, Delivered::in_progress) << "the new owner decides";
}

TEST_F(OrchestratorTest, GoneOfATargetOfBeforeDisablesNobody) {
  auto subscription = subscribe("a", R"({"retry": {"waits": ["1s", "1s"]}})");
  const auto delivery = deliver(subscription);
  run();
  const auto leased = lease();
  subscription.target = "https://hooks.example.com/new";
  (void)write(subscription);
  run();
  finish(leased, answered(410));
  run();
  EXPECT_EQ(hub.subscriptions.get(subscription.id)->value().state, SubscriptionState::active);
  pass(2s);
  EXPECT_EQ(work(answered(200)), 1U);
  run();
  EXPECT_EQ(look(delivery).state, Delivered::completed);
}

/// The owner has not read the change yet when the answer of the old target comes.
TEST_F(OrchestratorTest, GoneOfATargetThatWasJustChangedDisablesNobody) {
  auto subscription = subscribe("a", R"({"retry": {"waits": ["1h", "1h"]}})");
  deliver(subscription);
  run();
  const auto leased = lease();
  subscription.target = "https://hooks.example.com/new";
  (void)write(subscription);
  finish(leased, answered(410));
  // Subscriptions are read by steps that start.
  one->run(0);
  run();
  EXPECT_EQ(hub.subscriptions.get(subscription.id)->value().state, SubscriptionState::active);
  // It goes on with the new one.
  const auto next = deliver(subscription);
  run();
  EXPECT_EQ(work(answered(200)), 1U);
  run();
  EXPECT_EQ(look(next).state, Delivered::completed);
}

/// The owner has not read yet that it may go again.
TEST_F(OrchestratorTest, DeliveriesOfASubscriptionThatWasJustEnabledLive) {
  auto subscription = subscribe("a");
  subscription.state = SubscriptionState::disabled;
  subscription = write(subscription);
  run();
  pass(2s);
  subscription.state = SubscriptionState::active;
  subscription = write(subscription);
  const auto delivery = deliver(subscription);
  one->orchestrator.notified();
  run();
  pass(2s);
  EXPECT_NE(look(delivery).state, Delivered::dead);
  EXPECT_EQ(work(answered(200)), 1U);
  run();
  EXPECT_EQ(look(delivery).state, Delivered::completed);
}

TEST_F(OrchestratorTest, WhatIsDisabledByHandIsNotTold) {
  const auto subscription = subscribe("a");
  change_state(subscription, SubscriptionState::disabled);
  run();
  EXPECT_TRUE(one->orchestrator.take_disabled().empty());
}

TEST_F(OrchestratorTest, AnOpenBreakerSpendsNoAttempts) {
  const auto subscription = subscribe("a");
  for (int count = 0; count < 40; ++count) (void)deliver(subscription);
  run();
  const auto first = lease();
  EXPECT_EQ(first.size(), EndpointFlow::window_min);
  finish(first, unreached());
  run();
  EXPECT_TRUE(one->orchestrator.is_down(subscription.id));
  const auto down_since = clock.wall_now();
  // One probe at a time from now on.
  std::size_t probes = 0;
  for (int second = 0; second < 60; ++second) {
    clock.advance(1s);
    one->run();
    const auto made = work(unreached());
    EXPECT_LE(made, 2U);
    probes += made;
  }
  EXPECT_GE(probes, 3U);
  EXPECT_LE(probes, 30U);
  const auto down = one->orchestrator.endpoint(subscription.id).value();
  ASSERT_TRUE(down.down_since);
  EXPECT_LE(*down.down_since, down_since);
  EXPECT_GT(*down.down_since, down_since - 5s);
  EXPECT_GT(down.ready, 0U);
  // Once it answers, everything goes.
  for (int second = 0; second < 90; ++second) {
    clock.advance(1s);
    one->run();
    (void)work(answered(200));
  }
  EXPECT_EQ(one->orchestrator.snapshot().completed, 40U);
  EXPECT_FALSE(one->orchestrator.endpoint(subscription.id).value().down_since);
  EXPECT_FALSE(one->orchestrator.endpoint(SubscriptionId::parse("other").value()));
}

TEST_F(OrchestratorTest, KeepsToTheLimitsOfASubscription) {
  const auto narrow = subscribe("narrow", R"({"limits": {"concurrency": 2}})");
  const auto slow = subscribe("slow", R"({"limits": {"rate": 1, "burst": 1}})");
  for (int count = 0; count < 5; ++count) {
    (void)deliver(narrow);
    (void)deliver(slow);
  }
  one->run();
  one->run();
  std::map<SubscriptionId, int> made;
  for (const auto& job : lease()) ++made[job.job.subscription];
  EXPECT_EQ(made[narrow.id], 2);
  EXPECT_EQ(made[slow.id], 1);
  pass(2s);
  for (const auto& job : lease()) ++made[job.job.subscription];
  EXPECT_EQ(made[narrow.id], 2) << "none of them has ended";
  EXPECT_EQ(made[slow.id], 3);
}

TEST_F(OrchestratorTest, OfAKeyOneGoesAtATimeInOrder) {
  const auto subscription = subscribe("a", R"({"order": "key"})");
  const auto first = deliver(subscription, "k");
  const auto second = deliver(subscription, "k");
  const auto other = deliver(subscription, "other");
  run();
  EXPECT_EQ(look(first).state, Delivered::in_progress);
  EXPECT_EQ(look(second).state, Delivered::waiting);
  EXPECT_EQ(look(other).state, Delivered::in_progress);
  EXPECT_EQ(work(answered(200)), 2U);
  run();
  EXPECT_EQ(look(second).state, Delivered::in_progress);
}

TEST_F(OrchestratorTest, WhatABrokenOwnerHasBegunGetsItsJob) {
  const auto delivery = deliver(subscribe("a"));
  while (look(delivery).state != Delivered::in_progress) one->run(1);
  ASSERT_TRUE(lease().empty()) << "it was to stop before the job is made";
  one = std::make_unique<OneOrchestrator>(store, clock, *random);
  pass(40s);  // the lease of the other runs out
  EXPECT_EQ(look(delivery).attempt, 1U);
  EXPECT_EQ(work(answered(200)), 1U);
  run();
  EXPECT_EQ(look(delivery).state, Delivered::completed);
}

TEST_F(OrchestratorTest, AResultThatCameWhileNobodyOwnedItIsApplied) {
  const auto delivery = deliver(subscribe("a"));
  run();
  EXPECT_EQ(work(answered(200)), 1U);
  one = std::make_unique<OneOrchestrator>(store, clock, *random);
  pass(40s);
  EXPECT_EQ(look(delivery).state, Delivered::completed);
  EXPECT_TRUE(hub.deliveries.ended(delivery.shard, 10).value().empty());
}

TEST_F(OrchestratorTest, ResultsThatTheStoreRefusesHideNoOthers) {
  /// Takes nothing of some deliveries, for good.
  class Refusing final : public testing::DeliveriesThrough {
   public:
    using DeliveriesThrough::DeliveriesThrough;
    Result<ChangeReply> change(const spi::Fencing& fencing,
                               std::span<const spi::DeliveryChange> changes) override {
      for (const auto& one : changes) {
        if (refused.contains(one.of.delivery)) {
          return Error{Code::schema_validation_failed, "a trigger says no"};
        }
      }
      return DeliveriesThrough::change(fencing, changes);
    }
    std::set<DeliveryId> refused;
  };
  Refusing refusing(hub.deliveries);
  one = std::make_unique<OneOrchestrator>(store, clock, *random, no_metrics(), no_log(),
                                          OrchestratorOptions{.window_max = 4096}, &refusing);
  // As many as one read shows.
  constexpr std::size_t page = 1000;
  const auto subscription = subscribe("a");
  for (std::size_t count = 0; count < page; ++count) {
    refusing.refused.insert(deliver(subscription).id);
  }
  std::size_t sent = 0;
  for (int round = 0; round < 100 && sent < page; ++round) {
    run();
    sent += work(answered(200));
  }
  ASSERT_EQ(sent, page);
  run();
  EXPECT_EQ(one->orchestrator.snapshot().findings, page);
  const auto last = deliver(subscription);
  run();
  ASSERT_EQ(work(answered(200)), 1U);
  for (int turn = 0; turn < 10; ++turn) run();
  EXPECT_EQ(look(last).state, Delivered::completed);
}

TEST_F(OrchestratorTest, AnOwnerThatIsNoneAnyMoreMarksNothingAsSeen) {
  const auto delivery = deliver(subscribe("a", R"({"retry": {"waits": ["1s"]}})"));
  run();
  EXPECT_EQ(work(answered(500)), 1U);
  // Its memory says that no attempt is under way.
  clock.advance(1s);
  one->run();
  ASSERT_EQ(look(delivery).state, Delivered::pending);
  // Another one takes over by force and begins the next attempt.
  auto& ownership = store.ownership();
  const std::vector<spi::Scope> scopes{spi::Scope(Orchestrator::scope)};
  const auto old = one->worker.id();
  ASSERT_TRUE(ownership.leave(old).ok());
  clock.advance(2s);
  OneOrchestrator next(store, clock, *random);
  next.run();
  clock.advance(1100ms);
  next.run();
  ASSERT_EQ(look(delivery).attempt, 2U);
  EXPECT_EQ(work(answered(200)), 1U);
  // The old one sees the result before it knows that it has lost the shard.
  for (int step = 0; step < 200; ++step) {
    const auto now = clock.boot_now();
    if (auto end = one->orchestrator.plan_end(now)) {
      one->orchestrator.apply(*end, one->orchestrator.perform(*end), now);
    }
    clock.advance(5ms);
  }
  ASSERT_EQ(look(delivery).state, Delivered::in_progress);
  EXPECT_EQ(hub.deliveries.ended(delivery.shard, 10)->size(), 1U);
  clock.advance(1100ms);
  next.run();
  EXPECT_EQ(look(delivery).state, Delivered::completed);
}

TEST_F(OrchestratorTest, AnEndpointThatFailsForTooLongIsDisabledAlsoByANewOwner) {
  const auto subscription =
      subscribe("a", R"({"retry": {"waits": ["1h", "1h", "1h", "1h", "1h", "1h"]},
                         "disable_after": "3h"})");
  const auto delivery = deliver(subscription);
  for (int hour = 0; hour < 5; ++hour) {
    run();
    (void)work(answered(500));
    run();
    // Memory of the failures before is lost each time.
    one = std::make_unique<OneOrchestrator>(store, clock, *random);
    pass(70min);
    if (look(delivery).state == Delivered::dead) break;
  }
  const auto after = hub.subscriptions.get(subscription.id).value().value();
  EXPECT_EQ(after.state, SubscriptionState::disabled);
  EXPECT_EQ(after.reason, "every attempt has failed for 3h");
  EXPECT_LT(look(delivery).attempt, 6U);
}

TEST_F(OrchestratorTest, ANewOwnerAsksOnceHowLongAnEndpointHasFailed) {
  const auto subscription =
      subscribe("a", R"({"retry": {"waits": ["1h", "1h", "1h"]}, "disable_after": "2h"})");
  (void)deliver(subscription);
  pass(3h);
  int asked = 0;
  store.set_faults([&](memory::Operation operation) {
    if (operation == memory::Operation::hub_inspect) ++asked;
    return memory::Fault::none;
  });
  for (int hour = 0; hour < 2; ++hour) {
    run();
    EXPECT_EQ(work(answered(500)), 1U);
    run();
    pass(70min);
  }
  EXPECT_EQ(asked, 1);
}

TEST_F(OrchestratorTest, DeliveriesOfASubscriptionThatWasDisabledLongAgoDie) {
  const auto subscription = subscribe("a");
  change_state(subscription, SubscriptionState::disabled);
  clock.advance(std::chrono::hours(24 * 7));
  one = std::make_unique<OneOrchestrator>(store, clock, *random);
  ASSERT_TRUE(hub.deliveries.subscriptions(0).value().empty());
  const auto delivery = deliver(subscription);
  run();
  EXPECT_EQ(look(delivery).state, Delivered::dead);
}

TEST_F(OrchestratorTest, LittleIsReadAheadOfEachOfManySubscriptions) {
  OrchestratorOptions options;
  options.ready_max = 64;
  options.page_rows_min = 4;
  options.in_progress_max = 1;
  one = std::make_unique<OneOrchestrator>(store, clock, *random, no_metrics(), no_log(), options);
  constexpr std::size_t subscriptions = 10;
  constexpr std::size_t deliveries = 40;
  for (std::size_t number = 0; number < subscriptions; ++number) {
    const auto to = subscribe("s" + std::to_string(number));
    for (std::size_t i = 0; i < deliveries; ++i) (void)deliver(to);
  }
  run();
  EXPECT_GT(one->orchestrator.snapshot().ready, subscriptions) << "each has some in hand";
  // Those that were found first were read while there were fewer of them.
  EXPECT_LT(one->orchestrator.snapshot().ready, subscriptions * deliveries / 2);
}

TEST_F(OrchestratorTest, WhoIsEnabledAgainMayFailAnew) {
  const auto subscription = subscribe("a", R"({"retry": {"waits": ["30m", "1h", "1h", "1h"]},
                                               "disable_after": "2h"})");
  const auto first = deliver(subscription);
  for (int round = 0; round < 5; ++round) {
    run();
    (void)work(answered(500));
    run();
    pass(70min);
  }
  ASSERT_EQ(look(first).state, Delivered::dead);
  ASSERT_EQ(hub.subscriptions.get(subscription.id)->value().state, SubscriptionState::disabled);
  change_state(subscription, SubscriptionState::active);
  const auto second = deliver(subscription);
  run();
  EXPECT_EQ(work(answered(500)), 1U);
  run();
  EXPECT_EQ(look(second).state, Delivered::pending);
  EXPECT_EQ(hub.subscriptions.get(subscription.id)->value().state, SubscriptionState::active);
}

TEST_F(OrchestratorTest, FailuresOfOursDisableNobody) {
  const auto subscription = subscribe("a", R"({"disable_after": "1h"})");
  (void)deliver(subscription);
  for (int hour = 0; hour < 4; ++hour) {
    run();
    (void)work({.code = Code::provider_unavailable, .error = "no transport takes it"});
    run();
    pass(1h);
  }
  EXPECT_EQ(hub.subscriptions.get(subscription.id)->value().state, SubscriptionState::active);
}

TEST_F(OrchestratorTest, ResultsDoNotWaitForAnEndpointsPast) {
  const auto subscription =
      subscribe("a", R"({"disable_after": "1h", "retry": {"waits": ["1s"]}})");
  const auto delivery = deliver(subscription);
  pass(2h);
  (void)work(answered(500));
  store.set_faults([](memory::Operation operation) {
    return operation == memory::Operation::hub_inspect ? memory::Fault::refused
                                                       : memory::Fault::none;
  });
  run();
  store.set_faults({});
  EXPECT_EQ(look(delivery).failures, 1U);
}

TEST_F(OrchestratorTest, LogsWhomEachStageIsAbout) {
  testing::RecordingLogger log;
  one = std::make_unique<OneOrchestrator>(store, clock, *random, metrics, log);
  const auto delivery = deliver(subscribe("a", R"({"retry": {"waits": ["1s"]}})"));
  for (int attempt = 0; attempt < 2; ++attempt) {
    run();
    (void)work(answered(500));
    run();
    pass(2s);
  }
  for (const auto* const event :
       {"attempt of a delivery begins", "an attempt of a delivery failed", "a delivery is dead"}) {
    EXPECT_GT(log.count(event), 0U) << event;
  }
  for (const auto& line : log.lines()) {
    if (!line.fields.contains("delivery_id")) continue;
    EXPECT_EQ(line.fields.at("delivery_id"), delivery.id.str());
    EXPECT_EQ(line.fields.at("correlation_id"), "c-7");
    EXPECT_TRUE(line.fields.at("job_id").starts_with(delivery.id.str() + "/"));
    EXPECT_TRUE(delivery_state_from_name(line.fields.at("delivery_status")));
    EXPECT_EQ(line.fields.at("tenant"), "acme");
  }
  const auto dead = testing::lines_of(log, "a delivery is dead");
  testing::expect_about(dead.at(0), delivery, 2, DeliveryState::dead);
}

TEST_F(OrchestratorTest, HintsOfTheProcessNeedNoReads) {
  const auto subscription = subscribe("a");
  one->run();
  (void)deliver(subscription);  // makes its line known
  run();
  (void)work(answered(200));
  run();
  const auto delivery = deliver(subscription);
  one->orchestrator.added(std::span(&delivery, 1));
  one->run();  // no time has passed
  const auto leased = lease();
  ASSERT_EQ(leased.size(), 1U);
  finish(leased, answered(200));
  const spi::FinishedJob finished{{delivery.id, 1}, answered(200)};
  one->orchestrator.ended(std::span(&finished, 1));
  one->run();
  EXPECT_EQ(look(delivery).state, Delivered::completed);
  run();
  EXPECT_TRUE(hub.deliveries.ended(delivery.shard, 10).value().empty());
}

TEST(EndpointFlow, LimitsThatChangeCountWhatIsUnderWay) {
  const BootTime start{1h};
  EndpointFlow flow({}, {}, 100, start);
  for (int count = 0; count < 5; ++count) flow.began(false, start);
  flow.limit({.concurrency = 6}, start);
  EXPECT_TRUE(flow.admits(false, start));
  flow.began(false, start);
  EXPECT_FALSE(flow.admits(false, start));
  flow.ended(answered(200), false, start, start + 1ms);
  EXPECT_TRUE(flow.admits(false, start + 1ms));
  flow.limit({.rate = 10, .burst = 1}, start + 1ms);
  EXPECT_TRUE(flow.admits(false, start + 1ms));
  flow.began(false, start + 1ms);
  EXPECT_FALSE(flow.admits(false, start + 1ms));
  EXPECT_TRUE(flow.admits(false, flow.next(start + 1ms)));
}

TEST(EndpointFlow, OneThatAnsweredAndThenHangsHoldsNoMoreThanItsWindow) {
  BootTime now{1h};
  EndpointFlow flow({}, {}, 64, now);
  for (int count = 0; count < 1000; ++count) {
    flow.began(false, now);
    flow.ended(answered(200), false, now, now + 5ms);
    now += 5ms;
  }
  std::uint32_t began = 0;
  for (; flow.admits(false, now); ++began) flow.began(false, now);
  EXPECT_EQ(began, 64U);
  const JobResult silence{.code = Code::tx_timeout, .took = 15s};
  for (std::uint32_t count = 0; count < began; ++count) flow.ended(silence, false, now, now + 15s);
  now += 15s;
  EXPECT_TRUE(flow.down());
  EXPECT_FALSE(flow.admits(false, now));
}

TEST(EndpointFlow, AnEndpointThatDoesNotAnswerHoldsFew) {
  const BootTime start{1h};
  EndpointFlow flow({}, {}, 1000, start);
  std::uint32_t began = 0;
  for (; flow.admits(false, start); ++began) flow.began(false, start);
  EXPECT_EQ(began, EndpointFlow::window_min);
}

}  // namespace
}  // namespace sagabox::delivery
