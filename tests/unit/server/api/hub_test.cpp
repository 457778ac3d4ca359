#include "server/api/routes.hpp"
#include "support/hub_scene.hpp"
#include "support/sqlite_database.hpp"
#include "unit/server/world.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sagabox::server {
namespace {

using namespace std::string_literals;

constexpr auto order_event = R"({"type":"shop.order.placed.v1","payload":{"n":1}})";
constexpr auto shop = R"({"name":"shop","types":["shop.order.*.v1"],
  "target":"https://hooks.example.com/shop?token=abc",
  "settings":{"headers":{"authorization":"Bearer abc"}}})";

/// What services, customers and operators see of the delivery hub, whose roles are played by hand.
class RestHub : public ApiTest {
 protected:
  RestHub() {
    hub_ = ServedHub{.store = &store_,
                     .secret_key = "k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
                     .probe = [this](const EndpointProbe&) { return Result(report_); }};
    api_ = make_api(nullptr);
  }
  void use_key(NewKey key) {
    KeyFile file(folder_.file("keys"));
    key_ = file.create(std::move(key), *random_, clock_).value().secret;
    api_ = make_api(KeyRing::open(file, {.clock = &clock_, .log = &log_}).value());
  }
  std::string published(const std::string& fields = order_event) {
    const auto answer = post("/v1/events", fields);
    EXPECT_TRUE(answer.status == 201 || answer.status == 200) << answer.body;
    return text(body(answer), "id");
  }
  json::object created(const std::string& fields = shop, Headers headers = {}) {
    const auto answer = post("/v1/subscriptions", fields, std::move(headers));
    EXPECT_TRUE(answer.status == 201 || answer.status == 200) << answer.body;
    return body(answer);
  }
  std::string active() {
    const auto id = text(created(), "id");
    EXPECT_EQ(act(id, "verify").status, 200U);
    return id;
  }
  Response act(const std::string& id, const std::string& what, const std::string& fields = "") {
    return post("/v1/subscriptions/" + id + "/" + what, fields);
  }
  DeliveryId routed(const std::string& event, const std::string& subscription) {
    return scene_.routed(EventId::parse(event).value(), SubscriptionId::parse(subscription).value())
        .id;
  }

  const testing::SqliteFolder folder_;
  std::unique_ptr<Random> random_ = seeded_random(7);
  testing::HubScene scene_{store_};
  ProbeReport report_{.passed = true, .status = 200, .took = 40ms};
};

TEST_F(RestHub, NotReadyWhileEventsAreNotRouted) {
  EXPECT_EQ(get("/health/ready").status, 200U);
  published();
  clock_.advance(4min);
  EXPECT_EQ(get("/health/ready").status, 200U);
  clock_.advance(2min);
  const auto stuck = get("/health/ready");
  EXPECT_EQ(stuck.status, 503U);
  EXPECT_NE(stuck.body.find("its oldest event waits for 6m00s to be routed"), std::string::npos)
      << stuck.body;
  clock_.advance(1s);
  store_.set_faults([](memory::Operation operation) {
    return operation == memory::Operation::hub_inspect ? memory::Fault::refused
                                                       : memory::Fault::none;
  });
  EXPECT_NE(get("/health/ready").body.find("its store does not answer"), std::string::npos);
  store_.set_faults({});
  // Another daemon has the role of router.
  hub_->routes = false;
  api_ = make_api(nullptr);
  EXPECT_EQ(get("/health/ready").status, 200U);
  clock_.advance(10min);
  EXPECT_EQ(get("/health/ready").status, 200U);
}

TEST_F(RestHub, PublishesOnceForAnExternalId) {
  const std::string event = R"({"type":"shop.order.placed.v1","payload":{"n": 1},
    "source":"erp","external_id":"17"})";
  const auto first = post("/v1/events", event, {{"x-request-id", "r-1"}});
  ASSERT_EQ(first.status, 201U) << first.body;
  const auto id = text(body(first), "id");
  const auto again = post("/v1/events", event);
  EXPECT_EQ(again.status, 200U);
  EXPECT_EQ(text(body(again), "id"), id);
  EXPECT_TRUE(body(again).at("duplicate").as_bool());
  const auto other = post("/v1/events", R"({"type":"shop.order.placed.v1","payload":{"n":2},
    "source":"erp","external_id":"17"})");
  EXPECT_EQ(refusal(other).substr(0, 26), "409 TX.IDEMPOTENT_MISMATCH");
  const auto shown = get("/v1/events/" + id + "?payload=true");
  EXPECT_NE(shown.body.find(R"("payload":{"n": 1})"), std::string::npos) << "byte for byte";
}

TEST_F(RestHub, PublishesSeveralOrNone) {
  const auto both = post("/v1/events/batch",
                         R"({"events":[{"type":"a.b.c.v1","payload":1},
                                       {"type":"a.b.d.v1","payload_base64":"AAEC"}]})");
  ASSERT_EQ(both.status, 201U) << both.body;
  EXPECT_EQ(body(both).at("events").as_array().size(), 2U);
  const auto wrong = post("/v1/events/batch", R"({"events":[{"type":"a.b.c.v1","payload":1},
                                                            {"type":"","payload":1}]})");
  EXPECT_EQ(refusal(wrong).substr(0, 44), "400 SCHEMA.VALIDATION_FAILED events[1].type:");
  EXPECT_EQ(body(get("/v1/events")).at("events").as_array().size(), 2U);
  EXPECT_EQ(body(get("/v1/events?type=a.b.d.v1")).at("events").as_array().size(), 1U);
  EXPECT_EQ(post("/v1/events/batch", R"({"events":[]})").status, 400U);
}

TEST_F(RestHub, TheSameIdempotencyKeyIsTheSameEvent) {
  idempotency_ = HttpIdempotencyOptions{.service = "rest"};
  api_ = make_api(nullptr);
  const Headers key{{"idempotency-key", "k-1"}};
  const auto first = post("/v1/events", order_event, key);
  ASSERT_EQ(first.status, 201U) << first.body;
  EXPECT_EQ(post("/v1/events", order_event, key).body, first.body);
  EXPECT_EQ(body(get("/v1/events")).at("events").as_array().size(), 1U);
  EXPECT_EQ(post("/v1/events", R"({"type":"a.b.c.v1","payload":2})", key).status, 422U);
}

TEST_F(RestHub, EveryWriteToTheHubIsRepeatedByteForByteAndDoneOnce) {
  const auto id = text(created(), "id");
  EXPECT_EQ(act(id, "verify").status, 200U);
  const auto first_dead = scene_.dead(routed(published(), id)).id.str();
  const auto second_dead = scene_.dead(routed(published(), id)).id.str();
  idempotency_ = HttpIdempotencyOptions{.service = "rest"};
  api_ = make_api(nullptr);
  const std::string event = R"({"type":"shop.order.placed.v1","payload":{"n":1})";
  const auto subscription = "/v1/subscriptions/" + id;
  struct Write {
    std::string operation;
    std::string target;
    std::string body;  ///< without its closing brace
  };
  // In this order: some need what those before them did.
  const std::vector<Write> writes{
      {"publishEvent", "/v1/events", event},
      {"publishEvents", "/v1/events/batch", R"({"events":[)" + event + "}]"},
      {"requeueDeliveries", "/v1/deliveries/requeue", R"({"ids":[")" + first_dead + R"("])"},
      {"requeueMatching", "/v1/deliveries/requeue-matching", R"({"all":true)"},
      {"pingSubscription", subscription + "/ping", "{"},
      {"pauseSubscription", subscription + "/pause", R"({"note":"their release")"},
      {"resumeSubscription", subscription + "/resume", "{"},
      {"changeSubscription", subscription, R"({"types":["shop.**"])"},
      {"disableSubscription", subscription + "/disable", "{"},
      {"enableSubscription", subscription + "/enable", "{"},
      {"verifySubscription", subscription + "/verify", "{"},
  };
  std::set<std::string> tried;
  for (const auto& write : writes) {
    SCOPED_TRACE(write.operation);
    tried.insert(write.operation);
    const auto keyed = [&](const std::string& end) {
      return post(write.target, write.body + end, {{"idempotency-key", write.operation}});
    };
    const auto first = keyed("}");
    ASSERT_LT(first.status, 300U) << first.body;
    const auto acts = get("/v1/audit").body;
    const auto events = get("/v1/events").body;
    clock_.advance(1s);  // an act that is done again has another time
    const auto again = keyed("}");
    EXPECT_EQ(again.status, first.status);
    EXPECT_EQ(again.body, first.body);
    EXPECT_EQ(again.headers, first.headers);
    EXPECT_EQ(get("/v1/audit").body, acts) << "done twice";
    EXPECT_EQ(get("/v1/events").body, events) << "done twice";
    EXPECT_EQ(keyed(" }").status, 422U);
  }
  for (const auto& route : routes()) {
    if (!route.writes() || !route.of_hub() || route.answers_secret()) continue;
    EXPECT_TRUE(tried.contains(std::string(route.operation))) << route.operation;
  }
}

// Whatever writes is of a table, of the hub, or one of those that docs/rest.md names.
TEST_F(RestHub, WritesThatKeepNoAnswersAreTheDocumentedOnes) {
  std::set<std::string> without;
  for (const auto& route : routes()) {
    const bool keeps =
        route.path.starts_with("/v1/tables/") || (route.of_hub() && !route.answers_secret());
    if (route.writes() && !keeps) without.insert(std::string(route.operation));
  }
  EXPECT_EQ(without,
            (std::set<std::string>{"createSubscription", "rotateSecret", "startSaga", "commandSaga",
                                   "defineSaga", "purgeSagas", "purgeIdempotencyKeys"}));
}

TEST_F(RestHub, ASubscriptionIsMadeOnceForAKeyAndItsSecretIsSaidOnce) {
  idempotency_ = HttpIdempotencyOptions{.service = "rest"};
  api_ = make_api(nullptr);
  const Headers key{{"idempotency-key", "k-1"}};
  const auto first = created(shop, key);
  EXPECT_EQ(text(first, "state"), "unverified");
  const auto secret = text(first.at("secret").as_object(), "secret");
  EXPECT_TRUE(secret.starts_with("whsec_"));
  const auto again = created(shop, key);
  EXPECT_EQ(text(again, "id"), text(first, "id"));
  EXPECT_TRUE(again.at("duplicate").as_bool());
  EXPECT_FALSE(again.contains("secret"));
  // Nowhere else is it.
  const auto id = text(first, "id");
  for (const auto& path : {"/v1/subscriptions/" + id + "?payload=true", "/v1/subscriptions"s,
                           "/v1/audit"s, "/v1/idempotency-keys"s}) {
    EXPECT_EQ(get(path).body.find(secret), std::string::npos) << path;
  }
}

TEST_F(RestHub, ShowsSecretsOfHeadersAndTargetsOnlyWithTheRight) {
  const auto id = text(created(), "id");
  for (const auto& path : {"/v1/subscriptions/" + id, "/v1/subscriptions"s}) {
    const auto shown = get(path).body;
    EXPECT_EQ(shown.find("abc"), std::string::npos) << shown;
    EXPECT_NE(shown.find(R"("authorization":"***")"), std::string::npos) << shown;
  }
  EXPECT_NE(get("/v1/subscriptions/" + id + "?payload=true").body.find("Bearer abc"),
            std::string::npos);
  use_key({.name = "looker", .role = Role::admin});
  EXPECT_EQ(get("/v1/subscriptions/" + id).status, 200U);
  EXPECT_EQ(get("/v1/subscriptions/" + id + "?payload=true").status, 403U);
}

TEST_F(RestHub, SaysWhatIsWrongWithASubscription) {
  EXPECT_EQ(refusal(post("/v1/subscriptions", R"({"types":["**"]})")),
            "400 REQUEST.INVALID target: is missing");
  EXPECT_EQ(refusal(post("/v1/subscriptions", R"({"target":"example.com","types":["**"]})")),
            "400 REQUEST.INVALID target: has no scheme; give an address like https://host/path");
  EXPECT_EQ(refusal(post("/v1/subscriptions",
                         R"({"target":"https://a/","types":["**"],"verify":"maybe"})")),
            "400 REQUEST.INVALID verify: \"maybe\"; give challenge or none");
  EXPECT_EQ(refusal(post("/v1/subscriptions", R"({"target":"https://a/","types":["**"],
                         "settings":{"filter":{"a":{"gtt":1}}}})"))
                .substr(0, 46),
            "400 REQUEST.INVALID settings.filter.a.gtt: is ");
  EXPECT_EQ(post("/v1/subscriptions", R"({"target":"https://a/","types":[],"x":1})").status, 400U);
  EXPECT_EQ(refusal(get("/v1/subscriptions?state=lost")),
            "400 REQUEST.INVALID state: \"lost\"; give unverified, active, paused or disabled");
  EXPECT_EQ(refusal(get("/v1/subscriptions/nobody")),
            "404 REQUEST.NOT_FOUND subscription \"nobody\" is not there");
  EXPECT_EQ(act("nobody", "pause").status, 404U);
}

TEST_F(RestHub, LeadsASubscriptionFromStateToState) {
  const auto id = text(created(), "id");
  report_ = {.passed = false, .status = 404, .error = "404 Not Found"};
  const auto failed = body(act(id, "verify"));
  EXPECT_FALSE(failed.at("report").at("passed").as_bool());
  EXPECT_EQ(text(failed.at("subscription").as_object(), "state"), "unverified");
  report_ = {.passed = true, .status = 200};
  EXPECT_EQ(text(body(act(id, "verify")).at("subscription").as_object(), "state"), "active");
  EXPECT_TRUE(body(act(id, "ping")).at("passed").as_bool());
  EXPECT_EQ(text(body(act(id, "pause", R"({"note":"their release"})")), "reason"), "their release");
  EXPECT_EQ(refusal(act(id, "enable")).substr(0, 20), "409 TX.INVALID_STATE");
  EXPECT_EQ(text(body(act(id, "resume")), "state"), "active");
  const auto changed = post("/v1/subscriptions/" + id, R"({"types":["shop.**"],"version":4})");
  EXPECT_EQ(changed.status, 200U) << changed.body;
  EXPECT_EQ(
      refusal(post("/v1/subscriptions/" + id, R"({"name":"late","version":4})")).substr(0, 20),
      "409 STORAGE.CONFLICT");
  const auto secret = act(id, "secrets", R"({"overlap_seconds":3600})");
  EXPECT_EQ(secret.status, 201U);
  EXPECT_EQ(body(secret).at("number").as_int64(), 2);
  EXPECT_EQ(act(id, "secrets", R"({"overlap_seconds":1e9})").status, 400U);
  EXPECT_EQ(text(body(act(id, "disable")), "state"), "disabled");
  EXPECT_EQ(text(body(act(id, "enable")), "state"), "unverified");
}

TEST_F(RestHub, ShowsWhatAnEndpointAnsweredOnlyWithTheRight) {
  const auto id = text(created(), "id");
  report_ = {.passed = false, .status = 404, .error = "404 Not Found", .answer = "inner page"};
  EXPECT_EQ(text(body(act(id, "ping")), "answer"), "inner page");
  EXPECT_EQ(text(body(act(id, "verify")).at("report").as_object(), "answer"), "inner page");
  use_key({.name = "operator", .role = Role::admin});
  for (const auto* what : {"ping", "verify"}) {
    const auto shown = act(id, what);
    EXPECT_EQ(shown.status, 200U) << shown.body;
    EXPECT_NE(shown.body.find("404 Not Found"), std::string::npos) << shown.body;
    EXPECT_EQ(shown.body.find("inner page"), std::string::npos) << shown.body;
  }
}

TEST_F(RestHub, ShowsADeliveryAndItsPayloadOnlyWithTheRight) {
  const auto subscription = active();
  const auto id = scene_.dead(routed(published(), subscription)).id.str();
  const auto shown = body(get("/v1/deliveries/" + id));
  EXPECT_EQ(text(shown, "state"), "dead");
  EXPECT_EQ(text(shown, "subscription_name"), "shop");
  const auto& attempt = shown.at("attempts").at(0).as_object();
  EXPECT_EQ(attempt.at("status").as_int64(), 422);
  EXPECT_FALSE(attempt.contains("answer"));
  const auto full = get("/v1/deliveries/" + id + "?payload=true").body;
  EXPECT_NE(full.find(R"("answer":"no such \u001b[31mshop")"), std::string::npos) << full;
  EXPECT_NE(full.find(R"("payload":{"n":1})"), std::string::npos) << full;
  EXPECT_EQ(body(get("/v1/deliveries?state=dead&subscription=" + subscription))
                .at("deliveries")
                .as_array()
                .size(),
            1U);
  EXPECT_EQ(body(get("/v1/deliveries/count")).at("counts").as_array().size(), 1U);
  EXPECT_EQ(text(body(get("/v1/deliveries/" + id + "/explain")), "next"),
            "sagabox delivery requeue " + id);
  use_key({.name = "looker", .role = Role::read});
  EXPECT_EQ(get("/v1/deliveries/" + id + "?payload=true").status, 403U);
  EXPECT_EQ(get("/v1/deliveries/" + id).status, 200U);
}

TEST_F(RestHub, RequeuesOneAndAllThatMatch) {
  const auto subscription = active();
  const auto one = scene_.dead(routed(published(), subscription)).id.str();
  const auto other = scene_.dead(routed(published(), subscription)).id.str();
  const auto preview = body(post("/v1/deliveries/requeue-matching",
                                 R"({"subscription":")" + subscription + R"(","dry_run":true})"));
  EXPECT_EQ(preview.at("matched").as_int64(), 2);
  EXPECT_EQ(preview.at("requeued").as_int64(), 0);
  EXPECT_EQ(text(preview.at("first").at(0).as_object(), "id"), one);
  const auto named =
      body(post("/v1/deliveries/requeue", R"({"ids":[")" + one + R"(","nobody"],"note":"fixed"})"));
  EXPECT_EQ(named.at("requeued").as_int64(), 1);
  EXPECT_EQ(text(named.at("results").at(1).as_object(), "outcome"), "not_dead");
  const auto all = body(post("/v1/deliveries/requeue-matching", R"({"all":true})"));
  EXPECT_EQ(all.at("requeued").as_int64(), 1);
  EXPECT_EQ(all.at("already").as_int64(), 1);
  EXPECT_EQ(refusal(post("/v1/deliveries/requeue-matching", "{}")),
            "400 REQUEST.INVALID all: give a filter, or \"all\": true for every dead delivery");
  EXPECT_EQ(scene_.look_at(DeliveryId::parse(other).value()).state, DeliveryState::dead)
      << "what is dead stays so";
}

TEST_F(RestHub, RolesAreThoseOfTheHub) {
  const auto subscription = active();
  const auto dead = scene_.dead(routed(published(), subscription)).id.str();
  const std::string requeue = R"({"ids":[")" + dead + R"("]})";
  use_key({.name = "looker", .role = Role::read});
  EXPECT_EQ(post("/v1/events", order_event).status, 403U);
  EXPECT_EQ(post("/v1/deliveries/requeue", requeue).status, 403U);
  EXPECT_EQ(act(subscription, "pause").status, 403U);
  use_key({.name = "service", .role = Role::operate});
  EXPECT_EQ(post("/v1/events", order_event).status, 201U);
  EXPECT_EQ(post("/v1/deliveries/requeue", requeue).status, 200U);
  EXPECT_EQ(act(subscription, "pause").status, 200U);
  for (const auto* admins : {"disable", "enable", "verify", "secrets"}) {
    EXPECT_EQ(act(subscription, admins).status, 403U) << admins;
  }
  EXPECT_EQ(post("/v1/subscriptions", shop).status, 403U)
      << "who may publish may not send it elsewhere";
  EXPECT_EQ(post("/v1/subscriptions/" + subscription, R"({"name":"n"})").status, 403U);
}

TEST_F(RestHub, AKeyOfATenantSeesAndChangesNothingOfOthers) {
  const auto subscription = active();
  const auto event = published();
  const auto dead = scene_.dead(routed(event, subscription)).id.str();
  use_key({.name = "acme", .role = Role::admin, .tenant = "acme", .payloads = true});
  for (const auto& path : {"/v1/events/" + event, "/v1/subscriptions/" + subscription,
                           "/v1/subscriptions/" + subscription + "/health",
                           "/v1/subscriptions/" + subscription + "/explain",
                           "/v1/deliveries/" + dead, "/v1/deliveries/" + dead + "/explain"}) {
    EXPECT_EQ(get(path).status, 404U) << path;
  }
  for (const auto* what : {"pause", "resume", "disable", "enable", "verify", "ping", "secrets"}) {
    EXPECT_EQ(act(subscription, what).status, 404U) << what;
  }
  EXPECT_EQ(post("/v1/subscriptions/" + subscription, R"({"name":"n"})").status, 404U);
  EXPECT_EQ(body(get("/v1/events")).at("events").as_array().size(), 0U);
  EXPECT_EQ(get("/v1/events?tenant=default").status, 403U);
  EXPECT_EQ(get("/v1/deliveries?tenant=default").status, 403U);
  EXPECT_EQ(get("/v1/subscriptions?tenant=default").status, 403U);
  EXPECT_EQ(body(post("/v1/deliveries/requeue", R"({"ids":[")" + dead + R"("]})"))
                .at("requeued")
                .as_int64(),
            0);
  EXPECT_EQ(
      body(post("/v1/deliveries/requeue-matching", R"({"all":true})")).at("matched").as_int64(), 0);
  // Its own it may have, but not without a proof and not past HTTP.
  EXPECT_EQ(text(created(), "tenant"), "acme");
  EXPECT_EQ(post("/v1/subscriptions",
                 R"({"target":"https://a.example.com/","types":["**"],"verify":"none"})")
                .status,
            403U);
  EXPECT_EQ(post("/v1/subscriptions", R"({"target":"nats:shop","types":["**"]})").status, 403U);
}

/// Whatever routes the hub has, or gets: where a path names something, another tenant's is not
/// there, and what lists or counts shows nothing of it.
TEST_F(RestHub, NoRouteTellsAKeyOfATenantOfAnothersThings) {
  const auto subscription = active();
  const auto event = published(R"({"type":"shop.order.placed.v1","payload":{"n":1},
    "source":"erp","external_id":"of-another-tenant","key":"k-of-another-tenant"})");
  const auto dead = scene_.dead(routed(event, subscription)).id.str();
  const auto open = routed(published(), subscription).str();
  use_key({.name = "acme", .role = Role::admin, .tenant = "acme", .payloads = true});
  const auto shows_it = [&](const Response& answer) {
    return std::ranges::any_of(
        std::vector{subscription, event, dead, open, "hooks.example.com"s, "of-another-tenant"s},
        [&](const std::string& what) { return answer.body.find(what) != std::string::npos; });
  };
  std::size_t named = 0;
  for (const auto& route : routes()) {
    if (!route.of_hub() || route.path.find('{') == std::string_view::npos) continue;
    const bool is_event = route.path.starts_with("/v1/events/");
    const bool is_subscription = route.path.starts_with("/v1/subscriptions/");
    for (const auto& id : is_event          ? std::vector{event}
                          : is_subscription ? std::vector{subscription}
                                            : std::vector{dead, open}) {
      auto path = std::string(route.path);
      path.replace(path.find("{id}"), 4, id);
      const auto answer = route.method == "GET" ? get(path) : post(path, "{}");
      EXPECT_EQ(answer.status, 404U) << route.method << ' ' << path << ' ' << answer.body;
      ++named;
    }
  }
  EXPECT_GE(named, 14U);
  for (const auto& path :
       {"/v1/events"s, "/v1/events?source=erp&external_id=of-another-tenant"s,
        "/v1/events?key=k-of-another-tenant"s, "/v1/subscriptions"s, "/v1/subscriptions?name=shop"s,
        "/v1/deliveries"s, "/v1/deliveries?state=dead"s,
        "/v1/deliveries?subscription=" + subscription, "/v1/deliveries?event=" + event,
        "/v1/deliveries/count"s}) {
    const auto answer = get(path);
    EXPECT_EQ(answer.status, 200U) << path << answer.body;
    // What was asked for is not repeated.
    EXPECT_FALSE(shows_it(answer)) << path << answer.body;
  }
  EXPECT_EQ(body(get("/v1/deliveries/count")).at("counts").as_array().size(), 0U);
  for (const auto& [path, fields] : std::vector<std::pair<std::string, std::string>>{
           {"/v1/deliveries/requeue-matching", R"({"subscription":")" + subscription + R"("})"},
           {"/v1/deliveries/requeue-matching", R"({"code":"PROVIDER.REJECTED"})"}}) {
    const auto answer = post(path, fields);
    EXPECT_EQ(body(answer).at("matched").as_int64(), 0) << answer.body;
  }
  for (const auto& [path, fields] : std::vector<std::pair<std::string, std::string>>{
           {"/v1/deliveries/requeue-matching", R"({"tenant":"default"})"},
           {"/v1/events", R"({"type":"a.b.c.v1","payload":1,"tenant":"default"})"},
           {"/v1/events/batch",
            R"({"events":[{"type":"a.b.c.v1","payload":1,"tenant":"default"}]})"},
           {"/v1/subscriptions",
            R"({"target":"https://a.example.com/","types":["**"],"tenant":"default"})"}}) {
    EXPECT_EQ(post(path, fields).status, 403U) << path;
  }
  // The same external id is another event of this tenant.
  EXPECT_NE(published(R"({"type":"shop.order.placed.v1","payload":{"n":2},
    "source":"erp","external_id":"of-another-tenant"})"),
            event);
}

TEST_F(RestHub, WithoutAHubItSaysSo) {
  hub_.reset();
  api_ = make_api(nullptr);
  EXPECT_EQ(refusal(get("/v1/events")),
            "409 TX.INVALID_STATE this daemon has no delivery hub; set hub.enabled in its "
            "configuration");
  EXPECT_EQ(post("/v1/events", order_event).status, 409U);
}

}  // namespace
}  // namespace sagabox::server
