#include "conformance/idempotency/idempotency_conformance.hpp"

#include <algorithm>
#include <array>
#include <thread>

namespace sagabox::conformance {
namespace {

using State = IdempotencyState;
using std::chrono::seconds;

TEST_P(IdempotencyConformance, UnknownKeyIsLetThroughAndTheSameRequestIsBusy) {
  const auto first = ask(key("k1"));
  const auto reply = check(first);
  EXPECT_TRUE(reply.taken);
  EXPECT_EQ(reply.record.key, first.key);
  EXPECT_EQ(reply.record.state, State::in_flight);
  EXPECT_EQ(reply.record.ticket, first.ticket);
  EXPECT_EQ(reply.record.request_hash, first.request_hash);
  EXPECT_EQ(reply.record.attempts, 1U);
  EXPECT_EQ(reply.record.lease_until - reply.record.created_at, lease);
  EXPECT_EQ(reply.record.expires_at - reply.record.created_at, ttl);

  const auto second = check(ask(key("k1")));
  EXPECT_FALSE(second.taken);
  EXPECT_EQ(second.record, reply.record);
}

TEST_P(IdempotencyConformance, TenantsAndConsumersDoNotHideKeysFromEachOther) {
  take(key("k1", "billing", "acme"));
  take(key("k1", "shipping", "acme"));
  take(key("k1", "billing", "umbrella"));
  take(key("K1", "billing", "acme"));
  take(key("k1 ", "billing", "acme"));
}

TEST_P(IdempotencyConformance, StoredResultIsReplayedByteForByte) {
  const auto holder = take(key("k1"));
  const std::string result("\0\xff{\"balance\": 5}\n", 17);
  ASSERT_TRUE(finish(holder, result));
  const auto reply = check(ask(key("k1")));
  EXPECT_FALSE(reply.taken);
  EXPECT_EQ(reply.record.state, State::succeeded);
  EXPECT_EQ(reply.record.result, result);
  EXPECT_EQ(reply.record.result_digest, sha256(result));
}

TEST_P(IdempotencyConformance, EmptyResultIsNotTheSameAsNone) {
  const auto holder = take(key("k1"));
  ASSERT_TRUE(finish(holder, ""));
  EXPECT_EQ(check(ask(key("k1"))).record.result, "");
  const auto other = take(key("k2"));
  ASSERT_TRUE(finish(other, std::nullopt));
  EXPECT_EQ(check(ask(key("k2"))).record.result, std::nullopt);
}

TEST_P(IdempotencyConformance, AnotherHashIsNeverLetThroughWhileTheRecordCounts) {
  const auto holder = take(key("k1"));
  EXPECT_FALSE(check(ask(key("k1"), "other")).taken);
  fixture_->advance_time(lease + seconds(1));
  const auto reply = check(ask(key("k1"), "other"));
  EXPECT_FALSE(reply.taken) << "only the same request takes over";
  EXPECT_EQ(reply.record.request_hash, holder.request_hash);
  ASSERT_TRUE(finish(holder));
  EXPECT_FALSE(check(ask(key("k1"), "other")).taken);
}

TEST_P(IdempotencyConformance, FinalFailureIsRemembered) {
  const auto holder = take(key("k1"));
  ASSERT_TRUE(fail(holder, true));
  const auto reply = check(ask(key("k1")));
  EXPECT_FALSE(reply.taken);
  EXPECT_EQ(reply.record.state, State::failed);
  EXPECT_EQ(reply.record.code, Code::provider_rejected);
  EXPECT_EQ(reply.record.error, "no stock");
}

TEST_P(IdempotencyConformance, RetryableFailureReleasesTheKeyForAnyRequest) {
  const auto holder = take(key("k1"));
  ASSERT_TRUE(fail(holder, false));
  const auto record = get(key("k1"));
  ASSERT_TRUE(record);
  EXPECT_EQ(record->state, State::released);
  EXPECT_EQ(record->error, "no stock");
  const auto next = ask(key("k1"), "other");
  const auto reply = check(next);
  EXPECT_TRUE(reply.taken);
  EXPECT_EQ(reply.record.attempts, 2U);
  EXPECT_EQ(reply.record.error, "");
  EXPECT_EQ(get(key("k1"))->request_hash, sha256("other"));
  EXPECT_FALSE(finish(holder)) << "it has gone to another holder";
  EXPECT_TRUE(finish(next));
}

TEST_P(IdempotencyConformance, DeadHoldersKeyIsTakenOverOnceAfterItsLease) {
  const auto holder = take(key("k1"));
  fixture_->advance_time(lease - seconds(1));
  EXPECT_FALSE(check(ask(key("k1"))).taken);
  fixture_->advance_time(seconds(2));
  const auto next = ask(key("k1"));
  const auto reply = check(next);
  EXPECT_TRUE(reply.taken);
  EXPECT_EQ(reply.record.attempts, 2U);
  EXPECT_FALSE(check(ask(key("k1"))).taken) << "only by one";

  EXPECT_FALSE(renew(holder));
  EXPECT_FALSE(finish(holder)) << "the late holder's finish is refused";
  EXPECT_FALSE(fail(holder, true));
  EXPECT_FALSE(fail(holder, false));
  EXPECT_EQ(get(key("k1"))->state, State::in_flight);
  EXPECT_TRUE(finish(next, "second"));
  EXPECT_EQ(get(key("k1"))->result, "second");
  EXPECT_FALSE(finish(holder));
}

TEST_P(IdempotencyConformance, RenewedLeaseIsNotTakenOver) {
  const auto holder = take(key("k1"));
  for (int i = 0; i < 3; ++i) {
    fixture_->advance_time(lease - seconds(2));
    EXPECT_TRUE(renew(holder));
  }
  EXPECT_FALSE(check(ask(key("k1"))).taken);
  ASSERT_TRUE(finish(holder));
  EXPECT_FALSE(renew(holder)) << "it is finished";
}

TEST_P(IdempotencyConformance, LeaseThatRanOutDoesNotMatterUntilSomebodyTookOver) {
  const auto holder = take(key("k1"));
  fixture_->advance_time(lease + seconds(1));
  EXPECT_TRUE(renew(holder));
  fixture_->advance_time(lease + seconds(1));
  EXPECT_TRUE(finish(holder));
  EXPECT_EQ(check(ask(key("k1"))).record.result, "done");
}

TEST_P(IdempotencyConformance, EveryCallMayBeRepeatedWithTheSameTicket) {
  const auto holder = take(key("k1"));
  const auto again = check(holder);
  EXPECT_TRUE(again.taken) << "the answer was lost";
  EXPECT_EQ(again.record.attempts, 1U);
  EXPECT_TRUE(finish(holder));
  EXPECT_TRUE(finish(holder));
  EXPECT_FALSE(fail(holder, true)) << "it has succeeded";
  EXPECT_FALSE(check(holder).taken) << "it is finished";

  const auto other = take(key("k2"));
  EXPECT_TRUE(fail(other, false));
  EXPECT_TRUE(fail(other, false));
  EXPECT_FALSE(finish(other)) << "it was released";
  EXPECT_TRUE(check(ask(key("k2"))).taken);
}

TEST_P(IdempotencyConformance, ExpiredRecordIsAsIfItWereUnknown) {
  const auto done = take(key("done"));
  ASSERT_TRUE(finish(done));
  const auto failed = take(key("failed"));
  ASSERT_TRUE(fail(failed, true));
  const auto dead = take(key("dead"));
  fixture_->advance_time(ttl + seconds(1));
  for (const auto* name : {"done", "failed", "dead"}) {
    const auto next = ask(key(name), "other");
    const auto reply = check(next);
    EXPECT_TRUE(reply.taken) << name;
    EXPECT_EQ(reply.record.attempts, 1U) << name;
    EXPECT_EQ(reply.record.request_hash, sha256("other"));
    EXPECT_EQ(reply.record.result, std::nullopt);
    EXPECT_EQ(get(key(name)), reply.record) << name;
  }
  EXPECT_FALSE(finish(done));
}

TEST_P(IdempotencyConformance, HolderWithALeaseDoesNotExpire) {
  auto asked = ask(key("k1"));
  asked.ttl = seconds(1);
  ASSERT_TRUE(check(asked).taken);
  fixture_->advance_time(seconds(2));
  EXPECT_FALSE(check(ask(key("k1"))).taken);
  EXPECT_EQ(requests().purge({}).value(), 0U);
  fixture_->advance_time(lease);
  EXPECT_TRUE(check(ask(key("k1"), "other")).taken);
}

TEST_P(IdempotencyConformance, PurgeRemovesWhatHasExpiredTheOldestFirst) {
  for (const auto* name : {"a", "b", "c"}) {
    ASSERT_TRUE(finish(take(key(name))));
    fixture_->advance_time(seconds(60));
  }
  EXPECT_EQ(requests().purge({}).value(), 0U);
  fixture_->advance_time(ttl - seconds(90));
  EXPECT_EQ(requests().purge({.rows_max = 1}).value(), 1U);
  EXPECT_EQ(keys({}), (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(requests().purge({}).value(), 1U);
  EXPECT_EQ(requests().purge({}).value(), 0U);
  EXPECT_EQ(keys({}), std::vector<std::string>{"c"});
  EXPECT_EQ(log_end(), 0U) << "nobody's act";
}

TEST_P(IdempotencyConformance, OperatorFreesAKeyAndTheAuditLogSaysSo) {
  const auto holder = take(key("k1"));
  take(key("k2"));
  EXPECT_EQ(requests().purge({.key = key("k1"), .actor = "ann", .note = "stuck"}).value(), 1U);
  EXPECT_EQ(requests().purge({.key = key("k1"), .actor = "ann"}).value(), 0U);
  EXPECT_FALSE(get(key("k1")));
  EXPECT_TRUE(get(key("k2")));
  const auto entries = log();
  ASSERT_EQ(entries.size(), 1U);
  const auto& event = entries[0].event;
  EXPECT_EQ(event.kind, AuditKind::purged);
  EXPECT_EQ(event.table, "idempotency");
  EXPECT_EQ(event.tenant, "acme");
  EXPECT_EQ(event.topic, "billing");
  EXPECT_EQ(event.actor, "ann");
  EXPECT_EQ(event.detail, "the record of request \"k1\"; stuck");
  const auto next = ask(key("k1"), "other");
  EXPECT_TRUE(check(next).taken);
  EXPECT_FALSE(finish(holder)) << "its ticket counts no longer";
}

TEST_P(IdempotencyConformance, ListShowsPagesByKeyAndTakesFilters) {
  const auto done = take(key("c", "billing", "acme"));
  ASSERT_TRUE(finish(done));
  take(key("a", "billing", "acme"));
  take(key("b", "shipping", "acme"));
  take(key("d", "billing", "umbrella"));
  EXPECT_EQ(keys({}), (std::vector<std::string>{"a", "c", "b", "d"}));
  EXPECT_EQ(keys({.tenant = "acme"}), (std::vector<std::string>{"a", "c", "b"}));
  EXPECT_EQ(keys({.consumer = "billing"}), (std::vector<std::string>{"a", "c", "d"}));
  EXPECT_EQ(keys({.state = State::succeeded}), std::vector<std::string>{"c"});
  EXPECT_EQ(keys({.rows_max = 2}), (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(keys({.after = done.key}), (std::vector<std::string>{"b", "d"}));
  const auto records = requests().list({.state = State::succeeded}).value();
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0], get(done.key));
}

TEST_P(IdempotencyConformance, ListOfATenantOrConsumerHasNoOthersWhereverItBegins) {
  std::vector<IdempotencyKey> all;
  for (const auto* tenant : {"acme", "globex", "umbrella"}) {
    for (const auto* consumer : {"billing", "mail", "shipping"}) {
      for (const auto* name : {"a", "b"}) all.push_back(take(key(name, consumer, tenant)).key);
    }
  }
  auto starts = all;
  starts.push_back({.tenant = {}});
  starts.push_back(key("zz", "zz", "zz"));
  for (const auto& after : starts) {
    for (const auto& tenant :
         {std::optional<std::string>(), std::optional<std::string>("globex")}) {
      for (const auto& consumer :
           {std::optional<std::string>(), std::optional<std::string>("mail")}) {
        std::vector<IdempotencyKey> expected;
        for (const auto& one : all) {
          const bool fits = (!tenant || one.tenant == tenant) &&
                            (!consumer || one.consumer == consumer) && one > after;
          if (fits) expected.push_back(one);
        }
        std::vector<IdempotencyKey> found;
        const auto records =
            requests().list({.tenant = tenant, .consumer = consumer, .after = after}).value();
        for (const auto& record : records) found.push_back(record.key);
        EXPECT_EQ(found, expected) << after.tenant << " " << after.consumer << " " << after.key;
      }
    }
  }
}

TEST_P(IdempotencyConformance, BatchAnswersInItsOrderAndKnowsItsOwnKeys) {
  const std::array checks{ask(key("z")), ask(key("a")), ask(key("z")), ask(key("m"))};
  const auto replies = requests().check(checks).value();
  ASSERT_EQ(replies.size(), 4U);
  std::size_t through = 0;
  for (std::size_t i = 0; i < replies.size(); ++i) {
    EXPECT_EQ(replies[i].record.key, checks[i].key);
    through += replies[i].taken ? 1U : 0U;
  }
  EXPECT_EQ(through, 3U) << "of two with one key, one is let through";
  EXPECT_TRUE(replies[1].taken && replies[3].taken);

  const std::array finished{
      spi::IdempotencyFinish{key("m"), checks[3].ticket, "m", sha256("m")},
      spi::IdempotencyFinish{key("nobody"), checks[3].ticket, "n", sha256("n")},
      spi::IdempotencyFinish{key("a"), checks[1].ticket, "a", sha256("a")}};
  EXPECT_EQ(requests().finish(finished).value(), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(get(key("m"))->result, "m");
  EXPECT_EQ(get(key("a"))->result, "a");
  EXPECT_TRUE(requests().check({}).value().empty());
}

TEST_P(IdempotencyConformance, OfManyAtOnceOneIsLetThroughForEachKey) {
  constexpr int threads = 8;
  constexpr int keys_of_each = 10;
  std::vector<spi::IdempotencyCheck> checks;
  for (int i = 0; i < threads * keys_of_each; ++i) {
    checks.push_back(ask(key("k" + std::to_string(i % keys_of_each))));
  }
  std::array<int, threads> through{};
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      for (int i = 0; i < keys_of_each; ++i) {
        const auto& asked = checks[static_cast<std::size_t>(t * keys_of_each + i)];
        if (check(asked).taken) ++through[static_cast<std::size_t>(t)];
      }
    });
  }
  for (auto& thread : running) thread.join();
  int all = 0;
  for (const int one : through) all += one;
  EXPECT_EQ(all, keys_of_each);
}

}  // namespace
}  // namespace sagabox::conformance
