#include "admin/hub_findings.hpp"
#include "delivery/secret_box.hpp"
#include "delivery/worker/targets.hpp"
#include "support/hub_log_fields.hpp"
#include "support/hub_scene.hpp"

#include <sagabox/hub_admin.hpp>
#include <sagabox/stores/memory.hpp>
#include <sagabox/testing/fake_clock.hpp>
#include <sagabox/testing/recording.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace sagabox {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

constexpr std::string_view hub_key = "k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
constexpr std::string_view endpoint = "https://hooks.example.com/shop?token=abc";

template <class Value>
std::string error_of(const Result<Value>& result) {
  return result.ok() ? "none" : result.error().text();
}

class HubAdminTest : public ::testing::Test {
 protected:
  [[nodiscard]] HubAdmin admin(std::optional<std::string> tenant = {}) {
    return opened({.actor = "ann",
                   .tenant = std::move(tenant),
                   .audit = &audit_,
                   .log = &log_,
                   .clock = &clock_});
  }
  HubAdmin opened(AdminOptions options) {
    return HubAdmin::open(store_,
                          {.admin = std::move(options),
                           .secret_key = std::string(hub_key),
                           .probe = [this](const EndpointProbe& probe) { return answer(probe); },
                           .endpoint = [this](const SubscriptionId&) { return endpoint_; },
                           .random = random_.get()})
        .value();
  }
  Result<ProbeReport> answer(const EndpointProbe& probe) {
    probes_.push_back(probe);
    return report_;
  }

  static std::vector<std::string> opened_secrets(const EndpointProbe& probe) {
    const auto box = delivery::SecretBox::create(hub_key).value();
    std::vector<std::string> secrets;
    for (const auto& secret : probe.secrets) {
      secrets.push_back(
          box.open(secret.sealed, delivery::secret_context(probe.subscription.id)).value());
    }
    return secrets;
  }

  static SubscriptionOrder order(std::string target = std::string(endpoint)) {
    return {.name = "shop", .types = {"shop.order.*.v1"}, .target = std::move(target)};
  }
  CreatedSubscription created(SubscriptionOrder wanted = order()) {
    return admin().create(wanted).value();
  }
  SubscriptionId active_id(const std::string& settings = "",
                           const std::string& tenant = "default") {
    auto wanted = order();
    wanted.settings = settings;
    wanted.tenant = tenant;
    wanted.verify = false;
    return created(wanted).subscription.record.id;
  }
  EventId event(const std::string& key = "", const std::string& tenant = "default") {
    const EventOrder wanted{.tenant = tenant,
                            .type = "shop.order.placed.v1",
                            .key = key,
                            .payload = json(R"({"n":1})")};
    return admin().publish(std::span(&wanted, 1)).value().front().id;
  }
  std::vector<std::string> audited() {
    std::vector<std::string> names;
    const auto entries = store_.audit().read(0, 1000).value();
    for (const auto& entry : entries) {
      names.emplace_back(audit_name(entry.event.kind));
    }
    return names;
  }

  testing::FakeClock clock_;
  memory::MemoryStore store_{{.clock = &clock_}};
  testing::HubScene hand_{store_};
  testing::RecordingAudit audit_;
  testing::RecordingLogger log_;
  std::optional<EndpointState> endpoint_;
  std::unique_ptr<Random> random_ = seeded_random(7);
  ProbeReport report_{.passed = true, .status = 200};
  std::vector<EndpointProbe> probes_;
};

TEST_F(HubAdminTest, AnHttpEndpointIsUnverifiedUntilItProvedItself) {
  const auto made = created();
  EXPECT_EQ(made.subscription.record.state, SubscriptionState::unverified);
  ASSERT_TRUE(made.secret);
  EXPECT_TRUE(made.secret->secret.starts_with("whsec_"));
  EXPECT_EQ(made.secret->number, 1U);
  const auto id = made.subscription.record.id;

  report_ = {.passed = false, .status = 404, .error = "404"};
  EXPECT_EQ(admin().verify(id).value().subscription.record.state, SubscriptionState::unverified);
  report_ = {.passed = true, .status = 200};
  const auto verified = admin().verify(id).value();
  EXPECT_EQ(verified.subscription.record.state, SubscriptionState::active);
  ASSERT_EQ(probes_.size(), 2U);
  EXPECT_EQ(probes_[1].kind, EndpointProbe::Kind::challenge);
  EXPECT_EQ(opened_secrets(probes_[1]), std::vector{made.secret->secret});
  EXPECT_EQ(audited(), (std::vector{"HubSubscriptionCreated"s, "HubSecretCreated"s,
                                    "HubSubscriptionVerified"s}));
}

TEST_F(HubAdminTest, SaidToNeedNoProofItIsActiveAtOnceButNotForATenant) {
  auto wanted = order();
  wanted.verify = false;
  EXPECT_EQ(created(wanted).subscription.record.state, SubscriptionState::active);
  EXPECT_EQ(error_of(admin("acme").create(wanted)).substr(0, 11), "AUTH.DENIED");
  const auto id = admin("acme").create(order()).value().subscription.record.id;
  EXPECT_EQ(error_of(admin("acme").verify(id, HubAdmin::Proof::none)).substr(0, 11), "AUTH.DENIED");
}

TEST_F(HubAdminTest, ATenantHasABoundedNumberOfSubscriptions) {
  auto admin = HubAdmin::open(store_, {.admin = {.actor = "ann", .clock = &clock_},
                                       .secret_key = std::string(hub_key),
                                       .subscriptions_max = 2})
                   .value();
  const auto first = admin.create(order()).value().subscription.record.id;
  auto second = order();
  second.id = SubscriptionId::parse("second").value();
  ASSERT_TRUE(admin.create(second).ok());
  const auto refusal =
      "TX.INVALID_STATE: tenant \"default\" has 2 subscriptions, and hub.subscriptions_max is 2; "
      "disable those that are not needed, or raise it"s;
  EXPECT_EQ(error_of(admin.create(order())), refusal);
  EXPECT_TRUE(admin.create(second).value().duplicate) << "it is there";
  auto others = order();
  others.tenant = "acme";
  EXPECT_TRUE(admin.create(others).ok());
  ASSERT_TRUE(admin.act(first, SubscriptionAct::disable).ok());
  ASSERT_TRUE(admin.create(order()).ok());
  EXPECT_EQ(error_of(admin.act(first, SubscriptionAct::enable)), refusal);
}

TEST_F(HubAdminTest, WithoutAKeyForSecretsNoHttpEndpointIsTaken) {
  auto admin = HubAdmin::open(store_, {.admin = {.actor = "ann"}}).value();
  EXPECT_EQ(error_of(admin.create(order())),
            "TX.INVALID_STATE: requests to HTTP endpoints are signed, and there is no key to keep "
            "their secrets with; set hub.secret_key");
  const auto made = admin.create(order("nats:shop")).value();
  EXPECT_EQ(made.subscription.record.state, SubscriptionState::active);
  EXPECT_FALSE(made.secret);
}

TEST_F(HubAdminTest, SaysWhereASubscriptionIsWrong) {
  const auto with = [&](auto change) {
    auto wanted = order();
    change(wanted);
    return error_of(admin().create(wanted));
  };
  EXPECT_EQ(with([](auto& o) { o.types = {"shop.*", "a..b"}; }).substr(0, 36),
            "SCHEMA.VALIDATION_FAILED: types[1]: ");
  EXPECT_EQ(with([](auto& o) { o.types.clear(); }).substr(0, 31),
            "SCHEMA.VALIDATION_FAILED: types");
  EXPECT_EQ(with([](auto& o) { o.target = "hooks.example.com"; }),
            "REQUEST.INVALID: target: has no scheme; give an address like https://host/path");
  EXPECT_EQ(with([](auto& o) { o.target = "https://ann:secret@hooks.example.com/"; }),
            "REQUEST.INVALID: target: has a user name or password; give them as a header in the "
            "settings");
  EXPECT_EQ(with([](auto& o) { o.target = "https://"; }), "REQUEST.INVALID: target: names no host");
  EXPECT_EQ(with([](auto& o) { o.settings = R"({"filter":{"a":{"gtt":1}}})"; }).substr(0, 43),
            "REQUEST.INVALID: settings.filter.a.gtt: is ");
  EXPECT_EQ(
      with([](auto& o) { o.settings = R"({"retry":{"waits":["5s","soon"]}})"; }).substr(0, 42),
      "REQUEST.INVALID: settings.retry.waits[1]: ");
  EXPECT_EQ(with([](auto& o) { o.settings = "{"; }).substr(0, 26), "REQUEST.INVALID: settings:");
  EXPECT_EQ(audited().size(), 0U);
}

TEST_F(HubAdminTest, TheSameOrderAgainIsTheSameSubscriptionWithoutItsSecret) {
  auto wanted = order();
  wanted.id = SubscriptionId::parse("k1").value();
  EXPECT_TRUE(created(wanted).secret);
  const auto again = created(wanted);
  EXPECT_TRUE(again.duplicate);
  EXPECT_FALSE(again.secret);
  wanted.name = "another";
  EXPECT_EQ(error_of(admin().create(wanted)).substr(0, 22), "TX.IDEMPOTENT_MISMATCH");
  // What is there is another tenant's: nothing of it is told.
  EXPECT_EQ(error_of(admin("acme").create(wanted)).substr(0, 17), "REQUEST.NOT_FOUND");
}

TEST_F(HubAdminTest, HidesParametersOfTargetsAndValuesOfHeaders) {
  const auto id = active_id(R"({"headers":{"authorization":"Bearer abc"},"mode":"structured"})");
  const auto view = admin().subscription(id).value().value();
  EXPECT_EQ(view.record.target.find("abc"), std::string::npos) << view.record.target;
  EXPECT_EQ(view.record.settings, R"({"headers":{"authorization":"***"},"mode":"structured"})");
  const auto full = admin().subscription(id, Admin::PayloadToo::yes).value().value();
  EXPECT_EQ(full.record.target, endpoint);
  EXPECT_NE(full.record.settings.find("Bearer abc"), std::string::npos);
  // What is shown cannot be written back by mistake.
  EXPECT_EQ(error_of(admin().change({.id = id, .settings = view.record.settings})),
            "REQUEST.INVALID: settings.headers.authorization: *** only stands for a value that is "
            "not shown; give the value itself");
}

TEST_F(HubAdminTest, ChangesOnlyTheVersionThatWasSeen) {
  const auto id = active_id();
  const auto version = admin().subscription(id).value()->record.version;
  const auto changed = admin().change({.id = id, .name = "renamed", .version = version}).value();
  EXPECT_EQ(changed.record.name, "renamed");
  EXPECT_EQ(changed.record.state, SubscriptionState::active);
  EXPECT_EQ(error_of(admin().change({.id = id, .name = "late", .version = version})).substr(0, 16),
            "STORAGE.CONFLICT");
  const auto entries = audited().size();
  EXPECT_TRUE(admin().change({.id = id, .name = "renamed"}).ok());
  EXPECT_EQ(audited().size(), entries) << "nothing changed, nothing is written";
}

TEST_F(HubAdminTest, AnotherEndpointProvesItselfBeforeItReplacesOne) {
  const auto id = active_id();
  const auto record = [&] {
    return admin().subscription(id, Admin::PayloadToo::yes).value()->record;
  };
  const auto before = record();
  const SubscriptionChange change{.id = id, .target = "https://other.example.com/"};
  report_ = {.passed = false, .status = 404, .error = "404 Not Found"};
  EXPECT_EQ(error_of(admin().change(change)),
            "TX.INVALID_STATE: target: the new endpoint did not prove itself, and subscription " +
                id.str() + " stays as it is: 404 Not Found");
  EXPECT_EQ(record().target, before.target);
  EXPECT_EQ(record().version, before.version);
  clock_.advance(1h);
  report_ = {.passed = true, .status = 200};
  ASSERT_TRUE(admin().change(change).ok());
  EXPECT_EQ(probes_.back().kind, EndpointProbe::Kind::challenge);
  EXPECT_EQ(probes_.back().subscription.target, "https://other.example.com/");
  EXPECT_EQ(record().target, "https://other.example.com/");
  EXPECT_EQ(record().state, SubscriptionState::active);
  EXPECT_EQ(record().active_since, before.active_since) << "it matched all the time";
  EXPECT_EQ(record().version, before.version + 1);
  EXPECT_EQ(error_of(admin().change({.id = id, .target = "nats:shop"})).substr(0, 23),
            "REQUEST.INVALID: target");
}

TEST_F(HubAdminTest, AnEndpointIsReplacedWithoutProofOnlyWhereNothingMatchesOrItIsWanted) {
  const auto id = active_id();
  const auto moved = [&](std::string target, bool verify = true) {
    return admin().change({.id = id, .target = std::move(target), .verify = verify});
  };
  EXPECT_EQ(moved("https://a.example.com/", false).value().record.state, SubscriptionState::active);
  EXPECT_EQ(probes_.size(), 0U);
  ASSERT_TRUE(admin().act(id, SubscriptionAct::pause).ok());
  EXPECT_EQ(moved("https://b.example.com/").value().record.state, SubscriptionState::paused);
  EXPECT_EQ(probes_.size(), 1U);
  ASSERT_TRUE(admin().act(id, SubscriptionAct::disable).ok());
  EXPECT_EQ(moved("https://c.example.com/").value().record.state, SubscriptionState::disabled);
  EXPECT_EQ(probes_.size(), 1U) << "it proves itself once it is enabled";
  const auto active = active_id();
  auto offline = HubAdmin::open(store_, {.admin = {.actor = "ann"}}).value();
  EXPECT_EQ(
      error_of(offline.change({.id = active, .target = "https://a.example.com/"})),
      "TX.INVALID_STATE: target: the new endpoint has to prove itself before it replaces the "
      "one of subscription " +
          active.str() +
          ": this process does not send to endpoints; ask a daemon that runs the hub (--server "
          "URL)");
}

TEST_F(HubAdminTest, ActsLeadFromStateToStateAndAreNoOpsTwice) {
  using Act = SubscriptionAct;
  using State = SubscriptionState;
  const auto id = active_id();
  const auto act = [&](Act what, const std::string& note = "") {
    return admin().act(id, what, note).value().record;
  };
  EXPECT_EQ(act(Act::pause, "their release").reason, "their release");
  const auto version = act(Act::pause).version;
  EXPECT_EQ(act(Act::pause).version, version);
  EXPECT_EQ(error_of(admin().act(id, Act::enable)),
            "TX.INVALID_STATE: subscription " + id.str() +
                " is paused and cannot be enabled; resume it first");
  EXPECT_EQ(act(Act::resume).state, State::active);
  EXPECT_EQ(act(Act::resume).reason, "");
  EXPECT_EQ(act(Act::disable).state, State::disabled);
  EXPECT_EQ(error_of(admin().act(id, Act::resume)).substr(0, 16), "TX.INVALID_STATE");
  EXPECT_EQ(error_of(admin().verify(id)).substr(0, 16), "TX.INVALID_STATE");
  EXPECT_EQ(act(Act::enable).state, State::unverified);
  EXPECT_EQ(error_of(admin().act(SubscriptionId::parse("nobody").value(), Act::pause)),
            "REQUEST.NOT_FOUND: subscription \"nobody\" is not there");
  EXPECT_EQ(audited(),
            (std::vector{"HubSubscriptionCreated"s, "HubSecretCreated"s, "HubSubscriptionVerified"s,
                         "HubSubscriptionPaused"s, "HubSubscriptionResumed"s,
                         "HubSubscriptionDisabled"s, "HubSubscriptionEnabled"s}));
}

TEST_F(HubAdminTest, ASecretThatIsReplacedSignsForAWhile) {
  const auto made = created();
  const auto id = made.subscription.record.id;
  const auto next = admin().rotate_secret(id, 1h).value();
  EXPECT_EQ(next.number, 2U);
  EXPECT_NE(next.secret, made.secret->secret);
  ASSERT_TRUE(admin().ping(id).ok());
  EXPECT_EQ(opened_secrets(probes_.back()), (std::vector{next.secret, made.secret->secret}));
  EXPECT_EQ(admin().subscription(id).value()->secrets.size(), 2U);
  clock_.advance(2h);
  ASSERT_TRUE(admin().ping(id).ok());
  EXPECT_EQ(opened_secrets(probes_.back()), std::vector{next.secret});
  EXPECT_EQ(error_of(admin().rotate_secret(id, -1s)).substr(0, 24), "REQUEST.INVALID: overlap");
  // Neither the store nor the audit log has it.
  const auto entries = store_.audit().read(0, 1000).value();
  for (const auto& entry : entries) {
    EXPECT_EQ(audit_json(entry).find("whsec_"), std::string::npos);
  }
  const auto sealed = hand_.hub().subscriptions.secrets(std::span(&id, 1)).value();
  EXPECT_TRUE(sealed.front().secrets.front().sealed.starts_with("v1:k1:"));
}

TEST_F(HubAdminTest, PublishesOnceForAnExternalId) {
  EventOrder order{.type = "shop.order.placed.v1",
                   .source = "erp",
                   .external_id = "17",
                   .payload = json(R"({"n":1})")};
  const auto first = admin().publish(std::span(&order, 1)).value().front();
  EXPECT_FALSE(first.duplicate);
  const auto again = admin().publish(std::span(&order, 1)).value().front();
  EXPECT_TRUE(again.duplicate);
  EXPECT_EQ(again.id, first.id);
  order.payload = json(R"({"n":2})");
  EXPECT_EQ(error_of(admin().publish(std::span(&order, 1))).substr(0, 22),
            "TX.IDEMPOTENT_MISMATCH");
  // It is another tenant's own id.
  EXPECT_FALSE(admin("acme").publish(std::span(&order, 1)).value().front().duplicate);
}

TEST_F(HubAdminTest, SaysWhichEventIsWrong) {
  const EventOrder right{.type = "a.b.c.v1", .payload = json("1")};
  const EventOrder wrong{.type = "", .payload = json("1")};
  const std::vector both{right, wrong};
  EXPECT_EQ(error_of(admin().publish(both)).substr(0, 40),
            "SCHEMA.VALIDATION_FAILED: events[1].type");
  EXPECT_EQ(admin().events({}).value().rows.size(), 0U);
  const EventOrder large{
      .type = "a.b.c.v1",
      .payload = bytes(std::string(MessageRules::payload_bytes_ceiling + 1, 'x'))};
  EXPECT_FALSE(admin().publish(std::span(&large, 1)).ok());
  EXPECT_FALSE(admin().publish({}).ok());
}

TEST_F(HubAdminTest, NobodyPublishesInTheNameOfTheHub) {
  const auto refused = [&](const EventOrder& order) {
    return error_of(admin().publish(std::span(&order, 1)));
  };
  EXPECT_EQ(refused({.type = "a.b.c.v1", .source = "hub", .payload = json("1")}),
            "SCHEMA.VALIDATION_FAILED: source: \"hub\" is the hub itself; name who publishes the "
            "event");
  EXPECT_EQ(refused({.type = "hub.subscription.disabled.v1", .payload = json("1")}),
            "SCHEMA.VALIDATION_FAILED: type: types that begin with \"hub.\" are of the hub itself; "
            "choose another");
  // Nor what it publishes itself.
  EXPECT_NE(refused({.type = "hub.subscription.disabled.v1",
                     .source = "hub",
                     .external_id = "disabled/s1/2",
                     .payload = json("1")}),
            "");
  EXPECT_EQ(admin().events({}).value().rows.size(), 0U);
}

TEST_F(HubAdminTest, EventsThatTheCatalogueRefusesAreNotPublished) {
  auto refusing =
      HubAdmin::open(store_, {.admin = {.actor = "ann"},
                              .check_event = [](const HubEvent& event) -> Status {
                                if (event.message->topic() == "a.b.c.v1") return {};
                                return Error{Code::schema_validation_failed, "type is not known"};
                              }})
          .value();
  const std::vector<EventOrder> both{{.type = "a.b.c.v1", .payload = json("1")},
                                     {.type = "a.b.d.v1", .payload = json("1")}};
  EXPECT_EQ(error_of(refusing.publish(both)),
            "SCHEMA.VALIDATION_FAILED: events[1].type is not known");
  EXPECT_EQ(admin().events({}).value().rows.size(), 0U);
  EXPECT_TRUE(refusing.publish(std::span(both).first(1)).ok());
}

TEST_F(HubAdminTest, TellsWhoeverDeliversOfChangedSubscriptions) {
  int told = 0;
  auto admin = HubAdmin::open(store_, {.admin = {.actor = "ann"},
                                       .secret_key = std::string(hub_key),
                                       .changed = [&told] { ++told; }})
                   .value();
  const auto id = admin.create(order()).value().subscription.record.id;
  EXPECT_EQ(told, 2) << "the subscription and its secret";
  ASSERT_TRUE(admin.act(id, SubscriptionAct::disable).ok());
  ASSERT_TRUE(admin.act(id, SubscriptionAct::disable).ok());
  EXPECT_EQ(told, 3);
}

TEST_F(HubAdminTest, ListsPageByPage) {
  for (int i = 0; i < 3; ++i) event();
  EventQuery query{.rows_max = 2};
  const auto first = admin().events(query).value();
  ASSERT_EQ(first.rows.size(), 2U);
  EXPECT_GT(first.rows[0].sequence, first.rows[1].sequence);
  query.cursor = first.next;
  const auto second = admin().events(query).value();
  EXPECT_EQ(second.rows.size(), 1U);
  EXPECT_EQ(second.next, "");
  query.cursor = "12x";
  EXPECT_EQ(error_of(admin().events(query)).substr(0, 23), "REQUEST.INVALID: cursor");
  EXPECT_FALSE(admin().events({.rows_max = 0}).ok());
  const auto shown = admin().event(first.rows[0].id, Admin::PayloadToo::yes).value().value();
  EXPECT_EQ(shown.payload->json(), R"({"n":1})");
  EXPECT_FALSE(admin().event(first.rows[0].id).value()->payload);
}

TEST_F(HubAdminTest, ATenantSeesAndChangesNothingOfOthers) {
  const auto id = active_id();
  const auto published = event();
  const auto delivery = hand_.dead(hand_.routed(published, id).id).id;
  auto acme = admin("acme");
  EXPECT_FALSE(acme.event(published).value());
  EXPECT_FALSE(acme.subscription(id).value());
  EXPECT_FALSE(acme.health(id).value());
  EXPECT_FALSE(acme.delivery(delivery).value());
  EXPECT_FALSE(acme.explain(delivery).value());
  EXPECT_EQ(acme.events({}).value().rows.size(), 0U);
  EXPECT_EQ(acme.subscriptions({}).value().rows.size(), 0U);
  EXPECT_EQ(acme.deliveries({}).value().rows.size(), 0U);
  EXPECT_EQ(acme.count().value().size(), 0U);
  EXPECT_EQ(error_of(acme.deliveries({.filter = {.tenant = "default"}})).substr(0, 11),
            "AUTH.DENIED");
  EXPECT_FALSE(acme.act(id, SubscriptionAct::disable).ok());
  EXPECT_FALSE(acme.change({.id = id, .name = "mine"}).ok());
  EXPECT_FALSE(acme.rotate_secret(id).ok());
  EXPECT_FALSE(acme.ping(id).ok());
  EXPECT_FALSE(acme.verify(id).ok());
  const auto requeued = acme.requeue(std::span(&delivery, 1)).value();
  EXPECT_EQ(requeued.front().outcome, spi::Requeued::Outcome::not_dead);
  EXPECT_EQ(acme.requeue_matching({.subscription = id}).value().matched, 0U);
  const EventOrder other{.tenant = "default", .type = "a.b.c.v1", .payload = json("1")};
  EXPECT_EQ(error_of(acme.publish(std::span(&other, 1))).substr(0, 11), "AUTH.DENIED");
}

TEST_F(HubAdminTest, ShowsADeliveryWithItsAttempts) {
  const auto id = active_id();
  const auto delivery = hand_.routed(event(), id).id;
  hand_.attempted(delivery, hand_.refusal(), DeliveryState::pending, clock_.wall_now());
  hand_.dead(delivery);
  const auto view = admin().delivery(delivery).value().value();
  EXPECT_EQ(view.subscription_name, "shop");
  ASSERT_EQ(view.attempts.size(), 2U);
  EXPECT_EQ(view.attempts[1].result.status, 422);
  EXPECT_EQ(view.attempts[1].result.answer, "") << "may repeat the payload";
  EXPECT_FALSE(view.event->payload);
  const auto full = admin().delivery(delivery, Admin::PayloadToo::yes).value().value();
  EXPECT_EQ(full.attempts[1].result.answer, hand_.refusal().answer);
  EXPECT_EQ(full.event->payload->json(), R"({"n":1})");
}

TEST_F(HubAdminTest, RequeuesAllThatFailedForOneEndpointInTheirOrder) {
  const auto id = active_id(R"({"order":"key"})");
  const auto other = active_id();
  std::vector<DeliveryId> died;
  for (int i = 0; i < 3; ++i) died.push_back(hand_.dead(hand_.routed(event("k"), id).id).id);
  hand_.dead(hand_.routed(event(), other).id);
  hand_.completed(hand_.routed(event(), other).id);
  RequeueOrder wanted{.subscription = id, .dry_run = true};
  const auto preview = admin().requeue_matching(wanted).value();
  EXPECT_EQ(preview.matched, 3U);
  EXPECT_EQ(preview.requeued, 0U);
  EXPECT_EQ(preview.first.front().id, died.front());
  wanted.failed_from = clock_.wall_now() + 1h;
  EXPECT_EQ(admin().requeue_matching(wanted).value().matched, 0U);
  wanted.failed_from = clock_.wall_now() - 1h;
  wanted.dry_run = false;
  EXPECT_EQ(admin().requeue_matching(wanted, "their fix is out").value().requeued, 3U);
  const auto again = admin().requeue_matching(wanted).value();
  EXPECT_EQ(again.requeued, 0U);
  EXPECT_EQ(again.already, 3U);
  const auto rows =
      admin().deliveries({.filter = {.subscription = id, .state = DeliveryState::pending}});
  ASSERT_EQ(rows.value().rows.size(), 3U);
  std::vector<EventId> order;
  for (const auto& row : rows.value().rows) order.push_back(row.event);
  std::ranges::reverse(order);
  std::vector<EventId> events;
  for (const auto& one : died) events.push_back(hand_.look_at(one).event);
  EXPECT_EQ(order, events) << "the oldest first";
  EXPECT_EQ(std::ranges::count(audited(), "HubDeliveryRequeued"), 3);
}

TEST_F(HubAdminTest, WhatIsRequeuedAlreadyIsNeitherShownNorInTheWay) {
  const auto id = active_id();
  const auto before = hand_.dead(hand_.routed(event(), id).id).id;
  ASSERT_TRUE(admin().requeue(std::span(&before, 1)).ok());
  const auto now = hand_.dead(hand_.routed(event(), id).id).id;
  const auto preview = admin().requeue_matching({.subscription = id, .dry_run = true}).value();
  EXPECT_EQ(preview.matched, 2U);
  EXPECT_EQ(preview.already, 1U);
  ASSERT_EQ(preview.first.size(), 1U);
  EXPECT_EQ(preview.first.front().id, now);
  const auto left = admin().deliveries(
      {.filter = {.state = DeliveryState::dead}, .requeued = false, .rows_max = 1});
  ASSERT_EQ(left.value().rows.size(), 1U);
  EXPECT_EQ(left.value().rows.front().id, now);
  // A disabled subscription is in the way of what would be requeued only.
  ASSERT_TRUE(admin().requeue_matching({.subscription = id}).ok());
  ASSERT_TRUE(admin().act(id, SubscriptionAct::disable).ok());
  EXPECT_EQ(admin().requeue_matching({.subscription = id}).value().already, 2U);
}

TEST_F(HubAdminTest, RequeuesNothingOfADisabledSubscription) {
  const auto id = active_id();
  const auto other = active_id();
  const auto died = hand_.dead(hand_.routed(event(), id).id).id;
  const auto fine = hand_.dead(hand_.routed(event(), other).id).id;
  ASSERT_TRUE(admin().act(id, SubscriptionAct::disable).ok());
  const auto refusal = "TX.INVALID_STATE: subscription " + id.str() + " of delivery " + died.str() +
                       " is disabled, and what is requeued would die at once; enable it first";
  const std::vector both{fine, died};
  EXPECT_EQ(error_of(admin().requeue(both)), refusal);
  EXPECT_EQ(error_of(admin().requeue_matching({})), refusal);
  EXPECT_EQ(error_of(admin().requeue_matching({.subscription = id, .dry_run = true})), refusal);
  EXPECT_EQ(admin().deliveries({.filter = {.state = DeliveryState::pending}}).value().rows.size(),
            0U);
  const auto explained = admin().explain(died).value().value();
  EXPECT_EQ(explained.next, "sagabox subscription enable " + id.str() + ", then requeue it");
  EXPECT_EQ(admin().requeue_matching({.subscription = other}).value().requeued, 1U);
  ASSERT_TRUE(admin().act(id, SubscriptionAct::enable).ok());
  EXPECT_EQ(admin().requeue_matching({.subscription = id}).value().requeued, 1U);
}

TEST_F(HubAdminTest, TellsTheHealthOfAnEndpoint) {
  const auto id = active_id();
  hand_.completed(hand_.routed(event(), id).id);
  hand_.dead(hand_.routed(event(), id).id);
  hand_.routed(event(), id);
  const auto health = admin().health(id).value().value();
  EXPECT_EQ(health.attempts.completed, 1U);
  EXPECT_EQ(health.attempts.failed, 1U);
  EXPECT_DOUBLE_EQ(health.success_rate().value(), 0.5);
  EXPECT_EQ(health.open, 1U);
  EXPECT_EQ(health.dead, 1U);
  EXPECT_EQ(health.attempts.last_error, "422 from hooks.example.com");
  EXPECT_FALSE(admin().health(SubscriptionId::parse("nobody").value()).value());
  EXPECT_FALSE(admin().health(id, 0s).ok());
}

TEST_F(HubAdminTest, SealsAllSecretsByTheFirstKey) {
  const auto id = active_id();
  const auto other = active_id("", "acme");
  ASSERT_TRUE(admin().rotate_secret(id).ok());
  const std::string next = "k2:HxwdHhsaGRgXFhUUExIREA8ODQwLCgkIBwYFBAMCAQA=";
  const auto with_keys = [&](const std::string& keys, std::optional<std::string> tenant = {}) {
    return HubAdmin::open(store_, {.admin = {.actor = "ann",
                                             .tenant = std::move(tenant),
                                             .audit = &audit_,
                                             .log = &log_,
                                             .clock = &clock_},
                                   .secret_key = keys,
                                   .random = random_.get()})
        .value();
  };
  const auto both = next + " " + std::string(hub_key);
  int told = 0;
  const auto tried = with_keys(both).reseal(true, [&](const ResealReport&) { ++told; }).value();
  EXPECT_EQ(tried.secrets, 3U);
  EXPECT_EQ(tried.resealed, 3U);
  EXPECT_EQ(told, 1);
  EXPECT_EQ(with_keys(both).reseal(false).value().resealed, 3U) << "nothing was written before";
  const auto again = with_keys(both).reseal(false).value();
  EXPECT_EQ(again.current, 3U);
  EXPECT_EQ(again.resealed, 0U);
  EXPECT_TRUE(again.complete());
  EXPECT_FALSE((ResealReport{.secrets = 2, .current = 1}).complete())
      << "one was changed meanwhile";
  // The old key can go.
  const auto box = delivery::SecretBox::create(next).value();
  for (const auto& of : store_.hub()->subscriptions.secrets(std::array{id, other}).value()) {
    for (const auto& secret : of.secrets) {
      const auto opened = box.open(secret.sealed, delivery::secret_context(of.subscription));
      ASSERT_TRUE(opened.ok());
      EXPECT_TRUE(opened->starts_with("whsec_"));
    }
  }
  const auto lost = with_keys(std::string(hub_key)).reseal(false).value();
  EXPECT_EQ(lost.unreadable, 3U);
  EXPECT_EQ(lost.resealed, 0U);
  EXPECT_FALSE(lost.unreadable_first.empty());
  EXPECT_FALSE(lost.complete());
  EXPECT_EQ(with_keys(both, "acme").reseal(true).error().code, Code::auth_denied);
  EXPECT_EQ(with_keys("").reseal(true).error().code, Code::tx_invalid_state);
}

TEST_F(HubAdminTest, FindsWhatIsWrongWithTheHub) {
  const auto texts = [&] {
    std::vector<std::string> all;
    for (const auto& one : admin().findings().value()) all.push_back(one.what);
    return all;
  };
  EXPECT_TRUE(texts().empty());
  const auto id = active_id();
  event();
  event();
  clock_.advance(1min);
  EXPECT_EQ(texts(),
            std::vector{"2 events are not routed, the oldest for 1m00s: no process has the role "
                        "router"s});
  hand_.dead(hand_.routed(event(), id).id);
  const auto all = texts();
  EXPECT_EQ(all.back(), "dead: 1 delivery");
  EXPECT_EQ(admin("acme").findings().error().code, Code::auth_denied);
}

TEST(HubFindings, SayWhatIsStuckAndWhoIsMissing) {
  const WallTime now{std::chrono::hours(1'000'000)};
  admin::HubFacts facts{.now = now,
                        .unrouted = spi::UnroutedEvents{.events = 1, .oldest = now - 1min},
                        .stats = spi::HubStats{},
                        .routed = true,
                        .delivered = true};
  EXPECT_TRUE(admin::findings_of(facts).empty()) << "it is on its way";
  facts.unrouted->oldest = now - 10min;
  ASSERT_EQ(admin::findings_of(facts).size(), 1U);
  EXPECT_EQ(admin::findings_of(facts)[0].what, "1 event is not routed, the oldest for 10m00s");
  EXPECT_EQ(admin::findings_of(facts)[0].severity, Severity::error);
  facts.unrouted.reset();
  facts.stats->states[static_cast<std::size_t>(DeliveryState::pending)].deliveries = 3;
  EXPECT_TRUE(admin::findings_of(facts).empty());
  facts.delivered = false;
  ASSERT_EQ(admin::findings_of(facts).size(), 1U);
  EXPECT_EQ(admin::findings_of(facts)[0].what,
            "3 deliveries wait: no process has the role orchestrator");
}

TEST_F(HubAdminTest, DisabledSubscriptionsAreBoundedToo) {
  const auto with_max = [&](std::uint32_t most) {
    return HubAdmin::open(
               store_, {.admin = {.actor = "ann", .audit = &audit_, .log = &log_, .clock = &clock_},
                        .secret_key = std::string(hub_key),
                        .subscriptions_max = most,
                        .random = random_.get()})
        .value();
  };
  for (int i = 0; i < 10; ++i) {
    const auto made = with_max(1).create(order());
    ASSERT_TRUE(made.ok()) << made.error().text();
    ASSERT_TRUE(with_max(1).act(made->subscription.record.id, SubscriptionAct::disable).ok());
  }
  EXPECT_EQ(error_of(with_max(1).create(order())),
            "TX.INVALID_STATE: tenant \"default\" has 10 disabled subscriptions, and 10 times "
            "hub.subscriptions_max is the most; change and enable one of them, or raise it");
  EXPECT_TRUE(with_max(2).create(order()).ok());
}

TEST_F(HubAdminTest, ExplainsWhatADeliveryWaitsFor) {
  const auto id = active_id(R"({"order":"key"})");
  const auto why = [&](const DeliveryId& delivery) {
    std::vector<std::string> names;
    const auto explanation = admin().explain(delivery).value().value();
    for (const auto& reason : explanation.reasons) {
      names.emplace_back(delivery_why_name(reason.why));
    }
    return names;
  };
  const auto first = hand_.routed(event("k"), id).id;
  const auto second = hand_.routed(event("k"), id).id;
  EXPECT_EQ(why(first), std::vector{"with_owner"s});
  EXPECT_EQ(why(second), std::vector{"earlier_of_key"s});
  hand_.begun(first);
  EXPECT_EQ(why(first), std::vector{"no_worker"s});
  hand_.leased();
  EXPECT_EQ(why(first), std::vector{"sending"s});
  const auto third = hand_.routed(event("other"), id).id;
  hand_.attempted(third, hand_.refusal(), DeliveryState::pending, clock_.wall_now() + 5min);
  EXPECT_EQ(why(third), std::vector{"retry_due"s});
  EXPECT_TRUE(admin().act(id, SubscriptionAct::pause, "their release").ok());
  EXPECT_EQ(why(third), (std::vector{"paused"s, "retry_due"s}));
  EXPECT_TRUE(admin().act(id, SubscriptionAct::resume).ok());
  clock_.advance(5min);
  hand_.dead(third);
  EXPECT_EQ(why(third), std::vector{"dead"s});
  EXPECT_EQ(admin().explain(third).value()->next, "sagabox delivery requeue " + third.str());
  ASSERT_TRUE(admin().requeue(std::span(&third, 1)).ok());
  EXPECT_EQ(why(third), (std::vector{"dead"s, "requeued"s}));
  const auto text = admin().explain(second).value()->text();
  EXPECT_NE(text.find("\nwaits for: 1 earlier delivery of key \"k\" to go first"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\nowner:     hub-a, lease "), std::string::npos) << text;
}

TEST_F(HubAdminTest, ExplainsWhyASubscriptionGetsNothing) {
  const auto id = active_id();
  const auto why = [&] {
    std::vector<std::string> names;
    const auto explanation = admin().explain(id).value().value();
    for (const auto& reason : explanation.reasons) {
      names.emplace_back(delivery_why_name(reason.why));
    }
    return names;
  };
  EXPECT_EQ(why(), std::vector{"nothing_open"s});
  const auto waiting = hand_.routed(event(), id).id;
  EXPECT_EQ(why(), std::vector{"with_owner"s});
  hand_.dead(hand_.routed(event(), id).id);
  EXPECT_EQ(why(), (std::vector{"attempts_fail"s, "with_owner"s}));
  EXPECT_EQ(admin().explain(id).value()->next,
            "sagabox delivery requeue --subscription " + id.str() + " --dry-run");
  endpoint_ = EndpointState{.under_way = 2, .ready = 7};
  EXPECT_EQ(why(), (std::vector{"attempts_fail"s, "over_limit"s}));
  endpoint_->down_since = clock_.wall_now() - 4min;
  EXPECT_EQ(why(), (std::vector{"attempts_fail"s, "endpoint_down"s}));
  const auto text = admin().explain(id).value()->text();
  EXPECT_TRUE(text.starts_with("active, shop to https://")) << text;
  EXPECT_NE(text.find("; 1 open, 1 dead"), std::string::npos) << text;
  EXPECT_NE(text.find("\nwaits for: its endpoint, which has been down for 4m00s"),
            std::string::npos)
      << text;
  EXPECT_EQ(admin().explain(id).value()->next,
            "sagabox subscription ping " + id.str() + " asks it now");
  EXPECT_EQ(delivery_why_name(admin().explain(waiting).value()->reasons.at(0).why),
            "endpoint_down");
  endpoint_.reset();
  ASSERT_TRUE(admin().act(id, SubscriptionAct::pause, "their release").ok());
  EXPECT_EQ(why(), (std::vector{"attempts_fail"s, "paused"s}));
  EXPECT_EQ(admin().explain(id).value()->next, "sagabox subscription resume " + id.str());
  ASSERT_TRUE(admin().act(id, SubscriptionAct::disable).ok());
  EXPECT_EQ(why(), (std::vector{"attempts_fail"s, "disabled"s}));
  EXPECT_FALSE(admin("acme").explain(id).value()) << "another tenant's";
  const auto unverified = created().subscription.record.id;
  EXPECT_EQ(admin().explain(unverified).value()->reasons.at(0).why, DeliveryWhy::unverified);
}

TEST_F(HubAdminTest, TargetsWhosePathIsAKeyAreMaskedForThoseWhoMayNotSeePayloads) {
  const std::string secret = "aB3dE5gH7jK9";
  const auto target = "https://hooks.example.com/services/T0001AB/" + secret;
  auto wanted = order(target);
  wanted.name.clear();
  wanted.verify = false;
  const auto id = created(wanted).subscription.record.id;
  const auto shown = "https://hooks.example.com/services/***";
  EXPECT_EQ(admin().subscription(id).value()->record.target, shown);
  EXPECT_EQ(admin().subscriptions({}).value().rows.at(0).record.target, shown);
  EXPECT_EQ(admin().subscription(id, Admin::PayloadToo::yes).value()->record.target, target);
  const auto delivery = hand_.routed(event(), id).id;
  EXPECT_EQ(admin().delivery(delivery).value()->target, shown);
  EXPECT_EQ(admin().explain(delivery).value()->text().find(secret), std::string::npos);
  EXPECT_EQ(admin().explain(id).value()->text().find(secret), std::string::npos);
}

TEST_F(HubAdminTest, LogsWhatIsPublished) {
  EventOrder wanted{
      .type = "shop.order.placed.v1", .source = "erp", .external_id = "17", .payload = json("{}")};
  wanted.trace.correlation_id = "c-7";
  const auto first = admin().publish(std::span(&wanted, 1)).value().front();
  ASSERT_TRUE(admin().publish(std::span(&wanted, 1)).value().front().duplicate);
  const auto lines = testing::lines_of(log_, "an event is published");
  ASSERT_EQ(lines.size(), 2U);
  for (const auto& line : lines) {
    EXPECT_EQ(line.fields.at("correlation_id"), "c-7");
    EXPECT_EQ(line.fields.at("event_id"), first.id.str()) << "of a repetition the first one's";
    EXPECT_EQ(line.fields.at("tenant"), "default");
  }
  EXPECT_EQ(lines[1].fields.at("duplicate"), "true");
}

}  // namespace
}  // namespace sagabox
