#include "conformance/idempotency/inbox_conformance.hpp"

#include <array>

namespace sagabox::conformance {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

TEST_P(InboxConformance, KeyIsTakenOnceForEachTenantAndConsumer) {
  EXPECT_TRUE(first_time(key("k1")));
  EXPECT_FALSE(first_time(key("k1")));
  EXPECT_TRUE(first_time(key("k2")));
  EXPECT_TRUE(first_time(key("K1")));
  EXPECT_TRUE(first_time({"acme", "shipping", "k1"}));
  EXPECT_TRUE(first_time({"umbrella", "billing", "k1"}));
}

TEST_P(InboxConformance, SecondTimeInOneTransactionIsNotTheFirst) {
  store()
      .transaction([&](OwnedTransaction& tx) -> Status {
        EXPECT_TRUE(tx.inbox().first_time("acme", "billing", "k1").value());
        EXPECT_FALSE(tx.inbox().first_time("acme", "billing", "k1").value());
        return {};
      })
      .value();
  EXPECT_FALSE(first_time(key("k1")));
}

TEST_P(InboxConformance, RolledBackKeyIsFreeAgain) {
  {
    const auto tx = store().begin().value();
    EXPECT_TRUE(tx->inbox().first_time(key("k1")).value());
    tx->rollback().value();
    EXPECT_EQ(tx->inbox().first_time(key("k1")).error().code, Code::tx_no_transaction);
  }
  EXPECT_EQ(inbox().taken(std::array{key("k1")}).value(), std::vector<bool>{false});
  EXPECT_TRUE(first_time(key("k1")));
  EXPECT_EQ(inbox().taken(std::array{key("k2"), key("k1")}).value(),
            (std::vector<bool>{false, true}));
}

TEST_P(InboxConformance, CallersOwnTransactionCarriesTheKey) {
  const auto connection = fixture_->connect();
  connection->begin().value();
  {
    const auto tx = connection->enlist().value();
    EXPECT_TRUE(tx->inbox().first_time(key("k1")).value());
    EXPECT_FALSE(tx->inbox().first_time(key("k1")).value());
    EXPECT_EQ(tx->inbox().barrier(call("pay")).value(), BarrierAnswer::run);
  }
  connection->rollback().value();
  connection->begin().value();
  {
    const auto tx = connection->enlist().value();
    EXPECT_TRUE(tx->inbox().first_time(key("k1")).value());
    EXPECT_EQ(tx->inbox().barrier(call("pay")).value(), BarrierAnswer::run);
    // A message in the same transaction.
    EXPECT_EQ(tx->outbox().insert(table_, messages(1)).value().size(), 1U);
    connection->commit().value();
    tx->committed();
    EXPECT_EQ(tx->inbox().first_time(key("k2")).error().code, Code::tx_no_transaction);
    EXPECT_EQ(tx->inbox().barrier(call("pay")).error().code, Code::tx_no_transaction);
  }
  EXPECT_FALSE(first_time(key("k1")));
  EXPECT_EQ(barrier(call("pay")), BarrierAnswer::repeated);
  EXPECT_EQ(stats().pending, 1U);
}

TEST_P(InboxConformance, KeysThatCannotBeKeptAreRefusedAndTheTransactionGoesOn) {
  const auto tx = store().begin().value();
  for (const auto& wrong : {IdempotencyKey{"acme", "billing", ""}, IdempotencyKey{"acme", "", "k"},
                            IdempotencyKey{"", "billing", "k"},
                            IdempotencyKey{"acme", "billing", std::string("a\0b", 3)},
                            IdempotencyKey{"acme", "billing", std::string(256, 'k')}}) {
    EXPECT_EQ(tx->inbox().first_time(wrong).error().code, Code::schema_validation_failed);
  }
  EXPECT_EQ(tx->inbox().barrier({}).error().code, Code::schema_validation_failed);
  EXPECT_TRUE(tx->inbox().first_time(key(std::string(255, 'k'))).value());
  tx->commit().value();
}

TEST_P(InboxConformance, PurgeRemovesTheOldestKeysOnly) {
  for (const auto* name : {"a", "b", "c"}) {
    EXPECT_TRUE(first_time(key(name)));
    fixture_->advance_time(hours(1));
  }
  EXPECT_EQ(inbox().purge({}).value().keys, 0U);
  fixture_->advance_time(hours(24 * 8 - 2) - seconds(1800));
  EXPECT_EQ(inbox().purge({.rows_max = 1}).value().keys, 1U);
  EXPECT_TRUE(first_time(key("a")));
  EXPECT_EQ(inbox().purge({}).value().keys, 0U);
  EXPECT_EQ(inbox().purge({.older_than = hours(24 * 8 - 1)}).value().keys, 1U);
  EXPECT_EQ(inbox().taken(std::array{key("a"), key("b"), key("c")}).value(),
            (std::vector<bool>{true, false, true}));
}

TEST_P(InboxConformance, RepetitionKeepsTheKeyForAnotherWindow) {
  EXPECT_TRUE(first_time(key("repeated")));
  EXPECT_TRUE(first_time(key("rolled back")));
  EXPECT_TRUE(first_time(key("alone")));
  fixture_->advance_time(hours(24 * 7));
  EXPECT_FALSE(first_time(key("repeated")));
  {
    const auto tx = store().begin().value();
    EXPECT_FALSE(tx->inbox().first_time(key("rolled back")).value());
    EXPECT_FALSE(tx->inbox().first_time(key("rolled back")).value());
    tx->rollback().value();
  }
  fixture_->advance_time(hours(24 * 3));
  EXPECT_EQ(inbox().purge({}).value().keys, 2U);
  EXPECT_EQ(inbox().taken(std::array{key("repeated"), key("rolled back"), key("alone")}).value(),
            (std::vector<bool>{true, false, false}));
  EXPECT_FALSE(first_time(key("repeated")));
  fixture_->advance_time(hours(24 * 8) + seconds(60));
  EXPECT_EQ(inbox().purge({}).value().keys, 1U) << "the window counts from the last repetition";
}

TEST_P(InboxConformance, KeyIsRenewedOnceAnHourAtMost) {
  EXPECT_TRUE(first_time(key("k1")));
  fixture_->advance_time(spi::inbox_renewal_interval - seconds(60));
  EXPECT_FALSE(first_time(key("k1")));
  fixture_->advance_time(seconds(90));
  EXPECT_EQ(inbox().purge({.older_than = seconds(120)}).value().keys, 1U) << "was not renewed";
  EXPECT_TRUE(first_time(key("k1")));
  fixture_->advance_time(spi::inbox_renewal_interval + seconds(60));
  EXPECT_FALSE(first_time(key("k1")));
  EXPECT_EQ(inbox().purge({.older_than = seconds(120)}).value().keys, 0U) << "was renewed";
}

TEST_P(InboxConformance, ActionRunsOnceAndItsCompensationOnceAfterIt) {
  EXPECT_EQ(barrier(call("pay")), BarrierAnswer::run);
  EXPECT_EQ(barrier(call("pay")), BarrierAnswer::repeated);
  EXPECT_EQ(barrier(undo("pay")), BarrierAnswer::run);
  EXPECT_EQ(barrier(undo("pay")), BarrierAnswer::repeated);
  EXPECT_EQ(barrier(call("pay")), BarrierAnswer::too_late);
}

TEST_P(InboxConformance, EmptyCompensationKeepsTheLateActionAway) {
  EXPECT_EQ(barrier(undo("pay")), BarrierAnswer::nothing_to_undo);
  EXPECT_EQ(barrier(call("pay")), BarrierAnswer::too_late);
  EXPECT_EQ(barrier(undo("pay")), BarrierAnswer::nothing_to_undo);
  EXPECT_EQ(barrier(call("pay")), BarrierAnswer::too_late);
}

TEST_P(InboxConformance, StepsRoundsSagasAndTenantsAreApart) {
  EXPECT_EQ(barrier(call("pay")), BarrierAnswer::run);
  auto other = call("pay");
  other.round = 1;
  EXPECT_EQ(barrier(other), BarrierAnswer::run);
  other = call("pay");
  other.saga = "s2";
  EXPECT_EQ(barrier(other), BarrierAnswer::run);
  other = call("pay");
  other.tenant = "umbrella";
  EXPECT_EQ(barrier(other), BarrierAnswer::run);
  EXPECT_EQ(barrier(call("ship")), BarrierAnswer::run);
}

TEST_P(InboxConformance, BarrierVanishesWithItsTransaction) {
  {
    const auto tx = store().begin().value();
    EXPECT_EQ(tx->inbox().barrier(call("pay")).value(), BarrierAnswer::run);
    EXPECT_EQ(tx->inbox().barrier(undo("pay")).value(), BarrierAnswer::run);
    tx->rollback().value();
  }
  EXPECT_EQ(barrier(undo("pay")), BarrierAnswer::nothing_to_undo);
}

TEST_P(InboxConformance, BarrierIsKeptUntilTheLatestDeadlineAndItsRetention) {
  const auto now = stats().now;
  auto early = call("pay");
  early.deadline = now + hours(1);
  early.retention = hours(1);
  auto late = early;
  late.direction = BarrierDirection::compensation;
  late.deadline = now + hours(3);
  EXPECT_EQ(barrier(early), BarrierAnswer::run);
  EXPECT_EQ(barrier(late), BarrierAnswer::run);
  EXPECT_EQ(barrier(early), BarrierAnswer::too_late) << "does not shorten it";
  auto other = early;
  other.step = "ship";
  EXPECT_EQ(barrier(other), BarrierAnswer::run);
  fixture_->advance_time(hours(2) + seconds(60));
  EXPECT_EQ(inbox().purge({}).value().barriers, 1U);
  EXPECT_EQ(barrier(early), BarrierAnswer::too_late);
  fixture_->advance_time(hours(2));
  EXPECT_EQ(inbox().purge({}).value().barriers, 1U);
  EXPECT_EQ(inbox().purge({}).value().barriers, 0U);
}

}  // namespace
}  // namespace sagabox::conformance
