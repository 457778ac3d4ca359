#include "integration/admin/world.hpp"

namespace sagabox::integration {
namespace {

using Ids = std::vector<MessageId>;

TEST_F(AdminTest, ReplaySaysOfEachIdWhatHappened) {
  const Ids ids{dead("d1"), done("x1"), write({.id = "p1"}), id_of("unknown")};
  const Sequence before = record(ids[0]).sequence;
  clock_.advance(1h);
  const auto moved = admin().replay(orders_, ids).value();
  ASSERT_EQ(moved.size(), 4U);
  EXPECT_TRUE(moved[0].moved);
  EXPECT_EQ(moved[0].was, MessageState::dead);
  EXPECT_EQ(moved[0].text, "is pending again");
  EXPECT_TRUE(moved[1].moved);
  EXPECT_FALSE(moved[2].moved);
  EXPECT_EQ(moved[2].text, "is pending: only dead, quarantined or done messages can be replayed");
  EXPECT_EQ(moved[3].was, std::nullopt);
  EXPECT_EQ(moved[3].text, "is not there");
  const auto row = record(ids[0]);
  EXPECT_EQ(row.state, MessageState::pending);
  EXPECT_GT(row.sequence, before);
  EXPECT_EQ(row.attempts, 0U);
  EXPECT_EQ(row.replays, 1U);
  EXPECT_EQ(metrics_.counter_value("replay_total", {{"kind", "outbox"}}), 2);
}

TEST_F(AdminTest, AReplayIsAudited) {
  const auto id = dead("d1", {.tenant = "acme"});
  admin().replay(orders_, Ids{id}).value();
  const auto event = last_audit();
  EXPECT_EQ(event.kind, AuditKind::replayed);
  EXPECT_EQ(event.actor, "ann");
  EXPECT_EQ(event.message_id, "d1");
  EXPECT_EQ(event.tenant, "acme");
  EXPECT_EQ(event.digest, sha256(payload_));
  ASSERT_EQ(audit_.count(AuditKind::replayed), 1U);
  EXPECT_EQ(audit_.events().back(), event);
  EXPECT_EQ(log_.count("messages replayed"), 1U);
}

TEST_F(AdminTest, WhatDidNotMoveIsNotAudited) {
  const auto entries = audit_log().size();
  admin().replay(orders_, Ids{write({.id = "p1"}), id_of("unknown")}).value();
  EXPECT_EQ(audit_log().size(), entries);
  EXPECT_TRUE(audit_.events().empty());
  EXPECT_EQ(metrics_.counter_sum("replay_total"), 0);
}

TEST_F(AdminTest, IdsAreBoundedAndGivenOnce) {
  Admin ann = admin();
  EXPECT_EQ(why_not(ann.replay(orders_, Ids{})), "REQUEST.INVALID: ids: 0 given; give 1 to 1000");
  EXPECT_EQ(why_not(ann.release(orders_, Ids(1001, id_of("a")))),
            "REQUEST.INVALID: ids: 1001 given; give 1 to 1000");
  EXPECT_EQ(why_not(ann.replay(orders_, Ids{id_of("a"), id_of("b"), id_of("a")})),
            "REQUEST.INVALID: ids: \"a\" is given twice; give each once");
}

TEST_F(AdminTest, QuarantineNeedsANoteAndReleaseEndsIt) {
  const Ids ids{write({.id = "p1"}), dead("d1"), done("x1"), id_of("unknown")};
  const Sequence sequence = record(ids[0]).sequence;
  Admin ann = admin();
  EXPECT_EQ(why_not(ann.quarantine(orders_, ids, "")),
            "REQUEST.INVALID: note: empty; give 1 to 500 printable characters");
  EXPECT_EQ(state(ids[0]), MessageState::pending);

  const auto moved = ann.quarantine(orders_, ids, "wrong currency").value();
  EXPECT_EQ(moved[0].text, "is quarantined");
  EXPECT_EQ(moved[1].text, "is quarantined");
  EXPECT_EQ(moved[2].text, "is done: only pending or dead messages can be quarantined");
  EXPECT_EQ(moved[3].text, "is not there");
  EXPECT_EQ(record(ids[0]).note, "wrong currency");
  EXPECT_EQ(last_audit().kind, AuditKind::quarantined);
  EXPECT_EQ(last_audit().detail, "wrong currency");
  EXPECT_EQ(audit_.count(AuditKind::quarantined), 2U);

  const auto released = ann.release(orders_, ids).value();
  EXPECT_EQ(released[0].text, "is pending again");
  EXPECT_EQ(released[2].text, "is done: only quarantined messages can be released");
  EXPECT_EQ(record(ids[0]).sequence, sequence);
  EXPECT_EQ(last_audit().kind, AuditKind::released);
  EXPECT_EQ(audit_.count(AuditKind::released), 2U);
}

TEST_F(AdminTest, PausesSayWhetherAnythingChanged) {
  Admin ann = admin();
  EXPECT_TRUE(ann.pause_table(orders_, "broker upgrade").value());
  EXPECT_FALSE(ann.pause_table(orders_).value());
  EXPECT_TRUE(ann.pause_topic(orders_, "orders.order.placed.v1").value());
  const auto pauses = ann.pauses(orders_).value();
  ASSERT_EQ(pauses.size(), 2U);
  EXPECT_EQ(
      pauses[0],
      (Pause{.topic = "", .actor = "ann", .note = "broker upgrade", .since = clock_.wall_now()}));
  EXPECT_EQ(pauses[1].topic, "orders.order.placed.v1");
  EXPECT_EQ(audit_.count(AuditKind::paused), 2U);
  EXPECT_EQ(last_audit().kind, AuditKind::paused);

  EXPECT_TRUE(ann.resume_table(orders_).value());
  EXPECT_FALSE(ann.resume_table(orders_).value());
  EXPECT_TRUE(ann.resume_topic(orders_, "orders.order.placed.v1").value());
  EXPECT_TRUE(ann.pauses(orders_).value().empty());
  EXPECT_EQ(audit_.count(AuditKind::resumed), 2U);
  EXPECT_EQ(last_audit().kind, AuditKind::resumed);

  EXPECT_EQ(why_not(ann.pause_topic(orders_, "")),
            "REQUEST.INVALID: topic: empty; give 1 to 128 printable characters");
  EXPECT_EQ(why_not(ann.resume_topic(orders_, "")),
            "REQUEST.INVALID: topic: empty; give 1 to 128 printable characters");
  EXPECT_EQ(why_not(ann.pause_table(orders_, "a\nb")),
            "REQUEST.INVALID: note: byte 2 is not printable UTF-8; give 1 to 500 "
            "printable characters");
}

TEST_F(AdminTest, PreviewChangesNothing) {
  for (const auto* id : {"d1", "d2", "d3"}) dead(id);
  const auto entries = audit_log().size();
  const auto preview = admin().preview_replay(orders_, {}, 2).value();
  EXPECT_EQ(preview.matched, 3U);
  ASSERT_EQ(preview.first.size(), 2U);
  EXPECT_EQ(preview.first[0].id, id_of("d1"));
  EXPECT_EQ(preview.first[0].message, nullptr);
  EXPECT_EQ(state(id_of("d1")), MessageState::dead);
  EXPECT_EQ(audit_log().size(), entries);
  EXPECT_TRUE(admin().jobs(orders_).value().empty());
  EXPECT_EQ(why_not(admin().preview_replay(orders_, {.from = MessageState::pending})),
            "REQUEST.INVALID: pending messages need no replay; replay dead, quarantined "
            "or done ones");
}

TEST_F(AdminTest, PreviewSaysWhatConsumersSkipAndWhatTheyNoLongerKnow) {
  const auto notes = [&](const ReplayOrder& order) {
    const auto preview = admin().preview_replay(orders_, order).value();
    std::string text = std::to_string(preview.older_than_window);
    for (const auto& note : preview.notes) text += "; " + note;
    return text;
  };
  const ReplayOrder delivered{.from = MessageState::done, .filter = {.first = Sequence{0}}};
  EXPECT_EQ(notes(delivered), "0") << "nothing fits";
  settle(write({.id = "o1"}), spi::Verdict::done);
  settle(write({.id = "o2"}), spi::Verdict::dead);
  EXPECT_EQ(notes({}), "0");
  EXPECT_EQ(notes(delivered),
            "0; consumers that ask an inbox skip what they have handled; replay them as new to "
            "have them handled again");
  auto as_new = delivered;
  as_new.as_new = true;
  EXPECT_EQ(notes(as_new), "0; consumers that ask an inbox handle them again, as new messages");
  clock_.advance(8 * 24h + 1s);
  settle(write({.id = "y1"}), spi::Verdict::dead);
  EXPECT_EQ(notes({}),
            "1; 1 of them ended longer ago than inboxes keep keys: consumers may handle them a "
            "second time");
  EXPECT_EQ(notes({.as_new = true}),
            "1; consumers that ask an inbox handle them again, as new messages");
}

TEST_F(AdminTest, PreviewIsRightAboutMessagesThatWereReplayedBefore) {
  const auto handle = [&] {
    const IdempotencyKey key{.consumer = "billing", .key = "default:o1"};
    return store_.transaction([&](OwnedTransaction& tx) { return tx.inbox().first_time(key); })
        .value();
  };
  const ReplayOrder delivered{.from = MessageState::done, .filter = {.first = Sequence{0}}};
  const auto id = write({.id = "o1"});
  EXPECT_TRUE(handle());
  settle(id, spi::Verdict::done);
  clock_.advance(7 * 24h);
  admin().replay(orders_, std::vector{id}).value();
  EXPECT_FALSE(handle());
  settle(id, spi::Verdict::done);
  clock_.advance(7 * 24h);
  store_.inbox()->purge({}).value();
  EXPECT_EQ(admin().preview_replay(orders_, delivered).value().older_than_window, 0U);
  EXPECT_FALSE(handle()) << "as the preview says";
  clock_.advance(9 * 24h);
  store_.inbox()->purge({}).value();
  EXPECT_EQ(admin().preview_replay(orders_, delivered).value().older_than_window, 1U);
  EXPECT_TRUE(handle()) << "as the preview warns";
}

TEST_F(AdminTest, ReplayJobsStartStopAndResume) {
  dead("d1");
  dead("d2", {.topic = "orders.order.cancelled.v1"});
  Admin ann = admin();
  const auto job =
      ann.start_replay(orders_, {.filter = {.topic = "orders.order.placed.v1"}, .rate_max = 50})
          .value();
  EXPECT_EQ(job.matched, 1U);
  EXPECT_EQ(job.rate_max, 50U);
  EXPECT_EQ(job.actor, "ann");
  EXPECT_EQ(job.state, ReplayJob::State::running);
  EXPECT_EQ(last_audit().kind, AuditKind::tx_replay_requested);
  EXPECT_EQ(ann.jobs(orders_).value(), std::vector{job});
  EXPECT_EQ(ann.job(orders_, job.id).value(), job);

  EXPECT_EQ(why_not(ann.resume_replay(orders_, job.id)),
            "TX.INVALID_STATE: replay job 1 is running: only stopped and failed jobs can be "
            "resumed");
  EXPECT_EQ(ann.stop_replay(orders_, job.id).value().state, ReplayJob::State::stopped);
  EXPECT_EQ(last_audit().kind, AuditKind::replay_stopped);
  EXPECT_EQ(why_not(ann.stop_replay(orders_, job.id)),
            "TX.INVALID_STATE: replay job 1 is stopped: only running jobs can be stopped");
  EXPECT_EQ(ann.resume_replay(orders_, job.id).value().state, ReplayJob::State::running);
  EXPECT_EQ(last_audit().kind, AuditKind::replay_resumed);
  EXPECT_EQ(audit_.count(AuditKind::tx_replay_requested), 1U);
  EXPECT_EQ(audit_.count(AuditKind::replay_stopped), 1U);
  EXPECT_EQ(audit_.count(AuditKind::replay_resumed), 1U);
}

TEST_F(AdminTest, WrongReplayJobsAreRefused) {
  Admin ann = admin();
  EXPECT_EQ(why_not(ann.job(orders_, ReplayJobId{7})),
            "REQUEST.NOT_FOUND: replay job 7 is not there; table \"orders\" has no replay "
            "jobs");
  ann.start_replay(orders_, {}).value();
  EXPECT_EQ(why_not(ann.stop_replay(orders_, ReplayJobId{7})),
            "REQUEST.NOT_FOUND: replay job 7 is not there; the latest of table \"orders\" "
            "is 1");
  EXPECT_EQ(why_not(ann.start_replay(orders_, {.from = MessageState::done})),
            "REQUEST.INVALID: a replay delivers done messages again: say which by a "
            "sequence range (first, last) or a time range (from, until)");
  const WallTime now = clock_.wall_now();
  EXPECT_EQ(why_not(ann.start_replay(orders_, {.filter = {.from = now, .until = now}})),
            "REQUEST.INVALID: filter: nothing lies between 2026-01-01T00:00:00.000Z and "
            "2026-01-01T00:00:00.000Z; from must be before until");
  EXPECT_EQ(ann.jobs(orders_).value().size(), 1U);
}

TEST_F(AdminTest, DoneMessagesAreReplayedByRange) {
  done("x1");
  done("x2");
  const Sequence second = record(id_of("x2")).sequence;
  const auto job =
      admin()
          .start_replay(orders_, {.from = MessageState::done, .filter = {.first = second}})
          .value();
  EXPECT_EQ(job.matched, 1U);
  EXPECT_EQ(job.from, MessageState::done);
}

TEST_F(AdminTest, PurgeCountsInADryRunAndDeletesInBatches) {
  for (const auto* id : {"x1", "x2", "x3", "x4", "x5"}) done(id);
  clock_.advance(48h);
  done("young");
  Admin ann = admin();
  const PurgeOrder order{.state = MessageState::done, .older_than = 48h, .batch_rows = 2};
  PurgeOrder dry = order;
  dry.dry_run = true;
  EXPECT_EQ(ann.purge(orders_, dry).value().rows, 5U);
  EXPECT_EQ(ann.count(orders_, MessageState::done, {}).value(), 6U);

  std::vector<std::uint64_t> progress;
  const auto purged = ann.purge(orders_, order,
                                [&](std::uint64_t rows) {
                                  progress.push_back(rows);
                                  return true;
                                })
                          .value();
  EXPECT_EQ(purged.rows, 5U);
  EXPECT_FALSE(purged.stopped);
  EXPECT_EQ(progress, (std::vector<std::uint64_t>{2, 4, 5}));
  EXPECT_EQ(ann.count(orders_, MessageState::done, {}).value(), 1U);
  EXPECT_EQ(last_audit().kind, AuditKind::purged);
  EXPECT_EQ(last_audit().actor, "ann");
  ASSERT_EQ(audit_.count(AuditKind::purged), 1U);
  EXPECT_EQ(audit_.events().back().detail, "5 done messages older than 172800s");
  ASSERT_EQ(log_.count("messages purged"), 1U);
  EXPECT_EQ(log_.lines().back().fields.at("rows"), "5");
}

TEST_F(AdminTest, PurgeStopsWhenItsCallerSaysSo) {
  for (const auto* id : {"d1", "d2", "d3"}) dead(id);
  const auto purged =
      admin()
          .purge(orders_, {.state = MessageState::dead, .older_than = 0s, .batch_rows = 1},
                 [](std::uint64_t rows) { return rows < 2; })
          .value();
  EXPECT_EQ(purged.rows, 2U);
  EXPECT_TRUE(purged.stopped);
  EXPECT_EQ(admin().count(orders_, MessageState::dead, {}).value(), 1U);
}

TEST_F(AdminTest, PurgeDoesNotLosePendingMessagesByMistake) {
  write({.id = "p1"});
  Admin ann = admin();
  EXPECT_EQ(why_not(ann.purge(orders_, {.state = MessageState::pending, .older_than = 0s})),
            "REQUEST.INVALID: pending messages have not been delivered and would be lost; "
            "set force_pending if that is meant, or quarantine them");
  EXPECT_EQ(
      ann.purge(orders_, {.state = MessageState::pending, .older_than = 0s, .force_pending = true})
          .value()
          .rows,
      1U);
  EXPECT_EQ(why_not(ann.purge(orders_, {})),
            "REQUEST.INVALID: older_than is not given; say how old messages must be, 0 for "
            "all of them");
  EXPECT_EQ(why_not(ann.purge(orders_, {.older_than = -1s})),
            "REQUEST.INVALID: older_than: -1s; give 0 to 100 years");
  EXPECT_EQ(why_not(ann.purge(orders_, {.older_than = 0s, .batch_rows = 0})),
            "REQUEST.INVALID: batch_rows: 0; give 1 to 10000");
}

TEST_F(AdminTest, AFailingPurgeSaysHowFarItCame) {
  for (const auto* id : {"x1", "x2", "x3"}) done(id);
  int calls = 0;
  store_.set_faults([&](memory::Operation operation) {
    const bool second = operation == memory::Operation::purge && ++calls == 2;
    return second ? memory::Fault::refused : memory::Fault::none;
  });
  const auto purged = admin().purge(orders_, {.older_than = 0s, .batch_rows = 2});
  ASSERT_FALSE(purged.ok());
  EXPECT_EQ(purged.error().code, Code::storage_unavailable);
  EXPECT_TRUE(purged.error().message.ends_with(" (2 messages were purged before)"))
      << purged.error().message;
  ASSERT_EQ(audit_.events().size(), 1U) << "two messages are gone, whatever came after";
  EXPECT_EQ(audit_.events().front().kind, AuditKind::purged);
  EXPECT_TRUE(audit_.events().front().detail.starts_with("2 done messages"));
}

TEST_F(AdminTest, ActsFailWithTheStore) {
  const auto id = dead("d1");
  store_.set_faults([](memory::Operation operation) {
    return operation == memory::Operation::look ? memory::Fault::none : memory::Fault::lost_after;
  });
  Admin ann = admin();
  EXPECT_EQ(ann.replay(orders_, Ids{id}).error().code, Code::storage_in_doubt);
  EXPECT_EQ(ann.pause_table(orders_).error().code, Code::storage_in_doubt);
  EXPECT_EQ(ann.start_replay(orders_, {}).error().code, Code::storage_in_doubt);
  EXPECT_TRUE(audit_.events().empty());
  EXPECT_EQ(metrics_.counter_sum("replay_total"), 0);
}

}  // namespace
}  // namespace sagabox::integration
