#include <sagabox/audit.hpp>
#include <sagabox/testing/recording.hpp>

#include <gtest/gtest.h>

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
