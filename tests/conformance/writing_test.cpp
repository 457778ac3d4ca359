#include "conformance/store_conformance.hpp"

#include <algorithm>
#include <set>
#include <thread>

namespace sagabox::conformance {
namespace {

TEST_P(StoreConformance, CommittedMessagesAppearInOneStep) {
  const auto batch = messages(20);
  auto tx = store().begin().value();
  const auto written = tx->outbox().insert(table_, batch).value();
  EXPECT_TRUE(read_fresh().empty());
  EXPECT_EQ(stats().pending, 0U);

  tx->commit().value();

  EXPECT_EQ(ids_of(read_fresh()), ids_of(batch));
  ASSERT_EQ(written.size(), batch.size());
  for (std::size_t i = 0; i < written.size(); ++i) {
    EXPECT_EQ(written[i].id, batch[i]->id());
    EXPECT_FALSE(written[i].duplicate);
    if (i > 0) {
      EXPECT_GT(written[i].sequence, written[i - 1].sequence);
    }
  }
}

TEST_P(StoreConformance, RolledBackMessagesLeaveNothing) {
  const auto lost = message();
  auto tx = store().begin().value();
  (void)tx->outbox().insert(table_, std::span(&lost, 1)).value();
  tx->rollback().value();

  EXPECT_TRUE(read_fresh().empty());
  EXPECT_FALSE(fixture_->look(table_, lost->id()).has_value());
  EXPECT_FALSE(write(lost).duplicate) << "the id is free again";
}

TEST_P(StoreConformance, TransactionDroppedWithoutVerdictIsRolledBack) {
  const auto lost = message();
  {
    auto tx = store().begin().value();
    (void)tx->outbox().insert(table_, std::span(&lost, 1)).value();
  }
  EXPECT_FALSE(fixture_->look(table_, lost->id()).has_value());
}

TEST_P(StoreConformance, EndedTransactionTakesNothingMore) {
  const auto late = message();
  auto tx = store().begin().value();
  EXPECT_TRUE(tx->is_open());
  tx->commit().value();
  EXPECT_FALSE(tx->is_open());

  const auto written = tx->outbox().insert(table_, std::span(&late, 1));

  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, Code::tx_no_transaction);
  EXPECT_FALSE(tx->commit().ok());
  EXPECT_FALSE(fixture_->look(table_, late->id()).has_value());
}

TEST_P(StoreConformance, BorrowedTransactionNeedsBegin) {
  auto connection = fixture_->connect();
  const auto enlisted = connection->enlist();
  ASSERT_FALSE(enlisted.ok());
  EXPECT_EQ(enlisted.error().code, Code::tx_no_transaction);
}

TEST_P(StoreConformance, BorrowedTransactionIsEndedByItsUser) {
  auto connection = fixture_->connect();
  const auto first = message();
  const auto second = message();

  connection->begin().value();
  auto tx = connection->enlist().value();
  (void)tx->outbox().insert(table_, std::span(&first, 1)).value();
  tx.reset();
  EXPECT_TRUE(read_fresh().empty()) << "dropping the enlisted transaction must not commit";
  connection->commit().value();
  EXPECT_EQ(ids_of(read_fresh()), ids_of(std::vector{first}));

  connection->begin().value();
  tx = connection->enlist().value();
  (void)tx->outbox().insert(table_, std::span(&second, 1)).value();
  connection->rollback().value();
  tx->rolled_back();
  EXPECT_EQ(ids_of(read_fresh()), ids_of(std::vector{first}));
}

TEST_P(StoreConformance, BorrowedTransactionIsNotOpenAfterItsCommit) {
  auto connection = fixture_->connect();
  connection->begin().value();
  auto tx = connection->enlist().value();
  EXPECT_TRUE(tx->is_open());
  connection->commit().value();
  EXPECT_FALSE(tx->is_open());

  const auto late = message();
  const auto written = tx->outbox().insert(table_, std::span(&late, 1));
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, Code::tx_no_transaction);
  EXPECT_FALSE(fixture_->look(table_, late->id()).has_value());
}

TEST_P(StoreConformance, PendingIdIsADuplicate) {
  const auto first = build({.key = "k", .id = "order-17"});
  const auto again = build({.key = "another", .id = "order-17"});
  const auto written = write(first);

  const auto repeated = write(again);

  EXPECT_TRUE(repeated.duplicate);
  EXPECT_EQ(repeated.id, written.id);
  EXPECT_EQ(repeated.sequence, written.sequence);
  EXPECT_EQ(repeated.shard, written.shard);
  const auto rows = read_fresh();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].message->key(), "k");
}

TEST_P(StoreConformance, BlindInsertsAreThereAndTellDuplicates) {
  const auto insert = [&](const std::vector<std::shared_ptr<const Message>>& messages) {
    return store().transaction(
        [&](OwnedTransaction& tx) { return tx.outbox().insert_blind(table_, messages); });
  };
  const auto one = message();
  const auto named = build({.id = "order-17"});
  const std::vector batch{message(), message(), message()};
  std::vector<Written> all;
  for (const auto& messages : {std::vector{one}, std::vector{named}, batch}) {
    const auto written = insert(messages).value();
    ASSERT_EQ(written.size(), messages.size());
    for (std::size_t at = 0; at < written.size(); ++at) {
      EXPECT_EQ(written[at].id, messages[at]->id());
      EXPECT_FALSE(written[at].duplicate);
      all.push_back(written[at]);
    }
  }
  const auto again = insert({named}).value();
  ASSERT_EQ(again.size(), 1U);
  EXPECT_TRUE(again[0].duplicate);
  EXPECT_EQ(again[0].sequence, all[1].sequence);

  const auto rows = read_fresh();
  ASSERT_EQ(rows.size(), all.size());
  for (const auto& written : all) {
    const auto row =
        std::ranges::find_if(rows, [&](const auto& other) { return other.id == written.id; });
    ASSERT_NE(row, rows.end());
    EXPECT_TRUE(written.sequence == Sequence{} || written.sequence == row->sequence);
  }
}

TEST_P(StoreConformance, RetainedDeadAndQuarantinedIdsAreDuplicates) {
  const auto owner = own();
  for (const auto verdict :
       {spi::Verdict::done, spi::Verdict::retry, spi::Verdict::dead, spi::Verdict::park}) {
    const auto first = build({.id = "own-" + std::to_string(static_cast<int>(verdict))});
    const auto written = write(first);
    ASSERT_EQ(settled(owner, {settlement(written, verdict)}), 1U);
    const auto repeated = write(first);
    EXPECT_TRUE(repeated.duplicate) << static_cast<int>(verdict);
    EXPECT_EQ(repeated.sequence, written.sequence) << static_cast<int>(verdict);
  }
  EXPECT_TRUE(read_fresh().empty());
}

TEST_P(StoreConformance, DeletedIdMayBeWrittenAgain) {
  const auto owner = own();
  const auto first = message();
  const auto written = write(first);
  ASSERT_EQ(settled(owner, {settlement(written, spi::Verdict::done)}, false), 1U);

  const auto again = write(first);

  EXPECT_FALSE(again.duplicate);
  EXPECT_GT(again.sequence, written.sequence) << "sequences are not used twice";
}

TEST_P(StoreConformance, IdTwiceInABatchIsADuplicateOfTheFirst) {
  const auto first = build({.id = "same"});
  const auto between = message();
  const auto second = build({.id = "same"});

  const auto written = write({first, between, second});

  ASSERT_EQ(written.size(), 3U);
  EXPECT_FALSE(written[0].duplicate);
  EXPECT_FALSE(written[1].duplicate);
  EXPECT_TRUE(written[2].duplicate);
  EXPECT_EQ(written[2].sequence, written[0].sequence);
  EXPECT_EQ(stats().pending, 2U);
}

TEST_P(StoreConformance, IdWrittenBeforeInTheSameTransactionIsADuplicate) {
  const auto same = build({.id = "same"});
  auto tx = store().begin().value();
  const auto first = tx->outbox().insert(table_, std::span(&same, 1)).value().front();
  const auto again = tx->outbox().insert(table_, std::span(&same, 1)).value().front();
  tx->commit().value();

  EXPECT_TRUE(again.duplicate);
  EXPECT_EQ(again.sequence, first.sequence);
  EXPECT_EQ(stats().pending, 1U);
}

TEST_P(StoreConformance, TwoWritersOfOneIdMakeOneMessage) {
  const auto same = build({.id = "same"});
  auto first = store().begin().value();
  const auto winner = first->outbox().insert(table_, std::span(&same, 1)).value().front();

  // The second waits for the first or is told to try again, as the store likes.
  Written other;
  std::thread second([&] {
    for (;;) {
      auto result = store().transaction(
          [&](OwnedTransaction& tx) { return tx.outbox().insert(table_, std::span(&same, 1)); });
      if (result.ok()) {
        other = result->front();
        return;
      }
      ASSERT_EQ(result.error().code, Code::storage_conflict) << result.error().text();
      std::this_thread::yield();
    }
  });
  first->commit().value();
  second.join();

  EXPECT_TRUE(other.duplicate);
  EXPECT_EQ(other.sequence, winner.sequence);
  EXPECT_EQ(stats().pending, 1U);
}

TEST_P(StoreConformance, EmptyBatchWritesNothing) {
  EXPECT_TRUE(write(std::vector<MessagePtr>{}).empty());
  EXPECT_EQ(stats().pending, 0U);
}

TEST_P(StoreConformance, UnknownTableIsAnErrorAndWritesNothing) {
  const auto unknown = TableName::parse("nowhere").value();
  const auto lost = message();
  const auto result = store().transaction(
      [&](OwnedTransaction& tx) { return tx.outbox().insert(unknown, std::span(&lost, 1)); });
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("nowhere"), std::string::npos) << result.error().message;
}

TEST_P(StoreConformance, TablesDoNotSeeEachOther) {
  const auto same = build({.id = "in-both"});
  write(same);
  const auto other = write_to(other_table_, {same});

  EXPECT_FALSE(other.front().duplicate);
  EXPECT_EQ(read_fresh().size(), 1U);
  EXPECT_EQ(read_lane_of(other_table_, lane_normal).size(), 1U);

  const auto owner = own();
  ASSERT_EQ(settled(owner, {settlement(Written{same->id(), read_fresh()[0].sequence,
                                               read_fresh()[0].shard, false},
                                       spi::Verdict::done)}),
            1U);
  EXPECT_TRUE(read_fresh().empty());
  EXPECT_EQ(read_lane_of(other_table_, lane_normal).size(), 1U);
}

TEST_P(StoreConformance, OneTransactionWritesToTwoTables) {
  const auto first = message();
  const auto second = message();
  auto tx = store().begin().value();
  (void)tx->outbox().insert(table_, std::span(&first, 1)).value();
  (void)tx->outbox().insert(other_table_, std::span(&second, 1)).value();
  EXPECT_TRUE(read_fresh().empty());
  EXPECT_TRUE(read_lane_of(other_table_, lane_normal).empty());
  tx->commit().value();
  EXPECT_EQ(ids_of(read_fresh()), ids_of(std::vector{first}));
  EXPECT_EQ(ids_of(read_lane_of(other_table_, lane_normal)), ids_of(std::vector{second}));
}

TEST_P(StoreConformance, EveryFieldSurvives) {
  const WallTime occurred{std::chrono::microseconds(1'767'000'000'123'456)};
  const WallTime past{std::chrono::microseconds(1'600'000'000'000'001)};
  const auto sent =
      build({.topic = "billing.invoice.issued.v2",
             .key = "customer 17 / \"é\"",
             .payload = json("{ \"total\" : 1.50,\n\t\"total\":2 }"),
             .tenant = "acme",
             .aggregate_type = "Invoice",
             .aggregate_id = "inv'17;--",
             .priority = Priority::low,
             .content_type = "application/vnd.acme+json",
             .headers = {{"x-b", "2"}, {"x-a", "1; \"quoted\" ü"}, {"empty", ""}},
             .occurred_at = occurred,
             .not_before = past,
             .trace = {.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                       .tracestate = "vendor=a:b",
                       .request_id = "req-1",
                       .correlation_id = "cor-1"},
             .id = "invoice-17"});
  const auto before = stats().now;
  const auto written = write(sent);
  const auto after = stats().now;

  const auto rows = read_fresh();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].sequence, written.sequence);
  EXPECT_EQ(rows[0].shard, written.shard);
  EXPECT_EQ(rows[0].attempts, 0U);
  EXPECT_GE(rows[0].written_at, before);
  EXPECT_LE(rows[0].written_at, after);
  ASSERT_NE(rows[0].message, nullptr) << rows[0].decode_error;
  const Message& got = *rows[0].message;
  EXPECT_EQ(got.id(), sent->id());
  EXPECT_EQ(got.topic(), sent->topic());
  EXPECT_EQ(got.key(), sent->key());
  EXPECT_EQ(got.key_hash(), sent->key_hash());
  EXPECT_EQ(got.payload().form(), PayloadForm::json);
  EXPECT_EQ(got.payload().view(), sent->payload().view());
  EXPECT_EQ(got.digest(), sent->digest());
  EXPECT_EQ(got.tenant(), "acme");
  EXPECT_EQ(got.aggregate_type(), "Invoice");
  EXPECT_EQ(got.aggregate_id(), "inv'17;--");
  EXPECT_EQ(got.priority(), Priority::low);
  EXPECT_EQ(got.content_type(), "application/vnd.acme+json");
  EXPECT_EQ(got.headers(), sent->headers());
  EXPECT_EQ(got.occurred_at(), occurred);
  EXPECT_EQ(got.not_before(), past);
  EXPECT_EQ(got.trace(), sent->trace());
}

TEST_P(StoreConformance, DeliveredBytesEqualWrittenBytes) {
  std::string every_byte;
  for (int i = 0; i < 256; ++i) every_byte.push_back(static_cast<char>(i));
  const std::vector<Payload> payloads{
      bytes(every_byte),
      bytes(std::string(3, '\0')),
      bytes("\xff\xfe\xc0\x80 \xed\xa0\x80"),
      bytes(""),
      bytes("\\x414243"),
      json("  {\"b\":1, \"a\" : [1.0, 1e2 , 10000000000000000000001]}\n"),
      json("\"\\u0000\\ud83d\\ude00 é\""),
      json("null"),
  };
  std::vector<MessagePtr> sent;
  for (const auto& payload : payloads) sent.push_back(build({.payload = payload}));
  write(sent);

  const auto rows = read_fresh();

  ASSERT_EQ(rows.size(), payloads.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ASSERT_NE(rows[i].message, nullptr) << i << ": " << rows[i].decode_error;
    EXPECT_EQ(rows[i].message->payload().form(), payloads[i].form()) << i;
    EXPECT_EQ(rows[i].message->payload().view(), payloads[i].view()) << i;
    EXPECT_EQ(rows[i].message->digest(), sent[i]->digest()) << i;
  }
}

TEST_P(StoreConformance, SameKeyMeansSameShard) {
  std::set<std::uint16_t> all;
  for (int k = 0; k < 64; ++k) {
    const auto written = write(messages(3, "key-" + std::to_string(k)));
    EXPECT_EQ(written[0].shard, written[1].shard);
    EXPECT_EQ(written[0].shard, written[2].shard);
    EXPECT_LT(written[0].shard.value, shards());
    all.insert(written[0].shard.value);
  }
  EXPECT_GT(all.size(), shards() > 1 ? shards() / 2U : 0U) << "keys spread over the shards";
}

TEST_P(StoreConformance, MessagesWithoutKeySpreadOverTheShards) {
  std::set<std::uint16_t> all;
  for (const auto& written : write(messages(64))) all.insert(written.shard.value);
  EXPECT_GT(all.size(), shards() > 1 ? shards() / 2U : 0U);
}

}  // namespace
}  // namespace sagabox::conformance
