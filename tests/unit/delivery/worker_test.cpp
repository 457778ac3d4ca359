#include "delivery/worker/worker.hpp"

#include "core/base64.hpp"
#include "delivery/cleaner/cleaner.hpp"
#include "observe/trace_parent.hpp"
#include "support/hook_transport.hpp"
#include "support/hub_hand.hpp"
#include "support/hub_log_fields.hpp"

#include <sagabox/stores/memory.hpp>
#include <sagabox/testing/fake_clock.hpp>
#include <sagabox/testing/recording.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace sagabox::delivery {
namespace {

using namespace std::chrono_literals;
using memory::Fault;
using memory::Operation;
using testing::HookTransport;

SecretBox test_box() {
  std::string text = "k1:";
  append_base64(std::string(32, '1'), text);
  return SecretBox::create(text).value();
}

class AttemptSpanList final : public SpanSink {
 public:
  void take(TraceSpan span) noexcept override { all.push_back(std::move(span)); }
  std::vector<TraceSpan> all;
};

std::string attribute(const TraceSpan& span, std::string_view name) {
  for (const auto& one : span.attributes) {
    if (one.name != name) continue;
    const auto* const text = std::get_if<std::string>(&one.value);
    return text != nullptr ? *text : std::to_string(std::get<std::int64_t>(one.value));
  }
  return "(none)";
}

NewMessage traced_draft(std::string traceparent) {
  NewMessage draft{.topic = "shop.order.placed.v1", .payload = json("{}")};
  draft.trace.traceparent = std::move(traceparent);
  draft.trace.tracestate = "shop=1";
  draft.trace.correlation_id = "c-7";
  return draft;
}

constexpr auto sampled_trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// The default timeout of a request, and half a minute.
constexpr Duration lease_by_default = 45s;

class HubWorkerTest : public ::testing::Test {
 protected:
  HubWorkerTest() {
    store.set_faults([this](Operation operation) {
      ++calls[operation];
      const auto planned = faults.find(operation);
      return planned == faults.end() ? Fault::none : planned->second;
    });
  }

  std::unique_ptr<Worker> worker_with(JobWorkerOptions options = {}) {
    auto& roles = hand.roles();
    return std::make_unique<Worker>(
        JobWorkerParts{.jobs = roles.jobs,
                       .secrets = roles.subscriptions,
                       .subscriptions =
                           [&](std::uint64_t after) {
                             reading();
                             return roles.deliveries.subscriptions(after);
                           },
                       .transports = transports,
                       .box = &box,
                       .ids = hand.ids(),
                       .clock = clock,
                       .metrics = metrics,
                       .log = log,
                       .tracing = tracing,
                       .wake = [this] { ++wakes; }},
        std::move(options));
  }
  static void run(Worker& worker) {
    worker.wake();
    for (int i = 0; worker.step(); ++i) ASSERT_LT(i, 1000) << "does not come to rest";
  }
  /// A delivery in progress with its job.
  DeliveryRecord ready(const SubscriptionRecord& record, NewMessage draft = {}) {
    if (draft.topic.empty()) {
      draft.topic = "shop.order.placed.v1";
      draft.payload = json(R"({"card":"4111 1111"})");
    }
    const auto event = hand.publish(std::move(draft), "shop");
    auto made = delivery_of(event, Subscription(record), hand.shards());
    made.tenant = record.tenant;
    EXPECT_EQ(hand.roles().deliveries.add(std::span(&made, 1)).value(), 1U);
    hand.make_jobs();
    return hand.roles().admin.delivery(made.id).value().value();
  }
  void add_secret(const SubscriptionRecord& record, std::string_view secret) {
    const auto sealed = box.seal(secret, secret_context(record.id), *random).value();
    ASSERT_TRUE(hand.roles().subscriptions.add_secret(record.id, sealed, 24h, {}).ok());
  }
  HookTransport& hooks() { return *http; }

  testing::FakeClock clock;
  std::unique_ptr<Random> random = seeded_random(1);
  testing::RecordingMetrics metrics;
  testing::RecordingLogger log;
  AttemptSpanList spans;
  AttemptTracing tracing{.spans = &spans, .random = random.get()};
  memory::MemoryStore store{{.clock = &clock}};
  testing::HubHand hand{store, clock, *random};
  std::map<Operation, Fault> faults;
  std::map<Operation, int> calls;
  std::shared_ptr<HookTransport> http = std::make_shared<HookTransport>();
  std::shared_ptr<HookTransport> bus = std::make_shared<HookTransport>();
  Transports transports{{"http", http}, {"bus", bus}};
  SecretBox box = test_box();
  int wakes = 0;
  std::function<void()> reading = [] {};  ///< happens while subscriptions are read
};

TEST_F(HubWorkerTest, MakesOneAttemptAndWritesWhatBecameOfIt) {
  const auto delivery = ready(hand.subscribe("a"));
  hooks().hold = true;
  const auto worker = worker_with({.name = "w-7"});
  run(*worker);
  ASSERT_EQ(hooks().log.size(), 1U);
  EXPECT_EQ(worker->snapshot().in_hand, 1U);
  EXPECT_FALSE(worker->idle());
  clock.advance(30ms);
  hooks().let_go();
  EXPECT_EQ(wakes, 1);
  run(*worker);
  EXPECT_TRUE(worker->idle());
  const auto job = hand.attempt(delivery.id);
  EXPECT_EQ(job.state, HubJobState::completed);
  EXPECT_EQ(job.worker, "w-7");
  EXPECT_EQ(job.result.status, 204);
  EXPECT_EQ(job.result.took, 30ms);
  // Deliveries are the orchestrator's.
  EXPECT_EQ(hand.deliveries()[0].state, DeliveryState::in_progress);
  for (int i = 0; i < 100; ++i) {
    clock.advance(10s);
    run(*worker);
  }
  EXPECT_EQ(hooks().log.size(), 1U);
  EXPECT_EQ(metrics.counter_value("hub_attempts_total", {{"result", "completed"}}), 1);
}

TEST_F(HubWorkerTest, FailureIsWrittenAndNotRepeated) {
  const auto delivery = ready(hand.subscribe("a"));
  hooks().script = [](const spi::Parcel&) {
    auto result = HookTransport::answered(503, "no \"4111 1111\" today\n" + std::string(3000, 'x'));
    result.retry_after = 90s;
    return result;
  };
  const auto worker = worker_with();
  run(*worker);
  const auto job = hand.attempt(delivery.id);
  EXPECT_EQ(job.state, HubJobState::failed);
  EXPECT_EQ(job.result.code, Code::provider_unavailable);
  EXPECT_EQ(job.result.error, "the endpoint answered 503");
  EXPECT_EQ(job.result.status, 503);
  EXPECT_EQ(job.result.retry_after, 90s);
  EXPECT_EQ(job.result.answer.size(), job_answer_bytes_max);
  EXPECT_EQ(job.result.answer.find('\n'), std::string::npos);
  EXPECT_EQ(hooks().log.size(), 1U);
  EXPECT_EQ(worker->snapshot().failed, 1U);
}

TEST_F(HubWorkerTest, RequestSaysWhichAttemptOfWhatItIs) {
  NewMessage draft{.topic = "t", .payload = json("{}")};
  draft.headers = {{"hub-attempt", "99"}, {"X-Shop", "7"}};
  draft.trace.correlation_id = "c-1";
  const auto record =
      hand.subscribe("a", R"({"mode": "structured", "timeout": "3s", "headers": {"X-A": "1"}})");
  const auto delivery = ready(record, std::move(draft));
  const auto before = clock.boot_now();
  const auto worker = worker_with();
  run(*worker);
  const auto& parcel = hooks().log.at(0);
  EXPECT_EQ(parcel.message->id().view(), delivery.event.view());
  EXPECT_EQ(HookTransport::header(parcel, "Hub-Delivery"), delivery.id.str());
  EXPECT_EQ(HookTransport::header(parcel, "Hub-Attempt"), "1");
  EXPECT_EQ(HookTransport::header(parcel, "hub-attempt"), "");
  EXPECT_EQ(HookTransport::header(parcel, "X-Shop"), "7");
  EXPECT_EQ(parcel.message->trace().correlation_id, "c-1");
  EXPECT_EQ(parcel.source, "shop");
  EXPECT_EQ(parcel.deadline, before + 3s);
  EXPECT_EQ(parcel.answer_bytes_max, job_answer_bytes_max);
  const auto& hook = HookTransport::hook_of(parcel);
  EXPECT_EQ(hook.text, "http://hooks/a");
  EXPECT_EQ(HookTransport::setting(hook, "mode"), "structured");
  EXPECT_EQ(HookTransport::setting(hook, "header.X-A"), "1");
  EXPECT_EQ(HookTransport::setting(hook, "secrets"), "");
}

TEST_F(HubWorkerTest, SecondAttemptHasTheSameIdAndAnotherNumber) {
  ready(hand.subscribe("a"));
  hooks().script = [](const spi::Parcel&) { return HookTransport::answered(500); };
  const auto worker = worker_with();
  run(*worker);
  hand.apply_results();
  hand.make_jobs();
  run(*worker);
  ASSERT_EQ(hooks().log.size(), 2U);
  EXPECT_EQ(hooks().log[0].message->id(), hooks().log[1].message->id());
  EXPECT_EQ(HookTransport::header(hooks().log[1], "Hub-Attempt"), "2");
}

TEST_F(HubWorkerTest, SignsWithThePresentSecretAndThoseThatOverlap) {
  const auto record = hand.subscribe("a");
  add_secret(record, "whsec_old");
  ready(record);
  const auto worker = worker_with();
  run(*worker);
  add_secret(record, "whsec_new");
  ready(record);
  run(*worker);
  ready(record);
  run(*worker);
  const auto keys = [&](std::size_t at) {
    return HookTransport::setting(HookTransport::hook_of(hooks().log.at(at)), "secrets");
  };
  EXPECT_EQ(keys(0), "whsec_old");
  EXPECT_EQ(keys(1), "whsec_new whsec_old");
  EXPECT_EQ(keys(2), "whsec_new whsec_old");
  EXPECT_EQ(hooks().addresses, 2) << "opened again only when something has changed";
}

TEST_F(HubWorkerTest, SecretThatCannotBeOpenedIsNoAttemptAtTheEndpoint) {
  const auto record = hand.subscribe("a");
  const auto theirs =
      box.seal("whsec_x", secret_context(SubscriptionId::parse("b").value()), *random).value();
  ASSERT_TRUE(hand.roles().subscriptions.add_secret(record.id, theirs, 1h, {}).ok());
  const auto delivery = ready(record);
  const auto worker = worker_with();
  run(*worker);
  EXPECT_EQ(hooks().log.size(), 0U);
  EXPECT_EQ(hand.attempt(delivery.id).result.code, Code::provider_unavailable);
  EXPECT_EQ(hand.attempt(delivery.id).result.error.find("whsec_x"), std::string::npos);
}

TEST_F(HubWorkerTest, WhatMayNotGoIsNotSent) {
  struct Case {
    std::string id;
    SubscriptionState state;
    std::string settings;
    std::string target;
    Code code;
  };
  const std::vector<Case> cases{
      {"disabled", SubscriptionState::disabled, "", "", Code::tx_deadletter},
      {"unverified", SubscriptionState::unverified, "", "", Code::provider_unavailable},
      {"newer", SubscriptionState::active, R"({"newer": 1})", "", Code::provider_unavailable},
      {"private", SubscriptionState::active, "", "http://refused/", Code::provider_unavailable},
      {"unknown", SubscriptionState::active, "", "pigeon:home", Code::provider_unavailable},
  };
  std::vector<DeliveryId> made;
  for (const auto& one : cases) {
    auto record = hand.subscribe(one.id);
    made.push_back(ready(record).id);
    record.state = one.state;
    record.settings = one.settings;
    if (!one.target.empty()) record.target = one.target;
    hand.subscribe(record);
  }
  const auto worker = worker_with();
  run(*worker);
  EXPECT_EQ(hooks().log.size(), 0U);
  for (std::size_t at = 0; at < cases.size(); ++at) {
    const auto job = hand.attempt(made[at]);
    EXPECT_EQ(job.state, HubJobState::failed) << cases[at].id;
    EXPECT_EQ(job.result.code, cases[at].code) << cases[at].id << ": " << job.result.error;
    EXPECT_EQ(job.result.status, 0);
  }
}

TEST_F(HubWorkerTest, PausedSubscriptionGetsWhatWasUnderWay) {
  auto record = hand.subscribe("a");
  ready(record);
  record.state = SubscriptionState::paused;
  hand.subscribe(record);
  const auto worker = worker_with();
  run(*worker);
  EXPECT_EQ(hooks().log.size(), 1U);
}

TEST_F(HubWorkerTest, EventOfAnotherTenantIsNotSent) {
  const auto record = hand.subscribe("a");
  const NewMessage draft{.topic = "t", .payload = json("{}"), .tenant = "umbrella"};
  std::vector<DeliveryId> made{ready(record, draft).id};
  // Event and delivery agree, the subscription is another's.
  auto theirs = delivery_of(hand.publish(draft), Subscription(record), hand.shards());
  made.push_back(theirs.id);
  ASSERT_TRUE(hand.roles().deliveries.add(std::span(&theirs, 1)).ok());
  hand.make_jobs();
  const auto worker = worker_with();
  run(*worker);
  EXPECT_EQ(hooks().log.size(), 0U);
  for (const auto& id : made) EXPECT_EQ(hand.attempt(id).result.code, Code::auth_denied);
}

TEST_F(HubWorkerTest, WhatHasNoEventAnyMoreEnds) {
  const auto record = hand.subscribe("a");
  HubEvent gone;
  gone.id = hand.ids().next<EventId>();
  gone.message = Message::build_shared({.topic = "t", .payload = json("{}"), .tenant = "acme"}, {},
                                       hand.ids(), clock)
                     .value();
  const auto orphan = delivery_of(gone, Subscription(record), hand.shards());
  ASSERT_TRUE(hand.roles().deliveries.add(std::span(&orphan, 1)).ok());
  hand.make_jobs();
  const auto worker = worker_with();
  run(*worker);
  EXPECT_EQ(hooks().log.size(), 0U);
  const auto job = hand.attempt(orphan.id);
  EXPECT_EQ(job.state, HubJobState::failed);
  EXPECT_EQ(job.result.code, Code::request_not_found) << "and the delivery is dead";
}

TEST_F(HubWorkerTest, AfterAFailOverItReadsAllSubscriptionsAgain) {
  const auto record = hand.subscribe("a");
  store.checkpoint();
  auto lost = record;
  lost.target = "http://hooks/lost";
  (void)hand.subscribe(lost);
  const auto worker = worker_with();
  (void)ready(record);
  run(*worker);
  ASSERT_EQ(HookTransport::hook_of(hooks().log.at(0)).text, "http://hooks/lost");
  // Another change has the number of the one that was lost.
  ASSERT_TRUE(store.fail_over());
  auto kept = record;
  kept.target = "http://hooks/kept";
  (void)hand.subscribe(kept);
  worker->timeline_changed();
  (void)ready(record);
  run(*worker);
  EXPECT_EQ(HookTransport::hook_of(hooks().log.at(1)).text, "http://hooks/kept");
}

TEST_F(HubWorkerTest, LeaseThatIsTooShortByNowSendsNothing) {
  const auto delivery = ready(hand.subscribe("a", R"({"timeout": "20s"})"));
  const auto worker = worker_with({.lease = 60s, .lease_margin = 10s});
  worker->wake();
  ASSERT_TRUE(worker->step());  // leases
  clock.advance(31s);           // held up
  run(*worker);
  EXPECT_EQ(hooks().log.size(), 0U);
  EXPECT_EQ(hand.attempt(delivery.id).result.code, Code::provider_unavailable);
  // Just in time.
  ready(hand.subscribe("b", R"({"timeout": "20s"})"));
  worker->wake();
  ASSERT_TRUE(worker->step());
  clock.advance(30s);
  run(*worker);
  EXPECT_EQ(hooks().log.size(), 1U);
}

TEST_F(HubWorkerTest, LeaseIsAsLongAsTheLongestRequestMayTake) {
  const auto quick = ready(hand.subscribe("quick"));
  hooks().hold = true;
  const auto left = [&](const DeliveryRecord& of) {
    return *hand.attempt(of.id).lease_until - clock.wall_now();
  };
  auto worker = worker_with();
  run(*worker);
  EXPECT_EQ(left(quick), 45s) << "15s and half a minute";
  EXPECT_EQ(hooks().log.back().deadline - clock.boot_now(), 15s);
  // A killed worker's job is free after that.
  worker.reset();
  clock.advance(45s);
  EXPECT_EQ(hand.roles().jobs.reset(10).value().reset, 1U);

  const auto slow = ready(hand.subscribe("slow", R"({"timeout": "1m"})"));
  worker = worker_with();
  run(*worker);
  EXPECT_EQ(left(slow), 90s);
  EXPECT_EQ(left(quick), 90s);
  worker.reset();
  clock.advance(90s);
  EXPECT_EQ(hand.roles().jobs.reset(10).value().reset, 2U);

  worker = worker_with({.request_timeout_max = 20s});
  run(*worker);
  EXPECT_EQ(left(slow), 50s);
  const auto sent = [&](std::string_view target) {
    Duration timeout{};
    for (const auto& parcel : hooks().log) {
      const bool is = HookTransport::hook_of(parcel).text.find(target) != std::string::npos;
      if (is) timeout = parcel.deadline - clock.boot_now();
    }
    return timeout;
  };
  EXPECT_EQ(sent("slow"), 20s) << "cut";
  EXPECT_EQ(sent("quick"), 15s);
  worker.reset();

  const auto other = ready(hand.subscribe("other"));
  worker = worker_with({.request_timeout_max = 20s, .lease = 30s});
  run(*worker);
  EXPECT_EQ(left(other), 30s);
  EXPECT_EQ(sent("other"), 15s);
}

TEST_F(HubWorkerTest, TimeoutThatHasBecomeLongerHasWhatTheLeaseLeaves) {
  auto subscription = hand.subscribe("a");
  ready(subscription);
  hooks().hold = true;
  const auto worker = worker_with();
  worker->wake();
  ASSERT_TRUE(worker->step());  // leases, for requests of 15 s
  subscription.settings = R"({"timeout": "1m"})";
  hand.subscribe(subscription);
  run(*worker);
  ASSERT_EQ(hooks().log.size(), 1U);
  EXPECT_EQ(hooks().log.back().deadline - clock.boot_now(), 35s) << "45 s but the margin";
}

TEST_F(HubWorkerTest, LeasesNothingWhileItMayNot) {
  ready(hand.subscribe("a"));
  auto& roles = hand.roles();
  bool may = false;
  Worker worker(
      {.jobs = roles.jobs,
       .secrets = roles.subscriptions,
       .subscriptions = [&](std::uint64_t after) { return roles.deliveries.subscriptions(after); },
       .transports = transports,
       .box = &box,
       .ids = hand.ids(),
       .clock = clock,
       .may_lease = [&] { return may; }});
  run(worker);
  EXPECT_EQ(hooks().log.size(), 0U);
  EXPECT_EQ(worker.next(clock.boot_now()), BootTime::max());
  may = true;
  run(worker);
  EXPECT_EQ(hooks().log.size(), 1U);
}

TEST_F(HubWorkerTest, TimeThatReadingTookCountsToo) {
  ready(hand.subscribe("a", R"({"timeout": "20s"})"));
  reading = [this] { clock.advance(31s); };
  const auto worker = worker_with({.lease = 60s, .lease_margin = 10s});
  run(*worker);
  EXPECT_EQ(hooks().log.size(), 0U);
}

TEST_F(HubWorkerTest, ResultInDoubtIsWrittenAgainAndNotSentAgain) {
  for (const auto fault : {Fault::refused, Fault::lost_before, Fault::lost_after}) {
    const auto delivery = ready(hand.subscribe("a" + std::to_string(static_cast<int>(fault))));
    faults[Operation::hub_finish] = fault;
    const auto worker = worker_with();
    run(*worker);
    EXPECT_FALSE(worker->idle());
    faults.clear();
    clock.advance(2s);
    run(*worker);
    EXPECT_TRUE(worker->idle());
    EXPECT_EQ(worker->snapshot().lost, 0U);
    EXPECT_EQ(hand.attempt(delivery.id).state, HubJobState::completed);
  }
  EXPECT_EQ(hooks().log.size(), 3U);
}

TEST_F(HubWorkerTest, JobsOfALeaseInDoubtComeBackThroughTheCleaner) {
  const auto delivery = ready(hand.subscribe("a"));
  faults[Operation::hub_lease] = Fault::lost_after;
  const auto worker = worker_with();
  run(*worker);
  faults.clear();
  Cleaner cleaner({.jobs = hand.roles().jobs, .clock = clock, .metrics = metrics});
  clock.advance(lease_by_default + 1s);
  EXPECT_TRUE(cleaner.step());
  run(*worker);
  EXPECT_EQ(hand.attempt(delivery.id).state, HubJobState::completed);
  EXPECT_EQ(hand.attempt(delivery.id).resets, 1U);
  EXPECT_EQ(hooks().log.size(), 1U);
  EXPECT_EQ(metrics.counter_value("hub_lost_leases_total", {{"result", "pending"}}), 1);
}

TEST_F(HubWorkerTest, ResultOfALeaseThatAnotherHasCountsForNothing) {
  const auto delivery = ready(hand.subscribe("a"));
  hooks().hold = true;
  const auto slow = worker_with({.name = "slow"});
  run(*slow);
  Cleaner cleaner({.jobs = hand.roles().jobs, .clock = clock});
  clock.advance(lease_by_default + 1s);
  cleaner.step();
  hooks().let_go();
  const auto quick = worker_with({.name = "quick"});
  run(*quick);
  EXPECT_EQ(hand.attempt(delivery.id).worker, "quick");
  hooks().script = [](const spi::Parcel&) { return HookTransport::answered(500); };
  run(*slow);
  EXPECT_EQ(slow->snapshot().lost, 1U);
  EXPECT_TRUE(slow->idle());
  EXPECT_EQ(hand.attempt(delivery.id).state, HubJobState::completed);
}

TEST_F(HubWorkerTest, HasNoMoreInHandThanItMay) {
  const auto record = hand.subscribe("a");
  for (int i = 0; i < 10; ++i) ready(record);
  hooks().hold = true;
  const auto worker = worker_with({.in_hand_max = 4, .lease_rows_max = 3});
  run(*worker);
  EXPECT_EQ(hooks().held(), 4U);
  EXPECT_EQ(worker->next(clock.boot_now()), BootTime::max());
  hooks().let_go();
  run(*worker);
  EXPECT_EQ(hooks().log.size(), 10U);
  EXPECT_TRUE(worker->idle());
}

TEST_F(HubWorkerTest, HasNoMoreBytesInHandThanItMay) {
  const auto record = hand.subscribe("a");
  const std::string text(1000, 'x');
  for (int i = 0; i < 10; ++i) {
    ready(record, {.topic = "shop.order.placed.v1", .payload = json("\"" + text + "\"")});
  }
  hooks().hold = true;
  const auto worker = worker_with({.in_hand_bytes_max = 3500});
  run(*worker);
  EXPECT_EQ(hooks().held(), 4U) << "the last of them is the first of a lease";
  EXPECT_EQ(worker->snapshot().bytes, 4U * (text.size() + 2));
  EXPECT_EQ(worker->next(clock.boot_now()), BootTime::max());
  hooks().let_go();
  run(*worker);
  EXPECT_EQ(hooks().log.size(), 10U);
  EXPECT_EQ(worker->snapshot().bytes, 0U);
  EXPECT_TRUE(worker->idle());
}

TEST_F(HubWorkerTest, WhatComesAfterItsEndIsDropped) {
  const auto delivery = ready(hand.subscribe("a"));
  hooks().hold = true;
  auto worker = worker_with();
  run(*worker);
  worker.reset();
  hooks().let_go();
  EXPECT_EQ(wakes, 0);
  EXPECT_EQ(hand.attempt(delivery.id).state, HubJobState::leased);
}

TEST_F(HubWorkerTest, StoppedItEndsWhatIsUnderWayAndLeasesNothing) {
  const auto record = hand.subscribe("a");
  ready(record);
  hooks().hold = true;
  const auto worker = worker_with();
  run(*worker);
  worker->stop();
  const auto later = ready(record);
  run(*worker);
  EXPECT_EQ(hooks().log.size(), 1U);
  hooks().let_go();
  run(*worker);
  EXPECT_TRUE(worker->idle());
  EXPECT_EQ(hand.attempt(later.id).state, HubJobState::pending);
}

TEST_F(HubWorkerTest, OtherTransportsGetTheHeadersWithTheMessage) {
  const auto delivery = ready(
      hand.subscribe("a", R"({"headers": {"X-A": "1"}, "mode": "structured"})", "bus:orders"));
  bus->script = [](const spi::Parcel&) { return spi::SendResult{}; };
  const auto worker = worker_with();
  run(*worker);
  ASSERT_EQ(bus->log.size(), 1U);
  EXPECT_TRUE(HookTransport::hook_of(bus->log[0]).settings.empty());
  EXPECT_EQ(HookTransport::header(bus->log[0], "X-A"), "1");
  EXPECT_EQ(hand.attempt(delivery.id).state, HubJobState::completed);
  EXPECT_EQ(hand.attempt(delivery.id).result.status, 0);
}

TEST_F(HubWorkerTest, SubscriptionsThatCannotBeReadMakeItWait) {
  ready(hand.subscribe("a"));
  faults[Operation::hub_look] = Fault::refused;
  const auto worker = worker_with();
  run(*worker);
  EXPECT_EQ(hooks().log.size(), 0U);
  faults.clear();
  clock.advance(2s);
  run(*worker);
  EXPECT_EQ(hooks().log.size(), 1U);
}

TEST_F(HubWorkerTest, LogsWhomAnAttemptIsAbout) {
  const auto delivery = ready(hand.subscribe("a"), traced_draft({}));
  const auto worker = worker_with();
  run(*worker);
  const auto lines = testing::lines_of(log, "an attempt succeeded");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(delivery.correlation_id, "c-7");
  testing::expect_about(lines[0], delivery, 1, DeliveryState::in_progress);
}

TEST_F(HubWorkerTest, AnAttemptIsAChildOfTheTraceThatItsEventWasPublishedWith) {
  const auto delivery = ready(hand.subscribe("a"), traced_draft(sampled_trace));
  hooks().hold = true;
  const auto worker = worker_with();
  run(*worker);
  clock.advance(40ms);
  hooks().let_go();
  run(*worker);
  ASSERT_EQ(spans.all.size(), 1U);
  const auto& span = spans.all[0];
  const auto parent = parse_traceparent(sampled_trace).value();
  EXPECT_EQ(span.trace, parent.trace);
  EXPECT_EQ(span.parent, parent.span);
  EXPECT_EQ(span.tracestate, "shop=1");
  const auto& trace = hooks().log.at(0).message->trace();
  const auto handed = parse_traceparent(trace.traceparent).value();
  EXPECT_EQ(handed.trace, parent.trace);
  EXPECT_EQ(handed.span, span.id) << "the receiver's spans are below this one";
  EXPECT_TRUE(handed.sampled);
  EXPECT_EQ(trace.tracestate, "shop=1");
  EXPECT_EQ(span.name, "deliver shop.order.placed.v1");
  EXPECT_EQ(span.lasted, 40ms);
  EXPECT_FALSE(span.failed);
  EXPECT_EQ(attribute(span, "messaging.message.id"), delivery.event.str());
  EXPECT_EQ(attribute(span, "sagabox.delivery"), delivery.id.str());
  EXPECT_EQ(attribute(span, "sagabox.subscription"), "a");
  EXPECT_EQ(attribute(span, "sagabox.attempt"), "1");
  EXPECT_EQ(attribute(span, "sagabox.result"), "completed");
  EXPECT_EQ(attribute(span, "http.response.status_code"), "204");
}

TEST_F(HubWorkerTest, ASpanOfAnAttemptThatFailedSaysWhy) {
  ready(hand.subscribe("a"), traced_draft(sampled_trace));
  hooks().script = [](const spi::Parcel&) { return HookTransport::answered(503); };
  const auto worker = worker_with();
  run(*worker);
  hand.apply_results();
  hand.make_jobs();
  run(*worker);
  ASSERT_EQ(spans.all.size(), 2U) << "one for each attempt";
  EXPECT_TRUE(spans.all[0].failed);
  EXPECT_EQ(spans.all[0].error, "the endpoint answered 503");
  EXPECT_EQ(attribute(spans.all[0], "error.type"), "PROVIDER.UNAVAILABLE");
  EXPECT_EQ(attribute(spans.all[1], "sagabox.attempt"), "2");
  EXPECT_NE(spans.all[0].id, spans.all[1].id);
}

TEST_F(HubWorkerTest, EventsWithoutATraceAreSampledAndAllTheirAttemptsAreInOneTrace) {
  ready(hand.subscribe("a"), traced_draft({}));
  hooks().script = [](const spi::Parcel&) { return HookTransport::answered(503); };
  const auto worker = worker_with();
  run(*worker);
  hand.apply_results();
  hand.make_jobs();
  run(*worker);
  ASSERT_EQ(spans.all.size(), 2U);
  EXPECT_EQ(spans.all[0].trace, spans.all[1].trace);
  EXPECT_EQ(spans.all[0].parent, SpanId{});
  tracing.sample_ratio = 0;
  const auto unsampled = worker_with();
  hand.apply_results();
  hand.make_jobs();
  run(*unsampled);
  EXPECT_EQ(spans.all.size(), 2U);
  EXPECT_EQ(hooks().log.back().message->trace().traceparent, "");
}

TEST_F(HubWorkerTest, WhatIsNotSampledOrNotSentHasNoSpan) {
  const std::string unsampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
  const auto record = hand.subscribe("a");
  ready(record, traced_draft(unsampled));
  const auto worker = worker_with();
  run(*worker);
  EXPECT_EQ(hooks().log.at(0).message->trace().traceparent, unsampled) << "handed on as it is";
  auto gone = record;
  gone.state = SubscriptionState::disabled;
  ready(record, traced_draft(sampled_trace));
  (void)hand.subscribe(gone);
  run(*worker);
  EXPECT_EQ(hooks().log.size(), 1U);
  EXPECT_TRUE(spans.all.empty());
}

TEST(HubCleanerTest, LogsWhomALostLeaseIsAbout) {
  testing::FakeClock clock;
  const auto random = seeded_random(1);
  testing::RecordingLogger log;
  memory::MemoryStore store{{.clock = &clock}};
  testing::HubHand hand{store, clock, *random};
  const auto record = hand.subscribe("a");
  auto made = delivery_of(hand.publish(traced_draft({})), Subscription(record), hand.shards());
  ASSERT_TRUE(hand.roles().deliveries.add(std::span(&made, 1)).ok());
  hand.make_jobs();
  Cleaner cleaner({.jobs = hand.roles().jobs, .clock = clock, .log = log});
  for (std::uint32_t lost = 0; lost < job_resets_max; ++lost) {
    ASSERT_TRUE(hand.roles().jobs.lease("w-7", hand.ids().next<LeaseToken>(), 60s, 10).ok());
    clock.advance(66s);
    EXPECT_TRUE(cleaner.step());
  }
  const auto again = testing::lines_of(log, "a job has lost its worker, and goes to another");
  const auto ended = testing::lines_of(log, "a job has lost its worker too often, and failed");
  ASSERT_EQ(again.size(), 2U);
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(made.correlation_id, "c-7");
  testing::expect_about(again[0], made, 1, DeliveryState::in_progress);
  testing::expect_about(ended[0], made, 1, DeliveryState::in_progress);
  EXPECT_EQ(again[0].fields.at("worker"), "w-7");
}

TEST(HubCleanerTest, ThirdLostLeaseFailsTheJob) {
  testing::FakeClock clock;
  const auto random = seeded_random(1);
  testing::RecordingMetrics metrics;
  memory::MemoryStore store{{.clock = &clock}};
  testing::HubHand hand{store, clock, *random};
  const auto record = hand.subscribe("a");
  auto made = delivery_of(hand.publish(), Subscription(record), hand.shards());
  ASSERT_TRUE(hand.roles().deliveries.add(std::span(&made, 1)).ok());
  hand.make_jobs();
  Cleaner cleaner({.jobs = hand.roles().jobs, .clock = clock, .metrics = metrics});
  for (std::uint32_t lost = 0; lost < job_resets_max; ++lost) {
    ASSERT_EQ(hand.roles().jobs.lease("w", hand.ids().next<LeaseToken>(), 60s, 10).value().size(),
              1U);
    clock.advance(59s);
    EXPECT_TRUE(cleaner.step());
    EXPECT_FALSE(cleaner.step()) << "not again before its interval has passed";
    EXPECT_EQ(hand.attempt(made.id).state, HubJobState::leased);
    clock.advance(cleaner.next(clock.boot_now()) - clock.boot_now());
    EXPECT_TRUE(cleaner.step());
    clock.advance(5s);
  }
  EXPECT_EQ(hand.attempt(made.id).state, HubJobState::failed);
  EXPECT_EQ(hand.attempt(made.id).result.code, Code::tx_lease_lost);
  EXPECT_EQ(hand.deliveries()[0].state, DeliveryState::in_progress);
  EXPECT_EQ(metrics.counter_value("hub_lost_leases_total", {{"result", "pending"}}), 2);
  EXPECT_EQ(metrics.counter_value("hub_lost_leases_total", {{"result", "failed"}}), 1);
}

}  // namespace
}  // namespace sagabox::delivery
