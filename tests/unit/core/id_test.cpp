#include <sagabox/id.hpp>
#include <sagabox/testing/fake_clock.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <thread>
#include <type_traits>
#include <vector>

namespace sagabox {
namespace {

using namespace std::chrono_literals;
using testing::FakeClock;

/// Always the same number, so that a test can choose the random part.
class FixedRandom final : public Random {
 public:
  explicit FixedRandom(std::uint64_t value) : value_(value) {}
  std::uint64_t next() override { return value_; }

 private:
  std::uint64_t value_;
};

TEST(Id, KeepsWhatItWasGiven) {
  const auto id = MessageId::parse("order-17/placed").value();
  EXPECT_EQ(id.view(), "order-17/placed");
  EXPECT_EQ(id.str(), "order-17/placed");
  EXPECT_FALSE(id.empty());
  EXPECT_TRUE(MessageId().empty());
  EXPECT_EQ(MessageId::parse(std::string(36, 'x')).value().view(), std::string(36, 'x'));
}

TEST(Id, WrongOnesSayWhatWouldBeRight) {
  const std::string right = "give 1 to 36 printable ASCII characters without spaces";
  const auto problem = [](std::string_view text) { return MessageId::parse(text).error(); };
  EXPECT_EQ(problem("").code, Code::schema_validation_failed);
  EXPECT_EQ(problem("").message, "empty; " + right);
  EXPECT_EQ(problem(std::string(37, 'x')).message, "37 bytes, at most 36 are allowed; " + right);
  EXPECT_EQ(problem("a b").message, "byte 2 is not allowed; " + right);
  EXPECT_EQ(problem("ab\n").message, "byte 3 is not allowed; " + right);
  EXPECT_EQ(problem("\x7f").message, "byte 1 is not allowed; " + right);
  EXPECT_EQ(problem("é").message, "byte 1 is not allowed; " + right);
}

TEST(Id, KindsDoNotMix) {
  static_assert(!std::is_convertible_v<MessageId, WorkerId>);
  static_assert(!std::is_convertible_v<Sequence, Epoch>);
  EXPECT_LT(MessageId::parse("a").value(), MessageId::parse("b").value());
  EXPECT_EQ(std::hash<MessageId>{}(MessageId::parse("a").value()),
            std::hash<MessageId>{}(MessageId::parse("a").value()));
}

TEST(Ulid, IsTheKnownEncodingOfTimeAndRandomness) {
  FakeClock clock{WallTime{1469918176385ms}};  // the example of the ULID specification
  FixedRandom zero{0};
  UlidSource with_zero(clock, zero);
  EXPECT_EQ(with_zero.next<MessageId>().view(), "01ARYZ6S410000000000000001");
  FixedRandom ones{~std::uint64_t{0}};
  UlidSource with_ones(clock, ones);
  EXPECT_EQ(with_ones.next<MessageId>().view(), "01ARYZ6S41ZZZZZZZZZZZZZZZZ");
}

TEST(Ulid, CountsUpWithinAMillisecond) {
  FakeClock clock{WallTime{1469918176385ms}};
  FixedRandom random{0x1f};
  UlidSource source(clock, random);
  EXPECT_EQ(source.next<MessageId>().view(), "01ARYZ6S4100FG00000000000Z");
  EXPECT_EQ(source.next<MessageId>().view(), "01ARYZ6S4100FG000000000010");
}

TEST(Ulid, CarriesIntoTheHighBits) {
  FakeClock clock{WallTime{1ms}};
  class HighZeroLowFull final : public Random {
    std::uint64_t next() override { return calls_++ % 2 == 0 ? 0 : ~std::uint64_t{0}; }
    int calls_ = 0;
  } random;
  UlidSource source(clock, random);
  EXPECT_EQ(source.next<MessageId>().view(), "0000000001000FZZZZZZZZZZZZ");
  EXPECT_EQ(source.next<MessageId>().view(), "0000000001000G000000000000");
}

TEST(Ulid, BorrowsAMillisecondWhenTheRandomPartIsUsedUp) {
  FakeClock clock{WallTime{1ms}};
  FixedRandom ones{~std::uint64_t{0}};
  UlidSource source(clock, ones);
  const auto first = source.next<MessageId>();
  const auto second = source.next<MessageId>();
  EXPECT_EQ(first.view().substr(0, 10), "0000000001");
  EXPECT_EQ(second.view().substr(0, 10), "0000000002");
  EXPECT_LT(first, second);
}

TEST(Ulid, KeepsItsOrderWhenTheClockStepsBack) {
  FakeClock clock;
  const auto random = seeded_random(1);
  UlidSource source(clock, *random);
  const auto before = source.next<MessageId>();
  clock.advance_wall(-24h);
  const auto after = source.next<MessageId>();
  EXPECT_LT(before, after);
  EXPECT_EQ(before.view().substr(0, 10), after.view().substr(0, 10));
}

TEST(Ulid, TwoSourcesAtTheSameTimeDiffer) {
  for (const auto start : {WallTime{}, WallTime{-5s}, WallTime{1'700'000'000s}}) {
    FakeClock clock{start};
    const auto one = seeded_random(1);
    const auto two = seeded_random(2);
    EXPECT_NE(UlidSource(clock, *one).next<MessageId>(), UlidSource(clock, *two).next<MessageId>());
  }
}

TEST(Ulid, ThreadsNeverGetTheSame) {
  UlidSource source(system_clock(), system_random());
  constexpr std::size_t each = 5000;
  std::vector<std::vector<MessageId>> drawn(4);
  {
    std::vector<std::jthread> threads;
    for (auto& mine : drawn) {
      threads.emplace_back([&] {
        for (std::size_t i = 0; i < each; ++i) mine.push_back(source.next<MessageId>());
      });
    }
  }
  std::set<std::string_view> all;
  for (const auto& mine : drawn) {
    EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
    for (const auto& id : mine) all.insert(id.view());
  }
  EXPECT_EQ(all.size(), 4 * each);
}

RC_GTEST_PROP(Ulid, RisesHoweverTheClockMoves, (std::uint64_t seed)) {
  FakeClock clock{WallTime{1'700'000'000s}};
  const auto random = seeded_random(seed);
  UlidSource source(clock, *random);
  auto last = source.next<MessageId>();
  const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(-5000, 5000));
  for (const int step : steps) {
    clock.advance_wall(std::chrono::microseconds(step));
    const auto next = source.next<MessageId>();
    RC_ASSERT(last < next);
    RC_ASSERT(MessageId::parse(next.view()).ok());
    last = next;
  }
}

TEST(StableHash, IsFnv1a) {
  EXPECT_EQ(stable_hash(""), 0xcbf29ce484222325U);
  EXPECT_EQ(stable_hash("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(stable_hash("foobar"), 0x85944171f73967e8U);
}

}  // namespace
}  // namespace sagabox
