#include "observe/audit_events.hpp"

#include <gtest/gtest.h>

namespace sagabox {
namespace {

TEST(FilterText, SaysEverythingThatIsAsked) {
  EXPECT_EQ(filter_text({}), "all");
  const WallTime noon{std::chrono::seconds(1'767'268'800)};
  EXPECT_EQ(filter_text({.tenant = "acme",
                         .topic = "a.b.c.v1",
                         .aggregate_type = "order",
                         .key = "o-7",
                         .code = Code::tx_timeout,
                         .from = noon,
                         .until = noon + std::chrono::hours(1),
                         .first = Sequence{5},
                         .last = Sequence{90},
                         .retrying = true}),
            "tenant acme, topic a.b.c.v1, aggregate type order, key \"o-7\", code TX.TIMEOUT, from "
            "2026-01-01T12:00:00.000Z, until 2026-01-01T13:00:00.000Z, sequences from 5 up to 90, "
            "waiting for another attempt");
  EXPECT_EQ(filter_text({.last = Sequence{9}}), "sequences up to 9");
}

TEST(AuditEvents, DetailIsCutAndKeepsNoSecret) {
  const auto table = TableName::parse("orders").value();
  const auto id = MessageId::parse("m-1").value();
  const auto event = dead_letter_event({.table = table, .id = id, .attempts = 3}, Code::tx_timeout,
                                       "password=hunter2 " + std::string(5'000, 'x'), {});
  EXPECT_LE(event.detail.size(), audit_detail_bytes_max);
  EXPECT_EQ(event.detail.find("hunter2"), std::string::npos);
  EXPECT_EQ(event.tenant, "") << "it cannot be decoded";
  EXPECT_EQ(event.message_id, "m-1");
  EXPECT_EQ(event.attempt, 3U);
}

TEST(AuditEvents, JobSaysItsRateAndProgress) {
  ReplayJob job;
  job.id = ReplayJobId{7};
  job.table = "orders";
  job.matched = 12;
  job.replayed = 5;
  job.rate_max = 100;
  job.error = "disk full";
  EXPECT_EQ(job_event(AuditKind::tx_replay_requested, job, "ann", {}).detail,
            "job 7: dead messages, all; 12 match, at most 100 a second");
  EXPECT_EQ(job_event(AuditKind::replay_failed, job, "ann", {}).detail,
            "job 7: 5 replayed of 12 that matched; disk full");
  EXPECT_EQ(batch_event(job, 3, Sequence{4}, Sequence{9}, {}).detail,
            "job 7: 3 messages, sequences 4 to 9");
}

}  // namespace
}  // namespace sagabox
