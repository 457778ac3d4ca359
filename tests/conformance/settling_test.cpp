#include "conformance/store_conformance.hpp"

#include <algorithm>
#include <map>

namespace sagabox::conformance {
namespace {

using State = StoredRow::State;
using std::chrono::minutes;
using std::chrono::seconds;

TEST_P(StoreConformance, DoneRowIsArchivedWhereRetained) {
  const auto owner = own();
  const auto written = write(message());

  EXPECT_EQ(settled(owner, {settlement(written, spi::Verdict::done, 3)}), 1U);

  EXPECT_TRUE(read_fresh().empty());
  const auto row = look(written.id);
  EXPECT_EQ(row.state, State::done);
  EXPECT_EQ(row.sequence, written.sequence);
  EXPECT_EQ(row.attempts, 3U);
  EXPECT_EQ(stats().pending, 0U);
  EXPECT_EQ(stats().done, 1U);
}

TEST_P(StoreConformance, DoneRowIsDeletedWhereNotRetained) {
  const auto owner = own();
  const auto written = write(message());

  EXPECT_EQ(settled(owner, {settlement(written, spi::Verdict::done)}, false), 1U);

  EXPECT_TRUE(read_fresh().empty());
  EXPECT_FALSE(fixture_->look(table_, written.id).has_value());
  EXPECT_EQ(stats().pending, 0U);
  EXPECT_EQ(stats().done, 0U);
}

TEST_P(StoreConformance, RetriedRowWaitsForItsDelay) {
  const auto owner = own();
  const auto written = write(message("k"));
  auto retry = settlement(written, spi::Verdict::retry, 2);
  retry.delay = minutes(1);
  retry.code = Code::tx_handler_failed;
  retry.error = "connection refused";

  EXPECT_EQ(settled(owner, {retry}), 1U);

  EXPECT_TRUE(read_fresh().empty());
  EXPECT_TRUE(read_due().empty());
  const auto row = look(written.id);
  EXPECT_EQ(row.state, State::waiting);
  EXPECT_EQ(row.attempts, 2U);
  EXPECT_EQ(row.error, "connection refused");
  EXPECT_EQ(stats().pending, 1U);
  EXPECT_EQ(stats().waiting, 1U);

  fixture_->advance_time(seconds(59));
  EXPECT_TRUE(read_due().empty());
  fixture_->advance_time(seconds(2));
  const auto due = read_due();
  ASSERT_EQ(due.size(), 1U);
  EXPECT_EQ(due[0].sequence, written.sequence) << "a retry keeps its sequence";
  EXPECT_TRUE(due[0].retrying);
  EXPECT_EQ(due[0].attempts, 2U);
  ASSERT_NE(due[0].message, nullptr);
  EXPECT_EQ(due[0].message->key(), "k");
}

TEST_P(StoreConformance, ARetriedRowKeepsWhichTargetsItHasReached) {
  const auto owner = own();
  const auto written = write(message("k"));
  auto retry = settlement(written, spi::Verdict::retry, 0);
  retry.targets_done = TargetsDone{0xF123'4567'89AB'CDEFULL};
  ASSERT_EQ(settled(owner, {retry}), 1U);
  auto due = read_due();
  ASSERT_EQ(due.size(), 1U);
  EXPECT_EQ(due[0].targets_done, retry.targets_done);
  EXPECT_TRUE(due[0].retrying) << "also where no attempt was spent";

  auto attempt = settlement(written, spi::Verdict::attempt, 1);
  ASSERT_EQ(settled(owner, {attempt}), 1U);
  due = read_due();
  ASSERT_EQ(due.size(), 1U);
  EXPECT_EQ(due[0].targets_done, retry.targets_done) << "an attempt says nothing about them";

  retry.targets_done = {};
  ASSERT_EQ(settled(owner, {retry}), 1U);
  EXPECT_EQ(read_due().at(0).targets_done, TargetsDone{});
}

TEST_P(StoreConformance, WaitingRowCanBeSettledAgain) {
  const auto owner = own();
  const auto written = write(message());
  ASSERT_EQ(settled(owner, {settlement(written, spi::Verdict::retry, 1)}), 1U);
  ASSERT_EQ(settled(owner, {settlement(written, spi::Verdict::retry, 2)}), 1U);
  ASSERT_EQ(settled(owner, {settlement(written, spi::Verdict::done, 3)}), 1U);
  EXPECT_EQ(look(written.id).state, State::done);
  EXPECT_EQ(stats().waiting, 0U);
  EXPECT_TRUE(read_due().empty());
}

TEST_P(StoreConformance, DeadRowKeepsWhatKilledIt) {
  const auto owner = own();
  const auto written = write(message());
  auto dead = settlement(written, spi::Verdict::dead, 10);
  dead.code = Code::provider_rejected;
  dead.error = "422 from the other side";

  EXPECT_EQ(settled(owner, {dead}), 1U);

  EXPECT_TRUE(read_fresh().empty());
  const auto row = look(written.id);
  EXPECT_EQ(row.state, State::dead);
  EXPECT_EQ(row.attempts, 10U);
  EXPECT_EQ(row.code, Code::provider_rejected);
  EXPECT_EQ(row.error, "422 from the other side");
  EXPECT_EQ(stats().dead, 1U);
  EXPECT_EQ(stats().pending, 0U);
}

TEST_P(StoreConformance, DeadRowKeepsItsLastErrorWhereItHasOne) {
  const auto owner = own();
  const auto failed = write(message());
  const auto silent = write(message());
  auto attempt = settlement(failed, spi::Verdict::attempt, 3);
  attempt.code = Code::tx_timeout;
  attempt.error = "still running";
  ASSERT_EQ(settled(owner, {attempt, settlement(silent, spi::Verdict::attempt, 3)}), 2U);

  std::vector<spi::Settlement> dead;
  for (const auto& written : {failed, silent}) {
    dead.push_back(settlement(written, spi::Verdict::dead, 3));
    dead.back().code = Code::tx_deadletter;
    dead.back().error = "attempts spent";
    dead.back().keep_last_error = true;
  }
  EXPECT_EQ(settled(owner, dead), 2U);

  EXPECT_EQ(look(failed.id).state, State::dead);
  EXPECT_EQ(look(failed.id).code, Code::tx_timeout);
  EXPECT_EQ(look(failed.id).error, "still running");
  EXPECT_EQ(look(silent.id).state, State::dead);
  EXPECT_EQ(look(silent.id).code, Code::tx_deadletter);
  EXPECT_EQ(look(silent.id).error, "attempts spent");
}

TEST_P(StoreConformance, ParkedRowIsQuarantinedWithItsSequence) {
  const auto owner = own();
  const auto written = write(message("k"));
  auto park = settlement(written, spi::Verdict::park, 1);
  park.code = Code::tx_handler_failed;
  park.error = "no";

  EXPECT_EQ(settled(owner, {park}), 1U);

  const auto row = look(written.id);
  EXPECT_EQ(row.state, State::quarantined);
  EXPECT_EQ(row.sequence, written.sequence);
  EXPECT_EQ(row.code, Code::tx_handler_failed);
  EXPECT_EQ(row.error, "no");
  EXPECT_EQ(stats().quarantined, 1U);
  EXPECT_TRUE(read_fresh().empty());
}

TEST_P(StoreConformance, AttemptIsWrittenAndTheRowStays) {
  const auto owner = own();
  const auto written = write(message());
  auto attempt = settlement(written, spi::Verdict::attempt, 4);
  attempt.code = Code::tx_timeout;
  attempt.error = "still running";

  EXPECT_EQ(settled(owner, {attempt}), 1U);

  const auto rows = read_fresh();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].attempts, 4U);
  EXPECT_EQ(look(written.id).state, State::pending);
  EXPECT_EQ(look(written.id).error, "still running");

  ASSERT_EQ(settled(owner, {settlement(written, spi::Verdict::attempt, 5)}), 1U);
  EXPECT_EQ(look(written.id).attempts, 5U);
  EXPECT_EQ(look(written.id).error, "still running") << "no error said, none written";
}

TEST_P(StoreConformance, AttemptsAreAbsolute) {
  const auto owner = own();
  const auto written = write(message());
  const auto attempt = settlement(written, spi::Verdict::attempt, 2);
  EXPECT_EQ(settled(owner, {attempt}), 1U);
  EXPECT_EQ(settled(owner, {attempt}), 1U);
  EXPECT_EQ(look(written.id).attempts, 2U);
  EXPECT_EQ(settled(owner, {settlement(written, spi::Verdict::attempt, 1)}), 1U);
  EXPECT_EQ(look(written.id).attempts, 1U) << "an attempt that was not made is taken back";
}

TEST_P(StoreConformance, SettlingWhatHasLeftChangesNothing) {
  const auto owner = own();
  for (const auto first : {spi::Verdict::done, spi::Verdict::dead, spi::Verdict::park}) {
    const auto written = write(message());
    ASSERT_EQ(settled(owner, {settlement(written, first, 1)}), 1U);
    const auto before = look(written.id);
    for (const auto again : {spi::Verdict::done, spi::Verdict::retry, spi::Verdict::dead,
                             spi::Verdict::park, spi::Verdict::attempt}) {
      const auto reply = settle(owner, {settlement(written, again, 9)});
      for (const auto& part : reply.parts) {
        EXPECT_TRUE(part.held);
        EXPECT_EQ(part.rows, 0U);
      }
    }
    EXPECT_EQ(look(written.id).state, before.state);
    EXPECT_EQ(look(written.id).attempts, 1U);
  }
  EXPECT_TRUE(read_fresh().empty());
}

TEST_P(StoreConformance, SettleNeedsTheRightId) {
  const auto owner = own();
  const auto written = write(message());
  auto wrong = settlement(written, spi::Verdict::done);
  wrong.id = message()->id();
  EXPECT_EQ(settled(owner, {wrong}), 0U);
  EXPECT_EQ(look(written.id).state, State::pending);
}

TEST_P(StoreConformance, OneWrongIdAmongManyIsLeftAlone) {
  const auto owner = own();
  for (const bool retain : {false, true}) {
    const auto written = write(messages(20));
    std::vector<spi::Settlement> items;
    for (const auto& one : written) items.push_back(settlement(one, spi::Verdict::done));
    items[7].id = message()->id();
    items.back().id = message()->id();
    EXPECT_EQ(settled(owner, items, retain), 18U);
    EXPECT_EQ(look(written[7].id).state, State::pending);
    EXPECT_EQ(look(written.back().id).state, State::pending);
    EXPECT_EQ(stats().pending, 2U);
    EXPECT_EQ(settled(owner,
                      {settlement(written[7], spi::Verdict::done),
                       settlement(written.back(), spi::Verdict::done)},
                      false),
              2U);
  }
  EXPECT_EQ(stats().pending, 0U);
  EXPECT_EQ(stats().done, 18U);
}

TEST_P(StoreConformance, OneSettleReachesEveryLaneInAnyOrder) {
  const auto owner = own();
  for (const bool retain : {false, true}) {
    std::vector<MessagePtr> drafts;
    for (int i = 0; i < 40; ++i) {
      NewMessage draft{.topic = "orders.order.placed.v1", .payload = json("{}")};
      draft.priority = static_cast<Priority>(i % 3);
      if (i % 5 == 4) draft.not_before = author_clock_.wall_now() + std::chrono::hours(24 * 365);
      drafts.push_back(build(std::move(draft)));
    }
    std::vector<spi::Settlement> items;
    for (const auto& one : write(drafts)) {
      const auto attempts = items.size() % 7 == 6 ? 2U : 1U;
      items.push_back(settlement(one, spi::Verdict::done, attempts));
    }
    std::reverse(items.begin() + 10, items.end());
    EXPECT_EQ(settled(owner, items, retain), 40U);
    EXPECT_EQ(stats().pending, 0U);
    EXPECT_EQ(stats().waiting, 0U);
    if (retain) {
      for (const auto& item : items) EXPECT_EQ(look(item.id).attempts, item.attempts);
    }
  }
}

TEST_P(StoreConformance, SequencesGoOnWhereTheLastOnesHaveLeft) {
  const auto owner = own();
  Sequence last{};
  std::uint64_t pending = 0;
  const auto next = [&] {
    const auto written = write(message());
    EXPECT_GT(written.sequence, last);
    last = written.sequence;
    EXPECT_EQ(stats().pending, ++pending);
    return written;
  };
  const auto leaves = [&](const char* how) {
    SCOPED_TRACE(how);
    EXPECT_EQ(stats().pending, --pending);
  };
  EXPECT_EQ(settled(owner, {settlement(next(), spi::Verdict::done)}), 1U);
  leaves("archived");
  EXPECT_EQ(settled(owner, {settlement(next(), spi::Verdict::done)}, false), 1U);
  leaves("deleted");
  end(owner, next(), spi::Verdict::dead);
  leaves("dead");
  const auto parked = next();
  end(owner, parked, spi::Verdict::park);
  leaves("parked");
  ASSERT_TRUE(moved(spi::Move::release, parked.id));
  EXPECT_EQ(stats().pending, ++pending);
  ASSERT_TRUE(moved(spi::Move::quarantine, next().id));
  leaves("quarantined");
  ASSERT_TRUE(moved(spi::Move::quarantine, parked.id));
  leaves("quarantined again");
  (void)next();
  EXPECT_EQ(purge(MessageState::pending).rows, 1U);
  leaves("purged");
  (void)next();
}

TEST_P(StoreConformance, OneSettleMixesVerdicts) {
  const auto owner = own();
  const auto written = write(messages(4));
  EXPECT_EQ(settled(owner, {settlement(written[0], spi::Verdict::done),
                            settlement(written[1], spi::Verdict::retry),
                            settlement(written[2], spi::Verdict::dead),
                            settlement(written[3], spi::Verdict::park)}),
            4U);
  EXPECT_EQ(look(written[0].id).state, State::done);
  EXPECT_EQ(look(written[1].id).state, State::waiting);
  EXPECT_EQ(look(written[2].id).state, State::dead);
  EXPECT_EQ(look(written[3].id).state, State::quarantined);
}

TEST_P(StoreConformance, SettleCountsRowsForEachFence) {
  if (shards() < 2) GTEST_SKIP() << "this store has one shard";
  auto owner = own();
  ASSERT_EQ(owner.fences.size(), shards());
  const auto a = write(messages(3, "a"));
  std::vector<Written> b;
  for (int i = 0; b.empty() || b[0].shard == a[0].shard; ++i) {
    b = write(messages(2, "b" + std::to_string(i)));
  }
  owner.fences = {owner.fences[b[0].shard.value], owner.fences[a[0].shard.value]};
  std::vector<spi::Settlement> items;
  for (const auto& row : a) items.push_back(settlement(row, spi::Verdict::done));
  for (const auto& row : b) items.push_back(settlement(row, spi::Verdict::done));

  const auto reply = settle(owner, items);

  ASSERT_EQ(reply.parts.size(), 2U);
  EXPECT_EQ(reply.parts[0].rows, 2U);
  EXPECT_EQ(reply.parts[1].rows, 3U);
}

TEST_P(StoreConformance, WrongEpochSettlesNothing) {
  auto owner = own();
  const auto written = write(message());
  for (auto& fence : owner.fences) ++fence.epoch.value;
  for (const auto& part : settle(owner, {settlement(written, spi::Verdict::done)}).parts) {
    EXPECT_FALSE(part.held);
    EXPECT_EQ(part.rows, 0U);
  }
  EXPECT_EQ(look(written.id).state, State::pending);
}

TEST_P(StoreConformance, WrongOwnerSettlesNothing) {
  auto owner = own();
  const auto written = write(message());
  owner.id = join();
  for (const auto& part : settle(owner, {settlement(written, spi::Verdict::done)}).parts) {
    EXPECT_FALSE(part.held);
    EXPECT_EQ(part.rows, 0U);
  }
  EXPECT_EQ(look(written.id).state, State::pending);
}

TEST_P(StoreConformance, ReleasedShardSettlesNothing) {
  const auto owner = own();
  const auto written = write(message());
  const spi::OwnedShard given{written.shard, owner.fences[written.shard.value].epoch, false};
  ownership().release(scope(), owner.id, std::span(&given, 1)).value();

  const auto reply = settle(owner, {settlement(written, spi::Verdict::done)});

  EXPECT_FALSE(reply.parts[written.shard.value].held);
  EXPECT_EQ(reply.parts[written.shard.value].rows, 0U);
  EXPECT_EQ(look(written.id).state, State::pending);
}

TEST_P(StoreConformance, StaleOwnerSettlesNothingAfterATakeOver) {
  const auto stale = own();
  const auto written = write(messages(2));
  fixture_->advance_time(ttl + seconds(1));
  const auto next = own();
  ASSERT_EQ(next.fences.size(), shards());

  for (const auto verdict : {spi::Verdict::done, spi::Verdict::retry, spi::Verdict::dead,
                             spi::Verdict::park, spi::Verdict::attempt}) {
    for (const auto& part : settle(stale, {settlement(written[0], verdict, 7)}).parts) {
      EXPECT_FALSE(part.held);
      EXPECT_EQ(part.rows, 0U);
    }
  }
  EXPECT_EQ(look(written[0].id).state, State::pending);
  EXPECT_EQ(look(written[0].id).attempts, 0U);
  EXPECT_EQ(settled(next, {settlement(written[0], spi::Verdict::done)}), 1U);
}

TEST_P(StoreConformance, ExpiredOwnerMaySettleUntilSomebodyTakesOver) {
  const auto owner = own();
  const auto written = write(message());
  fixture_->advance_time(ttl + seconds(1));
  EXPECT_EQ(settled(owner, {settlement(written, spi::Verdict::done)}), 1U);
}

TEST_P(StoreConformance, LostShardDoesNotHoldUpTheOthers) {
  if (shards() < 2) GTEST_SKIP() << "this store has one shard";
  const auto owner = own();
  const auto lost = write(message("a"));
  Written kept;
  for (int i = 0; kept.id.empty() || kept.shard == lost.shard; ++i) {
    kept = write(message("b" + std::to_string(i)));
  }
  const spi::OwnedShard given{lost.shard, owner.fences[lost.shard.value].epoch, false};
  ownership().release(scope(), owner.id, std::span(&given, 1)).value();

  const auto reply =
      settle(owner, {settlement(lost, spi::Verdict::done), settlement(kept, spi::Verdict::done)});

  EXPECT_FALSE(reply.parts[lost.shard.value].held);
  EXPECT_TRUE(reply.parts[kept.shard.value].held);
  EXPECT_EQ(reply.parts[kept.shard.value].rows, 1U);
  EXPECT_EQ(look(lost.id).state, State::pending);
  EXPECT_EQ(look(kept.id).state, State::done);
}

TEST_P(StoreConformance, SettleIsFencedByTheScopeItNames) {
  const auto written = write(message());
  // A store attaches no meaning to the name.
  const std::vector<spi::Scope> scopes{"saga:travel"};
  Owner owner{scopes[0], ids_.next<WorkerId>(), {}};
  (void)ownership().join(owner.id, ttl, scopes, shards()).value();
  for (const auto& taken : ownership().take(scopes[0], owner.id, shards()).value()) {
    owner.fences.push_back({taken.shard, taken.epoch});
  }
  owner.scope = scope();
  EXPECT_EQ(settled(owner, {settlement(written, spi::Verdict::done)}), 0U);
  EXPECT_EQ(look(written.id).state, State::pending);
  owner.scope = scopes[0];
  EXPECT_EQ(settled(owner, {settlement(written, spi::Verdict::done)}), 1U);
  EXPECT_EQ(look(written.id).state, State::done);
}

TEST_P(StoreConformance, ReplayIsFencedByTheScopeItNames) {
  auto replayer = own_replays();
  const auto job = control().create_job({.table = table_}).value();
  const spi::Fence fence{.shard = Shard{0}, .epoch = replayer.epoch};
  const auto held = [&](std::string_view in) {
    return control()
        .advance_job({.table = table_,
                      .job = job.id,
                      .fencing = {in, replayer.id, {&fence, 1}},
                      .rows_max = 1})
        ->held;
  };
  EXPECT_FALSE(held("replay:" + other_table_.str()));
  EXPECT_FALSE(held(scope()));
  EXPECT_TRUE(held(replay_scope()));
}

TEST_P(StoreConformance, ReadsSkipWhatWasSettled) {
  const auto owner = own();
  const auto written = write(messages(1000, "k"));
  std::vector<spi::Settlement> items;
  std::vector<std::string> left;
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (i % 3 == 1 || i == 999) {
      left.push_back(written[i].id.str());
    } else {
      items.push_back(settlement(written[i], spi::Verdict::done));
    }
  }
  std::ranges::reverse(items);
  ASSERT_EQ(settled(owner, items, false), items.size());

  EXPECT_EQ(ids_of(read_fresh()), left);
  const auto page = read({written[0].shard, lane_normal, written[498].sequence, 2});
  ASSERT_EQ(page.rows.size(), 2U);
  EXPECT_EQ(page.rows[0].sequence, written[499].sequence);
  EXPECT_EQ(page.rows[1].sequence, written[502].sequence);
}

TEST_P(StoreConformance, LargeSettleTellsOfRowsThatWereGoneAndOfShardsThatAreOthers) {
  const auto owner = own();
  const auto written = write(messages(600));
  std::vector<spi::Settlement> items;
  for (const auto& one : written) items.push_back(settlement(one, spi::Verdict::done));
  ASSERT_EQ(settled(owner, {items[7]}, false), 1U);
  EXPECT_EQ(settled(owner, items, false), items.size() - 1) << "one was gone";
  EXPECT_EQ(stats().pending, 0U);

  items.clear();
  for (const auto& one : write(messages(600))) items.push_back(settlement(one, spi::Verdict::done));
  auto stale = owner;
  for (auto& fence : stale.fences) ++fence.epoch.value;
  EXPECT_EQ(settled(stale, items, false), 0U) << "they are another's";
  EXPECT_EQ(stats().pending, items.size());
  EXPECT_EQ(settled(owner, items, false), items.size());
}

TEST_P(StoreConformance, LargeSettleThatKeepsWhatIsDone) {
  const auto owner = own();
  const auto written = write(messages(700));
  std::vector<spi::Settlement> items;
  for (const auto& one : written) items.push_back(settlement(one, spi::Verdict::done));
  std::ranges::stable_sort(items, {}, [](const auto& item) { return item.shard.value; });
  std::map<std::uint16_t, std::uint32_t> of_shard;
  for (const auto& item : items) ++of_shard[item.shard.value];
  const auto reply = settle(owner, items);
  ASSERT_EQ(reply.parts.size(), owner.fences.size());
  for (std::size_t at = 0; at < reply.parts.size(); ++at) {
    EXPECT_TRUE(reply.parts[at].held);
    EXPECT_EQ(reply.parts[at].rows, of_shard[owner.fences[at].shard.value]);
  }
  EXPECT_EQ(stats().pending, 0U);
  EXPECT_EQ(stats().done, items.size());
  EXPECT_EQ(settled(owner, items), 0U) << "again: they are gone";
}

TEST_P(StoreConformance, StatsCountEveryState) {
  const auto owner = own();
  EXPECT_EQ(stats().oldest_pending, std::nullopt);
  const auto start = stats().now;
  const auto written = write(messages(6));
  fixture_->advance_time(minutes(1));
  write(message());
  (void)settle(
      owner,
      {settlement(written[0], spi::Verdict::done), settlement(written[1], spi::Verdict::dead),
       settlement(written[2], spi::Verdict::park), settlement(written[3], spi::Verdict::retry)});

  const auto now = stats();
  EXPECT_EQ(now.pending, 4U);
  EXPECT_EQ(now.waiting, 1U);
  EXPECT_EQ(now.done, 1U);
  EXPECT_EQ(now.dead, 1U);
  EXPECT_EQ(now.quarantined, 1U);
  EXPECT_GE(now.now, start + minutes(1));
  ASSERT_TRUE(now.oldest_pending.has_value());
  EXPECT_LT(*now.oldest_pending, start + minutes(1));

  (void)settle(owner, {settlement(written[3], spi::Verdict::done),
                       settlement(written[4], spi::Verdict::done),
                       settlement(written[5], spi::Verdict::done)});
  EXPECT_EQ(stats().pending, 1U);
  ASSERT_TRUE(stats().oldest_pending.has_value());
  EXPECT_GE(*stats().oldest_pending, start + minutes(1));
}

}  // namespace
}  // namespace sagabox::conformance
