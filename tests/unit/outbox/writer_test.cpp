#include <sagabox/outbox.hpp>
#include <sagabox/stores/memory.hpp>
#include <sagabox/testing/recording.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace sagabox {
namespace {

using testing::RecordingAudit;
using testing::RecordingLogger;
using testing::RecordingMetrics;

NewMessage placed(std::string payload = "{}") {
  return {.topic = "orders.order.placed.v1", .payload = json(std::move(payload))};
}

class RecordingHook final : public WriterHook {
 public:
  void before_write(std::vector<NewMessage>& drafts) override {
    calls.push_back("before " + std::to_string(drafts.size()));
    if (change) change(drafts);
  }
  void after_write(const std::vector<Written>& written) override { note("write", written); }
  void after_commit(const std::vector<Written>& written) override { note("commit", written); }
  void after_rollback(const std::vector<Written>& written) override { note("rollback", written); }

  std::function<void(std::vector<NewMessage>&)> change;
  std::function<void()> after;
  std::vector<std::string> calls;

 private:
  void note(const char* what, const std::vector<Written>& written) {
    calls.push_back(std::string(what) + " " + std::to_string(written.size()));
    if (after) after();
  }
};

class WriterTest : public ::testing::Test {
 protected:
  Outbox open() {
    return Outbox::writer_only(store, {.table = "orders",
                                       .rules = rules,
                                       .hooks = {hook},
                                       .metrics = &metrics,
                                       .audit = &audit,
                                       .log = &log})
        .value();
  }
  Result<std::vector<Written>> write_all(std::vector<NewMessage> drafts) {
    auto outbox = open();
    return store.transaction(
        [&](OwnedTransaction& tx) { return outbox.write_all(tx, std::move(drafts)); });
  }
  std::size_t rows() const { return store.inspect(TableName::parse("orders").value()).size(); }
  std::vector<memory::Inspected> inspect() const {
    return store.inspect(TableName::parse("orders").value());
  }

  memory::MemoryStore store;
  MessageRules rules;
  RecordingMetrics metrics;
  RecordingAudit audit;
  RecordingLogger log;
  std::shared_ptr<RecordingHook> hook = std::make_shared<RecordingHook>();
};

/// Notes which of its inserts is called.
class AskedTransaction final : public Transaction, private OutboxWriter {
 public:
  [[nodiscard]] bool is_open() const override { return true; }
  OutboxWriter& outbox() override { return *this; }
  std::vector<std::string> asked;

 private:
  Result<std::vector<Written>> insert(
      const TableName&, std::span<const std::shared_ptr<const Message>> messages) override {
    asked.push_back("all");
    return written(messages);
  }
  Result<std::vector<Written>> insert_blind(
      const TableName&, std::span<const std::shared_ptr<const Message>> messages) override {
    asked.push_back("duplicates");
    return written(messages);
  }
  static std::vector<Written> written(std::span<const std::shared_ptr<const Message>> messages) {
    std::vector<Written> all;
    for (const auto& message : messages) all.push_back({.id = message->id()});
    return all;
  }
};

TEST_F(WriterTest, AsksForNoMoreThanItNeeds) {
  AskedTransaction tx;
  auto plain = Outbox::writer_only(store, {.table = "orders"}).value();
  plain.write(tx, placed()).value();
  auto hooked = open();
  hooked.write(tx, placed()).value();
  auto delivering = Outbox::single_process(store, {.table = "billing"}).value();
  delivering.write(tx, placed()).value();
  auto curious = Outbox::writer_only(store, {.table = "orders", .sequences = true}).value();
  curious.write(tx, placed()).value();
  EXPECT_EQ(tx.asked, (std::vector<std::string>{"duplicates", "all", "all", "all"}));
}

TEST_F(WriterTest, PayloadsThatDoNotFitTheirTopicsSchemaAreNotWritten) {
  auto outbox = Outbox::writer_only(
                    store, {.table = "orders",
                            .schemas = {{"orders.order.placed.v1",
                                         JsonSchema::parse(R"({"required": ["id"]})").value()}}})
                    .value();
  const auto write = [&](std::string topic, Payload payload) {
    return store.transaction([&](OwnedTransaction& tx) {
      return outbox.write(tx, {.topic = std::move(topic), .payload = std::move(payload)});
    });
  };
  EXPECT_TRUE(write("orders.order.placed.v1", json(R"({"id": 1})")).ok());
  EXPECT_TRUE(write("orders.order.paid.v1", json("{}")).ok());
  const auto refused = write("orders.order.placed.v1", json(R"({"hunter2": 1})"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::schema_validation_failed);
  EXPECT_EQ(refused.error().message,
            "payload of topic \"orders.order.placed.v1\" breaks the rule \"required\" at # of its "
            "topic's schema");
  EXPECT_FALSE(write("orders.order.placed.v1", bytes("x")).ok());
  EXPECT_EQ(rows(), 2U);
}

using Calls = std::vector<std::string>;

TEST_F(WriterTest, CommitPublishesAndRollbackLeavesNothing) {
  auto outbox = open();
  auto lost = store.begin().value();
  ASSERT_TRUE(outbox.write(*lost, placed()).value().has_value());
  ASSERT_TRUE(lost->rollback().ok());
  EXPECT_EQ(rows(), 0U);
  auto kept = store.begin().value();
  const auto written = outbox.write(*kept, placed(R"({"id":17})")).value();
  EXPECT_EQ(rows(), 0U) << "not before the commit";
  ASSERT_TRUE(kept->commit().ok());
  const auto all = inspect();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].row.id, written->id);
  EXPECT_EQ(all[0].row.sequence, written->sequence);
  EXPECT_EQ(all[0].row.message->payload().json(), R"({"id":17})");
}

TEST_F(WriterTest, NoOpenTransactionIsAnErrorAtOnceAndNothingIsWritten) {
  auto outbox = open();
  auto tx = store.begin().value();
  ASSERT_TRUE(tx->commit().ok());
  const auto written = outbox.write(*tx, placed());
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().text(),
            "TX.NO_TRANSACTION: write() needs an open transaction on this connection; call BEGIN "
            "first");
  EXPECT_EQ(rows(), 0U);
  EXPECT_TRUE(hook->calls.empty()) << "not even a hook is asked";
}

TEST_F(WriterTest, EnlistedTransactionEndedByTheUserIsNoLongerOpen) {
  auto outbox = open();
  auto connection = store.connect();
  ASSERT_TRUE(connection.begin().ok());
  auto tx = memory::enlist(connection).value();
  ASSERT_TRUE(outbox.write(tx, placed()).ok());
  ASSERT_TRUE(connection.commit().ok());
  EXPECT_EQ(outbox.write(tx, placed()).error().code, Code::tx_no_transaction);
  EXPECT_EQ(rows(), 1U);
}

TEST_F(WriterTest, BatchIsOneWriteAndOneCallback) {
  const auto written = write_all({placed(), placed(), placed()}).value();
  EXPECT_EQ(written.size(), 3U);
  EXPECT_LT(written[0].sequence, written[2].sequence);
  EXPECT_EQ(rows(), 3U);
  EXPECT_EQ(hook->calls, (Calls{"before 3", "write 3", "commit 3"}));
}

TEST_F(WriterTest, OneWrongMessageRefusesTheWholeBatch) {
  const auto written = write_all({placed(), placed("{"), placed()});
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(rows(), 0U);
  EXPECT_EQ(hook->calls, Calls{"before 3"});
  EXPECT_EQ(metrics.counter_sum("outbox_enqueued_total"), 0);
}

TEST_F(WriterTest, EmptyBatchWritesNothingAndIsNotSuppressed) {
  EXPECT_TRUE(write_all({}).value().empty());
  EXPECT_EQ(metrics.counter_sum("outbox_suppressed_total"), 0);
}

TEST_F(WriterTest, RollbackTellsTheHooksOnce) {
  auto outbox = open();
  auto tx = store.begin().value();
  ASSERT_TRUE(outbox.write_all(*tx, {placed(), placed()}).ok());
  ASSERT_TRUE(tx->rollback().ok());
  EXPECT_EQ(hook->calls, (Calls{"before 2", "write 2", "rollback 2"}));
}

TEST_F(WriterTest, TransactionWithoutAVerdictTellsTheHooksNothing) {
  auto outbox = open();
  {
    auto connection = store.connect();
    ASSERT_TRUE(connection.begin().ok());
    auto tx = memory::enlist(connection).value();
    ASSERT_TRUE(outbox.write(tx, placed()).ok());
  }
  EXPECT_EQ(hook->calls, (Calls{"before 1", "write 1"}));
}

TEST_F(WriterTest, HookMayChangeTheBatch) {
  hook->change = [](std::vector<NewMessage>& drafts) {
    drafts[0].tenant = "acme";
    drafts.push_back(placed());
  };
  EXPECT_EQ(write_all({placed()}).value().size(), 2U);
  EXPECT_EQ(inspect()[0].row.message->tenant(), "acme");
}

TEST_F(WriterTest, HookMaySuppressTheWrite) {
  hook->change = [](std::vector<NewMessage>& drafts) { drafts.clear(); };
  auto outbox = open();
  auto tx = store.begin().value();
  EXPECT_EQ(outbox.write(*tx, placed()).value(), std::nullopt);
  ASSERT_TRUE(tx->commit().ok());
  EXPECT_EQ(rows(), 0U);
  EXPECT_EQ(hook->calls, Calls{"before 1"}) << "there is nothing to follow";
  EXPECT_EQ(metrics.counter_value("outbox_suppressed_total", {{"table", "orders"}}), 1);
}

TEST_F(WriterTest, EverySuppressedMessageIsCounted) {
  hook->change = [](std::vector<NewMessage>& drafts) { drafts.resize(1); };
  EXPECT_EQ(write_all({placed(), placed(), placed()}).value().size(), 1U);
  EXPECT_EQ(metrics.counter_value("outbox_suppressed_total", {{"table", "orders"}}), 2);
}

TEST_F(WriterTest, WhatAHookChangedIsCheckedToo) {
  hook->change = [](std::vector<NewMessage>& drafts) { drafts[0].tenant.clear(); };
  EXPECT_EQ(write_all({placed()}).error().code, Code::schema_validation_failed);
  EXPECT_EQ(rows(), 0U);
}

TEST_F(WriterTest, ThrowBeforeTheWriteRefusesItAsAnError) {
  hook->change = [](std::vector<NewMessage>&) { throw std::runtime_error("over quota"); };
  const auto written = write_all({placed()});
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().message, "a before_write hook failed, nothing was written: over quota");
  hook->change = [](std::vector<NewMessage>&) { throw 42; };
  EXPECT_EQ(write_all({placed()}).error().code, Code::tx_handler_failed);
  EXPECT_EQ(rows(), 0U);
}

TEST_F(WriterTest, ThrowAfterTheWriteNeverReachesTheCaller) {
  int thrown = 0;
  hook->after = [&] {
    if (++thrown == 1) throw std::runtime_error("cannot reach the audit");
    throw 42;
  };
  EXPECT_TRUE(write_all({placed()}).ok());
  EXPECT_EQ(rows(), 1U);
  EXPECT_EQ(hook->calls, (Calls{"before 1", "write 1", "commit 1"}));
  ASSERT_EQ(log.count("writer hook failed"), 2U);
  EXPECT_EQ(log.lines()[0].level, LogLevel::error);
  EXPECT_EQ(log.lines()[0].fields.at("error"), "cannot reach the audit");
  EXPECT_EQ(log.lines()[0].fields.at("when"), "after write");
}

TEST_F(WriterTest, SameIdAgainIsADuplicateWithTheFirstSequence) {
  auto draft = placed();
  draft.id = "order-17";
  const auto first = write_all({draft}).value();
  const auto second = write_all({draft}).value();
  EXPECT_FALSE(first[0].duplicate);
  EXPECT_TRUE(second[0].duplicate);
  EXPECT_EQ(second[0].sequence, first[0].sequence);
  EXPECT_EQ(rows(), 1U);
  EXPECT_EQ(metrics.counter_value("outbox_duplicates_total", {{"table", "orders"}}), 1);
  EXPECT_EQ(metrics.counter_value("outbox_enqueued_total",
                                  {{"table", "orders"}, {"topic", "orders.order.placed.v1"}}),
            1);
  EXPECT_EQ(audit.count(AuditKind::tx_outbox_enqueued), 1U);
}

TEST_F(WriterTest, AuditCarriesDigestTenantAndTraceButNoPayload) {
  auto draft = placed(R"({"card":"4111"})");
  draft.tenant = "acme";
  draft.trace.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  ASSERT_TRUE(write_all({draft}).ok());
  const auto event = audit.events().at(0);
  EXPECT_EQ(event.table, "orders");
  EXPECT_EQ(event.tenant, "acme");
  EXPECT_EQ(event.topic, "orders.order.placed.v1");
  EXPECT_EQ(event.traceparent, draft.trace.traceparent);
  EXPECT_EQ(event.digest, sha256(R"({"card":"4111"})"));
  EXPECT_EQ(event.detail.find("4111"), std::string::npos);
}

TEST_F(WriterTest, StrictTopicsRefuseOtherNames) {
  rules.strict_topics = true;
  auto draft = placed();
  EXPECT_TRUE(write_all({draft}).ok());
  draft.topic = "UserCreated";
  EXPECT_EQ(write_all({draft}).error().code, Code::schema_validation_failed);
}

TEST_F(WriterTest, RefusesToStartBecauseSomebodyElseDelivers) {
  auto outbox = open();
  EXPECT_EQ(outbox.start().error().text(),
            "TX.INVALID_STATE: this outbox only writes; open it with single_process or "
            "several_processes");
  EXPECT_TRUE(outbox.stop().ok());
}

TEST_F(WriterTest, TableNameIsCheckedWhenTheOutboxIsOpened) {
  const auto opened = Outbox::writer_only(store, {.table = "orders; drop"});
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().message.find("orders; drop"), std::string::npos);
}

struct WrongDraft {
  const char* name;
  const char* says;
  std::function<void(NewMessage&)> spoil;
};

class WrongDrafts : public WriterTest, public ::testing::WithParamInterface<WrongDraft> {};

TEST_P(WrongDrafts, AreRefusedWithTheFieldAndTheRuleAndNothingIsWritten) {
  auto draft = placed(R"({"card":"4111"})");
  GetParam().spoil(draft);
  const auto written = write_all({placed(), draft});
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, Code::schema_validation_failed);
  EXPECT_NE(written.error().message.find(GetParam().says), std::string::npos)
      << written.error().message;
  EXPECT_EQ(written.error().message.find("4111"), std::string::npos) << "no payload in errors";
  EXPECT_EQ(rows(), 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Fields, WrongDrafts,
    ::testing::Values(
        WrongDraft{"NoTopic", "topic: empty", [](auto& d) { d.topic = ""; }},
        WrongDraft{"LongTopic", "129 characters, at most 128",
                   [](auto& d) { d.topic = std::string(129, 't'); }},
        WrongDraft{"NoTenant", "tenant: empty", [](auto& d) { d.tenant = ""; }},
        WrongDraft{"LongTenant", "65 characters, at most 64",
                   [](auto& d) { d.tenant = std::string(65, 't'); }},
        WrongDraft{"NoAggregateType", "aggregate_type: empty",
                   [](auto& d) { d.aggregate_type = ""; }},
        WrongDraft{"LongAggregateType", "65 characters, at most 64",
                   [](auto& d) { d.aggregate_type = std::string(65, 't'); }},
        WrongDraft{"LongAggregateId", "129 characters, at most 128",
                   [](auto& d) { d.aggregate_id = std::string(129, 't'); }},
        WrongDraft{"LongKey", "257 characters, at most 256",
                   [](auto& d) { d.key = std::string(257, 'k'); }},
        WrongDraft{"UnprintableKey", "is not printable", [](auto& d) { d.key = "a\nb"; }},
        WrongDraft{"NoPayload", "payload: missing", [](auto& d) { d.payload = Payload(); }},
        WrongDraft{"LargePayload", "1048577 bytes, at most 1048576",
                   [](auto& d) { d.payload = bytes(std::string(1024 * 1024 + 1, 'x')); }},
        WrongDraft{"BrokenJson", "payload: ", [](auto& d) { d.payload = json("{\"card\":4111"); }},
        WrongDraft{"HeaderWithoutName", "header 1 is empty",
                   [](auto& d) { d.headers = {{"", "x"}}; }},
        WrongDraft{"HeaderTwice", "is given twice",
                   [](auto& d) { d.headers = {{"a", "1"}, {"a", "2"}}; }},
        WrongDraft{"LongId", "36", [](auto& d) { d.id = std::string(37, 'i'); }},
        WrongDraft{"WrongTrace", "trace.traceparent", [](auto& d) { d.trace.traceparent = "00-"; }},
        WrongDraft{"WrongPriority", "priority: 9",
                   [](auto& d) { d.priority = static_cast<Priority>(9); }}),
    [](const auto& wrong) { return std::string(wrong.param.name); });

}  // namespace
}  // namespace sagabox
