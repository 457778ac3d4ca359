#include "core/text.hpp"

#include <sagabox/random.hpp>
#include <sagabox/testing/fake_clock.hpp>
#include <sagabox/time.hpp>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <set>
#include <thread>
#include <vector>

namespace sagabox {
namespace {

using namespace std::chrono_literals;
using testing::FakeClock;

TEST(SystemClock, BootTimeNeverGoesBackAndWallTimeIsOfThisCentury) {
  const auto before = system_clock().boot_now();
  EXPECT_GT(before, BootTime{});
  EXPECT_GE(system_clock().boot_now(), before);
  EXPECT_GT(system_clock().wall_now(),
            WallTime{std::chrono::sys_days{std::chrono::year{2024} / 1 / 1}});
}

TEST(FakeClock, StandsStillUntilMoved) {
  FakeClock clock;
  EXPECT_EQ(utc_text(clock.wall_now()), "2026-01-01T00:00:00.000Z");
  const auto wall = clock.wall_now();
  const auto boot = clock.boot_now();
  clock.advance(5s);
  EXPECT_EQ(clock.wall_now() - wall, 5s);
  EXPECT_EQ(clock.boot_now() - boot, 5s);
}

TEST(FakeClock, WallAndBootMoveApart) {
  FakeClock clock;
  const auto wall = clock.wall_now();
  const auto boot = clock.boot_now();
  clock.advance_wall(-1h);
  EXPECT_EQ(clock.wall_now() - wall, -1h);
  EXPECT_EQ(clock.boot_now(), boot);
  clock.advance_boot(3s);
  EXPECT_EQ(clock.wall_now() - wall, -1h);
  EXPECT_EQ(clock.boot_now() - boot, 3s);
  clock.set_wall(WallTime{10s});
  clock.set_boot(BootTime{20s});
  EXPECT_EQ(clock.wall_now(), WallTime{10s});
  EXPECT_EQ(clock.boot_now(), BootTime{20s});
}

TEST(FakeClock, SmallStepsAddUp) {
  FakeClock clock;
  const auto wall = clock.wall_now();
  for (int i = 0; i < 10; ++i) clock.advance(100ns);
  EXPECT_EQ(clock.wall_now() - wall, 1us);
}

TEST(SeededRandom, RepeatsItselfForTheSameSeedOnly) {
  const auto one = seeded_random(42);
  const auto same = seeded_random(42);
  const auto other = seeded_random(43);
  std::vector<std::uint64_t> a, b, c;
  for (int i = 0; i < 100; ++i) {
    a.push_back(one->next());
    b.push_back(same->next());
    c.push_back(other->next());
  }
  EXPECT_EQ(a, b);
  std::set<std::uint64_t> distinct(a.begin(), a.end());
  distinct.insert(c.begin(), c.end());
  EXPECT_EQ(distinct.size(), 200U);
}

TEST(SeededRandom, ThreadsShareOneStream) {
  const auto random = seeded_random(7);
  std::array<std::vector<std::uint64_t>, 2> drawn;
  {
    std::vector<std::jthread> threads;
    for (auto& mine : drawn) {
      threads.emplace_back([&] {
        for (int i = 0; i < 1000; ++i) mine.push_back(random->next());
      });
    }
  }
  std::multiset<std::uint64_t> together(drawn[0].begin(), drawn[0].end());
  together.insert(drawn[1].begin(), drawn[1].end());
  const auto alone = seeded_random(7);
  std::multiset<std::uint64_t> expected;
  for (int i = 0; i < 2000; ++i) expected.insert(alone->next());
  EXPECT_EQ(together, expected);
}

TEST(Random, UnitAndBelowStayInTheirRangesAndReachAllOfIt) {
  const auto random = seeded_random(3);
  double low = 1, high = 0;
  std::array<int, 4> seen{};
  for (int i = 0; i < 10'000; ++i) {
    const double unit = random->unit();
    ASSERT_GE(unit, 0.0);
    ASSERT_LT(unit, 1.0);
    low = std::min(low, unit);
    high = std::max(high, unit);
    ++seen.at(random->below(4));
  }
  EXPECT_LT(low, 0.01);
  EXPECT_GT(high, 0.99);
  for (const int count : seen) EXPECT_GT(count, 2000);
  EXPECT_EQ(random->below(0), 0U);
  EXPECT_EQ(random->below(1), 0U);
}

TEST(SystemRandom, ThreadsDrawDifferentNumbers) {
  std::uint64_t here = system_random().next();
  std::uint64_t there = 0;
  std::jthread([&] { there = system_random().next(); }).join();
  EXPECT_NE(here, there);
}

TEST(SystemRandom, AForkedChildDoesNotRepeatItsParent) {
  (void)system_random().next();
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const std::uint64_t drawn = system_random().next();
    _exit(write(pipe_ends[1], &drawn, sizeof drawn) == sizeof drawn ? 0 : 1);
  }
  std::uint64_t of_child = 0;
  ASSERT_EQ(read(pipe_ends[0], &of_child, sizeof of_child), ssize_t{sizeof of_child});
  EXPECT_NE(system_random().next(), of_child);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

TEST(DurationText, ReadsLikeAConfiguration) {
  EXPECT_EQ(duration_text(0s), "0s");
  EXPECT_EQ(duration_text(200ms), "200ms");
  EXPECT_EQ(duration_text(1500ms), "1500ms");
  EXPECT_EQ(duration_text(60s), "60s");
  EXPECT_EQ(duration_text(250us), "250us");
  EXPECT_EQ(duration_text(7ns), "7ns");
  EXPECT_EQ(duration_text(-5s), "-5s");
  EXPECT_EQ(duration_text(12345678ns), "12.3457ms");
}

TEST(UtcText, IsIso8601WithMilliseconds) {
  EXPECT_EQ(utc_text(WallTime{}), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(utc_text(WallTime{1'700'000'000'123'456us}), "2023-11-14T22:13:20.123Z");
  EXPECT_EQ(utc_text(WallTime{-1ms}), "1969-12-31T23:59:59.999Z");
}

TEST(Quoted, IsSafeToShow) {
  EXPECT_EQ(quoted("orders outbox"), "\"orders outbox\"");
  EXPECT_EQ(quoted("a\nb\x1b[0m\xff"), "\"a?b?[0m?\"");
  EXPECT_EQ(quoted("命令"), "\"命令\"");
  EXPECT_EQ(quoted(std::string(100, 'x')), "\"" + std::string(64, 'x') + "…\"");
}

}  // namespace
}  // namespace sagabox
