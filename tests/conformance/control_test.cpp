#include "conformance/store_conformance.hpp"

#include <algorithm>

namespace sagabox::conformance {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using JobState = ReplayJob::State;

TEST_P(StoreConformance, PausesOfTableAndTopicsAreSeenByAll) {
  const auto start = stats().now;
  const auto pause = [&](const std::string& topic, bool paused) {
    return control()
        .set_pause({.table = table_,
                    .topic = topic,
                    .paused = paused,
                    .actor = "ann",
                    .note = "broker upgrade"})
        .value();
  };
  EXPECT_TRUE(control().controls(table_).value().pauses.empty());

  EXPECT_TRUE(pause("", true));
  EXPECT_TRUE(pause("a.b.c.v1", true));
  EXPECT_FALSE(pause("a.b.c.v1", true)) << "it was so already";

  auto pauses = control().controls(table_).value().pauses;
  ASSERT_EQ(pauses.size(), 2U);
  std::ranges::sort(pauses, {}, &Pause::topic);
  EXPECT_EQ(pauses[0].topic, "");
  EXPECT_EQ(pauses[1].topic, "a.b.c.v1");
  EXPECT_EQ(pauses[1].actor, "ann");
  EXPECT_EQ(pauses[1].note, "broker upgrade");
  EXPECT_GE(pauses[1].since, start);
  EXPECT_TRUE(control().controls(other_table_).value().pauses.empty());

  EXPECT_TRUE(pause("", false));
  EXPECT_FALSE(pause("", false));
  pauses = control().controls(table_).value().pauses;
  ASSERT_EQ(pauses.size(), 1U);
  EXPECT_EQ(pauses[0].topic, "a.b.c.v1");
}

TEST_P(StoreConformance, JobFixesWhatItReplaysAtItsStart) {
  const auto owner = own();
  const auto written = write(messages(4));
  for (const auto& row : written) end(owner, row, spi::Verdict::dead);
  write(message());

  const auto job = control()
                       .create_job({.table = table_,
                                    .filter = {.last = written[2].sequence},
                                    .rate_max = 50,
                                    .actor = "ann"})
                       .value();

  EXPECT_EQ(job.table, table_.str());
  EXPECT_EQ(job.state, JobState::running);
  EXPECT_EQ(job.from, MessageState::dead);
  EXPECT_EQ(job.filter, (MessageFilter{.last = written[2].sequence}));
  EXPECT_EQ(job.matched, 3U);
  EXPECT_EQ(job.replayed, 0U);
  EXPECT_EQ(job.last, written[2].sequence);
  EXPECT_LT(job.cursor, written[0].sequence);
  EXPECT_EQ(job.rate_max, 50U);
  EXPECT_EQ(job.actor, "ann");
  EXPECT_EQ(control().jobs(table_).value(), std::vector{job});
  EXPECT_TRUE(control().jobs(other_table_).value().empty());
  EXPECT_EQ(stats().dead, 4U) << "nothing is replayed yet";

  const auto second = control().create_job({.table = table_}).value();
  EXPECT_GT(second.id, job.id);
  EXPECT_EQ(control().jobs(table_).value(), (std::vector{job, second}));
}

TEST_P(StoreConformance, PendingMessagesAreNoJob) {
  const auto refused = control().create_job({.table = table_, .from = MessageState::pending});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::config_invalid);
  EXPECT_TRUE(control().jobs(table_).value().empty());
}

TEST_P(StoreConformance, JobGoesOnBatchByBatchUntilNothingIsLeft) {
  const auto owner = own();
  const auto written = write(messages(5, "k"));
  for (const auto& row : written) end(owner, row, spi::Verdict::dead);
  const auto replayer = own_replays();
  const auto job = control().create_job({.table = table_}).value();

  const auto first = advance(replayer, job.id, 2);
  EXPECT_TRUE(first.held);
  EXPECT_EQ(first.rows, 2U);
  EXPECT_EQ(first.job.state, JobState::running);
  EXPECT_EQ(first.job.cursor, written[1].sequence);
  EXPECT_EQ(first.job.replayed, 2U);
  EXPECT_EQ(control().jobs(table_).value().at(0), first.job);
  EXPECT_EQ(ids_of(list(MessageState::dead)),
            ids_of(std::vector(written.begin() + 2, written.end())));
  EXPECT_EQ(ids_of(read_fresh()), ids_of(std::vector(written.begin(), written.begin() + 2)));
  EXPECT_EQ(record(written[0].id).replays, 1U);

  EXPECT_EQ(advance(replayer, job.id, 2).rows, 2U);
  const auto last = advance(replayer, job.id, 2);
  EXPECT_EQ(last.rows, 1U);
  EXPECT_EQ(last.job.state, JobState::finished);
  EXPECT_EQ(last.job.replayed, 5U);
  EXPECT_EQ(last.job.cursor, last.job.last);
  EXPECT_EQ(ids_of(read_fresh()), ids_of(written)) << "in order";

  const auto after = advance(replayer, job.id);
  EXPECT_TRUE(after.held);
  EXPECT_EQ(after.rows, 0U);
  EXPECT_EQ(after.job, last.job) << "a finished job does nothing";
}

TEST_P(StoreConformance, JobReplaysOnlyWhatFits) {
  const auto owner = own();
  const auto a = write(build({.tenant = "acme"}));
  const auto b = write(build({.tenant = "other"}));
  const auto done = write(build({.tenant = "acme"}));
  end(owner, a, spi::Verdict::dead);
  end(owner, b, spi::Verdict::dead);
  end(owner, done, spi::Verdict::done);
  const auto replayer = own_replays();
  const auto job = control().create_job({.table = table_, .filter = {.tenant = "acme"}}).value();
  EXPECT_EQ(job.matched, 1U);

  const auto reply = advance(replayer, job.id);

  EXPECT_EQ(reply.rows, 1U);
  EXPECT_EQ(reply.job.state, JobState::finished);
  EXPECT_EQ(record(a.id).state, MessageState::pending);
  EXPECT_EQ(record(b.id).state, MessageState::dead);
  EXPECT_EQ(record(done.id).state, MessageState::done);
}

TEST_P(StoreConformance, JobOfDoneMessagesReplaysTheArchive) {
  const auto owner = own();
  const auto written = write(messages(3));
  for (const auto& row : written) end(owner, row, spi::Verdict::done);
  const auto replayer = own_replays();
  const auto job = control()
                       .create_job({.table = table_,
                                    .from = MessageState::done,
                                    .filter = {.first = written[1].sequence}})
                       .value();
  EXPECT_EQ(advance(replayer, job.id).rows, 2U);
  EXPECT_EQ(stats().done, 1U);
  EXPECT_EQ(record(written[0].id).state, MessageState::done);
}

TEST_P(StoreConformance, JobWithoutMatchesFinishesAtOnce) {
  const auto replayer = own_replays();
  const auto job = control().create_job({.table = table_}).value();
  EXPECT_EQ(job.matched, 0U);
  const auto reply = advance(replayer, job.id);
  EXPECT_EQ(reply.rows, 0U);
  EXPECT_EQ(reply.job.state, JobState::finished);
}

TEST_P(StoreConformance, WhatDiesAgainIsNotReplayedAgain) {
  const auto owner = own();
  const auto written = write(messages(4));
  for (const auto& row : written) end(owner, row, spi::Verdict::dead);
  const auto replayer = own_replays();
  const auto job = control().create_job({.table = table_}).value();
  std::uint32_t batches = 0;
  for (auto state = JobState::running; state == JobState::running;) {
    ASSERT_LE(++batches, 5U) << "it goes round in circles";
    const auto reply = advance(replayer, job.id, 1);
    state = reply.job.state;
    for (const auto& row : read_fresh()) {
      ASSERT_EQ(settled(owner, {{.sequence = row.sequence,
                                 .shard = row.shard,
                                 .id = row.id,
                                 .verdict = spi::Verdict::dead,
                                 .attempts = 1}}),
                1U);
    }
  }
  EXPECT_EQ(control().jobs(table_).value().at(0).replayed, 4U);
  EXPECT_EQ(stats().dead, 4U);
  for (const auto& row : written) EXPECT_EQ(record(row.id).replays, 1U);
}

TEST_P(StoreConformance, JobIsStoppedAndResumedWhereItWas) {
  const auto owner = own();
  const auto written = write(messages(4));
  for (const auto& row : written) end(owner, row, spi::Verdict::dead);
  const auto replayer = own_replays();
  const auto job = control().create_job({.table = table_}).value();
  (void)advance(replayer, job.id, 1);
  const auto change = [&](JobState to, std::string error = {}) {
    return control().change_job(
        {.table = table_, .job = job.id, .to = to, .actor = "bob", .error = std::move(error)});
  };

  const auto stopped = change(JobState::stopped).value();
  EXPECT_EQ(stopped.state, JobState::stopped);
  const auto nothing = advance(replayer, job.id);
  EXPECT_TRUE(nothing.held);
  EXPECT_EQ(nothing.rows, 0U);
  EXPECT_EQ(nothing.job, stopped);
  EXPECT_EQ(stats().dead, 3U);

  EXPECT_EQ(change(JobState::running).value().state, JobState::running);
  EXPECT_EQ(advance(replayer, job.id, 1).rows, 1U);

  const auto failed = change(JobState::failed, "the store is full").value();
  EXPECT_EQ(failed.state, JobState::failed);
  EXPECT_EQ(failed.error, "the store is full");
  EXPECT_EQ(advance(replayer, job.id).rows, 0U);
  EXPECT_EQ(change(JobState::running).value().error, "");
  EXPECT_EQ(advance(replayer, job.id).rows, 2U);
  EXPECT_EQ(control().jobs(table_).value().at(0).replayed, 4U);
}

TEST_P(StoreConformance, JobRefusesWhatItsStateDoesNotAllow) {
  const auto replayer = own_replays();
  const auto job = control().create_job({.table = table_}).value();
  const auto code = [&](JobState to) {
    const auto result = control().change_job({.table = table_, .job = job.id, .to = to});
    return result.ok() ? std::optional<Code>() : result.error().code;
  };
  EXPECT_EQ(code(JobState::running), Code::tx_invalid_state) << "it runs";
  EXPECT_EQ(code(JobState::finished), Code::config_invalid) << "nobody can say that";
  EXPECT_EQ(code(JobState::stopped), std::nullopt);
  EXPECT_EQ(code(JobState::stopped), Code::tx_invalid_state);
  EXPECT_EQ(code(JobState::failed), Code::tx_invalid_state);
  EXPECT_EQ(code(JobState::running), std::nullopt);
  ASSERT_EQ(advance(replayer, job.id).job.state, JobState::finished);
  for (const auto to : {JobState::running, JobState::stopped, JobState::failed}) {
    EXPECT_EQ(code(to), Code::tx_invalid_state) << "it is finished";
  }
}

TEST_P(StoreConformance, UnknownJobIsSaidSo) {
  const auto replayer = own_replays();
  const auto missing = control().change_job({.table = table_, .job = ReplayJobId{7}});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, Code::config_invalid);
  EXPECT_EQ(missing.error().message, "there is no replay job 7 in table \"orders\"");
  const spi::Fence fence{.shard = Shard{0}, .epoch = replayer.epoch};
  const auto advanced =
      control().advance_job({.table = table_,
                             .job = ReplayJobId{7},
                             .fencing = {replay_scope(), replayer.id, {&fence, 1}},
                             .rows_max = 1});
  ASSERT_FALSE(advanced.ok());
  EXPECT_EQ(advanced.error().code, Code::config_invalid);
}

TEST_P(StoreConformance, JobGoesOnInOtherHandsAndAStaleOwnerChangesNothing) {
  const auto owner = own();
  const auto written = write(messages(4));
  for (const auto& row : written) end(owner, row, spi::Verdict::dead);
  const auto stale = own_replays();
  const auto job = control().create_job({.table = table_}).value();
  ASSERT_EQ(advance(stale, job.id, 1).rows, 1U);
  fixture_->advance_time(ttl + seconds(1));
  const auto next = own_replays();
  const auto before = log_end();

  const auto refused = advance(stale, job.id, 1);
  EXPECT_FALSE(refused.held);
  EXPECT_EQ(refused.rows, 0U);
  EXPECT_EQ(stats().dead, 3U);
  EXPECT_EQ(control().jobs(table_).value().at(0).replayed, 1U);
  EXPECT_EQ(log_end(), before);
  EXPECT_FALSE(advance({next.id, stale.epoch}, job.id, 1).held) << "the right worker, long ago";

  const auto rest = advance(next, job.id);
  EXPECT_TRUE(rest.held);
  EXPECT_EQ(rest.rows, 3U);
  EXPECT_EQ(rest.job.replayed, 4U);
  EXPECT_EQ(rest.job.state, JobState::finished);
}

TEST_P(StoreConformance, ReplayOwnerIsNotTheRelays) {
  const auto relay = own();
  const auto job = control().create_job({.table = table_}).value();
  EXPECT_FALSE(advance({relay.id, relay.fences[0].epoch}, job.id).held);
  EXPECT_EQ(control().jobs(table_).value().at(0).state, JobState::running);
}

}  // namespace
}  // namespace sagabox::conformance
