#include "conformance/saga/saga_conformance.hpp"

#include <algorithm>
#include <array>

namespace sagabox::conformance {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using State = SagaState;
using Ids = std::vector<std::string>;

TEST_P(SagaConformance, SagasAreListedByEveryFilter) {
  const auto owner = own_sagas();
  const auto at = now();
  auto a = fresh("a"), b = fresh("b"), c = fresh("c"), d = fresh("d");
  a.labels = {{"city", "Oslo"}, {"order", "77"}};
  a.started_at = at - hours(3);
  b.tenant = "umbrella";
  b.state = State::compensating;
  b.labels = {{"order", "78"}};
  b.started_at = at - hours(2);
  c.state = State::failed;
  c.ended_at = at;
  c.quarantined = true;
  c.key = "trip-77";
  c.id = saga_id_of("acme", travel, "trip-77");
  c.started_at = at - hours(1);
  d.labels = {{"order", "77"}};
  store_all(owner, {a, b, c, d});
  const auto refunds = own_sagas("refund");
  auto e = fresh("e");
  e.definition = "refund";
  EXPECT_TRUE(try_write(refunds, {.writes = {{.record = e}}}, "refund").value().written());

  const auto keyed = c.id.str();
  EXPECT_EQ(listed({}), (Ids{"a", "b", "d", "e", keyed}));
  EXPECT_EQ(listed({.tenant = "umbrella"}), Ids{"b"});
  EXPECT_EQ(listed({.definition = "refund"}), Ids{"e"});
  EXPECT_EQ(listed({.state = State::failed}), Ids{keyed});
  EXPECT_EQ(listed({.state = State::running}), (Ids{"a", "d", "e"}));
  EXPECT_EQ(listed({.quarantined = true}), Ids{keyed});
  EXPECT_EQ(listed({.quarantined = false}), (Ids{"a", "b", "d", "e"}));
  EXPECT_EQ(listed({.label = SagaLabel{"order", "77"}}), (Ids{"a", "d"}));
  EXPECT_EQ(listed({.label = SagaLabel{"order", "7"}}), Ids{});
  EXPECT_EQ(listed({.label = SagaLabel{"city", "77"}}), Ids{});
  EXPECT_EQ(listed({.key = "trip-77"}), Ids{keyed});
  EXPECT_EQ(listed({.tenant = "acme", .definition = "travel", .key = "trip-77"}), Ids{keyed});
  EXPECT_EQ(listed({.tenant = "umbrella", .definition = "travel", .key = "trip-77"}), Ids{});
  EXPECT_EQ(listed({.key = "trip-7"}), Ids{});
  EXPECT_EQ(listed({.started_to = at - hours(1)}), (Ids{"a", "b"}));
  EXPECT_EQ(listed({.started_from = at - hours(2), .started_to = at}), (Ids{"b", keyed}));
  EXPECT_EQ(listed({.tenant = "acme",
                    .definition = "travel",
                    .state = State::running,
                    .quarantined = false,
                    .label = SagaLabel{"order", "77"},
                    .started_from = at - hours(3),
                    .started_to = at - hours(1)}),
            Ids{"a"});
}

TEST_P(SagaConformance, SagasAreListedInPages) {
  const auto owner = own_sagas();
  auto labelled = fresh("b");
  labelled.labels = {{"order", "77"}, {"zone", "1"}};
  store_all(owner, {fresh("a"), labelled, fresh("c")});
  const auto page = saga_admin().list({.rows_max = 2}).value();
  ASSERT_EQ(page.size(), 2U);
  EXPECT_EQ(page[1].id.view(), "b");
  EXPECT_EQ(page[1].labels, labelled.labels);
  EXPECT_EQ(page[1].body, labelled.body);
  const auto rest =
      saga_admin().list({.after = page[1].id, .rows_max = 2, .bodies = false}).value();
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(rest[0].id.view(), "c");
  EXPECT_EQ(rest[0].body, "");
}

TEST_P(SagaConformance, SagasAreCountedByDefinitionAndState) {
  const auto owner = own_sagas();
  const auto at = now();
  auto a = fresh("a"), b = fresh("b"), c = fresh("c");
  a.started_at = at - hours(3);
  b.tenant = "umbrella";
  b.started_at = at - hours(5);
  c.state = State::completed;
  c.ended_at = at;
  store_all(owner, {a, b, c});
  const auto counts = saga_admin().count(std::nullopt).value();
  ASSERT_EQ(counts.size(), 2U);
  EXPECT_EQ(counts[0].definition, travel);
  EXPECT_EQ(counts[0].state, State::running);
  EXPECT_EQ(counts[0].sagas, 2U);
  EXPECT_EQ(counts[0].oldest, b.started_at);
  EXPECT_EQ(counts[1].state, State::completed);
  EXPECT_EQ(counts[1].sagas, 1U);
  const auto of_one = saga_admin().count("acme").value();
  ASSERT_EQ(of_one.size(), 2U);
  EXPECT_EQ(of_one[0].sagas, 1U);
  EXPECT_EQ(of_one[0].oldest, a.started_at);
  EXPECT_TRUE(saga_admin().count("nobody").value().empty());
}

TEST_P(SagaConformance, BacklogIsWhatIsActiveOrDeadOfADefinition) {
  EXPECT_EQ(saga_admin().backlog(travel)->running, 0U);
  EXPECT_FALSE(saga_admin().backlog(travel)->oldest);
  const auto owner = own_sagas();
  const auto at = now();
  for (const auto& [id, state, age] : std::vector<std::tuple<std::string, State, Duration>>{
           {"one", State::running, hours(2)},
           {"two", State::running, hours(1)},
           {"back", State::compensating, hours(3)},
           {"idle", State::paused, hours(1)},
           {"done", State::completed, hours(9)},
           {"gone", State::cancelled, hours(9)},
           {"dead", State::failed, hours(9)},
           {"aside", State::failed, hours(9)}}) {
    auto record = fresh(id);
    record.state = state;
    record.quarantined = id == "aside";
    record.started_at = at - std::chrono::floor<WallTime::duration>(age);
    if (has_ended(state)) record.ended_at = at;
    if (id == "two") record.due = at - minutes(5);
    if (id == "one") record.due = at + minutes(5);
    store(owner, record);
  }
  const auto backlog = saga_admin().backlog(travel).value();
  EXPECT_EQ(backlog.running, 2U);
  EXPECT_EQ(backlog.compensating, 1U);
  EXPECT_EQ(backlog.paused, 1U);
  EXPECT_EQ(backlog.dead, 1U) << "without the one that is quarantined";
  EXPECT_EQ(backlog.oldest, at - hours(3));
  EXPECT_EQ(backlog.overdue_since, at - minutes(5));
  EXPECT_GE(backlog.now, at);
  EXPECT_EQ(saga_admin().backlog("refund")->running, 0U);
}

TEST_P(SagaConformance, BacklogCountsWhatWaitsForAPerson) {
  const auto owner = own_sagas();
  auto held = fresh("held"), stuck = fresh("stuck"), asked = fresh("asked"), dead = fresh("dead");
  held.person = SagaPersonWait::decision;
  stuck.state = State::compensating;
  stuck.person = SagaPersonWait::decision;
  asked.person = SagaPersonWait::approval;
  dead.state = State::failed;
  dead.ended_at = dead.changed_at;
  store_all(owner, {held, stuck, asked, dead, fresh("runs")});
  EXPECT_EQ(saga_admin().get(asked.id).value()->person, SagaPersonWait::approval);
  auto backlog = saga_admin().backlog(travel).value();
  EXPECT_EQ(backlog.wait_for_decision, 2U);
  EXPECT_EQ(backlog.wait_for_approval, 1U);
  EXPECT_EQ(backlog.dead, 1U);
  auto decided = next(held);
  decided.person = SagaPersonWait::none;
  store(owner, decided);
  backlog = saga_admin().backlog(travel).value();
  EXPECT_EQ(backlog.wait_for_decision, 1U);
  EXPECT_EQ(saga_admin().backlog("refund")->wait_for_decision, 0U);
}

TEST_P(SagaConformance, ActiveSagasWithoutADueTimeAreListed) {
  const auto owner = own_sagas();
  std::vector<SagaRecord> records;
  for (const auto* id : {"compensates", "ended", "is-due", "paused", "runs-1", "runs-2"}) {
    records.push_back(fresh(id));
  }
  records[0].state = State::compensating;
  records[1].state = State::completed;
  records[1].ended_at = now();
  records[2].due = now();
  records[3].state = State::paused;
  store_all(owner, records);
  const auto page = [&](std::string_view definition, const SagaId& after, std::uint32_t rows_max) {
    std::vector<std::string> ids;
    for (const auto& record : saga_admin().without_due(definition, after, rows_max).value()) {
      EXPECT_EQ(record.body, records[0].body);
      ids.push_back(record.id.str());
    }
    return ids;
  };
  EXPECT_EQ(page(travel, {}, 2), (std::vector<std::string>{"compensates", "runs-1"}));
  EXPECT_EQ(page(travel, saga_id("runs-1"), 2), std::vector<std::string>{"runs-2"});
  EXPECT_TRUE(page("refund", {}, 2).empty());
}

TEST_P(SagaConformance, WhatIsCalledIsOverdueOnceItsCallsAreOver) {
  const auto owner = own_sagas();
  const auto at = now();
  auto called = fresh("called");
  called.due = at - hours(2);
  called.overdue_from = at + hours(1);
  store(owner, called);
  EXPECT_EQ(saga_admin().get(called.id).value()->overdue_from, called.overdue_from);
  EXPECT_EQ(saga_admin().backlog(travel)->overdue_since, std::nullopt);
  auto late = fresh("late");
  late.due = at - hours(1);
  late.overdue_from = at - minutes(7);
  store(owner, late);
  EXPECT_EQ(saga_admin().backlog(travel)->overdue_since, late.overdue_from);
  auto soon = fresh("soon");
  soon.due = at + hours(1);
  store(owner, soon);
  EXPECT_EQ(saga_admin().backlog(travel)->overdue_since, late.overdue_from);
}

TEST_P(SagaConformance, PurgeRemovesOldSagasThatEndedWell) {
  const auto owner = own_sagas();
  const auto at = now();
  std::vector<SagaRecord> records;
  for (const auto& [id, state, age] :
       std::vector<std::tuple<std::string, State, Duration>>{{"oldest", State::completed, hours(9)},
                                                             {"old", State::cancelled, hours(8)},
                                                             {"recent", State::completed, hours(1)},
                                                             {"dead", State::failed, hours(9)},
                                                             {"active", State::running, {}}}) {
    auto& record = records.emplace_back(fresh(id));
    record.state = state;
    record.started_at = at - hours(10);
    record.labels = {{"order", id}};
    if (has_ended(state)) record.ended_at = at - std::chrono::floor<WallTime::duration>(age);
  }
  Batch batch;
  for (const auto& record : records) {
    batch.writes.push_back({.record = record, .history = {entry(1, at)}});
    batch.results.push_back({ids_.next<CommandId>(), record.id, true, "", at - hours(9)});
  }
  const SagaCommandResult orphan{ids_.next<CommandId>(), saga_id("never"), false, "unknown",
                                 at - hours(9)};
  const SagaCommandResult recent_orphan{ids_.next<CommandId>(), saga_id("never"), false, "unknown",
                                        at};
  batch.results.push_back(orphan);
  batch.results.push_back(recent_orphan);
  EXPECT_TRUE(write_batch(owner, batch).written());

  EXPECT_EQ(saga_admin().purge("refund", hours(7), 100).value(), 0U);
  EXPECT_EQ(saga_admin().purge(travel, hours(7), 1).value(), 1U);
  EXPECT_EQ(listed({}), (Ids{"active", "dead", "old", "recent"}));
  EXPECT_EQ(saga_admin().purge(travel, hours(7), 100).value(), 1U);
  EXPECT_EQ(saga_admin().purge(travel, hours(7), 100).value(), 0U);
  EXPECT_EQ(listed({}), (Ids{"active", "dead", "recent"}));
  EXPECT_TRUE(history("old").empty());
  EXPECT_EQ(history("recent").size(), 1U);
  EXPECT_TRUE(listed({.label = SagaLabel{"order", "old"}}).empty());
  std::vector<CommandId> asked;
  for (const auto& result : batch.results) asked.push_back(result.id);
  std::vector<std::string> kept;
  for (const auto& result : sagas().results(asked).value()) kept.push_back(result.saga.str());
  std::ranges::sort(kept);
  EXPECT_EQ(kept, (Ids{"active", "dead", "never", "recent"}));
  fixture_->advance_time(hours(7));
  EXPECT_EQ(saga_admin().purge(travel, hours(7), 100).value(), 1U);
  EXPECT_EQ(listed({}), (Ids{"active", "dead"}));
}

TEST_P(SagaConformance, PurgedSagaMayBeStartedAgain) {
  const auto owner = own_sagas();
  auto record = fresh("s1");
  record.state = State::completed;
  record.ended_at = now() - hours(9);
  EXPECT_TRUE(
      write_batch(owner, {.writes = {{.record = record, .history = {entry(1, now())}}}}).written());
  EXPECT_EQ(saga_admin().purge(travel, hours(7), 100).value(), 1U);
  auto again = fresh("s1");
  again.labels = {{"order", "again"}};
  store(owner, again);
  EXPECT_EQ(get("s1")->labels, again.labels);
  EXPECT_TRUE(history("s1").empty());
}

}  // namespace
}  // namespace sagabox::conformance
