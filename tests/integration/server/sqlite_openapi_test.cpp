#include "integration/server/sqlite_rest_world.hpp"
#include "saga/calls/reply_token.hpp"
#include "server/api/openapi_document.hpp"
#include "support/hub_scene.hpp"
#include "support/outside_program.hpp"
#include "support/saga_hand.hpp"
#include "wire/json_out.hpp"

#include <algorithm>
#include <fstream>
#include <span>

namespace sagabox::integration {
namespace {

/// Calls every operation, and lets others' programs hold the answers against the document.
class SqliteOpenApi : public SqliteRest {
 protected:
  void note(std::string_view operation, const RestAnswer& answer) {
    wire::JsonOut line;
    line.begin_object()
        .field("operation", operation)
        .field("status", answer.status)
        .field("type", answer.header("content-type"))
        .field("body", answer.body)
        .end_object();
    answers_ += std::move(line).take() + "\n";
  }
  void get(std::string_view operation, const std::string& target, unsigned status = 200) {
    const auto answer = client().get(target);
    EXPECT_EQ(answer.status, status) << operation << ": " << answer.body;
    note(operation, answer);
  }
  void post(std::string_view operation, const std::string& target, const std::string& body,
            unsigned status = 200) {
    const auto answer = client().post(target, body);
    EXPECT_EQ(answer.status, status) << operation << ": " << answer.body;
    note(operation, answer);
  }

  /// A relay's work, by hand: this one is dead.
  void kill(const std::string& id) {
    const auto row =
        store_->outbox_admin().find({.table = table_, .id = MessageId::parse(id).value()}).value();
    const auto relay = WorkerId::parse("relay").value();
    const std::vector<spi::Scope> scopes{"outbox:orders"};
    ASSERT_TRUE(store_->ownership().join(relay, 60s, scopes, 16).ok());
    Epoch epoch{};
    for (const auto& shard : store_->ownership().take("outbox:orders", relay, 16).value()) {
      if (shard.shard == row->shard) epoch = shard.epoch;
    }
    const std::vector<spi::Fence> fences{{row->shard, epoch}};
    const std::vector<spi::Settlement> items{{.sequence = row->sequence,
                                              .shard = row->shard,
                                              .id = row->id,
                                              .verdict = spi::Verdict::dead,
                                              .attempts = 3,
                                              .code = Code::provider_rejected,
                                              .error = "422"}};
    ASSERT_TRUE(
        store_->outbox()
            .settle({.table = table_, .fencing = {"outbox:orders", relay, fences}, .items = items})
            .ok());
  }

  /// Of a request that is done, and of one that is not.
  void remember_requests() {
    auto& keys = *store_->idempotency();
    ASSERT_TRUE(keys.prepare().ok());
    for (const auto* name : {"done", "running"}) {
      const spi::IdempotencyCheck check{
          .key = {.consumer = "mailer", .key = name}, .ticket = {1}, .lease = 60s, .ttl = 60s};
      ASSERT_TRUE(keys.check(std::span(&check, 1)).value().front().taken);
    }
    const spi::IdempotencyFinish finish{
        .key = {.consumer = "mailer", .key = "done"}, .ticket = {1}, .result = "sent"};
    ASSERT_TRUE(keys.finish(std::span(&finish, 1)).value().front());
  }

  void call_sagas() {
    const SagaDefinition travel{
        .name = "travel",
        .steps = {{.name = "flight", .action = "fn:book", .compensation = "fn:cancel"},
                  {.name = "approve", .wait = SagaWait::approval}}};
    testing::SagaHand hand(*store_, travel);
    auto saga = hand.fresh("s1");
    saga.key = "trip-77";
    saga.labels = {{"order", "77"}};
    saga.steps.at(0).state = SagaStepState::succeeded;
    saga.steps.at(0).output = R"({"seat":"12A"})";
    saga.steps.at(1).state = SagaStepState::waiting;
    hand.begin(saga);
    get("listSagas", "/v1/sagas?limit=1");
    get("listSagas", "/v1/sagas?state=lost", 400);
    get("countSagas", "/v1/sagas/count");
    get("getSaga", "/v1/sagas/s1?payload=true");
    get("getSaga", "/v1/sagas/nobody", 404);
    get("getSagaHistory", "/v1/sagas/s1/history?verify=true");
    get("explainSaga", "/v1/sagas/s1/explain");
    const std::string commands = "/v1/sagas/s1/commands";
    post("commandSaga", commands + "?wait_ms=0", R"({"command":"approve","command_id":"c1"})", 202);
    get("listSagaCommands", commands);
    hand.write(hand.load("s1"), {.applied = true});
    post("commandSaga", commands, R"({"command":"approve","command_id":"c1"})");
    post("commandSaga", commands, "{}", 400);
    post("startSaga", "/v1/sagas?wait_ms=0", R"({"definition":"travel","key":"k"})", 202);
    post("startSaga", "/v1/sagas?wait_ms=0", R"({"definition":"lodging"})", 404);
    const auto token = saga::reply_token({.saga = SagaId::parse("s1").value(),
                                          .definition = "travel",
                                          .tenant = "default",
                                          .step = "approve",
                                          .expires_at = WallTime::max()},
                                         reply_secret);
    const auto reply = [&](const std::string& with, const std::string& body, unsigned status) {
      const auto answer =
          client().post("/v1/saga-replies?wait_ms=0", body, "Saga-Reply-Token: " + with + "\r\n");
      EXPECT_EQ(answer.status, status) << answer.body;
      note("replyToSaga", answer);
    };
    reply(token, R"({"output":{"seat":"12A"}})", 202);
    reply(token, R"({"result":"perhaps"})", 400);
    reply("forged", "{}", 403);
    post("purgeSagas", "/v1/sagas/purge", R"({"definition":"travel","older_than_seconds":0})");
    post("defineSaga", "/v1/saga-definitions",
         R"({"definition":{"saga":"lodging","steps":[
           {"name":"hotel","action":"fn:book","compensation":"none"}]}})",
         201);
    get("listSagaDefinitions", "/v1/saga-definitions");
  }

  void call_hub() {
    testing::HubScene scene(*store_);
    const std::string event = R"({"type":"shop.order.placed.v1","payload":{"n":1},"source":"erp",
      "key":"k","external_id":"17","correlation_id":"c-1","headers":{"a":"b"}})";
    post("publishEvent", "/v1/events", event, 201);
    post("publishEvent", "/v1/events", event, 200);
    post("publishEvent", "/v1/events",
         R"({"type":"a.b.c.v1","payload":2,"source":"erp","external_id":"17"})", 409);
    post("publishEvent", "/v1/events", R"({"type":7})", 400);
    post("publishEvents", "/v1/events/batch",
         R"({"events":[{"type":"a.b.c.v1","payload_base64":"AAEC"}]})", 201);
    get("listEvents", "/v1/events?limit=1");
    get("listEvents", "/v1/events?limit=0", 400);
    const auto published = HubAdmin::open(*store_, {.admin = {.actor = "ann"}}).value();
    const auto events = published.events({}).value().rows;
    get("getEvent", "/v1/events/" + events.front().id.str() + "?payload=true");
    get("getEvent", "/v1/events/" + events.back().id.str() + "?payload=true");
    get("getEvent", "/v1/events/nobody", 404);

    const std::string all = "/v1/subscriptions";
    post("createSubscription", all,
         R"({"target":"https://hooks.example.com/","types":["shop.**"],"name":"shop",
             "settings":{"order":"key"},"verify":"none"})",
         201);
    post("createSubscription", all, R"({"target":"example.com","types":["**"]})", 400);
    const auto subscription = published.subscriptions({}).value().rows.front().record.id;
    const auto one = all + "/" + subscription.str();
    get("listSubscriptions", all + "?state=active");
    get("listSubscriptions", all + "?state=lost", 400);
    get("getSubscription", one);
    get("getSubscription", all + "/nobody", 404);
    post("changeSubscription", one, R"({"name":"renamed"})");
    post("changeSubscription", one, R"({"name":"late","version":1})", 409);
    post("pauseSubscription", one + "/pause", R"({"note":"their release"})");
    post("enableSubscription", one + "/enable", "", 409);
    post("resumeSubscription", one + "/resume", "");
    post("rotateSecret", one + "/secrets", R"({"overlap_seconds":3600})", 201);
    post("pingSubscription", one + "/ping", "");
    call_deliveries(scene, events.back().id, subscription);
    get("getSubscriptionHealth", one + "/health?since_seconds=60");
    get("getSubscriptionHealth", all + "/nobody/health", 404);
    get("explainSubscription", one + "/explain");
    get("explainSubscription", all + "/nobody/explain", 404);
    post("disableSubscription", one + "/disable", "");
    post("enableSubscription", one + "/enable", "");
    post("verifySubscription", one + "/verify", "");
    post("verifySubscription", all + "/nobody/verify", "", 404);
  }

  void call_deliveries(testing::HubScene& scene, const EventId& event,
                       const SubscriptionId& subscription) {
    const auto id = scene.dead(scene.routed(event, subscription).id).id;
    const std::string all = "/v1/deliveries";
    get("listDeliveries", all + "?state=dead&subscription=" + subscription.str());
    get("listDeliveries", all + "?code=LOST", 400);
    get("countDeliveries", all + "/count");
    get("getDelivery", all + "/" + id.str() + "?payload=true");
    get("getDelivery", all + "/nobody", 404);
    get("explainDelivery", all + "/" + id.str() + "/explain");
    post("requeueMatching", all + "/requeue-matching", R"({"all":true,"dry_run":true})");
    post("requeueMatching", all + "/requeue-matching", "{}", 400);
    post("requeueDeliveries", all + "/requeue", R"({"ids":[")" + id.str() + R"(","nobody"]})");
    post("requeueDeliveries", all + "/requeue", R"({"ids":[]})", 400);
    get("explainDelivery", all + "/" + id.str() + "/explain");
  }

  void call_reads() {
    get("live", "/health/live");
    get("ready", "/health/ready");
    get("metrics", "/metrics");
    get("openapi", "/openapi.json");
    get("listTables", "/v1/tables");
    get("getTable", table + "");
    get("getTable", "/v1/tables/nowhere", 404);
    get("listOwners", table + "/owners");
    get("listBlockedKeys", table + "/blocked-keys");
    get("countMessages", table + "/count?state=dead");
    get("countMessages", table + "/count?state=lost", 400);
    get("listStrays", table + "/strays");
    get("listStores", "/v1/stores");
    get("listFindings", "/v1/stores/default/findings");
    get("listFindings", "/v1/stores/nowhere/findings", 404);
    get("listDestinations", "/v1/destinations");
    get("listMessages", table + "/messages?limit=1");
    get("listMessages", table + "/messages?limit=0", 400);
    get("getMessage", table + "/messages/json?payload=true");
    get("getMessage", table + "/messages/bytes?payload=true");
    get("getMessage", table + "/messages/nobody", 404);
    get("explainMessage", table + "/messages/json/explain");
    get("listDeadLetters", table + "/dead-letters?history=true");
    get("getDeadLetter", table + "/dead-letters/dead");
  }

  static inline const std::string table = "/v1/tables/orders";
  std::string answers_;
};

TEST_F(SqliteOpenApi, EveryAnswerIsAsTheDocumentSays) {
  if (const auto missing = testing::OutsideProgram::problem(); !missing.empty()) {
    GTEST_SKIP() << missing;
  }
  // As a daemon with a hub does at its start: it is not ready without.
  ASSERT_TRUE(store_->hub()->events.prepare().ok());
  server::ServerOptions options;
  options.api.destinations = [] {
    return std::vector<DestinationState>{{.target = "bus:up", .under_way = 1},
                                         {.target = "bus:down",
                                          .down = true,
                                          .down_for = 90s,
                                          .next_probe = 2s,
                                          .last_error = "refused"}};
  };
  options.api.hub = server::ServedHub{
      .store = store_.get(),
      .secret_key = "k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
      .probe = [](const EndpointProbe&) -> Result<ProbeReport> {
        return ProbeReport{.passed = true, .status = 204, .answer = "thanks", .took = 40ms};
      }};
  serve(std::move(options));
  post("enqueue", messages, R"({"topic":"t","payload":{"n":1},"id":"json","key":"k",
    "headers":{"a":"b"},"not_before":"2099-01-01T00:00:00Z"})",
       201);
  post("enqueue", messages, R"({"topic":"t","payload":1,"id":"json"})", 200);
  post("enqueue", messages, R"({"topic":7})", 400);
  post("enqueueBatch", messages + "/batch", R"({"messages":[
    {"topic":"t","payload_base64":"AAEC","id":"bytes"},{"topic":"t","payload":1,"id":"dead"}]})",
       201);
  kill("dead");
  call_reads();
  post("replayDeadLetter", table + "/dead-letters/dead/replay", "");
  post("replayDeadLetter", table + "/dead-letters/dead/replay", "", 409);
  post("quarantineMessages", table + "/dead-letters/quarantine", R"({"ids":["dead"],"note":"n"})");
  get("getMessage", table + "/messages/dead");
  post("releaseMessages", table + "/dead-letters/release", R"({"ids":["dead","nobody"]})");
  post("replayDeadLetters", table + "/dead-letters/replay", R"({"ids":["dead"]})");
  post("previewReplay", table + "/replays/preview", R"({"from":"dead"})");
  post("startReplay", table + "/replays", R"({"from":"dead","filter":{"topic":"t"}})", 201);
  get("listReplays", table + "/replays");
  get("getReplay", table + "/replays/1");
  post("stopReplay", table + "/replays/1/stop", "");
  post("resumeReplay", table + "/replays/1/resume", "");
  post("pause", table + "/pause", R"({"note":"n"})");
  post("pause", table + "/pause", R"({"topic":"t"})");
  get("listPauses", table + "/pauses");
  post("resume", table + "/resume", "");
  post("purge", table + "/purge", R"({"older_than_seconds":0,"dry_run":true})");
  remember_requests();
  get("listIdempotencyKeys", "/v1/idempotency-keys?limit=1");
  get("listIdempotencyKeys", "/v1/idempotency-keys?consumer=mailer&key=running");
  get("listIdempotencyKeys", "/v1/idempotency-keys?state=lost", 400);
  const std::string purge_keys = "/v1/idempotency-keys/purge";
  post("purgeIdempotencyKeys", purge_keys, R"({"consumer":"mailer","key":"done"})");
  post("purgeIdempotencyKeys", purge_keys, R"({"expired":true})");
  post("purgeIdempotencyKeys", purge_keys, "{}", 400);
  call_sagas();
  call_hub();
  get("exportAudit", "/v1/audit");
  get("verifyAudit", "/v1/audit/verify");

  std::ofstream(folder_.file("openapi.json")) << server::openapi_document();
  std::ofstream(folder_.file("answers")) << answers_;
  testing::OutsideProgram check(
      {"openapi_check.mjs", folder_.file("openapi.json"), folder_.file("answers")});
  EXPECT_EQ(check.line(60s),
            "checked " + std::to_string(std::ranges::count(answers_, '\n')) + " answers");
}

}  // namespace
}  // namespace sagabox::integration
