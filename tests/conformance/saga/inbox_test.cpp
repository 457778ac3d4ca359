#include "conformance/saga/saga_conformance.hpp"

#include <algorithm>
#include <array>
#include <thread>

namespace sagabox::conformance {
namespace {

using Kind = SagaCommandKind;

std::vector<std::string> command_ids(const std::vector<SagaCommand>& commands) {
  std::vector<std::string> ids;
  for (const auto& command : commands) ids.push_back(command.id.str());
  return ids;
}

TEST_P(SagaConformance, CommandComesBackAsItWasWritten) {
  const auto before = now();
  auto sent = command("s1", Kind::signal, R"({"name":"päid","n":1.50})");
  sent.tenant = "umbrella";
  append(sent);
  const auto rows = inbox();
  ASSERT_EQ(rows.size(), 1U);
  const auto& got = rows[0];
  EXPECT_EQ(got.id, sent.id);
  EXPECT_EQ(got.saga, sent.saga);
  EXPECT_EQ(got.definition, sent.definition);
  EXPECT_EQ(got.tenant, sent.tenant);
  EXPECT_EQ(got.kind, Kind::signal);
  EXPECT_EQ(got.body, sent.body);
  EXPECT_GT(got.sequence, Sequence{});
  EXPECT_GE(got.written_at, before);
  EXPECT_LT(got.shard.value, shards());
}

TEST_P(SagaConformance, EveryKindOfCommandIsStored) {
  std::vector<SagaCommand> sent;
  for (std::size_t kind = 0; kind < saga_command_kind_count; ++kind) {
    sent.push_back(command("s1", static_cast<Kind>(kind)));
  }
  append(sent);
  const auto rows = inbox();
  ASSERT_EQ(rows.size(), sent.size());
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i].kind, sent[i].kind);
}

TEST_P(SagaConformance, CommandsOfOneSagaAreInOneShardInTheirOrder) {
  std::vector<SagaCommand> sent;
  for (int i = 0; i < 20; ++i) sent.push_back(command("s" + std::to_string(i % 4)));
  append(sent);
  const auto rows = inbox();
  EXPECT_EQ(command_ids(rows), command_ids(sent));
  std::map<SagaId, Shard> shards;
  for (const auto& row : rows) {
    EXPECT_EQ(shards.emplace(row.saga, row.shard).first->second, row.shard);
  }
}

TEST_P(SagaConformance, DefinitionsDoNotSeeEachOthersCommands) {
  auto other = command("s1");
  other.definition = "refund";
  append({command("s1"), other});
  EXPECT_EQ(inbox().size(), 1U);
  EXPECT_EQ(command_ids(inbox("refund")), command_ids({other}));
  EXPECT_TRUE(inbox("none").empty());
}

TEST_P(SagaConformance, RolledBackCommandIsNotThere) {
  {
    const auto tx = store().begin().value();
    tx->sagas().append(std::array{command("s1")}).value();
    tx->rollback().value();
    EXPECT_EQ(tx->sagas().append(std::array{command("s1")}).error().code, Code::tx_no_transaction);
  }
  EXPECT_TRUE(inbox().empty());
  append(command("s1"));
  EXPECT_EQ(inbox().size(), 1U);
}

TEST_P(SagaConformance, CommandIsNotSeenBeforeItsTransactionCommits) {
  const auto tx = store().begin().value();
  const auto sent = command("s1");
  tx->sagas().append(std::array{sent}).value();
  EXPECT_TRUE(inbox().empty());
  tx->commit().value();
  EXPECT_EQ(command_ids(inbox()), command_ids({sent}));
}

TEST_P(SagaConformance, CallersOwnTransactionCarriesCommands) {
  const auto connection = fixture_->connect();
  connection->begin().value();
  {
    const auto tx = connection->enlist().value();
    tx->sagas().append(std::array{command("s1")}).value();
  }
  connection->rollback().value();
  EXPECT_TRUE(inbox().empty());
  connection->begin().value();
  const auto sent = command("s1");
  {
    const auto tx = connection->enlist().value();
    tx->sagas().append(std::array{sent}).value();
    // A message in the same transaction.
    EXPECT_EQ(tx->outbox().insert(table_, messages(1)).value().size(), 1U);
    connection->commit().value();
    tx->committed();
    EXPECT_EQ(tx->sagas().append(std::array{sent}).error().code, Code::tx_no_transaction);
  }
  EXPECT_EQ(command_ids(inbox()), command_ids({sent}));
  EXPECT_EQ(stats().pending, 1U);
}

TEST_P(SagaConformance, CommandsThatCannotBeStoredAreRefusedAndTheTransactionGoesOn) {
  const auto tx = store().begin().value();
  const auto refused = [&](auto&& change) {
    auto wrong = command("s1");
    change(wrong);
    EXPECT_EQ(tx->sagas().append(std::array{command("s2"), wrong}).error().code,
              Code::schema_validation_failed);
  };
  refused([](SagaCommand& c) { c.id = {}; });
  refused([](SagaCommand& c) { c.saga = {}; });
  refused([](SagaCommand& c) { c.definition = ""; });
  refused([](SagaCommand& c) { c.tenant = std::string("a\0b", 3); });
  refused([](SagaCommand& c) { c.tenant = std::string(65, 't'); });
  refused([](SagaCommand& c) { c.body = "{"; });
  refused([](SagaCommand& c) { c.body = '"' + std::string(256 * 1024, 'x') + '"'; });
  const auto sent = command("s1");
  tx->sagas().append(std::array{sent}).value();
  tx->commit().value();
  EXPECT_EQ(command_ids(inbox()), command_ids({sent}));
}

TEST_P(SagaConformance, InboxIsReadInPagesByShard) {
  std::vector<SagaCommand> sent;
  for (int i = 0; i < 7; ++i) sent.push_back(command("s1"));
  append(sent);
  const auto shard = inbox().front().shard;
  std::vector<SagaCommand> read;
  Sequence after{};
  for (const std::uint32_t expected : {3U, 3U, 1U}) {
    const auto reply = read_inbox({shard, after, 3});
    ASSERT_EQ(reply.parts.size(), 1U);
    EXPECT_EQ(reply.parts[0].rows, expected);
    EXPECT_EQ(reply.parts[0].exhausted, expected < 3);
    ASSERT_EQ(reply.rows.size(), expected);
    std::ranges::copy(reply.rows, std::back_inserter(read));
    after = read.back().sequence;
  }
  EXPECT_EQ(command_ids(read), command_ids(sent));
  const auto exactly = read_inbox({shard, {}, 7});
  EXPECT_EQ(exactly.parts[0].rows, 7U);
  EXPECT_TRUE(exactly.parts[0].exhausted);
}

TEST_P(SagaConformance, InboxAnswersInTheOrderOfItsRanges) {
  std::vector<SagaCommand> sent;
  for (int i = 0; i < 40; ++i) sent.push_back(command("saga-" + std::to_string(i)));
  append(sent);
  std::vector<spi::SagaInboxRange> ranges;
  for (int s = shards(); s > 0; --s) {
    ranges.push_back({Shard{static_cast<std::uint16_t>(s - 1)}, {}, 100});
  }
  const auto reply = sagas().read_inbox(travel, ranges, bytes_unbounded).value();
  ASSERT_EQ(reply.parts.size(), ranges.size());
  std::size_t row = 0;
  for (std::size_t r = 0; r < ranges.size(); ++r) {
    EXPECT_TRUE(reply.parts[r].exhausted);
    for (std::uint32_t i = 0; i < reply.parts[r].rows; ++i) {
      EXPECT_EQ(reply.rows[row++].shard, ranges[r].shard);
    }
  }
  EXPECT_EQ(row, sent.size());
}

TEST_P(SagaConformance, InboxReadEndsWhereTheBytesDo) {
  const std::string kilobyte = '"' + std::string(1000, 'x') + '"';
  std::vector<SagaCommand> sent;
  for (int i = 0; i < 5; ++i) sent.push_back(command("s1", Kind::reply, kilobyte));
  append(sent);
  const auto shard = inbox().front().shard;
  const auto some = read_inbox({shard, {}, 100}, 3200);
  ASSERT_EQ(some.parts.size(), 1U);
  EXPECT_EQ(some.parts[0].rows, 3U);
  EXPECT_FALSE(some.parts[0].exhausted);
  EXPECT_EQ(some.rows.size(), 3U);
  const auto one = read_inbox({shard, {}, 100}, 1);
  EXPECT_EQ(one.rows.size(), 1U) << "at least one";
  EXPECT_FALSE(one.parts.at(0).exhausted);
  const auto last = read_inbox({shard, sent.size() > 0 ? inbox()[3].sequence : Sequence{}, 100}, 1);
  EXPECT_EQ(last.rows.size(), 1U);
  EXPECT_TRUE(last.parts.at(0).exhausted);
}

TEST_P(SagaConformance, BytesEndAReadOfSeveralShardsToo) {
  const std::string kilobyte = '"' + std::string(1000, 'x') + '"';
  std::vector<SagaCommand> sent;
  for (int i = 0; i < 40; ++i) {
    sent.push_back(command("saga-" + std::to_string(i), Kind::reply, kilobyte));
  }
  append(sent);
  std::vector<spi::SagaInboxRange> ranges;
  for (std::uint16_t s = 0; s < shards(); ++s) ranges.push_back({Shard{s}, {}, 100});
  const auto reply = sagas().read_inbox(travel, ranges, 10'500).value();
  EXPECT_EQ(reply.rows.size(), 10U);
  ASSERT_FALSE(reply.parts.empty());
  EXPECT_LE(reply.parts.size(), ranges.size());
  std::uint32_t rows = 0;
  for (const auto& part : reply.parts) rows += part.rows;
  EXPECT_EQ(rows, 10U);
  EXPECT_FALSE(reply.parts.back().exhausted);
  for (std::size_t i = 0; i + 1 < reply.parts.size(); ++i) EXPECT_TRUE(reply.parts[i].exhausted);
}

TEST_P(SagaConformance, LateCommitWithALowerSequenceIsFoundByTheHorizon) {
  const auto late_commits = sagas().capabilities().late_commits;
  if (late_commits == spi::LateCommits::none) {
    GTEST_SKIP() << "transactions of this store commit in the order of their sequences";
  }
  auto late = store().begin().value();
  const auto first = command("s1");
  late->sagas().append(std::array{first}).value();
  const auto second = command("s1");
  append(second);
  const auto rows = inbox();
  ASSERT_EQ(command_ids(rows), command_ids({second}));
  const auto reply = read_inbox({rows[0].shard, {}, 10});
  if (late_commits == spi::LateCommits::visible) {
    ASSERT_TRUE(reply.horizon);
    EXPECT_FALSE(reply.horizon->in_progress.empty());
    if (const auto id = fixture_->id_of(*late)) {
      EXPECT_TRUE(std::ranges::binary_search(reply.horizon->in_progress, *id));
    }
    EXPECT_GT(reply.horizon->next, reply.horizon->in_progress.back());
  }
  late->commit().value();
  const auto both = inbox();
  EXPECT_EQ(command_ids(both), command_ids({first, second}));
  EXPECT_LT(both[0].sequence, both[1].sequence);
}

TEST_P(SagaConformance, PendingCommandsOfASagaAreShownInTheirOrder) {
  const auto sent = std::vector{command("s1"), command("s2"), command("s1", Kind::pause)};
  append(sent);
  EXPECT_EQ(command_ids(saga_admin().pending(saga_id("s1"), 10).value()),
            command_ids({sent[0], sent[2]}));
  EXPECT_EQ(saga_admin().pending(saga_id("s1"), 1).value().size(), 1U);
  EXPECT_TRUE(saga_admin().pending(saga_id("s3"), 10).value().empty());
}

TEST_P(SagaConformance, WakeEndsAWait) {
  std::thread waiting([&] { sagas().wait(travel, std::chrono::minutes(5)); });
  std::thread waking([&] { sagas().wake(travel); });
  waking.join();
  waiting.join();
}

TEST_P(SagaConformance, CommitEndsAWaitOfAStoreThatNotifies) {
  // The first wait of a thread may return at once.
  std::thread waiting([&] {
    sagas().wait(travel, std::chrono::milliseconds(1));
    for (int i = 0; i < 1000 && inbox().empty(); ++i) {
      sagas().wait(travel, std::chrono::milliseconds(100));
    }
    EXPECT_EQ(inbox().size(), 1U);
  });
  append(command("s1"));
  waiting.join();
}

}  // namespace
}  // namespace sagabox::conformance
