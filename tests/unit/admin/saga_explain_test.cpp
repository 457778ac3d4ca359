#include "admin/saga_explain.hpp"

#include "support/noon.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace sagabox::admin {
namespace {

using namespace std::chrono_literals;

using testing::noon;

/// A saga whose shard has an owner; each test adds what holds it up.
class ExplainSaga : public ::testing::Test {
 protected:
  ExplainSaga() {
    facts_.view = {.id = SagaId::parse("s1").value(),
                   .tenant = "default",
                   .definition = "travel",
                   .definition_version = 3,
                   .started_at = noon - 3min,
                   .seen_at = noon};
    facts_.owners = spi::Census{
        .live = {owner_}, .shards = {{.owner = owner_, .epoch = Epoch{42}, .lease_left = 11s}}};
  }
  SagaStepView& step(SagaStepState state) {
    auto& step = facts_.view.steps.emplace_back();
    step.name = "charge";
    step.state = state;
    step.attempts_max = 8;
    return step;
  }
  [[nodiscard]] std::string first() const { return explain(facts_).reasons.front().text; }
  [[nodiscard]] SagaWhy why() const { return explain(facts_).reasons.front().why; }

  const WorkerId owner_ = WorkerId::parse("relay-b").value();
  SagaFacts facts_;
};

TEST_F(ExplainSaga, ReadsLikeASentence) {
  auto& approve = step(SagaStepState::waiting);
  approve.name = "approve";
  approve.wait = SagaWait::approval;
  approve.started_at = noon - 4min;
  approve.deadline = noon + 56min;
  EXPECT_EQ(explain(facts_).text(),
            "travel v3 is running, started 3m00s ago\n"
            "waits for: approval of step approve, since 4m00s, for 56m00s more at most\n"
            "owner:     relay-b, lease 11s left, epoch 42\n"
            "next:      sagabox saga approve s1 or deny");
}

TEST_F(ExplainSaga, RetryNamesAttemptTimeAndError) {
  auto& charge = step(SagaStepState::retrying);
  charge.attempts = 2;
  charge.due = noon + 4s;
  charge.code = Code::provider_unavailable;
  charge.error = "503 from pay";
  EXPECT_EQ(why(), SagaWhy::retry_due);
  EXPECT_EQ(first(),
            "step charge in retry, attempt 3 of 8, next in 4s, last error: PROVIDER.UNAVAILABLE "
            "503 from pay");
  charge.state = SagaStepState::undo_retrying;
  EXPECT_EQ(first().substr(0, 50), "the compensation of step charge in retry, attempt ");
}

TEST_F(ExplainSaga, ACallThatIsOverALimitNamesTheLimitAndItsTurn) {
  auto& charge = step(SagaStepState::retrying);
  charge.due = noon + 4s;
  charge.code = Code::server_busy;
  charge.error = "held by the rate of tenant acme";
  EXPECT_EQ(why(), SagaWhy::over_limit);
  EXPECT_EQ(first(),
            "the turn of step charge, held by the rate of tenant acme, next in 4s; no attempt is "
            "spent");
}

TEST_F(ExplainSaga, WaitsNameWhatTheyWaitFor) {
  auto& charge = step(SagaStepState::waiting);
  charge.wait = SagaWait::signal;
  charge.waits_for = "paid";
  EXPECT_EQ(first(), "signal paid for step charge");
  charge.wait = SagaWait::callback;
  charge.started_at = noon - 2s;
  EXPECT_EQ(first(), "the reply to step charge, since 2s");
  charge.wait = SagaWait::timer;
  charge.due = noon + 90s;
  EXPECT_EQ(first(), "the timer of step charge, due in 1m30s");
  charge.state = SagaStepState::held;
  charge.error = "the connection was lost";
  EXPECT_EQ(why(), SagaWhy::held);
  EXPECT_EQ(explain(facts_).next, "sagabox saga set-step s1 charge succeeded|failed");
}

TEST_F(ExplainSaga, NobodyKnowsTheDefinition) {
  facts_.owners = spi::Census{};
  facts_.view.definition_stored = false;
  const auto answer = explain(facts_);
  EXPECT_EQ(answer.reasons.at(0).why, SagaWhy::definition_gone);
  EXPECT_EQ(answer.reasons.at(1).text, "a process: definition travel is known to no live process");
  EXPECT_EQ(answer.owner, "nobody");
  EXPECT_EQ(answer.next, "start a process that registers travel v3");
}

TEST_F(ExplainSaga, AnExpiredLeaseIsNoOwner) {
  facts_.owners->shards.front().lease_left = Duration::zero();
  EXPECT_EQ(why(), SagaWhy::no_owner);
  EXPECT_EQ(explain(facts_).owner, "relay-b, lease has run out, epoch 42");
}

TEST_F(ExplainSaga, CommandsThatNobodyTook) {
  facts_.commands = {{.kind = SagaCommandKind::cancel, .written_at = noon - 5s}, {}};
  EXPECT_EQ(first(), "its owner, who has not taken the command cancel of 5s ago and 1 more");
}

TEST_F(ExplainSaga, PausedDeadAndEndedSayWhatToDo) {
  facts_.view.state = SagaState::paused;
  facts_.view.paused_at = noon - 10s;
  EXPECT_EQ(first(), "it to be resumed, paused 10s ago");
  EXPECT_EQ(explain(facts_).next, "sagabox saga resume s1");

  facts_.view.state = SagaState::failed;
  facts_.view.quarantined = true;
  auto& hotel = step(SagaStepState::undo_failed);
  hotel.code = Code::provider_rejected;
  hotel.error = "409";
  const auto dead = explain(facts_);
  EXPECT_EQ(dead.reasons.at(0).why, SagaWhy::quarantined);
  EXPECT_EQ(dead.reasons.at(1).text,
            "the compensation of step charge cannot succeed: PROVIDER.REJECTED 409");
  EXPECT_EQ(dead.owner, "") << "it has none to wait for";

  facts_.view.quarantined = false;
  facts_.view.state = SagaState::completed;
  EXPECT_EQ(why(), SagaWhy::ended);
  EXPECT_EQ(explain(facts_).next, "");
}

TEST_F(ExplainSaga, NothingHoldsIt) {
  EXPECT_EQ(why(), SagaWhy::with_owner);
  for (std::size_t one = 0; one < saga_why_count; ++one) {
    const auto known = static_cast<SagaWhy>(one);
    EXPECT_EQ(saga_why_from_name(saga_why_name(known)), known);
  }
  EXPECT_FALSE(saga_why_from_name("unheard_of"));
}

}  // namespace
}  // namespace sagabox::admin
