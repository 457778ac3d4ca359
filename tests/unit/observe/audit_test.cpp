#include <sagabox/audit.hpp>
#include <sagabox/testing/recording.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace sagabox {
namespace {

TEST(AuditName, IsThatOfTheSources) {
  EXPECT_EQ(audit_name(AuditKind::tx_outbox_enqueued), "TxOutboxEnqueued");
  EXPECT_EQ(audit_name(AuditKind::tx_outbox_dispatched), "TxOutboxDispatched");
  EXPECT_EQ(audit_name(AuditKind::tx_outbox_failed), "TxOutboxFailed");
  EXPECT_EQ(audit_name(AuditKind::retry), "Retry");
  EXPECT_EQ(audit_name(AuditKind::backoff), "Backoff");
  EXPECT_EQ(audit_name(AuditKind::dead_letter), "DeadLetter");
  EXPECT_EQ(audit_name(AuditKind::tx_replay_requested), "TxReplayRequested");
}

TEST(AuditName, OperatorActsHaveOurs) {
  EXPECT_EQ(audit_name(AuditKind::replayed), "Replayed");
  EXPECT_EQ(audit_name(AuditKind::replay_stopped), "ReplayStopped");
  EXPECT_EQ(audit_name(AuditKind::replay_resumed), "ReplayResumed");
  EXPECT_EQ(audit_name(AuditKind::replay_failed), "ReplayFailed");
  EXPECT_EQ(audit_name(AuditKind::replay_finished), "ReplayFinished");
  EXPECT_EQ(audit_name(AuditKind::quarantined), "Quarantined");
  EXPECT_EQ(audit_name(AuditKind::released), "Released");
  EXPECT_EQ(audit_name(AuditKind::paused), "Paused");
  EXPECT_EQ(audit_name(AuditKind::resumed), "Resumed");
  EXPECT_EQ(audit_name(AuditKind::purged), "Purged");
}

TEST(AuditName, LeadsBackToItsKind) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < audit_kind_count; ++i) {
    const auto kind = static_cast<AuditKind>(i);
    names.insert(audit_name(kind));
    EXPECT_EQ(audit_from_name(audit_name(kind)), kind);
  }
  EXPECT_EQ(names.size(), audit_kind_count);
  EXPECT_EQ(audit_from_name("Unknown"), std::nullopt);
  EXPECT_EQ(audit_from_name(""), std::nullopt);
}

TEST(NoAudit, WantsNothing) {
  EXPECT_FALSE(no_audit().wants(AuditKind::dead_letter));
  no_audit().record({});
}

TEST(RecordingAudit, KeepsEvents) {
  testing::RecordingAudit audit;
  EXPECT_TRUE(audit.wants(AuditKind::retry));
  audit.record({.kind = AuditKind::dead_letter, .table = "orders"});
  audit.record({.kind = AuditKind::retry});
  ASSERT_EQ(audit.events().size(), 2U);
  EXPECT_EQ(audit.events()[0].table, "orders");
  EXPECT_EQ(audit.count(AuditKind::dead_letter), 1U);
  EXPECT_EQ(audit.count(AuditKind::backoff), 0U);
}

}  // namespace
}  // namespace sagabox
