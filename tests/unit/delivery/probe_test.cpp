#include "delivery/worker/probe.hpp"

#include "core/base64.hpp"
#include "delivery/notices.hpp"
#include "spi/hub_rules.hpp"
#include "support/hook_transport.hpp"

#include <sagabox/random.hpp>
#include <sagabox/testing/fake_clock.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace sagabox::delivery {
namespace {

using namespace std::chrono_literals;
using testing::HookTransport;

class HubProbeTest : public ::testing::Test {
 protected:
  static SecretBox make_box() {
    std::string text = "k1:";
    append_base64(std::string(32, '1'), text);
    return SecretBox::create(text).value();
  }
  static Subscription subscription(std::string target = "https://hooks.example/a",
                                   std::string settings = {}) {
    SubscriptionRecord record;
    record.id = SubscriptionId::parse("a").value();
    record.tenant = "acme";
    record.name = "the \"shop\"";
    record.types = {"**"};
    record.target = std::move(target);
    record.settings = std::move(settings);
    return Subscription(std::move(record));
  }
  [[nodiscard]] ProbeParts parts() const {
    return {.transports = transports, .box = &box, .clock = clock, .random = *random};
  }
  static std::string challenge_in(const spi::Parcel& parcel) {
    const std::string body(parcel.message->payload().view());
    const std::string before = "\"challenge\":\"";
    const auto at = body.find(before) + before.size();
    return body.substr(at, body.find('"', at) - at);
  }
  /// The endpoint answers so to what it is challenged with.
  Probed proved(const std::function<std::string(const std::string&)>& body, int status = 200) {
    http->script = [=](const spi::Parcel& parcel) {
      return HookTransport::answered(status, body(challenge_in(parcel)));
    };
    return prove(parts(), subscription(), {});
  }

  testing::FakeClock clock;
  std::unique_ptr<Random> random = seeded_random(1);
  std::shared_ptr<HookTransport> http = std::make_shared<HookTransport>();
  Transports transports{{"http", http}};
  SecretBox box = make_box();
};

TEST_F(HubProbeTest, EndpointProvesItselfByItsChallenge) {
  EXPECT_TRUE(proved([](const std::string& said) { return said; }).passed);
  EXPECT_TRUE(proved([](const std::string& said) { return " " + said + "\r\n"; }).passed);
  const auto probed = proved(
      [](const std::string& said) { return R"({"ok": true, "challenge": ")" + said + "\"}"; }, 201);
  EXPECT_TRUE(probed.passed) << probed.error;
  EXPECT_EQ(probed.status, 201);
  const auto& sent = http->log.back();
  EXPECT_EQ(sent.message->topic(), verification_type);
  EXPECT_EQ(sent.message->tenant(), "acme");
  EXPECT_EQ(challenge_in(sent).size(), 64U);
  EXPECT_NE(challenge_in(sent), challenge_in(http->log.front()));
}

TEST_F(HubProbeTest, AnythingElseIsNoProof) {
  const std::vector<std::function<std::string(const std::string&)>> answers{
      [](const std::string&) { return ""; },
      [](const std::string&) { return "ok"; },
      [](const std::string& said) { return said + "x"; },
      [](const std::string& said) { return said.substr(1); },
      [](const std::string& said) { return "{\"challenge\": [\"" + said + "\"]}"; },
      [](const std::string& said) { return "{\"Challenge\": \"" + said + "\"}"; },
      [](const std::string& said) { return "[\"" + said + "\"]"; },
      // One that wraps whatever it was sent has not looked at it.
      [](const std::string& said) { return R"({"data": {"challenge": ")" + said + "\"}}"; },
  };
  for (std::size_t at = 0; at < answers.size(); ++at) {
    const auto probed = proved(answers[at]);
    EXPECT_FALSE(probed.passed) << at;
    EXPECT_NE(probed.error.find("challenge"), std::string::npos) << probed.error;
  }
  const auto refused = proved([](const std::string& said) { return said; }, 500);
  EXPECT_FALSE(refused.passed);
  EXPECT_EQ(refused.error, "the endpoint answered 500");
}

TEST_F(HubProbeTest, EndpointThatSendsBackWhatItGetsProvesNothing) {
  http->script = [](const spi::Parcel& parcel) {
    return HookTransport::answered(200, std::string(parcel.message->payload().view()));
  };
  EXPECT_FALSE(prove(parts(), subscription(), {}).passed);
}

TEST_F(HubProbeTest, IsSignedWithTheSecretsOfTheSubscription) {
  const auto random_of_box = seeded_random(2);
  const auto id = SubscriptionId::parse("a").value();
  spi::SealedSecret secret;
  secret.sealed = box.seal("whsec_x", secret_context(id), *random_of_box).value();
  const auto probed =
      ping(parts(), subscription("https://hooks.example/a", R"({"mode": "structured"})"),
           std::span(&secret, 1));
  EXPECT_TRUE(probed.passed) << probed.error;
  EXPECT_EQ(probed.status, 204);
  const auto& hook = HookTransport::hook_of(http->log.at(0));
  EXPECT_EQ(HookTransport::setting(hook, "secrets"), "whsec_x");
  EXPECT_EQ(HookTransport::setting(hook, "mode"), "structured");
  EXPECT_EQ(http->log[0].message->topic(), ping_type);
  EXPECT_EQ(http->log[0].message->payload().view(),
            R"({"subscription":"a","name":"the \"shop\""})");
}

TEST_F(HubProbeTest, SaysWhatKeptItFromBeingSent) {
  EXPECT_NE(ping(parts(), subscription("pigeon:home"), {}).error, "");
  EXPECT_NE(ping(parts(), subscription("http://refused/"), {}).error, "");
  EXPECT_NE(ping(parts(), subscription("https://a/", R"({"newer": 1})"), {}).error, "");
  spi::SealedSecret secret;
  secret.sealed = "v1:k2:AAAA";
  EXPECT_NE(ping(parts(), subscription(), std::span(&secret, 1)).error, "");
  EXPECT_EQ(http->log.size(), 0U);
}

TEST_F(HubProbeTest, TargetsThatAreNoWebhooksNeedNoProof) {
  EXPECT_TRUE(needs_proof("https://hooks.example/a"));
  EXPECT_FALSE(needs_proof("bus:orders"));
  EXPECT_TRUE(prove(parts(), subscription("bus:orders"), {}).passed);
  EXPECT_EQ(http->log.size(), 0U);
}

TEST(HubNotices, DisabledSubscriptionIsToldOnce) {
  testing::FakeClock clock;
  const auto random = seeded_random(1);
  UlidSource ids(clock, *random);
  SubscriptionRecord record;
  record.id = SubscriptionId::parse("a").value();
  record.tenant = "acme";
  record.name = "shop";
  record.target = "https://hooks.example/a?token=abc";
  record.reason = "the endpoint answered 410 Gone";
  record.version = 4;
  record.changed_at = clock.wall_now();
  const auto told = subscription_disabled(record, ids, clock).value();
  clock.advance(1h);
  const auto again = subscription_disabled(record, ids, clock).value();
  EXPECT_TRUE(spi::check_event(told).ok());
  EXPECT_EQ(told.message->topic(), "hub.subscription.disabled.v1");
  EXPECT_EQ(told.message->tenant(), "acme");
  EXPECT_EQ(told.external_id, again.external_id);
  EXPECT_EQ(told.source, again.source);
  EXPECT_EQ(told.message->digest(), again.message->digest());
  const auto payload = told.message->payload().view();
  EXPECT_NE(payload.find("410 Gone"), std::string_view::npos);
  EXPECT_EQ(payload.find("abc"), std::string_view::npos) << payload;
  ++record.version;
  EXPECT_NE(subscription_disabled(record, ids, clock)->external_id, told.external_id);
}

}  // namespace
}  // namespace sagabox::delivery
