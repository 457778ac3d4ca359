#include <sagabox/outbox.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace sagabox {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(OutboxOptions, DefaultsAreTheOnesPromised) {
  const OutboxOptions options;
  EXPECT_TRUE(options.check().ok());
  EXPECT_EQ(options.workers, 4U);
  EXPECT_EQ(options.hot_capacity, 1000U);
  EXPECT_EQ(options.cold_capacity, 1000U);
  EXPECT_EQ(options.poll_interval, milliseconds(100));
  EXPECT_EQ(options.skip_recent, Duration{});
  EXPECT_EQ(options.lease, seconds(15));
  EXPECT_EQ(options.dispatch_timeout, seconds(30));
  EXPECT_EQ(options.drain_timeout, seconds(5));
  EXPECT_EQ(options.retention, hours(24 * 7));
  EXPECT_EQ(options.error_bytes_max, 2048U);
  EXPECT_EQ(options.head_policy, HeadPolicy::block);
  EXPECT_EQ(options.unroutable, Unroutable::wait);
  EXPECT_EQ(options.unroutable_grace, hours(1));
  EXPECT_FALSE(options.rules.strict_topics);
  EXPECT_EQ(options.rules.payload_bytes_max, 1024U * 1024U);
  EXPECT_EQ(options.retry.attempts_max, 10U) << "S4's";
  EXPECT_EQ(options.retry.backoff_min, milliseconds(200));
  EXPECT_EQ(options.retry.backoff_max, seconds(60));
}

TEST(OutboxOptions, PresetPatientIsSection10OfS0) {
  const auto options = OutboxOptions::preset("patient").value();
  EXPECT_TRUE(options.check().ok());
  EXPECT_EQ(options.lease, milliseconds(15'000));
  EXPECT_EQ(options.retry.attempts_max, 12U);
  EXPECT_EQ(options.retry.backoff_min, milliseconds(500));
  EXPECT_EQ(options.retry.backoff_max, milliseconds(300'000));
  EXPECT_EQ(options.retry.factor, 2.0);
  EXPECT_EQ(options.retry.jitter_min, 0.7);
  EXPECT_EQ(options.retry.jitter_max, 1.3);
  EXPECT_EQ(options.retry.floor, milliseconds(500)) << "its delay never falls below its base";
}

TEST(OutboxOptions, PresetSingleActiveIsSection10OfS2) {
  const auto options = OutboxOptions::preset("single_active").value();
  EXPECT_TRUE(options.check().ok());
  EXPECT_EQ(options.claim, ClaimMode::leader) << "single active";
  EXPECT_EQ(options.purge_interval, std::chrono::minutes(1));
  EXPECT_FALSE(options.dead_retention) << "0: for ever";
  EXPECT_EQ(options.poll_interval, seconds(1));
  EXPECT_EQ(options.lease, seconds(60));
  EXPECT_EQ(options.dispatch_timeout, seconds(30));
  EXPECT_EQ(options.error_bytes_max, 2048U);
  EXPECT_EQ(options.retention, hours(168));
  EXPECT_TRUE(options.rules.strict_topics);
  EXPECT_EQ(options.retry.attempts_max, 25U);
  EXPECT_EQ(options.retry.backoff_min, seconds(1));
  EXPECT_EQ(options.retry.backoff_max, seconds(60));
  EXPECT_EQ(options.retry.jitter_added_max, milliseconds(200));
}

TEST(OutboxOptions, PresetPollingIsSections9And10And14OfS4) {
  const auto options = OutboxOptions::preset("polling").value();
  EXPECT_TRUE(options.check().ok());
  EXPECT_EQ(options.workers, 4U);
  EXPECT_EQ(options.hot_capacity, 1000U);
  EXPECT_EQ(options.cold_capacity, 1000U);
  EXPECT_EQ(options.poll_interval, milliseconds(5000));
  EXPECT_EQ(options.skip_recent, Duration{});
  EXPECT_EQ(options.drain_timeout, milliseconds(5000));
  EXPECT_EQ(options.unroutable, Unroutable::dead);
  EXPECT_EQ(options.retention, hours(24 * 7));
  EXPECT_EQ(options.retry.attempts_max, 10U);
  EXPECT_EQ(options.retry.backoff_min, milliseconds(200));
  EXPECT_EQ(options.retry.backoff_max, milliseconds(60'000));
  EXPECT_EQ(options.retry.jitter_min, 0.5);
  EXPECT_EQ(options.retry.jitter_max, 1.5);
}

TEST(OutboxOptions, UnknownPresetNamesTheKnownOnes) {
  const auto options = OutboxOptions::preset("s1");
  ASSERT_FALSE(options.ok());
  EXPECT_EQ(options.error().code, Code::config_invalid);
  EXPECT_EQ(options.error().message,
            "preset \"s1\" is unknown; there are patient, single_active and polling");
}

struct WrongSetting {
  const char* setting;
  std::function<void(OutboxOptions&)> spoil;
};

class WrongOptions : public ::testing::TestWithParam<WrongSetting> {};

TEST_P(WrongOptions, AreNamed) {
  OutboxOptions options;
  GetParam().spoil(options);
  const auto checked = options.check();
  ASSERT_FALSE(checked.ok());
  EXPECT_NE(checked.error().message.find(GetParam().setting), std::string::npos)
      << checked.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Settings, WrongOptions,
    ::testing::Values(
        WrongSetting{"orders outbox", [](auto& o) { o.table = "orders outbox"; }},
        WrongSetting{"payload_bytes_max", [](auto& o) { o.rules.payload_bytes_max = 0; }},
        WrongSetting{"attempts_max", [](auto& o) { o.retry.attempts_max = 0; }},
        WrongSetting{"workers", [](auto& o) { o.workers = 0; }},
        WrongSetting{"hot_capacity", [](auto& o) { o.hot_capacity = 0; }},
        WrongSetting{"cold_capacity", [](auto& o) { o.cold_capacity = 0; }},
        WrongSetting{"queue_bytes_max", [](auto& o) { o.queue_bytes_max = 0; }},
        WrongSetting{"unsettled_max", [](auto& o) { o.unsettled_max = 0; }},
        WrongSetting{"settle_rows_max", [](auto& o) { o.settle_rows_max = 0; }},
        WrongSetting{"error_bytes_max", [](auto& o) { o.error_bytes_max = 0; }},
        WrongSetting{"blocked_keys_max", [](auto& o) { o.blocked_keys_max = 0; }},
        WrongSetting{"poll_interval", [](auto& o) { o.poll_interval = Duration{}; }},
        WrongSetting{"poll_interval", [](auto& o) { o.poll_interval = Duration::max(); }},
        WrongSetting{"lease", [](auto& o) { o.lease = milliseconds(99); }},
        WrongSetting{"dispatch_timeout", [](auto& o) { o.dispatch_timeout = -seconds(1); }},
        WrongSetting{"dispatch_timeout", [](auto& o) { o.dispatch_timeout = Duration::max(); }},
        WrongSetting{"drain_timeout", [](auto& o) { o.drain_timeout = -seconds(1); }},
        WrongSetting{"drain_timeout", [](auto& o) { o.drain_timeout = Duration::max(); }},
        WrongSetting{"retention", [](auto& o) { o.retention = -seconds(1); }},
        WrongSetting{"unroutable_grace", [](auto& o) { o.unroutable_grace = -seconds(1); }},
        WrongSetting{"skip_recent", [](auto& o) { o.skip_recent = -seconds(1); }},
        WrongSetting{"settle_delay_max", [](auto& o) { o.settle_delay_max = -seconds(1); }},
        WrongSetting{"metrics", [](auto& o) { o.metrics = nullptr; }},
        WrongSetting{"audit", [](auto& o) { o.audit = nullptr; }},
        WrongSetting{"log", [](auto& o) { o.log = nullptr; }},
        WrongSetting{"clock", [](auto& o) { o.clock = nullptr; }},
        WrongSetting{"random", [](auto& o) { o.random = nullptr; }},
        WrongSetting{"interceptors", [](auto& o) { o.interceptors.push_back(nullptr); }},
        WrongSetting{"hooks", [](auto& o) { o.hooks.push_back(nullptr); }}),
    [](const auto& wrong) {
      std::string name = wrong.param.setting;
      for (auto& c : name) c = c == ' ' ? '_' : c;
      return name + "_" + std::to_string(wrong.index);
    });

TEST(OutboxOptions, ErrorSaysWhatWouldBeRight) {
  OutboxOptions options;
  options.lease = milliseconds(99);
  EXPECT_EQ(options.check().error().message.substr(0, 36), "lease is 99ms; it must be 100ms to 3");
  options = {};
  options.workers = 0;
  EXPECT_EQ(options.check().error().message, "workers is 0; it must be at least 1");
}

TEST(OutboxOptions, ZeroIsAllowedWhereItMeansOff) {
  OutboxOptions options;
  options.retention = Duration{};
  options.skip_recent = Duration{};
  options.drain_timeout = Duration{};
  options.settle_delay_max = Duration{};
  options.spare_workers_max = 0;
  EXPECT_TRUE(options.check().ok());
}

}  // namespace
}  // namespace sagabox
