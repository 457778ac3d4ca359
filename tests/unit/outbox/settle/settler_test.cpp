#include "outbox/settle/settler.hpp"

#include "outbox/relay.hpp"
#include "ownership/worker.hpp"
#include "support/forwarding.hpp"

#include <sagabox/stores/memory.hpp>
#include <sagabox/testing/recording.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace sagabox::outbox {
namespace {

using std::chrono::seconds;

/// Refuses every settle that has one of these messages in it, as a rule of a table would.
class RefusingStore final : public sagabox::testing::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  Result<spi::SettleReply> settle(const spi::SettleRequest& request) override {
    ++calls;
    rows += request.items.size();
    for (const auto& item : request.items) {
      if (refuses(item)) {
        ++refusals;
        return Error{code, "value refused constraint only_even"};
      }
    }
    return ForwardingStore::settle(request);
  }

  std::set<std::string> refused;
  std::set<std::string> parks_refused;  ///< of these also what is stored instead
  bool refuses_all = false;
  Code code = Code::schema_validation_failed;
  std::size_t calls = 0;
  std::size_t refusals = 0;
  std::size_t rows = 0;

 private:
  [[nodiscard]] bool refuses(const spi::Settlement& item) const {
    if (refuses_all) return true;
    return (item.note.empty() ? refused : parks_refused).contains(item.id.str());
  }
};

/// A relay that owns its shards; the test calls its steps and says what time it is.
class SettlerTest : public ::testing::Test {
 protected:
  static constexpr std::size_t messages = 200;

  void SetUp() override {
    store.outbox().prepare(table).value();
    relay.attach(worker);
    while (worker.step()) {
    }
    relay.controls().apply(relay.controls().perform(), now());
    written = write(messages);
    handle_everything();
  }
  std::vector<Written> write(std::size_t count, const std::string& key = {}) {
    auto writer = Outbox::writer_only(store, {.table = table.str()}).value();
    std::vector<NewMessage> drafts(count, {.topic = "a.b.c.v1", .key = key, .payload = json("{}")});
    auto rows = store
                    .transaction([&](OwnedTransaction& tx) {
                      return writer.write_all(tx, std::move(drafts));
                    })
                    .value();
    relay.wake();
    return rows;
  }
  /// Returns how many were dispatched.
  std::size_t handle_everything() {
    std::size_t handled = 0;
    for (bool more = true; more;) {
      more = false;
      while (const auto plan = relay.intake().plan(now())) {
        relay.intake().apply(*plan, relay.intake().perform(*plan), now());
      }
      auto& runner = relay.dispatcher().runner(0);
      while (relay.dispatcher().take(runner, now()) == Dispatcher::Took::handler) {
        relay.dispatcher().complete(runner, outcome, now());
        ++handled;
        more = true;
      }
    }
    return handled;
  }
  /// One call of the store; false if there was nothing to do.
  bool settle_once(BootTime at) {
    auto plan = relay.settler().plan(at);
    if (!plan) return false;
    auto reply = relay.settler().perform(*plan);
    relay.settler().apply(std::move(*plan), std::move(reply), at);
    return true;
  }
  /// All that is to be done at that time.
  void settle(BootTime at) {
    while (settle_once(at)) {
    }
  }
  /// The first `count` of those written, or of every `step`-th.
  std::set<std::string> ids_of(std::size_t count, std::size_t step = 1) const {
    std::set<std::string> first;
    for (std::size_t at = 0; first.size() < count; at += step) {
      first.insert(written.at(at).id.str());
    }
    return first;
  }
  [[nodiscard]] BootTime now() const { return options.clock->boot_now(); }
  [[nodiscard]] spi::TableStats stats() { return store.outbox_admin().stats(table).value(); }
  [[nodiscard]] std::uint64_t settled() { return stats().done; }
  [[nodiscard]] std::uint64_t held_back() const { return relay.snapshot().refused; }
  /// Of a metric of this table.
  [[nodiscard]] double gauge(std::string_view name) {
    relay.tick(now());
    return metrics.gauge_value(name, {{"table", "orders"}});
  }
  [[nodiscard]] double counted(std::string_view name) const {
    return metrics.counter_value(name, {{"table", "orders"}});
  }
  /// The messages that the log names as held back.
  [[nodiscard]] std::vector<std::string> logged() const {
    std::vector<std::string> named;
    for (const auto& line : log.lines()) {
      if (line.event.find("and its quarantine; it is held back") == std::string::npos) continue;
      EXPECT_NE(line.fields.at("error").find("only_even"), std::string::npos);
      named.push_back(line.fields.at("message"));
    }
    return named;
  }
  [[nodiscard]] MessageRecord record(const MessageId& id) {
    auto found = store.outbox_admin().find({.table = table, .id = id});
    return found.value().value();
  }

  memory::MemoryStore store;
  RefusingStore refusing{store.outbox()};
  sagabox::testing::RecordingLogger log;
  sagabox::testing::RecordingMetrics metrics;
  TableName table = TableName::parse("orders").value();
  OutboxOptions options{.unroutable = Unroutable::dead, .metrics = &metrics, .log = &log};
  Registry registry{no_metrics(), table.str()};
  static constexpr std::size_t refused_rows_max = 1'000;
  Relay relay{refusing, store.control(), table,
              options,  registry,        {.refused_rows_max = refused_rows_max}};
  UlidSource ids{*options.clock, *options.random};
  ownership::Worker worker{{.store = store.ownership(), .ids = ids, .clock = *options.clock},
                           {{.scope = Relay::scope_of(table),
                             .shards = store.outbox().capabilities().shards,
                             .share = ownership::Share::all,
                             .holder = &relay}}};
  std::vector<Written> written;
  Outcome outcome = done();
};

TEST_F(SettlerTest, RowThatTheStoreRefusesIsQuarantinedAndOthersGoOn) {
  const auto& bad = written.at(77).id;
  refusing.refused = {bad.str()};
  settle(now() + seconds(1));

  EXPECT_EQ(settled(), messages - 1);
  EXPECT_EQ(stats().pending, 0U);
  const auto parked = record(bad);
  EXPECT_EQ(parked.state, MessageState::quarantined);
  EXPECT_EQ(parked.note,
            "it WAS delivered, but its result could not be stored: SCHEMA.VALIDATION_FAILED: value "
            "refused constraint only_even");
  EXPECT_EQ(parked.code, Code::schema_validation_failed);
  EXPECT_EQ(held_back(), 0U);
  EXPECT_EQ(counted("outbox_refused_parked_total"), 1);
  EXPECT_EQ(relay.snapshot().unsettled, 0U);
  EXPECT_EQ(log.count("the store refuses the result of this message; it was quarantined instead"),
            1U);
  EXPECT_EQ(handle_everything(), 0U) << "it is not delivered again";
}

TEST_F(SettlerTest, TellsSinceWhenTheStoreTakesNoResults) {
  EXPECT_FALSE(relay.snapshot().settle_failure);
  refusing.refuses_all = true;
  refusing.code = Code::storage_unavailable;
  const auto begin = now() + seconds(1);
  ASSERT_TRUE(settle_once(begin));
  ASSERT_TRUE(settle_once(begin + seconds(5)));
  const auto failing = relay.snapshot();
  EXPECT_EQ(failing.settle_failure, Code::storage_unavailable);
  EXPECT_EQ(failing.settle_failing_since, begin);
  refusing.refuses_all = false;
  settle(begin + seconds(10));
  EXPECT_EQ(settled(), messages);
  EXPECT_FALSE(relay.snapshot().settle_failure);
}

TEST_F(SettlerTest, ARefusedRowIsNoFailureOfTheStore) {
  refusing.refused = refusing.parks_refused = ids_of(3);
  settle(now() + seconds(1));
  ASSERT_EQ(held_back(), 3U);
  EXPECT_FALSE(relay.snapshot().settle_failure);
}

TEST_F(SettlerTest, WhatFailedIsForgottenWithItsShards) {
  refusing.refuses_all = true;
  refusing.code = Code::storage_unavailable;
  const auto begin = now() + seconds(1);
  ASSERT_TRUE(settle_once(begin));
  ASSERT_TRUE(relay.snapshot().settle_failure);
  for (std::uint16_t shard = 0; shard < relay.shards().size(); ++shard) relay.lost(Shard{shard});
  EXPECT_FALSE(settle_once(begin + seconds(5)));
  EXPECT_FALSE(relay.snapshot().settle_failure) << "another process stores it now";
}

TEST_F(SettlerTest, FortyRefusedRowsAmongTwoHundredCostFewCalls) {
  refusing.refused = ids_of(40, 5);
  settle(now() + seconds(1));
  EXPECT_EQ(settled(), messages - 40);
  EXPECT_EQ(stats().quarantined, 40U);
  EXPECT_EQ(stats().pending, 0U);
  EXPECT_LT(refusing.calls, 40U * 2U * 4U)
      << "two for each halving above a row; none for a good one";
  EXPECT_EQ(log.count("settle refused, will be sent again in halves"), 1U) << "once a batch";
}

TEST_F(SettlerTest, FreshBatchesGoBetweenThePartsOfARefusedOne) {
  refusing.refused = ids_of(messages);
  const auto at = now() + seconds(1);
  ASSERT_TRUE(settle_once(at));
  write(10);
  ASSERT_EQ(handle_everything(), 10U);
  const auto calls = refusing.calls;
  while (settled() == 0) ASSERT_TRUE(settle_once(at + seconds(1)));
  EXPECT_LE(refusing.calls - calls, 2U) << "nobody waits until the bad batch is taken apart";
  EXPECT_EQ(settled(), 10U);
}

TEST_F(SettlerTest, ThousandsOfRefusedRowsDoNotKeepOthers) {
  constexpr std::size_t many = 5'000;
  settle(now() + seconds(1));
  const auto good = settled();
  for (const auto& row : write(many)) {
    refusing.refused.insert(row.id.str());
    refusing.parks_refused.insert(row.id.str());
  }
  ASSERT_EQ(handle_everything(), many);
  auto at = now() + seconds(1);
  // Other messages come all the time.
  for (int round = 0; round < 20; ++round) {
    write(5);
    handle_everything();
    for (int calls = 0; calls < 4; ++calls) settle_once(at += std::chrono::milliseconds(10));
    // The first five were read with bad ones.
    EXPECT_GE(settled(), good + static_cast<std::size_t>(round) * 5);
  }
  settle(at);
  EXPECT_EQ(settled(), good + 20 * 5);
  EXPECT_EQ(held_back(), many);
  EXPECT_EQ(relay.snapshot().unsettled, 0U) << "they hold no place that others need";
  EXPECT_EQ(stats().pending, many);
}

TEST_F(SettlerTest, RowWhoseQuarantineIsRefusedTooIsHeldBack) {
  const auto& bad = written.at(77);
  refusing.refused = refusing.parks_refused = {bad.id.str()};
  const auto begin = now() + seconds(1);
  settle(begin);
  EXPECT_EQ(settled(), messages - 1);
  EXPECT_EQ(logged(), std::vector{bad.id.str()});
  EXPECT_EQ(relay.snapshot().unsettled, 0U) << "its place is free";
  ASSERT_EQ(held_back(), 1U);
  EXPECT_EQ(gauge("outbox_refused"), 1);
  EXPECT_EQ(counted("outbox_refused_parked_total"), 0);
  const auto shown = relay.settler().refused().find(bad.sequence);
  ASSERT_TRUE(shown);
  EXPECT_EQ(shown->id, bad.id);
  EXPECT_TRUE(shown->delivered);
  EXPECT_EQ(shown->code, Code::schema_validation_failed);
  EXPECT_EQ(shown->error, "value refused constraint only_even");

  const auto calls = refusing.calls;
  settle(begin + RefusedRows::retry_min - std::chrono::milliseconds(1));
  EXPECT_EQ(refusing.calls, calls) << "it is not tried all the time";
  settle(begin + RefusedRows::retry_min);
  EXPECT_EQ(refusing.calls, calls + 2) << "its result, and its quarantine";
  settle(begin + 2 * RefusedRows::retry_min);
  EXPECT_EQ(refusing.calls, calls + 2) << "later each time";
  EXPECT_EQ(logged().size(), 1U) << "once a row";

  refusing.refused.clear();
  settle(begin + 4 * RefusedRows::retry_min);
  EXPECT_EQ(settled(), messages) << "it was not forgotten";
  EXPECT_EQ(held_back(), 0U);
  EXPECT_EQ(gauge("outbox_refused"), 0);
}

TEST_F(SettlerTest, HeldBackRowIsNotDeliveredAgainInItsTenure) {
  refusing.refused = refusing.parks_refused = ids_of(3);
  settle(now() + seconds(1));
  ASSERT_EQ(held_back(), 3U);
  for (std::size_t number = 0; number < relay.shards().size(); ++number) {
    relay.shards().at(number).state.begin_safety_pass();
  }
  relay.wake();
  EXPECT_EQ(handle_everything(), 0U);
}

TEST_F(SettlerTest, WhenTheCauseIsGoneAllHeldBackRowsGoAtOnce) {
  refusing.refused = refusing.parks_refused = ids_of(messages);
  const auto begin = now() + seconds(1);
  settle(begin);
  settle(begin + std::chrono::hours(1));
  ASSERT_EQ(held_back(), messages);
  refusing.refused.clear();
  refusing.parks_refused.clear();
  settle(begin + std::chrono::hours(2));
  EXPECT_EQ(settled(), messages);
  EXPECT_EQ(held_back(), 0U);
}

TEST_F(SettlerTest, RowsBeyondWhatIsRememberedAreCountedAndHoldUpNobody) {
  constexpr std::size_t beyond = 50;
  constexpr auto many = refused_rows_max + beyond;
  settle(now() + seconds(1));
  refusing.refuses_all = true;
  std::size_t handled = 0;
  auto at = now();
  while (handled < many) {
    write(std::min<std::size_t>(1'000, many - handled));
    handled += handle_everything();
    // On a slow machine handling them takes longer than a second.
    at = std::max(at, now()) + seconds(1);
    settle(at);
  }
  EXPECT_EQ(held_back(), many);
  EXPECT_EQ(relay.settler().refused().list(many).size(), refused_rows_max);
  EXPECT_EQ(relay.snapshot().unsettled, 0U);
  refusing.refuses_all = false;
  write(10);
  handle_everything();
  settle(at + std::chrono::hours(1));
  EXPECT_EQ(settled(), messages + 10 + refused_rows_max);
  EXPECT_EQ(held_back(), beyond);
}

TEST_F(SettlerTest, RowThatIsNotRefusedIsNotForgottenForThoseThatAre) {
  refusing.refuses_all = true;
  std::size_t handled = messages;
  auto at = now();
  while (handled < refused_rows_max) {
    write(std::min<std::size_t>(500, refused_rows_max - handled));
    handled += handle_everything();
    at = std::max(at, now()) + seconds(1);
    settle(at);
  }
  ASSERT_EQ(relay.settler().refused().list(2 * handled).size(), refused_rows_max);
  refusing.refuses_all = false;
  const auto row = write(1).front();
  refusing.refused = {row.id.str()};
  refusing.code = Code::storage_in_doubt;
  const auto is_held = [&] { return relay.settler().refused().find(row.sequence).has_value(); };
  // Before those that are held back are due. Others succeed: it is this row and not the store.
  for (int i = 0; i < 60 && !is_held(); ++i) {
    write(1);
    handle_everything();
    settle(at += std::chrono::milliseconds(50));
  }
  EXPECT_TRUE(is_held());
  EXPECT_EQ(held_back(), refused_rows_max + 1);
  EXPECT_EQ(relay.settler().refused().list(2 * handled).size(), refused_rows_max);
  refusing.refused.clear();
  settle(at + seconds(10));
  EXPECT_EQ(record(row.id).state, MessageState::done);
  EXPECT_EQ(held_back(), 1U) << "the one that was forgotten instead";
}

TEST_F(SettlerTest, OutageIsNoRefusal) {
  refusing.refuses_all = true;
  auto at = now() + seconds(1);
  for (const auto code : {Code::storage_unavailable, Code::storage_in_doubt}) {
    refusing.code = code;
    const auto calls = refusing.calls;
    for (int i = 0; i < 50; ++i) settle(at += seconds(2));
    EXPECT_EQ(held_back(), 0U);
    EXPECT_EQ(stats().quarantined, 0U);
    EXPECT_EQ(refusing.calls, calls + 50) << "one call each time, whatever it has in it";
  }
  refusing.refuses_all = false;
  settle(now() + std::chrono::hours(1));
  EXPECT_EQ(settled(), messages);
  EXPECT_EQ(stats().quarantined, 0U);
}

TEST_F(SettlerTest, RowsThatAlwaysFailWithAnOutageAreHeldBackAndNeverQuarantined) {
  // As where the dead letters lie on a disk that is full.
  refusing.refused = ids_of(3, 50);
  refusing.code = Code::storage_unavailable;
  auto at = now() + seconds(1);
  for (int i = 0; i < 40; ++i) settle(at += seconds(2));
  EXPECT_EQ(settled(), messages - 3);
  EXPECT_EQ(held_back(), 3U);
  EXPECT_EQ(stats().quarantined, 0U);
  refusing.refused.clear();
  settle(at + std::chrono::hours(1));
  EXPECT_EQ(settled(), messages);
}

TEST_F(SettlerTest, ConflictThatDoesNotEndIsQuarantinedOnlyAfterSeveralTries) {
  const auto& bad = written.at(3).id;
  refusing.refused = {bad.str()};
  refusing.code = Code::storage_conflict;
  auto at = now() + seconds(1);
  for (int i = 0; i < 8; ++i) settle(at += seconds(2));
  EXPECT_EQ(settled(), messages - 1);
  EXPECT_EQ(held_back(), 1U);
  EXPECT_EQ(stats().quarantined, 0U) << "somebody may hold a lock";
  for (int i = 0; i < 20; ++i) settle(at += seconds(30));
  EXPECT_EQ(held_back(), 0U);
  EXPECT_EQ(record(bad).state, MessageState::quarantined);
}

TEST_F(SettlerTest, ShardOfAHeldBackRowCanBeHandedOver) {
  refusing.refused = refusing.parks_refused = {written.at(5).id.str()};
  const auto shard = written.at(5).shard;
  const auto begin = now() + seconds(1);
  settle(begin);
  ASSERT_EQ(held_back(), 1U);
  relay.drain(shard);
  EXPECT_TRUE(relay.idle(shard)) << "nobody waits for it";
  settle(begin);
  EXPECT_EQ(held_back(), 0U);
  EXPECT_EQ(log.count("results that the store refuses are dropped with their shard: the next owner "
                      "delivers the messages again"),
            1U);
  EXPECT_EQ(relay.snapshot().unsettled, 0U);
}

TEST_F(SettlerTest, ShardThatIsLostTakesItsRefusedRowsAlong) {
  refusing.refused = refusing.parks_refused = ids_of(messages);
  auto at = now() + seconds(1);
  for (int i = 0; i < 100; ++i) settle_once(at);
  for (std::size_t number = 0; number < relay.shards().size(); ++number) {
    relay.lost(Shard{static_cast<std::uint16_t>(number)});
  }
  settle(at);
  EXPECT_EQ(held_back(), 0U);
  EXPECT_EQ(relay.snapshot().unsettled, 0U);
  EXPECT_EQ(relay.tracked(), 0U);
}

TEST_F(SettlerTest, RefusedFailuresSayWhatHappenedAndLetTheirKeyGo) {
  settle(now() + seconds(1));
  outcome = retry("not today");
  const auto rows = write(3, "k");
  ASSERT_EQ(handle_everything(), 1U) << "the others wait for the first";
  refusing.refused = {rows[0].id.str()};
  settle(now() + seconds(1));
  EXPECT_EQ(record(rows[0].id).state, MessageState::quarantined);
  EXPECT_TRUE(
      record(rows[0].id)
          .note.starts_with(
              "its attempt 1 failed (TX.HANDLER_FAILED), and its result could not be stored: "));
  outcome = done();
  relay.wake();
  EXPECT_EQ(handle_everything(), 2U) << "the key does not wait for a retry that will not come";

  outcome = reject("never");
  const auto dead = write(1).front();
  ASSERT_EQ(handle_everything(), 1U);
  refusing.refused = {dead.id.str()};
  settle(now() + seconds(1));
  EXPECT_TRUE(record(dead.id).note.starts_with("it failed for good ("));
}

/// The shards were taken from a worker that did not release them, so that attempts are recorded
/// before messages are dispatched.
class CautiousSettlerTest : public SettlerTest {
 protected:
  void SetUp() override {
    store.outbox().prepare(table).value();
    const auto scope = Relay::scope_of(table);
    const auto shards = store.outbox().capabilities().shards;
    const auto gone = WorkerId::parse("gone").value();
    const std::vector<spi::Scope> scopes{scope};
    ASSERT_TRUE(store.ownership().join(gone, seconds(15), scopes, shards).ok());
    ASSERT_EQ(store.ownership().take(scope, gone, shards).value().size(), shards);
    ASSERT_TRUE(store.ownership().leave(gone).ok());
    of_key = write(3, "k");
    SettlerTest::SetUp();
  }
  /// Attempts are recorded and messages dispatched, until neither can go on. Returns how many were
  /// dispatched.
  std::size_t run(BootTime at) {
    std::size_t all = 0;
    for (std::size_t handled = 1; handled > 0; all += handled) {
      settle(at);
      relay.wake();
      handled = handle_everything();
    }
    return all;
  }

  std::vector<Written> of_key;
  static constexpr std::size_t all_messages = messages + 3;
};

TEST_F(CautiousSettlerTest, MessageWhoseAttemptIsRefusedForGoodIsQuarantinedAndNotDispatched) {
  ASSERT_EQ(settled(), 0U);
  refusing.refused = ids_of(1);

  EXPECT_EQ(run(now() + seconds(1)), all_messages - 1);

  const auto kept = record(written[0].id);
  EXPECT_EQ(kept.state, MessageState::quarantined);
  EXPECT_NE(kept.note.find("only_even"), std::string::npos) << kept.note;
  EXPECT_EQ(kept.note.find("WAS delivered"), std::string::npos) << kept.note;
  EXPECT_EQ(settled(), all_messages - 1);
  EXPECT_EQ(held_back(), 0U);
  EXPECT_EQ(relay.snapshot().unsettled, 0U);
  EXPECT_EQ(relay.tracked(), 0U);
}

TEST_F(CautiousSettlerTest, MessageWaitsUntilItsAttemptCanBeRecorded) {
  refusing.refused = ids_of(1);
  refusing.code = Code::storage_unavailable;

  std::size_t handled = 0;
  auto at = now();
  for (int second = 0; second < 600; ++second) handled += run(at += seconds(1));
  EXPECT_EQ(handled, all_messages - 1) << "the others go on";
  EXPECT_EQ(record(written[0].id).state, MessageState::pending) << "never quarantined";
  EXPECT_EQ(record(written[0].id).attempts, 0U);

  refusing.refused.clear();
  EXPECT_EQ(run(at + seconds(1)), 1U);
  EXPECT_EQ(settled(), all_messages);
}

TEST_F(CautiousSettlerTest, KeyGoesOnOnceTheMessageWhoseAttemptWasRefusedIsQuarantined) {
  refusing.refused = refusing.parks_refused = {of_key[0].id.str()};
  EXPECT_EQ(run(now() + seconds(1)), messages) << "its quarantine is not stored: its key waits";
  EXPECT_EQ(held_back(), 1U);

  refusing.parks_refused.clear();
  EXPECT_EQ(run(now() + seconds(60)), 2U);
  EXPECT_EQ(record(of_key[0].id).state, MessageState::quarantined);
  EXPECT_EQ(settled(), messages + 2);
}

}  // namespace
}  // namespace sagabox::outbox
