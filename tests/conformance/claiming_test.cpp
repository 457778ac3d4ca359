#include "conformance/claim_conformance.hpp"

#include <algorithm>
#include <set>
#include <thread>

namespace sagabox::conformance {
namespace {

using State = StoredRow::State;
using std::chrono::seconds;

TEST_P(ClaimConformance, ClaimedMessageIsShownToItsClaimerOnly) {
  const auto written = write(message());
  const auto claimer = other_than(written.shard);

  const auto claimed = claim(claimer);

  ASSERT_EQ(ids_of(claimed), ids_of(std::vector{written}));
  EXPECT_EQ(claimed[0].shard, claimer) << "where it is to be settled";
  EXPECT_TRUE(of(written.shard).empty());
  EXPECT_EQ(ids_of(of(claimer)), ids_of(std::vector{written})) << "as often as it asks";
}

TEST_P(ClaimConformance, ReadIsAClaim) {
  const auto written = write(message());
  ASSERT_EQ(of(written.shard).size(), 1U);
  EXPECT_TRUE(claim(other_than(written.shard)).empty());
}

TEST_P(ClaimConformance, OnlyAReadThatSaysSoClaimsFromOthers) {
  const auto written = write(message());
  EXPECT_TRUE(of(other_than(written.shard)).empty());
  EXPECT_EQ(of(written.shard).size(), 1U);
}

TEST_P(ClaimConformance, MessagesWithAKeyAndWaitingOnesStayWithTheirShard) {
  const auto owner = own();
  const auto keyed = write(message("k"));
  const auto waiting = write(message());
  ASSERT_EQ(settled(owner, {settlement(waiting, spi::Verdict::retry)}), 1U);
  for (std::uint16_t s = 0; s < shards(); ++s) {
    if (Shard{s} == keyed.shard) continue;
    EXPECT_TRUE(claim(Shard{s}).empty()) << s;
  }
  EXPECT_EQ(of(keyed.shard).size(), 1U);
  EXPECT_EQ(ids_of(read_due()), ids_of(std::vector{waiting}));
}

TEST_P(ClaimConformance, ClaimIsBoundedAndTheRestIsLeftToOthers) {
  const auto written = write(messages(64));
  const auto few = read({Shard{0}, lane_normal, {}, 3, true}).rows;
  EXPECT_LE(few.size(), 3U + 1U);
  const auto rest = claim(Shard{1});
  EXPECT_GE(rest.size(), 50U);
  std::set<std::string> both;
  for (const auto& row : few) both.insert(row.id.str());
  for (const auto& row : rest) EXPECT_TRUE(both.insert(row.id.str()).second) << "claimed twice";
}

TEST_P(ClaimConformance, NobodyClaimsMoreThanThereIsRoomForBesideItsOwn) {
  constexpr std::uint32_t room = 3;
  const auto written = write(messages(8UL * shards()));
  const auto own_rows = static_cast<std::size_t>(
      std::ranges::count(written, Shard{0}, [](const Written& row) { return row.shard; }));
  ASSERT_GT(own_rows, room);
  for (int look = 0; look < 10; ++look) (void)read({Shard{0}, lane_normal, {}, room, true});

  std::size_t left_to_others = 0;
  for (std::uint16_t s = 1; s < shards(); ++s) left_to_others += of(Shard{s}).size();
  EXPECT_EQ(left_to_others, written.size() - own_rows);
}

TEST_P(ClaimConformance, ClaimIsSettledWhereItWasMadeAndNowhereElse) {
  const auto owner = own();
  for (const auto verdict : {spi::Verdict::done, spi::Verdict::retry, spi::Verdict::dead,
                             spi::Verdict::park, spi::Verdict::attempt}) {
    const auto written = write(message());
    const auto claimer = other_than(written.shard);
    ASSERT_EQ(claim(claimer).size(), 1U);
    const auto elsewhere = settlement(written, verdict, 2);
    EXPECT_EQ(settled(owner, {elsewhere}), 0U);
    EXPECT_EQ(look(written.id).state, State::pending);
    EXPECT_EQ(look(written.id).attempts, 0U);

    auto here = elsewhere;
    here.shard = claimer;
    const auto reply = settle(owner, {here});
    EXPECT_EQ(reply.parts[claimer.value].rows, 1U) << "counted for the claimer's fence";
    EXPECT_EQ(look(written.id).attempts, 2U);
    if (verdict != spi::Verdict::attempt) {
      EXPECT_TRUE(of(claimer).empty());
      continue;
    }
    EXPECT_EQ(of(claimer).size(), 1U) << "an attempt keeps the claim";
  }
}

TEST_P(ClaimConformance, RetryGivesTheClaimBack) {
  const auto owner = own();
  const auto written = write(message());
  auto item = settlement(written, spi::Verdict::retry);
  item.shard = other_than(written.shard);
  ASSERT_EQ(claim(item.shard).size(), 1U);
  ASSERT_EQ(settled(owner, {item}), 1U);

  EXPECT_EQ(ids_of(read_due()), ids_of(std::vector{written}));
  EXPECT_EQ(settled(owner, {item}), 0U) << "sent twice, it does not touch what another has now";
  EXPECT_EQ(settled(owner, {settlement(written, spi::Verdict::done, 2)}), 1U);
}

TEST_P(ClaimConformance, ClaimsGoToTheNextOwnerOfTheShard) {
  const auto stale = own();
  const auto written = write(message());
  auto item = settlement(written, spi::Verdict::done);
  item.shard = other_than(written.shard);
  ASSERT_EQ(claim(item.shard).size(), 1U);
  fixture_->advance_time(ttl + seconds(1));
  const auto next = own();

  for (const auto& part : settle(stale, {item}).parts) EXPECT_FALSE(part.held);
  EXPECT_EQ(look(written.id).state, State::pending);
  EXPECT_EQ(ids_of(of(item.shard)), ids_of(std::vector{written}));
  EXPECT_EQ(settled(next, {item}), 1U);
}

TEST_P(ClaimConformance, ReleasedMessageIsItsShardsWhoeverHadClaimedIt) {
  const auto owner = own();
  const auto written = write(message());
  ASSERT_EQ(claim(other_than(written.shard)).size(), 1U);
  ASSERT_TRUE(moved(spi::Move::quarantine, written.id));
  ASSERT_TRUE(moved(spi::Move::release, written.id));
  ASSERT_EQ(ids_of(read_due()), ids_of(std::vector{written}));
  EXPECT_EQ(settled(owner, {settlement(written, spi::Verdict::done)}), 1U);
}

TEST_P(ClaimConformance, LateCommitIsClaimedFromThePositionBefore) {
  const auto late = message();
  auto open = store().begin().value();
  const auto low = open->outbox().insert(table_, std::span(&late, 1)).value().front();
  const auto early = write(messages(2 * shards()));
  const auto first = of(low.shard);
  for (const auto& row : first) EXPECT_GT(row.sequence, low.sequence);
  open->commit().value();
  const auto then = of(low.shard);
  ASSERT_EQ(then.size(), first.size() + 1);
  EXPECT_EQ(then[0].sequence, low.sequence);
}

TEST_P(ClaimConformance, NoMessageIsClaimedTwiceHoweverManyClaimAtOnce) {
  constexpr std::size_t claimers = 4;
  constexpr std::size_t count = 400;
  std::vector<std::set<std::string>> got(claimers);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < claimers; ++i) {
    threads.emplace_back([&, i] {
      const auto shard = Shard{static_cast<std::uint16_t>(i)};
      for (int look = 0; look < 60; ++look) {
        const spi::Range range{shard, lane_normal, {}, 1000, true};
        const auto reply = outbox().read(table_, std::span(&range, 1), bytes_unbounded);
        if (!reply.ok()) continue;
        for (const auto& row : reply->rows) got[i].insert(row.id.str());
      }
    });
  }
  std::size_t written = 0;
  for (; written < count; written += 20) write(messages(20));
  for (auto& thread : threads) thread.join();
  for (std::size_t i = 0; i < claimers; ++i) {
    for (const auto& row : claim(Shard{static_cast<std::uint16_t>(i)})) got[i].insert(row.id.str());
  }

  std::set<std::string> all;
  std::size_t total = 0;
  for (const auto& mine : got) {
    total += mine.size();
    all.insert(mine.begin(), mine.end());
  }
  EXPECT_EQ(all.size(), written);
  EXPECT_EQ(total, all.size()) << "some were claimed twice";
}

}  // namespace

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ClaimConformance);

}  // namespace sagabox::conformance
