#include "outbox/upkeep/backlog.hpp"

#include "support/forwarding.hpp"
#include "unit/outbox/rows.hpp"

#include <sagabox/stores/memory.hpp>
#include <sagabox/testing/recording.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace sagabox::outbox {
namespace {

using sagabox::testing::RecordingLogger;
using sagabox::testing::RecordingMetrics;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::at;

constexpr WallTime database_now{seconds(1'767'225'600)};

/// Answers what the test says; an error while there is one.
class ScriptedStats final : public sagabox::testing::ForwardingAdmin {
 public:
  explicit ScriptedStats(Store& beneath) : ForwardingAdmin(beneath.outbox_admin()) {}

  Result<spi::TableStats> stats(const TableName&) override {
    ++asked;
    if (error) return *error;
    return answer;
  }

  int asked = 0;
  std::optional<Error> error;
  spi::TableStats answer{.now = database_now};
};

class BacklogTest : public ::testing::Test {
 protected:
  double gauge(const char* name) const { return metrics.gauge_value(name, {{"table", "orders"}}); }

  memory::MemoryStore beneath;
  ScriptedStats store{beneath};
  TableName table = TableName::parse("orders").value();
  RecordingMetrics metrics;
  RecordingLogger log;
  Backlog backlog{store, table, metrics, log};
};

TEST_F(BacklogTest, ShowsWhatTheStoreCounts) {
  store.answer.pending = 7;
  store.answer.waiting = 2;
  store.answer.done = 100;
  store.answer.dead = 3;
  store.answer.quarantined = 1;
  backlog.look(at({}));
  EXPECT_EQ(gauge("outbox_pending"), 7);
  EXPECT_EQ(gauge("outbox_dead"), 3);
}

TEST_F(BacklogTest, OldestIsTheAgeByTheStoresClock) {
  store.answer.oldest_pending = database_now - milliseconds(2500);
  backlog.look(at({}));
  EXPECT_DOUBLE_EQ(gauge("outbox_oldest_seconds"), 2.5);
  store.answer.oldest_pending = std::nullopt;
  backlog.look(at(seconds(1)));
  EXPECT_EQ(gauge("outbox_oldest_seconds"), 0) << "nothing waits";
}

TEST_F(BacklogTest, MessageFromTheFutureIsNotYoungerThanNew) {
  store.answer.oldest_pending = database_now + seconds(3);
  backlog.look(at({}));
  EXPECT_EQ(gauge("outbox_oldest_seconds"), 0);
}

TEST_F(BacklogTest, WhatHoldsTheDatabaseBackIsShownWhereItCanTell) {
  store.answer.oldest_transaction = seconds(90);
  store.answer.slot_transactions = 5000;
  backlog.look(at({}));
  EXPECT_EQ(gauge("outbox_oldest_transaction_seconds"), 90);
  EXPECT_EQ(gauge("outbox_slot_transactions"), 5000);
}

TEST_F(BacklogTest, StoreIsAskedOnceASecond) {
  for (int tick = 0; tick < 500; ++tick) backlog.look(at(tick * milliseconds(20)));
  EXPECT_EQ(store.asked, 10);
}

TEST_F(BacklogTest, NobodyReadsNobodyAsks) {
  Backlog unread(store, table, no_metrics(), log);
  unread.look(at({}));
  unread.look(at(seconds(10)));
  EXPECT_EQ(store.asked, 0);
}

TEST_F(BacklogTest, ErrorLeavesTheFiguresAndIsCountedEachTimeAndLoggedOnceInAWhile) {
  store.answer.pending = 7;
  store.answer.oldest_pending = database_now - seconds(1);
  backlog.look(at({}));
  store.error = Error{Code::storage_unavailable, "the database is away"};
  for (int second = 1; second <= 90; ++second) backlog.look(at(seconds(second)));
  EXPECT_EQ(gauge("outbox_pending"), 7);
  EXPECT_EQ(gauge("outbox_oldest_seconds"), 1);
  EXPECT_EQ(metrics.counter_value(
                "errors_total",
                {{"code", "STORAGE.UNAVAILABLE"}, {"retryable", "true"}, {"severity", "critical"}}),
            90);
  ASSERT_EQ(log.lines().size(), 2U);
  EXPECT_EQ(log.lines()[0].level, LogLevel::warning);
  EXPECT_EQ(log.lines()[0].fields.at("error"), "the database is away");
  store.error.reset();
  store.answer.pending = 8;
  backlog.look(at(seconds(91)));
  EXPECT_EQ(gauge("outbox_pending"), 8);
}

/// Keeps the names that were asked for.
class NamedGauges final : public Metrics {
 public:
  Counter& counter(std::string_view name, std::span<const Label> labels) override {
    return behind.counter(name, labels);
  }
  Gauge& gauge(std::string_view name, std::span<const Label> labels) override {
    names.emplace_back(name);
    return behind.gauge(name, labels);
  }
  Histogram& histogram(std::string_view name, std::span<const Label> labels) override {
    return behind.histogram(name, labels);
  }

  RecordingMetrics behind;
  std::vector<std::string> names;
};

TEST_F(BacklogTest, NoZeroIsShownBeforeTheStoreHasAnswered) {
  NamedGauges gauges;
  Backlog unknown(store, table, gauges, log);
  store.error = Error{Code::storage_unavailable, "the database is away"};
  unknown.look(at({}));
  EXPECT_TRUE(gauges.names.empty());
  store.error.reset();
  unknown.look(at(seconds(1)));
  EXPECT_EQ(gauges.names.size(), 3U);
}

}  // namespace
}  // namespace sagabox::outbox
