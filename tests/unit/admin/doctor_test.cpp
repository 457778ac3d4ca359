#include "admin/doctor.hpp"

#include "support/noon.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace sagabox::admin {
namespace {

using namespace std::chrono_literals;
using testing::noon;

TableFacts healthy() {
  TableFacts facts;
  facts.table = "orders";
  facts.stats.now = noon;
  const auto relay = WorkerId::parse("relay-a").value();
  facts.owners = {{Shard{0}, relay, Epoch{1}, 9s}, {Shard{1}, relay, Epoch{1}, 9s}};
  return facts;
}

spi::Finding only(const TableFacts& facts) {
  const auto findings = findings_of(facts);
  EXPECT_EQ(findings.size(), 1U);
  return findings.empty() ? spi::Finding{} : findings.front();
}

BlockedKey blocked(const std::string& key, std::uint64_t behind, Duration age) {
  BlockedKey made;
  made.key = key;
  made.behind = behind;
  made.head.id = MessageId::parse("01JC9Y").value();
  made.head.attempts = 3;
  made.head.code = Code::tx_timeout;
  made.head.due = noon + 5s;
  made.head.written_at = noon - std::chrono::duration_cast<WallTime::duration>(age);
  return made;
}

TEST(Doctor, FindsNothingWhereNothingIsWrong) { EXPECT_TRUE(findings_of(healthy()).empty()); }

TEST(Doctor, NobodyDeliversIsGraveOnlyWhenMessagesWait) {
  auto facts = healthy();
  facts.owners.clear();
  EXPECT_EQ(only(facts).severity, Severity::info);
  facts.stats.pending = 1;
  EXPECT_EQ(only(facts).what, "nobody delivers it: no relay has a shard; 1 message waits");
  EXPECT_EQ(only(facts).severity, Severity::error);
  facts = healthy();
  facts.stats.pending = 2;
  for (auto& shard : facts.owners) shard.lease_left = 0s;
  EXPECT_EQ(only(facts).severity, Severity::error);
}

TEST(Doctor, AShardWithoutAnOwnerIsTold) {
  auto facts = healthy();
  facts.owners[1].owner = {};
  EXPECT_EQ(only(facts),
            (spi::Finding{Severity::warning,
                          "1 of 2 shards have no owner at the moment; their messages wait",
                          "if it stays so: sagabox owners --table orders"}));
}

TEST(Doctor, PausesSayWhoWhenAndHowToResume) {
  auto facts = healthy();
  facts.pauses = {{"a.b", "ops", "slow\nprinter", noon - 250s}};
  EXPECT_EQ(only(facts).cure, "sagabox resume --table orders --topic a.b");
  EXPECT_NE(only(facts).what.find("topic a.b paused for 4m10s by ops: slow"), std::string::npos);
  EXPECT_EQ(only(facts).what.find('\n'), std::string::npos);
}

TEST(Doctor, KeysThatHaveWaitedAreToldUpToThree) {
  auto facts = healthy();
  facts.blocked = {blocked("17", 2, 11s), blocked("18", 0, 1h), blocked("19", 5, 9s)};
  EXPECT_EQ(only(facts),
            (spi::Finding{Severity::warning,
                          "key \"17\": 2 wait for 01JC9Y, which failed 3 times (TX.TIMEOUT), next "
                          "try in 5s",
                          "sagabox explain 01JC9Y --table orders"}));
  facts.blocked.assign(5, blocked("17", 1, 1h));
  ASSERT_EQ(findings_of(facts).size(), 4U);
  EXPECT_EQ(findings_of(facts).back().what, "2 more keys wait for messages that failed");
}

TEST(Doctor, RefusedResultsAreNamedHeldBackOrQuarantined) {
  auto facts = healthy();
  facts.refused = {.count = 40,
                   .first = {{.id = MessageId::parse("01JC9Y").value(),
                              .code = Code::schema_validation_failed,
                              .error = "value refused constraint only_even"}}};
  EXPECT_EQ(only(facts).severity, Severity::error);
  EXPECT_EQ(only(facts).what,
            "the database refuses the results of 40 messages and their quarantine, the first "
            "01JC9Y (SCHEMA.VALIDATION_FAILED: value refused constraint only_even); the next owner "
            "of their shards delivers them again");
  facts.refused = {};
  facts.quarantined_results = {.count = 3, .first = blocked("k", 1, 1s).head};
  facts.quarantined_results.first.note =
      "it WAS delivered, but its result could not be stored: because";
  EXPECT_EQ(only(facts).severity, Severity::warning);
  EXPECT_EQ(only(facts).what,
            "3 messages are quarantined because the database refused the result, the first 01JC9Y: "
            "it WAS delivered, but its result could not be stored: because");
}

TEST(Doctor, TopicsWithoutARouteAreNamedTheFirstOfThem) {
  auto facts = healthy();
  const UnroutedTopic gifted{.aggregate_type = std::string(aggregate_global),
                             .topic = "orders.order.gifted.v1",
                             .since = noon - 10min,
                             .until = noon + 50min};
  facts.unrouted = {.count = 1, .first = {gifted}};
  EXPECT_EQ(only(facts).severity, Severity::warning);
  EXPECT_EQ(only(facts).what,
            "topic \"orders.order.gifted.v1\" has no listener and no route here; its messages "
            "wait, the oldest for 10m00s, and no attempt is spent; it is dead in 50m00s");
  EXPECT_EQ(only(facts).cure, "add a route for it, or start the version that knows it");
  facts.unrouted = {.count = 40, .first = std::vector<UnroutedTopic>(10, gifted)};
  ASSERT_EQ(findings_of(facts).size(), 4U);
  EXPECT_EQ(findings_of(facts).back().what, "37 more topics have no listener and no route here");
}

TEST(Doctor, WhatPinsTheHorizonIsTold) {
  auto facts = healthy();
  facts.stats.oldest_transaction = 59s;
  facts.stats.slot_transactions = 1'000'000;
  EXPECT_TRUE(findings_of(facts).empty());
  facts.stats.oldest_transaction = 252s;
  EXPECT_NE(only(facts).what.find("open for 4m12s"), std::string::npos);
  facts.stats.oldest_transaction.reset();
  facts.stats.slot_transactions = 1'000'001;
  EXPECT_NE(only(facts).what.find("replication slot"), std::string::npos);
}

TEST(Doctor, TheGravestComesFirst) {
  auto facts = healthy();
  facts.stats.dead = 1;
  facts.stats.quarantined = 2;
  facts.strays = {{Sequence{7}, MessageId::parse("S").value(), "lane 9"}};
  ReplayJob failed;
  failed.id = ReplayJobId{3};
  failed.state = ReplayJob::State::failed;
  failed.error = "disk full";
  ReplayJob running;
  facts.jobs = {failed, running};
  const auto findings = findings_of(facts);
  ASSERT_EQ(findings.size(), 5U);
  EXPECT_EQ(findings[0].severity, Severity::error);
  EXPECT_NE(findings[0].what.find("1 pending message that no relay reads, the first S: lane 9"),
            std::string::npos);
  EXPECT_EQ(findings[1].what, "replay job 3 failed: disk full");
  EXPECT_EQ(findings[1].cure, "sagabox replay resume 3 --table orders");
  EXPECT_EQ(findings[2].what, "1 dead letter");
  EXPECT_TRUE(std::ranges::is_sorted(findings, std::ranges::greater{}, &spi::Finding::severity));
}

TEST(Doctor, ClocksMayDifferByTwoSecondsAndTheTimeItTookToAsk) {
  EXPECT_FALSE(clock_finding(noon, noon + 1s, noon + 3s));
  EXPECT_FALSE(clock_finding(noon, noon - 2s, noon + 1s));
  EXPECT_FALSE(clock_finding(noon, noon + 3s, noon + 1s));
  const auto behind = clock_finding(noon, noon - 10s, noon + 1s);
  ASSERT_TRUE(behind);
  EXPECT_NE(behind->what.find("10s behind ours"), std::string::npos) << behind->what;
  const auto ahead = clock_finding(noon, noon + 11s, noon + 1s);
  ASSERT_TRUE(ahead);
  EXPECT_NE(ahead->what.find("10s ahead of ours"), std::string::npos) << ahead->what;
}

}  // namespace
}  // namespace sagabox::admin
