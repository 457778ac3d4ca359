#include "delivery/subscription.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace sagabox::delivery {
namespace {

using namespace std::chrono_literals;

std::string settings_refusal(std::string_view json) {
  const auto read = read_settings(json);
  if (read.ok()) return "accepted";
  EXPECT_EQ(read.error().code, Code::schema_validation_failed);
  return read.error().message;
}

TEST(SubscriptionSettings, DefaultsAreTheHubPreset) {
  for (const auto* const text : {"", "{}"}) {
    const auto settings = read_settings(text).value();
    EXPECT_TRUE(settings.filter.wants_all());
    EXPECT_EQ(settings.retry.waits,
              (std::vector<Duration>{5s, 5min, 30min, 2h, 5h, 10h, 14h, 20h, 24h}));
    EXPECT_EQ(settings.retry.unreachable_max, Duration(72h));
    EXPECT_EQ(settings.order, DeliveryOrder::any);
    EXPECT_FALSE(settings.limits.any());
    EXPECT_TRUE(settings.headers.empty());
    EXPECT_EQ(settings.mode, WebhookMode::binary);
    EXPECT_EQ(settings.timeout, Duration(15s));
    EXPECT_EQ(settings.disable_after, Duration(120h));
  }
}

TEST(SubscriptionSettings, EverySettingIsRead) {
  const auto settings = read_settings(R"({
    "filter": {"total": {"gte": 10}},
    "retry": {"waits": ["1s", "2m"], "jitter": 0.5, "unreachable_max": "1d"},
    "order": "key",
    "limits": {"rate": 10, "burst": 20, "concurrency": 3},
    "headers": {"X-Shop": "süd"},
    "mode": "structured", "timeout": "500ms", "disable_after": "0"})")
                            .value();
  EXPECT_FALSE(settings.filter.wants_all());
  EXPECT_EQ(settings.retry,
            (RetrySchedule{.waits = {1s, 2min}, .jitter = 0.5, .unreachable_max = 24h}));
  EXPECT_EQ(settings.order, DeliveryOrder::key);
  EXPECT_EQ(settings.limits.rate, 10U);
  EXPECT_EQ(settings.limits.burst, 20U);
  EXPECT_EQ(settings.limits.concurrency, 3U);
  EXPECT_EQ(settings.headers, (Headers{{"X-Shop", "süd"}}));
  EXPECT_EQ(settings.mode, WebhookMode::structured);
  EXPECT_EQ(settings.timeout, Duration(500ms));
  EXPECT_EQ(settings.disable_after, Duration());
}

TEST(SubscriptionSettings, NoWaitsIsOneAttempt) {
  EXPECT_TRUE(read_settings(R"({"retry": {"waits": []}})").value().retry.waits.empty());
}

TEST(SubscriptionSettings, SaysWhereItIsWrong) {
  EXPECT_EQ(settings_refusal("[]"), "settings: is a list; must be an object");
  EXPECT_EQ(settings_refusal("{"), "settings: is not JSON at byte 2: the value is not complete");
  EXPECT_EQ(settings_refusal(R"({"oder": "key"})"), "oder: is unknown; did you mean \"order\"?");
  EXPECT_EQ(settings_refusal(R"({"order": "keys"})"),
            "order: \"keys\" is unknown; write one of any, key");
  EXPECT_EQ(settings_refusal(R"({"order": null})"), "order: is null; must be a text");
  EXPECT_EQ(settings_refusal(R"({"filter": null})"), "filter: is null; must be an object");
  EXPECT_EQ(settings_refusal(R"({"filter": {"a": {"gtt": 1}}})"),
            "filter.a.gtt: is not an operator; did you mean \"gt\"?");
  EXPECT_EQ(settings_refusal(R"({"retry": {"wait": []}})"),
            "retry.wait: is unknown; did you mean \"waits\"?");
  EXPECT_EQ(settings_refusal(R"({"retry": {"waits": ["1s", "soon"]}})"),
            "retry.waits[1]: write a number and a unit: \"500ms\", \"5s\", \"2h\", \"7d\"");
  EXPECT_EQ(settings_refusal(R"({"retry": {"waits": ["8d"]}})"),
            "retry.waits[0]: \"8d\" is not between 0s and 7d");
  EXPECT_EQ(settings_refusal(R"({"retry": {"jitter": 1.5}})"),
            "retry.jitter: \"1.5\" is not between 0 and 1");
  EXPECT_EQ(settings_refusal(R"({"limits": {"rate": 0}})"),
            "limits.rate: \"0\" is not between 1 and 1000000");
  EXPECT_EQ(settings_refusal(R"({"limits": {"rate": 1.5}})"),
            "limits.rate: must be a whole number");
  EXPECT_EQ(settings_refusal(R"({"limits": {"burst": 5}})"), "limits.burst: needs a rate");
  EXPECT_EQ(settings_refusal(R"({"headers": {"X Y": "1"}})"),
            "headers.\"X Y\": is not a name of a header: letters, digits and - are");
  EXPECT_EQ(settings_refusal(R"({"headers": {"X": "1\r\nY: 2"}})"),
            "headers.X: has a control character, or is not UTF-8");
  EXPECT_EQ(settings_refusal(R"({"headers": {"X": 1}})"), "headers.X: is a number; must be a text");
  EXPECT_EQ(settings_refusal(R"({"timeout": "1ms"})"),
            "timeout: \"1ms\" is not between 100ms and 2m");
  EXPECT_EQ(settings_refusal(R"({"disable_after": "5m"})"),
            "disable_after: is below 1h; write 0 to never disable");
}

TEST(SubscriptionSettings, AreBounded) {
  std::string waits = R"({"retry": {"waits": ["1s")";
  for (int i = 0; i < 50; ++i) waits += R"(,"1s")";
  EXPECT_EQ(settings_refusal(waits + "]}}"), "retry.waits: has more than 50 waits");
  std::string headers = R"({"headers": {"h0": "")";
  for (int i = 1; i < 21; ++i) headers += ",\"h" + std::to_string(i) + "\": \"\"";
  EXPECT_EQ(settings_refusal(headers + "}}"), "headers: has more than 20 headers");
  EXPECT_NE(settings_refusal(R"({"headers": {"h": ")" + std::string(5000, 'x') + "\"}}"),
            "accepted");
  EXPECT_NE(settings_refusal(std::string(20'000, ' ') + "{}"), "accepted");
}

TEST(SubscriptionTypes, ArePatterns) {
  const std::vector<std::string> good{"shop.order.placed.v1", "shop.*.placed.v1", "**"};
  EXPECT_EQ(read_types(good).value().size(), 3U);
  EXPECT_EQ(read_types({}).error().message, "types: is empty; name types of events, or ** for all");
  const std::vector<std::string> wrong{"**", "shop.ord*"};
  EXPECT_EQ(
      read_types(wrong).error().message,
      "types[1]: topic \"shop.ord*\": has * within a part; it stands for a whole part between "
      "dots");
  EXPECT_FALSE(read_types(std::vector<std::string>(51, "a")).ok());
}

SubscriptionRecord stored(std::string type, std::string settings = {}) {
  SubscriptionRecord record;
  record.state = SubscriptionState::active;
  record.types = {std::move(type)};
  record.settings = std::move(settings);
  return record;
}

TEST(StoredSubscription, ThatCannotBeReadMatchesAndWaits) {
  const Subscription good(stored("a.b"));
  EXPECT_EQ(good.problem, "");
  EXPECT_FALSE(good.waits());
  const Subscription newer(stored("a.b", R"({"new": 1})"));
  EXPECT_NE(newer.problem, "");
  EXPECT_TRUE(newer.waits());
  EXPECT_TRUE(newer.settings.filter.wants_all());
  const Subscription odd(stored("a*"));
  EXPECT_TRUE(odd.waits());
  EXPECT_TRUE(odd.types.at(0).fits("anything"));
}

TEST(RetrySchedule, WaitsAsNamedAndThenEnds) {
  const auto random = seeded_random(7);
  const RetrySchedule schedule;
  for (std::uint32_t failure = 1; failure <= schedule.waits.size(); ++failure) {
    const auto wait = schedule.after_failure(failure, *random);
    ASSERT_TRUE(wait) << failure;
    EXPECT_GE(*wait, schedule.waits[failure - 1]);
    EXPECT_LE(*wait, schedule.waits[failure - 1] * 11 / 10);
  }
  EXPECT_FALSE(schedule.after_failure(10, *random));
  EXPECT_FALSE(RetrySchedule{.waits = {}}.after_failure(1, *random));
}

TEST(RetrySchedule, UnreachableEndpointsAreTriedForThreeDays) {
  const auto random = seeded_random(7);
  const RetrySchedule schedule{.jitter = 0};
  EXPECT_EQ(schedule.after_unreachable(1, *random), Duration(5s));
  EXPECT_EQ(schedule.after_unreachable(2, *random), Duration(10s));
  EXPECT_EQ(schedule.after_unreachable(20, *random), Duration(1h));
  Duration waited{};
  std::uint32_t times = 0;
  while (const auto wait = schedule.after_unreachable(++times, *random)) waited += *wait;
  EXPECT_LE(waited, Duration(72h));
  EXPECT_GT(waited, Duration(70h));
  EXPECT_FALSE(schedule.after_unreachable(times + 1, *random));
  EXPECT_FALSE(schedule.after_unreachable(4'000'000'000, *random));
  EXPECT_FALSE((RetrySchedule{.unreachable_max = {}}).after_unreachable(1, *random));
}

}  // namespace
}  // namespace sagabox::delivery
