#include "flow/traffic.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace sagabox::flow {
namespace {

using Kind = spi::SendResult::Kind;
using std::chrono::milliseconds;
using std::chrono::seconds;

class TrafficTest : public ::testing::Test {
 protected:
  struct Sent {
    Traffic::Going going;
    BootTime at;
  };

  Traffic::Way way(std::uint64_t line, std::optional<ValveId> valve = std::nullopt) const {
    return {.line = spi::ClassId{line}, .destination = destination, .valves = {valve}};
  }
  bool offer(const Traffic::Way& where, bool retry = false) {
    return traffic.offer(
        where,
        {.part = PartId{++parts}, .bytes = 100, .retry = retry, .deadline = now + seconds(30)},
        now);
  }
  bool offer_sample(const Traffic::Way& where) {
    return traffic.offer(
        where,
        {.part = PartId{++parts}, .bytes = 100, .sample = true, .deadline = now + seconds(30)},
        now);
  }
  /// All that may go now, by line.
  std::map<std::uint64_t, int> go() {
    std::map<std::uint64_t, int> gone;
    while (const auto going = traffic.next(now)) {
      ++gone[going->line.value];
      under_way.push_back({*going, now});
    }
    return gone;
  }
  void end_all(Kind kind) {
    for (const auto& sent : std::exchange(under_way, {})) {
      traffic.ended(sent.going, {.kind = kind}, sent.at, now);
    }
  }

  BootTime now{seconds(1000)};
  Traffic traffic{
      {.breaker = {.probe_min = milliseconds(100), .probe_max = seconds(1)}, .waiting_max = 64}};
  DestinationId destination = traffic.add_destination(8);
  std::uint64_t parts = 0;
  std::vector<Sent> under_way;
};

TEST_F(TrafficTest, ADestinationGetsNoMoreAtOnceThanItTakes) {
  for (int count = 0; count < 20; ++count) ASSERT_TRUE(offer(way(1)));
  EXPECT_EQ(go()[1], 8);
  end_all(Kind::delivered);
  EXPECT_EQ(go()[1], 8);
}

TEST_F(TrafficTest, AFullLineIsShutAndOpensWhenHalfHasGone) {
  int taken = 0;
  while (offer(way(1))) ++taken;
  EXPECT_EQ(taken, 64);
  EXPECT_TRUE(traffic.shut(spi::ClassId{1}));
  while (traffic.waiting() > 32) {
    EXPECT_FALSE(traffic.take_opened());
    go();
    end_all(Kind::delivered);
  }
  EXPECT_FALSE(traffic.shut(spi::ClassId{1}));
  EXPECT_TRUE(traffic.take_opened());
}

TEST_F(TrafficTest, ALongLineDoesNotHoldUpAShortOne) {
  while (offer(way(1))) {
  }
  ASSERT_TRUE(offer(way(2))) << "the other line has a place of its own";
  EXPECT_EQ(go()[2], 1) << "lines take turns";
}

TEST_F(TrafficTest, WhileADestinationIsDownNothingWaitsForItAndOneProbes) {
  for (int count = 0; count < 20; ++count) ASSERT_TRUE(offer(way(1)));
  go();
  end_all(Kind::unreachable);
  EXPECT_EQ(traffic.give_up(now).size(), 12U);
  EXPECT_FALSE(offer(way(1)));
  EXPECT_TRUE(traffic.shut(spi::ClassId{1}));
  EXPECT_EQ(traffic.wake_at(now), now + milliseconds(100));

  now += milliseconds(100);
  traffic.tick(now);
  EXPECT_TRUE(traffic.take_opened());
  ASSERT_TRUE(offer(way(1)));
  EXPECT_FALSE(offer(way(1))) << "one probe at a time";
  EXPECT_EQ(go()[1], 1);
  end_all(Kind::delivered);
  EXPECT_TRUE(traffic.take_opened());
  EXPECT_TRUE(offer(way(1)));
}

TEST_F(TrafficTest, WhatIsTriedAgainDoesNotTakeTheProbeOfTheOthers) {
  ASSERT_TRUE(offer(way(1)));
  go();
  end_all(Kind::busy);
  now += milliseconds(100);
  traffic.tick(now);
  ASSERT_TRUE(offer(way(1), true));
  EXPECT_EQ(go()[1], 1);
  EXPECT_FALSE(traffic.shut(spi::ClassId{1}));
  ASSERT_TRUE(offer(way(1)));
  EXPECT_EQ(go()[1], 1) << "another one probes beside it";
}

TEST_F(TrafficTest, ALineThatAloneIsRefusedIsShutAlone) {
  const auto other = way(2);
  for (int count = 0; count < 4; ++count) {
    ASSERT_TRUE(offer(other));
    if (!traffic.shut(spi::ClassId{1})) {
      ASSERT_TRUE(offer(way(1)));
    }
    go();
    now += milliseconds(10);
    for (const auto& sent : std::exchange(under_way, {})) {
      const auto kind = sent.going.line == other.line ? Kind::delivered : Kind::busy;
      traffic.ended(sent.going, {.kind = kind, .retry_after = seconds(60)}, sent.at, now);
    }
  }
  EXPECT_FALSE(traffic.breaker(destination).open());
  EXPECT_TRUE(traffic.shut(spi::ClassId{1}));
  EXPECT_NE(traffic.down(spi::ClassId{1}, destination), nullptr);
  EXPECT_EQ(traffic.hold(way(1), now)->by, Traffic::Hold::By::breaker);
  EXPECT_FALSE(traffic.shut(other.line));
  EXPECT_EQ(traffic.down(other.line, destination), nullptr);

  now += seconds(1);
  traffic.tick(now);
  ASSERT_TRUE(offer(way(1))) << "it probes by itself";
  go();
  end_all(Kind::delivered);
  EXPECT_EQ(traffic.down(spi::ClassId{1}, destination), nullptr);
}

TEST_F(TrafficTest, WhereNothingArrivesTheDestinationIsDownAndNoLineOfItsOwn) {
  for (std::uint64_t line = 1; line <= 4; ++line) ASSERT_TRUE(offer(way(line)));
  go();
  now += milliseconds(10);
  end_all(Kind::busy);
  EXPECT_TRUE(traffic.breaker(destination).open());
  now += milliseconds(100);
  traffic.tick(now);
  ASSERT_TRUE(offer(way(1)));
  go();
  end_all(Kind::delivered);
  for (std::uint64_t line = 1; line <= 4; ++line) {
    EXPECT_EQ(traffic.down(spi::ClassId{line}, destination), nullptr);
  }
}

TEST_F(TrafficTest, WhatAMessageIsToBlameForDoesNotCloseItsDestination) {
  for (int count = 0; count < 20; ++count) {
    ASSERT_TRUE(offer(way(1)));
    go();
    const auto sent = std::exchange(under_way, {}).front();
    traffic.ended(sent.going, {.kind = Kind::unreachable}, sent.at, now, Traffic::Fault::message);
    ASSERT_FALSE(traffic.breaker(destination).open());
  }
}

TEST_F(TrafficTest, ARefusalShowsThatTheDestinationIsUp) {
  ASSERT_TRUE(offer(way(1)));
  go();
  end_all(Kind::unreachable);
  now += milliseconds(100);
  traffic.tick(now);
  ASSERT_TRUE(offer(way(1)));
  go();
  end_all(Kind::rejected);
  EXPECT_FALSE(traffic.breaker(destination).open());
}

TEST_F(TrafficTest, WhatIsOverItsRateIsNotKeptWaitingForLong) {
  const auto valve = traffic.add_valve({.rate = 10, .burst = 1}, now);
  int taken = 0;
  while (offer(way(1, valve))) ++taken;
  EXPECT_EQ(taken, 2) << "a fifth of a second's worth";
  int gone = 0;
  for (const auto end = now + seconds(10); now < end; now += milliseconds(10)) {
    traffic.tick(now);
    while (offer(way(1, valve))) {
    }
    gone += go()[1];
    end_all(Kind::delivered);
  }
  EXPECT_GE(gone, 99);
  EXPECT_LE(gone, 101);
}

TEST_F(TrafficTest, ASpentBudgetShutsTheLineUntilTheWindowEnds) {
  const auto valve = traffic.add_valve({.budget = Budget{3, seconds(60)}}, now);
  for (int count = 0; count < 10; ++count) ASSERT_TRUE(offer(way(1, valve)));
  EXPECT_EQ(go()[1], 3);
  EXPECT_EQ(traffic.give_up(now).size(), 7U);
  EXPECT_TRUE(traffic.shut(spi::ClassId{1}));
  now += seconds(60);
  traffic.tick(now);
  EXPECT_FALSE(traffic.shut(spi::ClassId{1}));
}

TEST_F(TrafficTest, RetriesHaveAQuarterOfTheDestination) {
  int retries = 0;
  while (offer(way(1), true)) ++retries;
  EXPECT_EQ(retries, 16) << "a quarter of what may wait";
  EXPECT_FALSE(traffic.shut(spi::ClassId{1})) << "fresh ones have a lane of their own";
  EXPECT_EQ(go()[1], 2) << "of eight";
  for (int count = 0; count < 20; ++count) ASSERT_TRUE(offer(way(1)));
  EXPECT_EQ(go()[1], 6) << "fresh ones have the rest";
}

TEST_F(TrafficTest, BytesUnderWayAreBounded) {
  Traffic heavy({.under_way_bytes_max = 1000});
  const auto there = heavy.add_destination(100);
  for (std::uint64_t part = 1; part <= 20; ++part) {
    ASSERT_TRUE(heavy.offer({.line = spi::ClassId{1}, .destination = there},
                            {.part = PartId{part}, .bytes = 300, .deadline = now + seconds(1)},
                            now));
  }
  std::vector<Traffic::Going> gone;
  while (const auto going = heavy.next(now)) gone.push_back(*going);
  EXPECT_EQ(gone.size(), 4U) << "one may go over it";
  heavy.ended(gone.back(), {}, now, now);
  EXPECT_TRUE(heavy.next(now));
}

TEST_F(TrafficTest, WhatDidNotComeSoFarSpendsNoBudget) {
  const auto valve = traffic.add_valve({.budget = Budget{1, seconds(60)}}, now);
  ASSERT_TRUE(offer(way(1, valve)));
  go();
  end_all(Kind::unreachable);
  now += milliseconds(100);
  traffic.tick(now);
  ASSERT_TRUE(offer(way(1, valve)));
  EXPECT_EQ(go()[1], 1);
}

TEST_F(TrafficTest, PastItsDeadlineNothingWaits) {
  while (offer(way(1))) {
  }
  go();
  EXPECT_TRUE(traffic.give_up(now).empty());
  EXPECT_LE(traffic.wake_at(now), now + seconds(30));
  now += seconds(30);
  EXPECT_EQ(traffic.give_up(now).size(), 56U);
  EXPECT_EQ(traffic.waiting(), 0U);
}

TEST_F(TrafficTest, WhatIsCancelledNeverGoes) {
  ASSERT_TRUE(offer(way(1)));
  EXPECT_TRUE(traffic.cancel(spi::ClassId{1}, PartId{parts}));
  EXPECT_FALSE(traffic.cancel(spi::ClassId{1}, PartId{parts}));
  EXPECT_TRUE(go().empty());
}

TEST_F(TrafficTest, LinesThatNobodyUsesAreForgotten) {
  Traffic small({.waiting_max = 64, .lines_max = 10});
  const auto there = small.add_destination(1);
  for (std::uint64_t line = 1; line <= 1000; ++line) {
    ASSERT_TRUE(small.offer({.line = spi::ClassId{line}, .destination = there},
                            {.part = PartId{line}, .deadline = now + seconds(1)}, now));
    const auto going = small.next(now);
    ASSERT_TRUE(going);
    small.ended(*going, {}, now, now);
    (void)small.next(now);
    ASSERT_LE(small.lines(), 11U);
  }
}

TEST_F(TrafficTest, LinesOfADestinationThatIsDownAreNotLookedAtForEachNewOne) {
  constexpr std::uint64_t lines = 5'000;
  Traffic small({.breaker = {.probe_min = seconds(60), .probe_max = seconds(60)},
                 .waiting_max = 64,
                 .lines_max = 10});
  const auto there = small.add_destination(64);
  const auto offered = [&](std::uint64_t line) {
    return small.offer({.line = spi::ClassId{line}, .destination = there},
                       {.part = PartId{line}, .deadline = now + seconds(90)}, now);
  };
  for (std::uint64_t line = 1; line <= 10; ++line) ASSERT_TRUE(offered(line));
  for (std::optional<Traffic::Going> going; (going = small.next(now));) {
    now += milliseconds(1);
    small.ended(*going, {.kind = Kind::unreachable}, now - milliseconds(1), now);
  }
  ASSERT_TRUE(small.breaker(there).open());
  for (std::uint64_t line = 11; line <= lines; ++line) ASSERT_FALSE(offered(line));
  EXPECT_EQ(small.shut_lines(), small.lines()) << "each says that its messages stay where they are";
  EXPECT_LE(small.lines_swept(), 4 * lines);
}

TEST_F(TrafficTest, TellsWhatHoldsAWayUp) {
  using By = Traffic::Hold::By;
  const auto valve = traffic.add_valve({.rate = 1, .burst = 1}, now);
  EXPECT_FALSE(traffic.hold(way(1), now));
  EXPECT_FALSE(traffic.hold(way(2, valve), now));
  ASSERT_TRUE(offer(way(2, valve)));
  EXPECT_EQ(go()[2], 1);
  const auto limited = traffic.hold(way(2, valve), now);
  ASSERT_TRUE(limited);
  EXPECT_EQ(limited->by, By::valve);
  EXPECT_EQ(limited->limit, Valve::Limit::rate);
  EXPECT_EQ(limited->until, now + seconds(1));
  EXPECT_FALSE(traffic.hold(way(1), now)) << "another line, without the valve";
  end_all(Kind::delivered);

  for (int count = 0; count < 8; ++count) ASSERT_TRUE(offer(way(1)));
  EXPECT_EQ(go()[1], 8);
  ASSERT_TRUE(traffic.hold(way(1), now));
  EXPECT_EQ(traffic.hold(way(1), now)->by, By::others);
  end_all(Kind::unreachable);
  const auto down = traffic.hold(way(1), now);
  ASSERT_TRUE(down);
  EXPECT_EQ(down->by, By::breaker);
  EXPECT_EQ(down->until, now + milliseconds(100));
  now += milliseconds(100);
  EXPECT_EQ(traffic.hold(way(1), now)->until, now) << "a probe may go; it is still down";
}

TEST_F(TrafficTest, WhileItIsDownASampleGoesBesideTheProbesAndMoreWhenItArrives) {
  const auto line = spi::ClassId{1};
  ASSERT_TRUE(offer(way(1)));
  EXPECT_FALSE(traffic.samples(line, now)) << "it is up";
  EXPECT_FALSE(offer_sample(way(1)));
  go();
  end_all(Kind::busy);
  ASSERT_TRUE(traffic.shut(line));
  EXPECT_FALSE(traffic.samples(line, now));
  now += milliseconds(100);
  ASSERT_TRUE(traffic.samples(line, now));
  ASSERT_TRUE(offer_sample(way(1)));
  ASSERT_TRUE(offer_sample(way(1)));
  ASSERT_EQ(go()[1], 1) << "one at first";
  EXPECT_TRUE(under_way.front().going.sample);
  end_all(Kind::delivered);
  EXPECT_FALSE(traffic.breaker(destination).open()) << "it is up for all";

  // Those in front go on failing, samples go on arriving.
  for (int round = 0; round < 20; ++round) {
    now += milliseconds(10);
    while (offer(way(1))) {
    }
    while (offer_sample(way(1))) {
    }
    go();
    int samples = 0;
    for (const auto& sent : std::exchange(under_way, {})) {
      samples += sent.going.sample ? 1 : 0;
      traffic.ended(sent.going, {.kind = sent.going.sample ? Kind::delivered : Kind::busy}, sent.at,
                    now);
    }
    EXPECT_GE(samples, 1) << round;
    EXPECT_FALSE(traffic.breaker(destination).open()) << round;
  }
}

TEST_F(TrafficTest, SamplesThatFailComeLessAndLessOften) {
  ASSERT_TRUE(offer(way(1)));
  go();
  end_all(Kind::unreachable);
  int samples = 0;
  for (const auto end = now + seconds(60); now < end; now += milliseconds(10)) {
    (void)traffic.give_up(now);
    for (const bool sample : {false, true}) {
      while (sample ? offer_sample(way(1)) : offer(way(1))) {
      }
    }
    go();
    for (const auto& sent : under_way) samples += sent.going.sample ? 1 : 0;
    end_all(Kind::unreachable);
  }
  EXPECT_GE(samples, 1);
  EXPECT_LE(samples, 4 * 64) << "four in each round, which comes every second";
}

}  // namespace
}  // namespace sagabox::flow
