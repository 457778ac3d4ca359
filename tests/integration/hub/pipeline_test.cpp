#include "core/base64.hpp"
#include "delivery/cleaner/cleaner.hpp"
#include "delivery/router/router.hpp"
#include "delivery/worker/probe.hpp"
#include "delivery/worker/worker.hpp"
#include "support/http_server.hpp"
#include "support/hub_hand.hpp"
#include "support/outside_program.hpp"
#include "support/sqlite_database.hpp"

#include <sagabox/stores/sqlite.hpp>
#include <sagabox/testing/fake_clock.hpp>
#include <sagabox/transports/http.hpp>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace sagabox::testing {
namespace {

using namespace std::chrono_literals;
using delivery::Router;
using delivery::Worker;

// The example of the specification's own tests.
constexpr auto example_secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
constexpr auto example_id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
constexpr auto example_body = R"({"test": 2432232314})";
constexpr auto example_signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
constexpr WallTime example_time{std::chrono::seconds(1'614'265'330)};

/// Router, worker and cleaner on a SQLite file, with receivers on loopback.
class HubPipeline : public ::testing::Test {
 protected:
  static delivery::SecretBox make_box() {
    std::string text = "k1:";
    append_base64(std::string(32, '1'), text);
    return delivery::SecretBox::create(text).value();
  }

  HubPipeline() {
    const auto owner = hand_.own(spi::Scope(Router::scope), shards_);
    const auto timeline = hand_.roles().events.read({}, 1, 0).value().events.timeline;
    for (const auto& shard : shards_) router_.acquired(shard, owner, timeline);
  }
  ~HubPipeline() override { http_->close(clock_.boot_now()); }

  std::unique_ptr<Worker> make_worker() {
    auto& roles = hand_.roles();
    return std::make_unique<Worker>(delivery::JobWorkerParts{
        .jobs = roles.jobs,
        .secrets = roles.subscriptions,
        .subscriptions = [&](std::uint64_t after) { return roles.deliveries.subscriptions(after); },
        .transports = transports_,
        .box = &box_,
        .ids = hand_.ids(),
        .clock = clock_,
        .wake = [this] { wake(); }});
  }
  void wake() {
    const std::scoped_lock lock(mutex_);
    woken_ = true;
    came_.notify_one();
  }
  void route() {
    router_.wake();
    while (router_.step()) {
    }
  }
  /// Until all that it may lease has its result.
  void work(Worker& worker) {
    worker.wake();
    for (;;) {
      if (worker.step()) continue;
      if (worker.idle()) return;
      std::unique_lock lock(mutex_);
      ASSERT_TRUE(came_.wait_for(lock, 60s, [this] { return woken_; })) << "no answer came";
      woken_ = false;
    }
  }
  /// Everything once: an attempt of each delivery that is open.
  void round() {
    route();
    hand_.make_jobs();
    work(*worker_);
    hand_.apply_results();
    clock_.advance(1s);
  }
  SubscriptionRecord subscribe(std::string_view id, std::string settings = {}) {
    return hand_.subscribe(id, std::move(settings), server_.url("/" + std::string(id)));
  }
  void add_secret(const SubscriptionRecord& record, std::string_view secret) {
    const auto sealed = box_.seal(secret, delivery::secret_context(record.id), *random_).value();
    ASSERT_TRUE(hand_.roles().subscriptions.add_secret(record.id, sealed, 24h, {}).ok());
  }
  HttpReply reply_to(const HttpRequest& request) {
    const std::scoped_lock lock(mutex_);
    const auto script = scripts_.find(request.path);
    return script == scripts_.end() ? HttpReply{} : script->second(request);
  }

  SqliteFolder folder_;
  FakeClock clock_{example_time};
  std::unique_ptr<Random> random_ = seeded_random(1);
  std::unique_ptr<Store> store_ = sqlite::open(folder_.file(), {.clock = &clock_}).value();
  HubHand hand_{*store_, clock_, *random_};
  delivery::SecretBox box_ = make_box();
  std::mutex mutex_;  // of woken_, scripts_ and what scripts use
  std::condition_variable came_;
  bool woken_ = false;
  std::map<std::string, HttpServer::Handler> scripts_;
  HttpServer server_{[this](const HttpRequest& request) { return reply_to(request); }};
  std::shared_ptr<spi::Transport> http_ =
      http::open({.allow = {"127.0.0.0/8"}, .clock = &clock_}).value();
  delivery::Transports transports_{{"http", http_}};
  std::vector<spi::OwnedShard> shards_;
  Router router_{
      {.events = hand_.roles().events, .deliveries = hand_.roles().deliveries, .clock = clock_}};
  std::unique_ptr<Worker> worker_ = make_worker();
};

TEST_F(HubPipeline, WebhookIsSignedAsStandardWebhooksSay) {
  add_secret(subscribe("a"), example_secret);
  hand_.publish({.topic = "t", .payload = sagabox::json(example_body), .id = example_id}, "shop");
  route();
  hand_.make_jobs();
  work(*worker_);
  const auto request = server_.requests("/a", 1).at(0);
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.body, example_body);
  EXPECT_EQ(request.header("webhook-id"), example_id);
  EXPECT_EQ(request.header("webhook-timestamp"), "1614265330");
  EXPECT_EQ(request.header("webhook-signature"), example_signature);
  EXPECT_EQ(request.header("content-type"), "application/json");
  EXPECT_EQ(request.header("ce-id"), example_id);
  EXPECT_EQ(request.header("ce-source"), "shop");
  EXPECT_EQ(request.header("ce-type"), "t");
  EXPECT_EQ(request.header("ce-outboxsequence"), "") << "nobody's business";
  EXPECT_EQ(request.header("hub-attempt"), "1");
  EXPECT_EQ(request.header("hub-delivery"), hand_.deliveries().at(0).id.str());
  hand_.apply_results();
  EXPECT_EQ(hand_.deliveries().at(0).state, DeliveryState::completed);
}

TEST_F(HubPipeline, StandardwebhooksVerifiesIt) {
  if (const auto problem = OutsideProgram::problem(); !problem.empty()) GTEST_SKIP() << problem;
  constexpr auto other_key = "VEVTVFNJR05JTkdLRVlET05PVFVTRVRISVNGT1JBTlk=";
  OutsideProgram receiver(std::vector<std::string>{"http_receiver.mjs", example_secret, other_key});
  const auto port = boost::json::parse(receiver.line()).at("port").to_number<int>();
  // It refuses what is older than five minutes.
  clock_.set_wall(system_clock().wall_now());
  for (const auto* mode : {"binary", "structured"}) {
    add_secret(hand_.subscribe(mode, std::string(R"({"mode": ")") + mode + "\"}",
                               "http://127.0.0.1:" + std::to_string(port) + "/"),
               example_secret);
  }
  clock_.advance(1s);
  hand_.publish({.topic = "t", .payload = sagabox::json(R"({"to": "süd", "n": 1.0})")});
  round();
  for (int mode = 0; mode < 2; ++mode) {
    const auto said = boost::json::parse(receiver.line()).as_object();
    EXPECT_TRUE(said.at("symmetric").is_bool()) << boost::json::serialize(said);
  }
}

TEST_F(HubPipeline, WhileSecretsOverlapBothSign) {
  const auto record = subscribe("a");
  add_secret(record, example_secret);
  add_secret(record, "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDazfgh2Iu");
  hand_.publish({.topic = "t", .payload = sagabox::json(example_body), .id = example_id});
  round();
  const auto signatures = server_.requests("/a", 1).at(0).header("webhook-signature");
  EXPECT_EQ(std::ranges::count(signatures, ' '), 1) << signatures;
  EXPECT_TRUE(signatures.ends_with(std::string(" ") + example_signature)) << signatures;
  // The old one ends.
  clock_.advance(25h);
  hand_.publish({.topic = "t", .payload = sagabox::json(example_body)});
  round();
  const auto later = server_.requests("/a", 2).at(1).header("webhook-signature");
  EXPECT_EQ(std::ranges::count(later, ' '), 0) << later;
}

TEST_F(HubPipeline, StructuredModeIsOneJsonObject) {
  subscribe("a", R"({"mode": "structured", "headers": {"X-Api": "7"}})");
  hand_.publish({.topic = "t", .payload = sagabox::json(example_body), .id = example_id},
                "my shop");
  round();
  const auto request = server_.requests("/a", 1).at(0);
  EXPECT_EQ(request.header("content-type"), "application/cloudevents+json; charset=utf-8");
  EXPECT_EQ(request.header("x-api"), "7");
  EXPECT_EQ(request.header("hub-attempt"), "1");
  EXPECT_NE(request.body.find(R"("source":"my%20shop")"), std::string::npos) << request.body;
  EXPECT_NE(request.body.find(std::string(R"("data":)") + example_body), std::string::npos);
}

TEST_F(HubPipeline, EveryEventReachesEveryReceiverWhateverFailsMeanwhile) {
  std::map<std::string, int> tries;  // by webhook-id
  scripts_["/flaky"] = [&](const HttpRequest& request) {
    const auto tried = ++tries[request.header("webhook-id")];
    if (tried == 1) return HttpReply{.status = 500, .body = "no"};
    if (tried == 2) return HttpReply{.status = 302};
    return HttpReply{};
  };
  const auto flaky = subscribe("flaky", R"({"order": "key"})");
  add_secret(flaky, example_secret);
  subscribe("steady");
  constexpr std::size_t events = 30;
  for (std::size_t i = 0; i < events; ++i) hand_.publish("key-" + std::to_string(i % 3));
  const auto is_done = [&] {
    const auto all = hand_.deliveries();
    return all.size() == 2 * events && std::ranges::all_of(all, [](const DeliveryRecord& one) {
             return one.state == DeliveryState::completed;
           });
  };
  int rounds = 0;
  for (; rounds < 200 && !is_done(); ++rounds) round();
  ASSERT_TRUE(is_done()) << "after " << rounds << " rounds";
  EXPECT_EQ(server_.requests("/steady", events).size(), events);
  std::set<std::string> ids;
  for (const auto& request : server_.requests("/flaky", 3 * events)) {
    ids.insert(request.header("webhook-id"));
  }
  EXPECT_EQ(ids.size(), events);
  for (const auto& delivery : hand_.deliveries()) {
    const bool failed = delivery.subscription == flaky.id;
    EXPECT_EQ(delivery.attempt, failed ? 3U : 1U);
    if (!failed) continue;
    EXPECT_EQ(hand_.attempt(delivery.id, 1).result.status, 500);
    EXPECT_EQ(hand_.attempt(delivery.id, 1).result.answer, "no");
    EXPECT_EQ(hand_.attempt(delivery.id, 2).result.status, 302);
    EXPECT_EQ(hand_.attempt(delivery.id, 3).state, HubJobState::completed);
  }
}

TEST_F(HubPipeline, WhatAWorkerLostIsSentByAnother) {
  subscribe("a");
  hand_.publish("k");
  route();
  hand_.make_jobs();
  worker_->wake();
  ASSERT_TRUE(worker_->step());  // leased, and it dies
  worker_ = make_worker();
  work(*worker_);
  EXPECT_EQ(hand_.attempt(hand_.deliveries().at(0).id).state, HubJobState::leased);
  delivery::Cleaner cleaner({.jobs = hand_.roles().jobs, .clock = clock_});
  clock_.advance(delivery::SubscriptionSettings{}.timeout +
                 delivery::JobWorkerOptions{}.lease_spare);
  cleaner.step();
  work(*worker_);
  hand_.apply_results();
  EXPECT_EQ(hand_.deliveries().at(0).state, DeliveryState::completed);
  EXPECT_EQ(hand_.deliveries().at(0).attempt, 1U);
  EXPECT_EQ(server_.requests("/a", 1).size(), 1U);
}

TEST_F(HubPipeline, AnswersAreKeptAsTheyWereMeant) {
  scripts_["/gone"] = [](const HttpRequest&) { return HttpReply{.status = 410}; };
  scripts_["/busy"] = [](const HttpRequest&) {
    return HttpReply{.status = 429, .headers = {{"Retry-After", "7200"}}};
  };
  scripts_["/moved"] = [this](const HttpRequest&) {
    return HttpReply{.status = 307, .headers = {{"Location", server_.url("/elsewhere")}}};
  };
  std::map<std::string, DeliveryId> made;
  for (const auto* id : {"gone", "busy", "moved"}) subscribe(id);
  hand_.publish("k");
  route();
  hand_.make_jobs();
  work(*worker_);
  for (const auto& one : hand_.deliveries()) made[one.subscription.str()] = one.id;
  EXPECT_EQ(hand_.attempt(made["gone"]).result.status, 410);
  EXPECT_EQ(hand_.attempt(made["busy"]).result.status, 429);
  EXPECT_EQ(hand_.attempt(made["busy"]).result.retry_after, 2h);
  EXPECT_EQ(hand_.attempt(made["moved"]).result.status, 307);
  EXPECT_NE(hand_.attempt(made["moved"]).result.error.find("redirect"), std::string::npos);
  EXPECT_EQ(server_.requests("/moved", 1).size(), 1U);
  EXPECT_EQ(server_.requests("/elsewhere", 0).size(), 0U);
}

TEST_F(HubPipeline, EndpointProvesItselfOverHttp) {
  scripts_["/honest"] = [](const HttpRequest& request) {
    EXPECT_EQ(request.header("ce-type"), delivery::verification_type);
    EXPECT_TRUE(request.header("webhook-signature").starts_with("v1,"));
    const std::string before = "\"challenge\":\"";
    const auto at = request.body.find(before) + before.size();
    return HttpReply{.status = 200,
                     .body = request.body.substr(at, request.body.find('"', at) - at)};
  };
  scripts_["/echo"] = [](const HttpRequest& request) {
    return HttpReply{.status = 200, .body = request.body};
  };
  scripts_["/indifferent"] = [](const HttpRequest&) {
    return HttpReply{.status = 200, .body = "ok"};
  };
  const delivery::ProbeParts parts{
      .transports = transports_, .box = &box_, .clock = clock_, .random = *random_};
  const auto proved = [&](std::string_view id) {
    const auto record = subscribe(id);
    add_secret(record, example_secret);
    const auto secrets = hand_.roles().subscriptions.secrets(std::span(&record.id, 1)).value();
    return delivery::prove(parts, delivery::Subscription(record), secrets.at(0).secrets);
  };
  const auto honest = proved("honest");
  EXPECT_TRUE(honest.passed) << honest.error;
  EXPECT_EQ(honest.status, 200);
  EXPECT_FALSE(proved("indifferent").passed);
  EXPECT_FALSE(proved("echo").passed) << "sends back whatever it gets";
  const auto pinged = delivery::ping(parts, delivery::Subscription(subscribe("plain")), {});
  EXPECT_TRUE(pinged.passed) << pinged.error;
  EXPECT_EQ(pinged.status, 204);
}

}  // namespace
}  // namespace sagabox::testing
