#include "integration/admin/world.hpp"

namespace sagabox::integration {
namespace {

using Ids = std::vector<MessageId>;

TEST_F(AdminTest, ABoundOperatorSeesOnlyItsTenant) {
  const auto ours = dead("ours", {.tenant = "acme"});
  const auto theirs = dead("theirs", {.tenant = "other"});
  const Admin bound = admin("acme");
  const auto page = bound.list(orders_, {}).value();
  ASSERT_EQ(page.rows.size(), 1U);
  EXPECT_EQ(page.rows[0].id, ours);
  EXPECT_EQ(bound.count(orders_, MessageState::dead, {}).value(), 1U);
  EXPECT_EQ(bound.inspect(orders_, theirs).value(), std::nullopt);
  EXPECT_EQ(bound.inspect(orders_, theirs, Admin::PayloadToo::yes).value(), std::nullopt);
  EXPECT_EQ(bound.explain(orders_, theirs).value().reasons.at(0).why, Why::not_found);
  EXPECT_EQ(bound.explain(orders_, theirs).value().text(),
            "theirs is not in orders\n"
            "because:   there is no pending, dead or quarantined message of this id; done ones are "
            "kept only for the retention\n"
            "next:      check the id, the table and the tenant");
  EXPECT_EQ(bound.preview_replay(orders_, {}).value().matched, 1U);
  EXPECT_EQ(why_not(bound.list(orders_, {.filter = {.tenant = "other"}})),
            "AUTH.DENIED: filter tenant: \"ann\" is bound to tenant \"acme\" and sees no other; "
            "leave it out");
  EXPECT_EQ(why_not(bound.list(orders_, {.filter = {.tenant = "acme"}})), "accepted");
}

TEST_F(AdminTest, ABoundOperatorMovesOnlyItsTenantsMessages) {
  const Ids ids{dead("ours", {.tenant = "acme"}), dead("theirs", {.tenant = "other"})};
  Admin bound = admin("acme");
  for (const auto act : {0, 1, 2}) {
    const auto moved = act == 0   ? bound.quarantine(orders_, ids, "why").value()
                       : act == 1 ? bound.release(orders_, ids).value()
                                  : bound.replay(orders_, ids).value();
    EXPECT_EQ(moved[1].was, std::nullopt);
    EXPECT_EQ(moved[1].text, "is not there");
    EXPECT_EQ(state(ids[1]), MessageState::dead);
  }
  EXPECT_EQ(state(ids[0]), MessageState::pending);
}

TEST_F(AdminTest, ABoundOperatorsReplayJobsAreItsTenants) {
  dead("ours", {.tenant = "acme"});
  dead("theirs", {.tenant = "other"});
  Admin bound = admin("acme");
  Admin everybody = admin();
  const auto all = everybody.start_replay(orders_, {}).value();
  EXPECT_EQ(all.matched, 2U);
  const auto job = bound.start_replay(orders_, {}).value();
  EXPECT_EQ(job.matched, 1U);
  EXPECT_EQ(job.filter.tenant, "acme");
  EXPECT_EQ(bound.jobs(orders_).value(), std::vector{job});
  EXPECT_EQ(why_not(bound.stop_replay(orders_, all.id)),
            "REQUEST.NOT_FOUND: replay job 1 is not there; the latest of table \"orders\" "
            "is 2");
  EXPECT_EQ(everybody.job(orders_, all.id).value().state, ReplayJob::State::running);
  EXPECT_EQ(why_not(bound.stop_replay(orders_, job.id)), "accepted");
}

TEST_F(AdminTest, ABoundOperatorDoesNothingThatTouchesOthers) {
  done("theirs", {.tenant = "other"});
  Admin bound = admin("acme");
  const std::string denied =
      " concerns all tenants, and \"ann\" is bound to tenant \"acme\"; ask an operator who is "
      "bound to none";
  EXPECT_EQ(why_not(bound.stats(orders_)), "AUTH.DENIED: the statistics of a table" + denied);
  EXPECT_EQ(why_not(bound.strays(orders_)), "AUTH.DENIED: a look for strays" + denied);
  EXPECT_EQ(why_not(bound.pause_table(orders_)), "AUTH.DENIED: a pause" + denied);
  EXPECT_EQ(why_not(bound.pause_topic(orders_, "t")), "AUTH.DENIED: a pause" + denied);
  EXPECT_EQ(why_not(bound.resume_table(orders_)), "AUTH.DENIED: the end of a pause" + denied);
  EXPECT_EQ(why_not(bound.resume_topic(orders_, "t")), "AUTH.DENIED: the end of a pause" + denied);
  EXPECT_EQ(why_not(bound.purge(orders_, {})), "AUTH.DENIED: a purge" + denied);
  EXPECT_EQ(why_not(bound.purge(orders_, {.dry_run = true})), "AUTH.DENIED: a purge" + denied);
  EXPECT_EQ(admin().count(orders_, MessageState::done, {}).value(), 1U);
}

TEST_F(AdminTest, IdThatSeveralTenantsHaveIsNeverGuessed) {
  const Ids ids{dead("o-7", {.tenant = "acme"})};
  write({.id = "o-7", .tenant = "other"});
  Admin ann = admin();
  const std::string several =
      "exists for several tenants (\"acme\", \"other\"); say which with --tenant, or with tenant= "
      "in a request";
  EXPECT_EQ(why_not(ann.inspect(orders_, ids[0])), "REQUEST.INVALID: id \"o-7\" " + several);
  EXPECT_EQ(why_not(ann.explain(orders_, ids[0])), "REQUEST.INVALID: id \"o-7\" " + several);
  EXPECT_EQ(ann.inspect(orders_, ids[0], Admin::PayloadToo::no, "acme").value()->state,
            MessageState::dead);
  EXPECT_EQ(ann.explain(orders_, ids[0], "acme").value().reasons.at(0).why, Why::dead);

  const auto unclear = ann.replay(orders_, ids).value().at(0);
  EXPECT_TRUE(unclear.unclear);
  EXPECT_FALSE(unclear.moved);
  EXPECT_EQ(unclear.text, several);
  EXPECT_TRUE(ann.replay(orders_, ids, "acme").value().at(0).moved);
}

TEST_F(AdminTest, ABoundOperatorLearnsOfNoOtherTenantThatHasTheId) {
  const Ids ids{dead("o-7", {.tenant = "acme"})};
  write({.id = "o-7", .tenant = "other"});
  Admin bound = admin("acme");
  EXPECT_EQ(bound.inspect(orders_, ids[0]).value()->tenant, "acme");
  EXPECT_EQ(why_not(bound.inspect(orders_, ids[0], Admin::PayloadToo::no, "other")),
            "AUTH.DENIED: tenant: \"ann\" is bound to tenant \"acme\" and sees no other; leave it "
            "out");
  EXPECT_EQ(why_not(bound.replay(orders_, ids, "other")),
            "AUTH.DENIED: tenant: \"ann\" is bound to tenant \"acme\" and sees no other; leave it "
            "out");
  const auto moved = bound.replay(orders_, ids).value().at(0);
  EXPECT_TRUE(moved.moved);
  EXPECT_FALSE(moved.unclear);
}

TEST_F(AdminTest, KeyOfAnotherTenantHoldsUpNothing) {
  settle(write({.id = "theirs", .key = "18", .tenant = "other"}), spi::Verdict::retry);
  write({.id = "ours", .key = "18", .tenant = "acme"});
  const auto page = admin().blocked_keys(orders_).value();
  ASSERT_EQ(page.keys.size(), 1U);
  EXPECT_EQ(page.keys[0].head.tenant, "other");
  EXPECT_EQ(page.keys[0].behind, 0U);
  EXPECT_EQ(admin().explain(orders_, id_of("ours")).value().reasons.at(0).why, Why::with_owner);
}

TEST_F(AdminTest, ABoundOperatorCountsOnlyItsTenantsKeys) {
  settle(write({.id = "theirs", .key = "17", .tenant = "other"}), spi::Verdict::retry);
  settle(write({.id = "ours", .key = "18", .tenant = "acme"}), spi::Verdict::retry);
  write({.key = "18", .tenant = "acme"});
  write({.key = "18", .tenant = "other"});
  const auto page = admin("acme").blocked_keys(orders_).value();
  ASSERT_EQ(page.keys.size(), 1U);
  EXPECT_EQ(page.keys[0].key, "18");
  EXPECT_EQ(page.keys[0].behind, 1U);
}

TEST_F(AdminTest, ABoundOperatorExportsOnlyItsTenantsEntries) {
  dead("ours", {.tenant = "acme"});
  dead("theirs", {.tenant = "other"});
  admin().pause_table(orders_).value();
  std::vector<std::string> lines;
  EXPECT_EQ(admin("acme")
                .export_audit([&](std::string_view line) {
                  lines.emplace_back(line);
                  return true;
                })
                .value(),
            1U);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(audit_from_json(lines[0]).value().event.message_id, "ours");
  EXPECT_TRUE(admin("acme").verify_audit().value().problems.empty());
}

}  // namespace
}  // namespace sagabox::integration
