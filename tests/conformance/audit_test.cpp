#include "conformance/store_conformance.hpp"

#include <sagabox/admin.hpp>

#include <algorithm>

namespace sagabox::conformance {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

std::vector<AuditKind> kinds_of(const std::vector<AuditEntry>& entries) {
  std::vector<AuditKind> kinds;
  for (const auto& entry : entries) kinds.push_back(entry.event.kind);
  return kinds;
}

TEST_P(StoreConformance, EmptyAuditLogEndsAtNothing) {
  EXPECT_EQ(audit().head().value(), AuditHead{});
  EXPECT_TRUE(log().empty());
}

TEST_P(StoreConformance, AuditLogKeepsWhatWasAppendedInAnUnbrokenChain) {
  AuditEvent event{.kind = AuditKind::retry,
                   .at = WallTime(seconds(1'767'225'600)) + std::chrono::microseconds(123'456),
                   .table = "orders",
                   .tenant = "acme",
                   .topic = "a.b.c.v1",
                   .message_id = "m-1",
                   .attempt = 3,
                   .digest = sha256("x"),
                   .traceparent = "00-11111111111111111111111111111111-2222222222222222-01",
                   .code = "TX.TIMEOUT",
                   .detail = "too slow: 5 s, \"quoted\", ünïcode",
                   .actor = "ann"};
  std::vector events{event};
  events.push_back({.kind = AuditKind::backoff, .at = event.at});
  const auto head = audit().append(events).value();
  event.detail = "later";
  const auto end = audit().append(std::span(&event, 1)).value();

  EXPECT_EQ(head.number, 2U);
  EXPECT_EQ(end.number, 3U);
  EXPECT_EQ(audit().head().value(), end);
  const auto entries = log();
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries[0].event, events[0]);
  EXPECT_EQ(entries[1].event, events[1]);
  EXPECT_EQ(entries[2].event, event);
  AuditVerifier verifier;
  for (const auto& entry : entries) EXPECT_EQ(verifier.next(entry), "");
  EXPECT_EQ(verifier.end(end), "");
  EXPECT_EQ(audit().append({}).value(), end) << "nothing appended, nothing changed";
}

TEST_P(StoreConformance, AuditLogIsReadInPages) {
  const std::vector<AuditEvent> events(5);
  (void)audit().append(events).value();
  const auto page = audit().read(1, 2).value();
  ASSERT_EQ(page.size(), 2U);
  EXPECT_EQ(page[0].number, 2U);
  EXPECT_EQ(page[1].number, 3U);
  EXPECT_EQ(audit().read(3, 10).value().size(), 2U);
  EXPECT_TRUE(audit().read(5, 10).value().empty());
  EXPECT_TRUE(audit().read(99, 10).value().empty());
  EXPECT_TRUE(audit().read(0, 0).value().empty());
}

/// Whatever is removed is missed, whether an anchor was kept or not, and wherever it is.
TEST_P(StoreConformance, RemovedAuditEntriesAreMissed) {
  const auto admin = Admin::open(fixture_->store(), {.actor = "ann"}).value();
  (void)audit().append(std::vector<AuditEvent>(4)).value();
  const auto anchor = admin.verify_audit().value().head;
  (void)audit().append(std::vector<AuditEvent>(3)).value();
  const auto whole = admin.verify_audit(anchor).value();
  EXPECT_EQ(whole.entries, 7U) << "from the first on";
  EXPECT_EQ(whole.problems_found, 0U);

  fixture_->remove_audit(2, 3);
  EXPECT_EQ(admin.verify_audit().value().problems_found, 1U);
  EXPECT_EQ(admin.verify_audit(anchor).value().problems_found, 1U) << "before the anchor";
  fixture_->remove_audit(4, 4);
  EXPECT_EQ(admin.verify_audit(anchor).value().problems,
            (std::vector<std::string>{"entry 5: 3 entries are missing before it",
                                      "entry 4, which the anchor names, is missing"}));
  fixture_->remove_audit(1, 7);
  const auto emptied = admin.verify_audit(anchor).value();
  EXPECT_EQ(emptied.entries, 0U);
  EXPECT_EQ(emptied.problems_found, 2U) << "the head is left";
  EXPECT_EQ(admin.verify_audit(emptied.head).value().problems_found, 2U);
}

TEST_P(StoreConformance, DeadLetterIsInTheAuditLogOnce) {
  const auto owner = own();
  const auto sent =
      build({.topic = "a.b.c.v1",
             .payload = json("{\"card\":\"4111\"}"),
             .tenant = "acme",
             .trace = {.traceparent = "00-11111111111111111111111111111111-2222222222222222-01"}});
  const auto written = write(sent);
  const auto now = stats().now;
  auto dead = settlement(written, spi::Verdict::dead, 10);
  dead.code = Code::provider_rejected;
  dead.error = "422 from the other side";

  ASSERT_EQ(settled(owner, {dead}), 1U);
  ASSERT_EQ(settled(owner, {dead}), 0U) << "repeated";

  const auto entries = log();
  ASSERT_EQ(entries.size(), 1U);
  const auto& event = entries[0].event;
  EXPECT_EQ(event.kind, AuditKind::dead_letter);
  EXPECT_GE(event.at, now);
  EXPECT_EQ(event.table, "orders");
  EXPECT_EQ(event.tenant, "acme");
  EXPECT_EQ(event.topic, "a.b.c.v1");
  EXPECT_EQ(event.message_id, written.id.str());
  EXPECT_EQ(event.attempt, 10U);
  EXPECT_EQ(event.digest, sent->digest());
  EXPECT_EQ(event.traceparent, sent->trace().traceparent);
  EXPECT_EQ(event.code, "PROVIDER.REJECTED");
  EXPECT_EQ(event.detail, "422 from the other side");
  EXPECT_EQ(event.actor, "") << "the engine";
}

TEST_P(StoreConformance, LongErrorIsCutInTheAuditLog) {
  const auto owner = own();
  auto dead = settlement(write(message()), spi::Verdict::dead, 1);
  dead.error = std::string(2'000, 'e');
  ASSERT_EQ(settled(owner, {dead}), 1U);
  const auto detail = log().at(0).event.detail;
  EXPECT_LE(detail.size(), 512U);
  EXPECT_GE(detail.size(), 100U);
}

TEST_P(StoreConformance, OrdinaryLifeCostsNoAuditEntry) {
  const auto owner = own();
  const auto written = write(messages(3));
  end(owner, written[0], spi::Verdict::done);
  end(owner, written[1], spi::Verdict::retry);
  end(owner, written[2], spi::Verdict::attempt);
  fixture_->advance_time(minutes(1));
  EXPECT_EQ(purge(MessageState::done).rows, 1U) << "by the retention";
  EXPECT_TRUE(log().empty());
}

TEST_P(StoreConformance, StaleOwnersDeathsAreNotAudited) {
  const auto stale = own();
  const auto written = write(message());
  fixture_->advance_time(ttl + seconds(1));
  (void)own();
  EXPECT_EQ(settled(stale, {settlement(written, spi::Verdict::dead)}), 0U);
  EXPECT_TRUE(log().empty());
}

TEST_P(StoreConformance, EveryMovedMessageIsInTheAuditLog) {
  const auto owner = own();
  const auto sent = build({.topic = "a.b.c.v1", .tenant = "acme"});
  const auto written = write(sent);
  const auto other = write(message());
  end(owner, written, spi::Verdict::park);
  end(owner, other, spi::Verdict::park);

  (void)move(spi::Move::release, {written.id, other.id, message()->id()}, "fixed");
  (void)move(spi::Move::release, {written.id}, "not quarantined any more");
  (void)move(spi::Move::quarantine, {written.id}, "not yet");
  (void)move(spi::Move::replay, {written.id}, "now");

  const auto entries = log();
  EXPECT_EQ(kinds_of(entries), (std::vector{AuditKind::released, AuditKind::released,
                                            AuditKind::quarantined, AuditKind::replayed}));
  const auto& event = entries.at(0).event;
  EXPECT_EQ(event.actor, "ann");
  EXPECT_EQ(event.detail, "fixed");
  EXPECT_EQ(event.table, "orders");
  EXPECT_EQ(event.tenant, "acme");
  EXPECT_EQ(event.topic, "a.b.c.v1");
  EXPECT_EQ(event.message_id, written.id.str());
  EXPECT_EQ(event.digest, sent->digest());
  EXPECT_EQ(entries.at(1).event.message_id, other.id.str());
  EXPECT_EQ(entries.at(2).event.detail, "not yet");
}

TEST_P(StoreConformance, OperatorsPurgeIsInTheAuditLog) {
  const auto owner = own();
  const auto written = write(messages(2));
  for (const auto& row : written) end(owner, row, spi::Verdict::done);
  fixture_->advance_time(minutes(1));
  EXPECT_EQ(purge(MessageState::done, {}, "ann").rows, 2U);
  const auto entries = log();
  EXPECT_EQ(kinds_of(entries), (std::vector{AuditKind::purged, AuditKind::purged}));
  EXPECT_EQ(entries.at(0).event.message_id, written[0].id.str());
  EXPECT_EQ(entries.at(0).event.actor, "ann");
}

TEST_P(StoreConformance, PausesAreInTheAuditLog) {
  const auto pause = [&](bool paused) {
    return control()
        .set_pause({.table = table_,
                    .topic = "a.b.c.v1",
                    .paused = paused,
                    .actor = "ann",
                    .note = "upgrade"})
        .value();
  };
  EXPECT_TRUE(pause(true));
  EXPECT_FALSE(pause(true));
  EXPECT_TRUE(pause(false));
  const auto entries = log();
  EXPECT_EQ(kinds_of(entries), (std::vector{AuditKind::paused, AuditKind::resumed}));
  EXPECT_EQ(entries.at(0).event.topic, "a.b.c.v1");
  EXPECT_EQ(entries.at(0).event.actor, "ann");
  EXPECT_EQ(entries.at(0).event.detail, "upgrade");
}

TEST_P(StoreConformance, ReplayJobIsInTheAuditLogFromRequestToEnd) {
  const auto owner = own();
  const auto written = write(messages(3));
  for (const auto& row : written) end(owner, row, spi::Verdict::dead);
  const auto before = log_end();
  const auto replayer = own_replays();
  const auto job = control()
                       .create_job({.table = table_,
                                    .filter = {.topic = "orders.order.placed.v1",
                                               .code = Code::tx_handler_failed},
                                    .actor = "ann"})
                       .value();
  const auto change = [&](ReplayJob::State to, std::string error = {}) {
    (void)control()
        .change_job(
            {.table = table_, .job = job.id, .to = to, .actor = "bob", .error = std::move(error)})
        .value();
  };
  ASSERT_EQ(advance(replayer, job.id, 2).rows, 2U);
  change(ReplayJob::State::stopped);
  (void)advance(replayer, job.id);
  change(ReplayJob::State::running);
  change(ReplayJob::State::failed, "disk full");
  change(ReplayJob::State::running);
  ASSERT_EQ(advance(replayer, job.id).rows, 1U);

  const auto entries = log(before);
  ASSERT_EQ(kinds_of(entries), (std::vector{AuditKind::tx_replay_requested, AuditKind::replayed,
                                            AuditKind::replay_stopped, AuditKind::replay_resumed,
                                            AuditKind::replay_failed, AuditKind::replay_resumed,
                                            AuditKind::replayed, AuditKind::replay_finished}));
  const auto says = [&](std::size_t entry, const std::string& text) {
    return entries[entry].event.detail.find(text) != std::string::npos;
  };
  EXPECT_EQ(entries[0].event.actor, "ann");
  EXPECT_TRUE(says(0, "topic orders.order.placed.v1, code TX.HANDLER_FAILED"));
  EXPECT_TRUE(says(1, "job " + std::to_string(job.id.value)));
  EXPECT_TRUE(says(1, "2 messages"));
  EXPECT_TRUE(says(1, std::to_string(written[0].sequence.value) + " to " +
                          std::to_string(written[1].sequence.value)));
  EXPECT_EQ(entries[2].event.actor, "bob");
  EXPECT_TRUE(says(4, "disk full"));
  EXPECT_TRUE(says(7, "3 replayed"));
  AuditVerifier verifier;
  for (const auto& entry : log()) EXPECT_EQ(verifier.next(entry), "");
  EXPECT_EQ(verifier.end(audit().head().value()), "");
}

TEST_P(StoreConformance, MissingAuditHeadIsToldAndNothingIsDoneWithoutIt) {
  const auto owner = own();
  const auto row = write(message());
  end(owner, row, spi::Verdict::dead);
  if (!fixture_->remove_audit_head()) GTEST_SKIP() << "the log of this store has no head row";
  auto operator_ = Admin::open(store(), {.actor = "ann"}).value();

  const auto told = [](const Error& error) {
    EXPECT_EQ(error.code, Code::config_invalid) << error.text();
    EXPECT_FALSE(is_retry_safe(error.code));
    EXPECT_NE(error.message.find("head row of the audit log"), std::string::npos) << error.text();
    EXPECT_NE(error.message.find("sagabox audit verify"), std::string::npos) << error.text();
  };
  for (int time = 0; time < 2; ++time) {
    const auto refused = operator_.replay(table_, std::vector{row.id});
    ASSERT_FALSE(refused.ok());
    told(refused.error());
    const std::vector<AuditEvent> events(1);
    const auto appended = audit().append(events);
    ASSERT_FALSE(appended.ok());
    told(appended.error());
  }
  EXPECT_EQ(stats().dead, 1U);
  EXPECT_EQ(operator_.verify_audit().value().problems_found, 1U);
  const auto findings = store().doctor()->findings().value();
  EXPECT_TRUE(std::ranges::any_of(findings, [](const spi::Finding& finding) {
    return finding.severity == Severity::error &&
           finding.what.find("head row of the audit log is missing") != std::string::npos;
  }));
}

/// Also of a log that nothing was ever added to.
TEST_P(StoreConformance, MissingHeadOfAnEmptyAuditLogIsTold) {
  if (!fixture_->remove_audit_head()) GTEST_SKIP() << "the log of this store has no head row";
  const auto refused = audit().append(std::vector<AuditEvent>(1));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::config_invalid) << refused.error().text();
  EXPECT_TRUE(log().empty());
}

}  // namespace
}  // namespace sagabox::conformance
