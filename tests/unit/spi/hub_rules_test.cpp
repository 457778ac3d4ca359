#include "spi/hub_rules.hpp"

#include "core/text.hpp"

#include <sagabox/random.hpp>
#include <sagabox/testing/fake_clock.hpp>

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <vector>

namespace sagabox::spi {
namespace {

using namespace std::chrono_literals;

HubEvent hub_event(std::string key = {}, std::string tenant = "acme") {
  static testing::FakeClock clock;
  static const auto random = seeded_random(1);
  static UlidSource ids(clock, *random);
  auto message = Message::build_shared(
      {.topic = "t", .key = std::move(key), .payload = json("1"), .tenant = std::move(tenant)}, {},
      ids, clock);
  return {.id = ids.next<EventId>(), .message = std::move(message).value()};
}

TEST(HubRules, EventsOfAKeyShareAShard) {
  const auto shard = event_shard(hub_event("k"), 16);
  EXPECT_EQ(event_shard(hub_event("k"), 16), shard);
  std::set<Shard> of_tenants;
  std::set<Shard> without_key;
  for (int i = 0; i < 50; ++i) {
    of_tenants.insert(event_shard(hub_event("k", "tenant-" + std::to_string(i)), 16));
    without_key.insert(event_shard(hub_event(), 16));
  }
  EXPECT_GT(of_tenants.size(), 5U);
  EXPECT_GT(without_key.size(), 5U);
  EXPECT_LT(*without_key.rbegin(), Shard{16});
}

TEST(HubRules, EventsThatCannotBeStoredAreRefused) {
  EXPECT_TRUE(check_event(hub_event()).ok());
  const auto refused = [](auto&& change) {
    auto event = hub_event();
    change(event);
    const auto status = check_event(event);
    return !status.ok() && status.error().code == Code::schema_validation_failed;
  };
  EXPECT_TRUE(refused([](HubEvent& e) { e.id = {}; }));
  EXPECT_TRUE(refused([](HubEvent& e) { e.message = nullptr; }));
  EXPECT_TRUE(refused([](HubEvent& e) { e.source = "a\nb"; }));
  EXPECT_TRUE(refused([](HubEvent& e) { e.source = std::string(256, 's'); }));
  EXPECT_TRUE(refused([](HubEvent& e) { e.external_id = std::string("a\0b", 3); }));
  EXPECT_FALSE(refused([](HubEvent& e) { e.external_id = std::string(255, 's'); }));
}

TEST(HubRules, ActivationBeginsWhenItBecomesActive) {
  using State = SubscriptionState;
  const WallTime then{10h};
  const WallTime now{20h};
  const auto after = [&](State before, std::optional<WallTime> since, State state) {
    SubscriptionRecord stored;
    stored.state = before;
    stored.active_since = since;
    return active_since_after(&stored, state, now);
  };
  EXPECT_EQ(active_since_after(nullptr, State::active, now), now);
  EXPECT_EQ(active_since_after(nullptr, State::unverified, now), std::nullopt);
  EXPECT_EQ(after(State::unverified, {}, State::active), now);
  EXPECT_EQ(after(State::active, then, State::active), then);
  EXPECT_EQ(after(State::active, then, State::paused), then);
  EXPECT_EQ(after(State::paused, then, State::active), then);
  EXPECT_EQ(after(State::disabled, then, State::active), now);
  EXPECT_EQ(after(State::unverified, then, State::active), now);
  EXPECT_EQ(after(State::active, then, State::disabled), then);
  EXPECT_EQ(after(State::paused, {}, State::active), now);
}

TEST(HubRules, PercentilesAreOfTheNearestRank) {
  EXPECT_EQ(percentile({}, 0.5), std::nullopt);
  const std::array<Duration, 4> four{1ms, 2ms, 3ms, 4ms};
  EXPECT_EQ(percentile(four, 0.5), Duration(2ms));
  EXPECT_EQ(percentile(four, 0.95), Duration(4ms));
  EXPECT_EQ(percentile(std::span(four).first(1), 0.5), Duration(1ms));
  std::vector<Duration> many;
  for (int i = 1; i <= 100; ++i) many.push_back(std::chrono::milliseconds(i));
  EXPECT_EQ(percentile(many, 0.95), Duration(95ms));
}

TEST(HubRules, ChangesAreSeenToBeAppliedAlready) {
  DeliveryRecord stored;
  stored.id = DeliveryId::parse("d").value();
  stored.attempt = 2;
  stored.state = DeliveryState::in_progress;
  DeliveryChange change{.of = {stored.id, 2}, .state = DeliveryState::pending, .failures = 1};
  change.code = Code::tx_timeout;
  change.error = std::string(1023, 'x') + "é";
  EXPECT_FALSE(is_applied(stored, change));
  const auto after = changed(stored, change, WallTime{1h});
  EXPECT_TRUE(is_applied(after, change));
  EXPECT_EQ(after.error, std::string(1023, 'x'));
  EXPECT_EQ(after.ended_at, std::nullopt);
  auto waiting = after;
  waiting.state = DeliveryState::waiting;
  EXPECT_TRUE(is_applied(waiting, change));
  change.of.attempt = 1;
  EXPECT_FALSE(is_applied(after, change));
  change.state = DeliveryState::completed;
  const auto done = changed(stored, change, WallTime{2h});
  EXPECT_EQ(done.ended_at, WallTime{2h});
  EXPECT_EQ(done.code, std::nullopt);
  EXPECT_EQ(done.error, "");
}

TEST(HubRules, LeasesThatRanOutAreResetAndFailAtTheThird) {
  const WallTime now{20h};
  JobRecord job;
  job.state = HubJobState::leased;
  job.worker = "w";
  job.lease_until = now + 1us;
  EXPECT_EQ(after_lost_lease(job, now).resets, 0U);
  for (std::uint32_t reset = 1; reset <= 3; ++reset) {
    job.state = HubJobState::leased;
    job.lease_until = now;
    job = after_lost_lease(job, now);
    EXPECT_EQ(job.resets, reset);
    EXPECT_EQ(job.state, reset < 3 ? HubJobState::pending : HubJobState::failed);
    EXPECT_EQ(job.lease_until, std::nullopt);
  }
  EXPECT_EQ(job.result.code, Code::tx_lease_lost);
  EXPECT_EQ(job.ended_at, now);
  EXPECT_FALSE(job.result.completed);
}

TEST(HubRules, ResultsAreBounded) {
  JobResult result;
  result.answer = std::string(5000, 'a');
  result.error = "password=hunter2 \xff" + std::string(5000, 'e');
  const auto kept = bounded(result);
  EXPECT_EQ(kept.answer.size(), 1024U);
  EXPECT_LE(kept.error.size(), 1024U);
  EXPECT_EQ(kept.error.find("hunter2"), std::string::npos);
  EXPECT_EQ(text_facts(kept.error).unprintable_at, std::string::npos);
}

}  // namespace
}  // namespace sagabox::spi
