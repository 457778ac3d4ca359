#include "support/long_form.hpp"
#include "unit/routing/routed_world.hpp"

#include <algorithm>
#include <set>

namespace sagabox::routing {
namespace {

using Kind = spi::SendResult::Kind;
using std::chrono::minutes;
using std::chrono::seconds;

const std::string good = "good";
const std::string bad = "bad";

spi::SendResult busy(std::optional<Duration> retry_after = std::nullopt) {
  return {.kind = Kind::busy, .error = "503", .retry_after = retry_after};
}

struct BadMessage {
  Kind kind;
  bool keys;
  std::uint16_t shards;
};

/// Messages that their destination never takes, whatever it takes of others.
class BadMessages : public ::testing::TestWithParam<BadMessage> {
 protected:
  RoutedWorld world{{.shards = GetParam().shards}};

  void SetUp() override {
    const auto result = spi::SendResult{.kind = GetParam().kind, .error = "not this one"};
    // What gets no answer takes as long as its route allows.
    const auto after = GetParam().kind == Kind::timed_out ? Duration(seconds(30))
                                                          : Duration(std::chrono::milliseconds(10));
    world.answer([=](const spi::Parcel& parcel) {
      return parcel.message->topic() == bad ? RoutedWorld::Reply{result, after}
                                            : RoutedWorld::Reply{};
    });
  }
  [[nodiscard]] NewMessage one(const std::string& topic, int number) const {
    return RoutedWorld::message(topic, GetParam().keys ? topic + std::to_string(number) : "");
  }
  [[nodiscard]] bool slow() const { return GetParam().kind == Kind::timed_out; }
  /// All bad ones end dead while others arrive now and then.
  void expect_bad_ones_dead(std::size_t count) {
    auto goods = static_cast<int>(world.arrived(good));
    auto next = world.now();
    const bool dead = world.run_until(
        [&] {
          if (world.now() >= next) world.write({one(good, ++goods), one(good, ++goods)});
          if (world.now() >= next) next = world.now() + seconds(2);
          return world.stats().dead >= count;
        },
        minutes(60));
    EXPECT_TRUE(dead) << world.stats().dead << " of " << count;
    for (const auto& record : world.list(MessageState::dead)) {
      EXPECT_EQ(record.topic, bad);
      EXPECT_EQ(record.attempts, 5U);
    }
  }
};

TEST_P(BadMessages, OneInFrontDelaysNobodyAndEndsDead) {
  std::vector<NewMessage> messages = {one(bad, 0)};
  for (int number = 0; number < 180; ++number) messages.push_back(one(good, number));
  world.write(std::move(messages));
  EXPECT_TRUE(world.run_until([&] { return world.arrived(good) == 180; }, seconds(5)))
      << world.arrived(good);
  EXPECT_TRUE(world.run_until([&] { return world.stats().dead == 1; }, minutes(10)))
      << "also when nothing else is sent any more";
  EXPECT_EQ(world.list(MessageState::dead).at(0).attempts, 5U);
  EXPECT_LE(world.refused(bad), 5U + 3U);
}

TEST_P(BadMessages, SeveralAlternatingDelayNobodyAndEndDead) {
  for (const int count : {10, slow() ? 20 : 100}) {
    const auto before = world.arrived(good);
    const auto dead = world.stats().dead;
    std::vector<NewMessage> messages;
    for (int number = 0; number < count; ++number) {
      messages.push_back(one(bad, count + number));
      messages.push_back(one(good, count + number));
    }
    for (int number = 0; number < 180; ++number) messages.push_back(one(good, number));
    const auto goods = before + static_cast<std::size_t>(count) + 180;
    world.write(std::move(messages));
    // Those without an answer hold all places that the destination has. Of several shards, some
    // have bad ones only at first, and these come in a row.
    const auto in_a_row = GetParam().shards > 1 ? seconds(45) : seconds(20);
    const auto at_most = slow() ? seconds(35 * count / 16 + 40) : in_a_row;
    EXPECT_TRUE(world.run_until([&] { return world.arrived(good) >= goods; }, at_most))
        << count << ": " << world.arrived(good) << " of " << goods;
    expect_bad_ones_dead(dead + static_cast<std::size_t>(count));
  }
}

TEST_P(BadMessages, ManyInFrontAreTriedOneAfterTheOtherUntilOneArrives) {
  std::vector<NewMessage> messages;
  const int count = slow() ? 10 : 30;
  for (int number = 0; number < count; ++number) messages.push_back(one(bad, number));
  for (int number = 0; number < 180; ++number) messages.push_back(one(good, number));
  world.write(std::move(messages));
  EXPECT_TRUE(world.run_until([&] { return world.arrived(good) == 180; },
                              slow() ? minutes(10) : seconds(20)))
      << world.arrived(good);
  expect_bad_ones_dead(static_cast<std::size_t>(count));
}

TEST_P(BadMessages, LaterMessagesOfItsKeyWaitForItOthersDoNot) {
  world.write({RoutedWorld::message(bad, "k"), RoutedWorld::message(good, "k"),
               RoutedWorld::message(good, "k"), RoutedWorld::message("other", "l"),
               RoutedWorld::message("other", "l")});
  EXPECT_TRUE(world.run_until([&] { return world.arrived("other") == 2; },
                              slow() ? seconds(65) : seconds(5)));
  EXPECT_EQ(world.arrived(good), 0U);
  EXPECT_TRUE(world.run_until([&] { return world.arrived(good) == 2; }, minutes(20)));
  EXPECT_EQ(world.stats().dead, 1U) << "only then the rest of its key goes";
}

std::vector<BadMessage> cases() {
  std::vector<BadMessage> all;
  for (const auto kind : {Kind::busy, Kind::unreachable}) {
    for (const bool keys : {false, true}) {
      for (const auto shards : {std::uint16_t{1}, std::uint16_t{4}})
        all.push_back({kind, keys, shards});
    }
  }
  all.push_back({Kind::timed_out, false, 1});
  all.push_back({Kind::timed_out, true, 4});
  return all;
}
std::string name_of(const ::testing::TestParamInfo<BadMessage>& info) {
  const auto& what = info.param;
  std::string name = what.kind == Kind::busy          ? "Busy"
                     : what.kind == Kind::unreachable ? "Unreachable"
                                                      : "TimedOut";
  name += what.keys ? "WithKeys" : "WithoutKeys";
  return name + (what.shards == 1 ? "OneShard" : "SeveralShards");
}
INSTANTIATE_TEST_SUITE_P(Kinds, BadMessages, ::testing::ValuesIn(cases()), name_of);

TEST(BusyDestination, HundredsOfBadMessagesAmongThousandsDoNotStarveThem) {
  RoutedWorld world({.attempts_max = 2});
  world.answer_topic(bad, busy());
  std::vector<NewMessage> messages;
  for (int number = 0; number < 3300; ++number) {
    messages.push_back(RoutedWorld::message(number % 11 == 0 ? bad : good));
  }
  world.write(std::move(messages));
  EXPECT_TRUE(world.run_until([&] { return world.arrived(good) == 3000; }, seconds(40)))
      << world.arrived(good);
  EXPECT_TRUE(world.run_until([&] { return world.stats().dead == 300; }, minutes(2)))
      << world.stats().dead;
}

TEST(BusyDestination, OneThatTakesNothingCostsNoAttemptAndRecoversInOrder) {
  RoutedWorld world({.shards = 4});
  bool up = false;
  world.answer([&](const spi::Parcel&) {
    return up ? RoutedWorld::Reply{} : RoutedWorld::Reply{.result = busy()};
  });
  std::vector<NewMessage> messages;
  for (int number = 0; number < 300; ++number) {
    messages.push_back(RoutedWorld::message(good, "k" + std::to_string(number % 50)));
  }
  world.write(std::move(messages));
  world.run(seconds(10));
  EXPECT_LE(world.requests(), 16U + 90U) << "what was under way, then less and less";
  const auto before = world.requests();
  world.run(minutes(3));
  EXPECT_LE(world.requests() - before, 21U * 4 * 4) << "a round in a quarter of a minute";
  EXPECT_EQ(world.stats().dead, 0U);
  for (const auto& record : world.list(MessageState::pending)) EXPECT_EQ(record.attempts, 0U);

  up = true;
  ASSERT_TRUE(world.run_until([&] { return world.arrived(good) == 300; }, minutes(2)));
  std::map<std::string, Sequence> last;
  for (const auto& arrival : world.transport->log) {
    if (arrival.kind != Kind::delivered) continue;
    auto& of_key = last[arrival.parcel.message->key()];
    EXPECT_LT(of_key, arrival.parcel.sequence) << arrival.parcel.message->key();
    of_key = arrival.parcel.sequence;
    EXPECT_EQ(arrival.parcel.attempt, 1U);
  }
}

TEST(BusyDestination, GetsThePauseThatItAsksFor) {
  RoutedWorld world({});
  world.answer_topic(good, busy(minutes(2)));
  std::vector<NewMessage> messages(300, RoutedWorld::message(good));
  world.write(std::move(messages));
  world.run(seconds(5));
  const auto before = world.requests();
  EXPECT_LE(before, 16U + 24U) << "what was under way, and some to see that it means all";
  world.run(seconds(110));
  EXPECT_EQ(world.requests(), before);
  world.run(seconds(20));
  EXPECT_GT(world.requests(), before);
  EXPECT_LE(world.requests(), before + 21) << "a round";
  EXPECT_EQ(world.stats().dead, 0U);
}

TEST(BusyDestination, AMessageWaitsAsLongAsItIsAskedToAndOthersDoNot) {
  RoutedWorld world({});
  world.answer_topic(bad, busy(minutes(20)));
  world.write({RoutedWorld::message(bad)});
  world.run(seconds(2));
  const auto asked = world.refused(bad);
  EXPECT_LE(asked, 2U);
  world.write(std::vector<NewMessage>(100, RoutedWorld::message(good)));
  EXPECT_TRUE(world.run_until([&] { return world.arrived(good) == 100; }, seconds(5)));
  world.run(minutes(4));
  EXPECT_EQ(world.refused(bad), asked);
  world.run(minutes(2));
  EXPECT_EQ(world.refused(bad), asked + 1) << "first as long as a destination may ask for";
  world.run(minutes(18));
  EXPECT_EQ(world.refused(bad), asked + 1) << "it is to blame now, and waits all of it";
  world.run(minutes(3));
  EXPECT_EQ(world.refused(bad), asked + 2);
}

/// Bad messages in a row, more than are tried soon, and good ones that are written afterwards.
struct Run {
  int bad = 0;
  Kind kind = Kind::busy;
  std::optional<Duration> retry_after{};
  std::string tenant = "default";
  std::uint16_t shards = 1;
  bool fair = false;
  std::uint32_t bounds_divided_by = 1;
};

class RunOfBadMessages : public ::testing::TestWithParam<Run> {
 protected:
  RoutedWorld world{{.shards = GetParam().shards,
                     .fair_tenants = GetParam().fair,
                     .bounds_divided_by = GetParam().bounds_divided_by}};
  int goods = 0;
  Duration longest{};  ///< from the write of a good one to its arrival
  std::map<std::string, BootTime> written;
  std::size_t looked_at = 0;

  void SetUp() override {
    const auto result = spi::SendResult{
        .kind = GetParam().kind, .error = "not this one", .retry_after = GetParam().retry_after};
    world.answer([=](const spi::Parcel& parcel) {
      return RoutedWorld::Reply{.result =
                                    parcel.message->topic() == bad ? result : spi::SendResult{}};
    });
    std::vector<NewMessage> messages;
    for (int number = 0; number < 60; ++number) messages.push_back(one(good));
    world.write(std::move(messages));
    world.run(seconds(5));
    ASSERT_EQ(world.arrived(good), 60U);
    messages.clear();
    for (int number = 0; number < GetParam().bad; ++number) messages.push_back(one(bad));
    world.write(std::move(messages));
    world.run(seconds(5));
  }
  NewMessage one(const std::string& topic) {
    auto key = "k" + std::to_string(goods++);
    if (topic == good) written[key] = world.now();
    return RoutedWorld::message(topic, key, topic == bad ? GetParam().tenant : "default");
  }
  /// Good ones come at 20 a second for so long.
  void trickle(Duration time) {
    const auto end = world.now() + time;
    for (auto next = world.now(); next < end; next += std::chrono::milliseconds(50)) {
      world.run_until([&] { return world.now() >= next; }, seconds(5));
      world.write({one(good)});
      look();
    }
  }
  void look() {
    for (; looked_at < world.transport->log.size(); ++looked_at) {
      const auto& arrival = world.transport->log[looked_at];
      if (arrival.kind != Kind::delivered) continue;
      const auto found = written.find(arrival.parcel.message->key());
      longest = std::max(longest, arrival.at - found->second);
      written.erase(found);
    }
  }
};

TEST_P(RunOfBadMessages, DelaysThoseThatFollowBySeconds) {
  trickle(seconds(60));
  world.run(seconds(10));
  look();
  EXPECT_TRUE(written.empty()) << written.size() << " have not arrived";
  EXPECT_LE(longest, seconds(15)) << "those in the run have been tried once";
}

TEST_P(RunOfBadMessages, EndsDeadWhileOthersArrive) {
  const auto count = static_cast<std::uint64_t>(GetParam().bad);
  for (int minute = 0; minute < 30 && world.stats().dead < count; ++minute) trickle(minutes(1));
  EXPECT_EQ(world.stats().dead, count);
  for (const auto& record : world.list(MessageState::dead)) {
    ASSERT_EQ(record.topic, bad);
    ASSERT_EQ(record.attempts, 5U);
  }
  EXPECT_EQ(world.sink->forwarder.suspects(), 0U) << "the dead keep no place";
}

/// Several rounds of what is tried while a destination comes back.
const int hundreds = testing::short_or_long(200, 500);
/// More than the queues of the relay and the router hold together.
const auto thousands =
    testing::short_or_long(Run{.bad = 500, .bounds_divided_by = 16}, Run{.bad = 8000});

INSTANTIATE_TEST_SUITE_P(
    Of, RunOfBadMessages,
    ::testing::Values(Run{.bad = 1}, Run{.bad = 16}, Run{.bad = hundreds}, thousands,
                      Run{.bad = hundreds, .kind = Kind::unreachable},
                      Run{.bad = hundreds, .retry_after = seconds(30)},
                      Run{.bad = hundreds, .tenant = "bad"}, Run{.bad = hundreds, .fair = true},
                      Run{.bad = hundreds, .shards = 4}),
    [](const auto& which) {
      const auto& run = which.param;
      return std::to_string(run.bad) + (run.kind == Kind::busy ? "Busy" : "Unreachable") +
             (run.retry_after ? "WithAPause" : "") + (run.tenant == bad ? "OfATenant" : "") +
             (run.fair ? "FairTenants" : "") + (run.shards > 1 ? "SeveralShards" : "");
    });

/// What a limit per tenant on the other side does to the others.
class BusyTenant : public ::testing::TestWithParam<bool> {};

TEST_P(BusyTenant, DoesNotHoldUpOthers) {
  const bool fair = GetParam();
  RoutedWorld world({.fair_tenants = fair});
  bool over = true;
  world.answer([&](const spi::Parcel& parcel) {
    const bool refuse = over && parcel.message->tenant() == "over";
    return refuse ? RoutedWorld::Reply{.result = busy(seconds(30))} : RoutedWorld::Reply{};
  });
  std::vector<NewMessage> messages;
  for (int number = 0; number < 200; ++number) {
    messages.push_back(RoutedWorld::message(bad, "", "over"));
    for (const auto* tenant : {"a", "b", "c"}) {
      messages.push_back(RoutedWorld::message(good, "", tenant));
    }
  }
  world.write(std::move(messages));
  EXPECT_TRUE(
      world.run_until([&] { return world.arrived(good) == 600; }, fair ? seconds(5) : seconds(40)))
      << world.arrived(good);
  EXPECT_LE(world.refused(bad), fair ? 40U : 250U) << "its line alone is paused";
  over = false;
  EXPECT_TRUE(world.run_until([&] { return world.arrived(bad) == 200; }, minutes(5)))
      << world.arrived(bad);
  EXPECT_EQ(world.stats().dead, 0U);
}

TEST(BusyTenantWithALineOfItsOwn, CostsNoAttempt) {
  RoutedWorld world({.fair_tenants = true});
  world.answer_topic(bad, busy());
  for (int round = 0; round < 6; ++round) {
    std::vector<NewMessage> messages(10, RoutedWorld::message(good, "", "a"));
    for (int number = 0; number < 10; ++number) {
      messages.push_back(RoutedWorld::message(bad, "", "over"));
    }
    world.write(std::move(messages));
    world.run(seconds(20));
    EXPECT_EQ(world.arrived(good), 10U * static_cast<unsigned>(round + 1));
  }
  EXPECT_EQ(world.stats().dead, 0U);
}

INSTANTIATE_TEST_SUITE_P(Lines, BusyTenant, ::testing::Bool(),
                         [](const auto& which) { return which.param ? "Fair" : "Shared"; });

}  // namespace
}  // namespace sagabox::routing
