#include "unit/saga/scripted_saga.hpp"

namespace sagabox::saga::testing {
namespace {

using State = SagaStepState;
using Lines = std::vector<std::string>;

TEST(SagaUndo, CompletedStepsAreUndoneInReverse) {
  ScriptedSaga trip({step_of("flight"), step_of("hotel"), step_of("car")});
  trip.start();
  trip.ends("flight", ok("{\"id\":7}"));
  trip.ends("hotel", ok());
  trip.ends("car", fail());
  EXPECT_EQ(trip.saga.state, SagaState::compensating);
  EXPECT_EQ(trip.saga.undo, UndoReason::failure);
  EXPECT_EQ(trip.state("car"), State::failed) << "it had no effect";
  EXPECT_EQ(trip.called(), Lines{"hotel compensation 1"});
  trip.ends("hotel", ok());
  EXPECT_EQ(trip.called(), Lines{"flight compensation 1"});
  EXPECT_EQ(trip.calls.back().input, R"({"input":{"customer":"ann"},"output":{"id":7}})");
  trip.ends("flight", ok());
  EXPECT_EQ(trip.saga.state, SagaState::cancelled);
}

TEST(SagaUndo, AfterAFailureNothingNewStartsAndSiblingsEndFirst) {
  ScriptedSaga trip({step_of("car"), tagged(step_of("flight"), "b"), tagged(step_of("hotel"), "b"),
                     tagged(step_of("train"), "b")});
  trip.start().ends("car", ok());
  trip.ends("train", ok());
  trip.ends("hotel", fail());
  EXPECT_EQ(trip.called(), Lines{"train compensation 1"}) << "its own call has ended";
  EXPECT_EQ(trip.state("flight"), State::running);
  trip.ends("train", ok());
  EXPECT_TRUE(trip.called().empty()) << "the group before waits for the whole group";
  trip.ends("flight", retry());
  EXPECT_EQ(trip.state("flight"), State::failed) << "it is not repeated";
  EXPECT_EQ(trip.called(), Lines{"car compensation 1"});
}

TEST(SagaUndo, ASiblingsDeadlineEndsItsCall) {
  ScriptedSaga trip({tagged(step_of("flight"), "b"), tagged(step_of("hotel"), "b")});
  trip.start().ends("hotel", fail());
  trip.pass(29s);
  EXPECT_TRUE(trip.called().empty());
  trip.pass(1s);
  EXPECT_EQ(trip.called(), Lines{"flight compensation 1"}) << "unknown, so it is compensated";
}

TEST(SagaUndo, ASiblingThatWasAcceptedIsUnknown) {
  ScriptedSaga trip({tagged(step_of("flight"), "b"), tagged(step_of("hotel"), "b")});
  trip.start().ends("hotel", fail());
  trip.ends("flight", accepted());
  EXPECT_EQ(trip.called(), Lines{"flight compensation 1"});
}

TEST(SagaUndo, AnAttemptInDoubtMakesAFailedStepUnknown) {
  ScriptedSaga trip({step_of("flight")});
  trip.start().ends("flight", in_doubt());
  trip.pass(1s);
  trip.ends("flight", fail());
  EXPECT_EQ(trip.called(), Lines{"flight compensation 1"});
  EXPECT_EQ(trip.calls.back().input, R"({"input":{"customer":"ann"},"output":null})");
}

TEST(SagaUndo, ARefusalOfWhatWasSentTwiceIsUndoneAtOnce) {
  ScriptedSaga trip({step_of("flight")});
  auto refusal = fail();
  refusal.doubt = true;
  trip.start().ends("flight", refusal);
  EXPECT_EQ(trip.called(), Lines{"flight compensation 1"});

  ScriptedSaga again({step_of("flight")});
  auto later = retry();
  later.doubt = true;
  again.start().ends("flight", later);
  again.pass(1s);
  again.ends("flight", fail());
  EXPECT_EQ(again.called(), Lines{"flight compensation 1"}) << "the doubt is kept";
}

TEST(SagaUndo, ANonIdempotentStepInDoubtIsNeverRunAgain) {
  ScriptedSaga trip({once(step_of("charge"))});
  trip.start().ends("charge", in_doubt());
  EXPECT_EQ(trip.called(), Lines{"charge compensation 1"});

  ScriptedSaga held({once(step_of("charge"), SagaInDoubt::wait)});
  held.start().ends("charge", in_doubt());
  EXPECT_EQ(held.state("charge"), State::held);
  EXPECT_TRUE(waits_for_person(held.saga));
  EXPECT_EQ(held.saga.state, SagaState::running);
  EXPECT_FALSE(held.act(SagaCommandKind::replay).result->applied) << "it must not run twice";
  EXPECT_TRUE(held.act(SagaCommandKind::compensate).result->applied);
  EXPECT_EQ(held.called(), Lines{"charge compensation 1"});
}

TEST(SagaUndo, CompensationNoneIsSkippedOrWaitsForAPerson) {
  ScriptedSaga trip({last("mail"), step_of("hotel")});
  trip.start().ends("mail", ok());
  trip.ends("hotel", fail());
  EXPECT_EQ(trip.state("mail"), State::skipped);
  EXPECT_EQ(trip.saga.state, SagaState::cancelled);

  auto mail = last("mail");
  mail.no_compensation = SagaNoCompensation::wait;
  ScriptedSaga asks({mail, step_of("hotel")});
  asks.start().ends("mail", ok());
  asks.ends("hotel", fail());
  EXPECT_EQ(asks.state("mail"), State::undo_held);
  asks.act(SagaCommandKind::set_step, {.actor = "bo", .step = "mail", .state = State::undone});
  EXPECT_EQ(asks.saga.state, SagaState::cancelled);
}

TEST(SagaUndo, ACompensationThatCannotSucceedWaitsOrIsDead) {
  ScriptedSaga trip({step_of("flight"), step_of("hotel")});
  trip.start().ends("flight", ok());
  trip.ends("hotel", fail());
  trip.ends("flight", retry());
  EXPECT_EQ(trip.state("flight"), State::undo_retrying);
  trip.pass(1s);
  trip.ends("flight", in_doubt());
  trip.pass(1s);
  trip.ends("flight", retry());
  EXPECT_EQ(trip.state("flight"), State::undo_held);
  EXPECT_EQ(trip.saga.state, SagaState::compensating);

  SagaDefinition dead{
      .name = "travel",
      .on_stuck = SagaOnStuck::dead,
      .steps = {tagged(step_of("flight"), "b"), tagged(step_of("car"), "b"), step_of("hotel")}};
  ScriptedSaga other(dead);
  other.start().ends("flight", ok("{}"));
  other.ends("car", ok("{}"));
  other.ends("hotel", fail());
  other.ends("flight", fail());
  EXPECT_EQ(other.saga.state, SagaState::compensating) << "the sibling ends first";
  other.ends("car", ok());
  EXPECT_EQ(other.saga.state, SagaState::failed);
  ASSERT_EQ(other.last().audit.size(), 1U);
  EXPECT_EQ(other.last().audit[0].kind, AuditKind::tx_saga_failed);

  const auto before = *other.call_of("flight");
  EXPECT_TRUE(other.act(SagaCommandKind::replay, {.actor = "bo"}).result->applied);
  EXPECT_EQ(other.called(), Lines{"flight compensation 1"});
  const auto& again = other.calls.back();
  EXPECT_NE(again.idempotency_key, before.idempotency_key);
  EXPECT_GT(again.round, before.round);
  EXPECT_EQ(again.barrier_round, before.barrier_round) << "the same action is undone";
  other.ends("flight", ok());
  EXPECT_EQ(other.saga.state, SagaState::cancelled);
}

TEST(SagaUndo, UnreachableCompensationsSpendNoAttempt) {
  ScriptedSaga trip({step_of("flight"), step_of("hotel")});
  trip.start().ends("flight", ok());
  trip.ends("hotel", fail());
  for (int i = 0; i < 10; ++i) {
    trip.ends("flight", unreachable());
    EXPECT_EQ(trip.state("flight"), State::undo_retrying);
    trip.pass(1s);
  }
  EXPECT_EQ(trip.step("flight").attempts, 1U);
}

TEST(SagaUndo, AReplyMayEndACompensation) {
  ScriptedSaga trip({step_of("flight"), step_of("hotel")});
  trip.start().ends("flight", ok());
  trip.ends("hotel", fail());
  trip.ends("flight", accepted());
  EXPECT_EQ(trip.state("flight"), State::undo_waiting);
  EXPECT_FALSE(trip.reply("flight", ok()).result->applied) << "the action waits for none";
  trip.reply("flight", ok(), BarrierDirection::compensation);
  EXPECT_EQ(trip.saga.state, SagaState::cancelled);
}

TEST(SagaUndo, AnUnknownStepIsUndoneWithoutItsOutput) {
  auto flight = step_of("flight");
  flight.compensation_input = R"({"id":"${steps.flight.output.id}"})";
  flight.retry.attempts_max = 1;
  ScriptedSaga trip({flight});
  trip.start().ends("flight", in_doubt());
  EXPECT_EQ(trip.calls.back().input, R"({"id":null})");
}

TEST(SagaUndo, TheSagasTimeoutTurnsItBack) {
  ScriptedSaga trip(
      SagaDefinition{.name = "travel",
                     .timeout = 1h,
                     .steps = {step_of("flight"), wait_of("yes", SagaWait::approval)}});
  trip.start().ends("flight", ok());
  EXPECT_EQ(stored_due(trip.saga), trip.now + 1h);
  trip.pass(1h);
  EXPECT_EQ(trip.saga.undo, UndoReason::timeout);
  EXPECT_EQ(trip.called(), Lines{"flight compensation 1"});

  ScriptedSaga quick(SagaDefinition{
      .name = "travel", .timeout = 1h, .steps = {wait_of("yes", SagaWait::approval)}});
  quick.start({.input = "null", .timeout = 1min});
  quick.pass(1min);
  EXPECT_EQ(quick.saga.state, SagaState::cancelled) << "a start may give its own timeout";
}

TEST(SagaPivot, FailsWithoutEffectAndIsCompensatedBefore) {
  ScriptedSaga trip({step_of("flight"), pivot_of("charge")});
  trip.start().ends("flight", ok());
  trip.ends("charge", fail());
  EXPECT_EQ(trip.called(), Lines{"flight compensation 1"});
}

TEST(SagaPivot, InDoubtItIsRepeatedThenWaitsForAPerson) {
  SagaDefinition saga{.name = "travel",
                      .timeout = 40s,
                      .steps = {step_of("flight"), pivot_of("charge"), last("ticket")}};
  ScriptedSaga trip(saga);
  trip.start().ends("flight", ok());
  trip.ends("charge", in_doubt());
  trip.pass(1s);
  EXPECT_EQ(trip.called(), Lines{"charge action 2"});
  EXPECT_FALSE(trip.act(SagaCommandKind::cancel).result->applied);
  trip.ends("charge", in_doubt());
  trip.pass(1s);
  trip.ends("charge", fail());
  EXPECT_EQ(trip.state("charge"), State::held);
  trip.pass(1h);
  EXPECT_EQ(trip.saga.state, SagaState::running) << "its outcome decides, not the timeout";
  EXPECT_FALSE(trip.act(SagaCommandKind::compensate).result->applied);

  const auto round = trip.step("charge").round;
  EXPECT_TRUE(trip.act(SagaCommandKind::replay).result->applied);
  EXPECT_EQ(trip.called(), Lines{"charge action 1"});
  EXPECT_EQ(trip.step("charge").round, round) << "the same execution, until its end is known";
  trip.ends("charge", ok());
  EXPECT_EQ(trip.called(), Lines{"ticket action 1"}) << "past the pivot the timeout is over";
}

TEST(SagaPivot, ThatIsKnownNotToHaveHappenedAfterTheTimeoutIsTheEnd) {
  SagaDefinition saga{
      .name = "travel", .timeout = 10s, .steps = {step_of("flight"), pivot_of("charge")}};
  ScriptedSaga trip(saga);
  trip.start().ends("flight", ok());
  trip.pass(10s);
  EXPECT_EQ(trip.saga.state, SagaState::running);
  trip.ends("charge", retry());
  EXPECT_EQ(trip.saga.state, SagaState::compensating) << "it is not repeated after the timeout";
}

TEST(SagaPivot, PastItNothingIsCompensated) {
  ScriptedSaga trip({step_of("flight"), pivot_of("charge"), tagged(last("ticket"), "t"),
                     tagged(last("mail"), "t")});
  trip.start().ends("flight", ok());
  trip.ends("charge", ok());
  EXPECT_FALSE(trip.act(SagaCommandKind::cancel).result->applied);
  EXPECT_FALSE(trip.act(SagaCommandKind::compensate).result->applied);
  trip.ends("ticket", fail());
  EXPECT_EQ(trip.saga.state, SagaState::running) << "the sibling ends first";
  trip.ends("mail", ok());
  EXPECT_EQ(trip.saga.state, SagaState::failed);
  EXPECT_EQ(trip.state("flight"), State::succeeded);
  EXPECT_FALSE(trip.act(SagaCommandKind::replay, {.into_compensation = true}).result->applied);

  const auto before = trip.call_of("ticket")->idempotency_key;
  EXPECT_TRUE(trip.act(SagaCommandKind::replay).result->applied);
  EXPECT_EQ(trip.called(), Lines{"ticket action 1"}) << "only what failed";
  EXPECT_NE(trip.call_of("ticket")->idempotency_key, before);
  EXPECT_EQ(trip.step("ticket").round, 1U);
  trip.ends("ticket", ok());
  EXPECT_EQ(trip.saga.state, SagaState::completed);
}

}  // namespace
}  // namespace sagabox::saga::testing
