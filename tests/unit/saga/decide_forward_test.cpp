#include "unit/saga/scripted_saga.hpp"

namespace sagabox::saga::testing {
namespace {

using State = SagaStepState;
using Lines = std::vector<std::string>;

TEST(SagaForward, StepsRunInOrderEachDurableBeforeTheNext) {
  ScriptedSaga trip({step_of("flight"), step_of("hotel")});
  trip.start();
  EXPECT_TRUE(trip.last().write);
  EXPECT_TRUE(trip.last().result->applied);
  EXPECT_EQ(trip.called(), Lines{"flight action 1"});
  EXPECT_EQ(trip.calls[0].input, "{\"customer\":\"ann\"}");
  EXPECT_EQ(trip.calls[0].idempotency_key, trip.saga.id.str() + "/flight/action/0");
  EXPECT_EQ(trip.calls[0].deadline, trip.now + 30s);

  trip.ends("flight", ok("{\"id\":1}"));
  EXPECT_TRUE(trip.last().write);
  EXPECT_EQ(trip.called(), Lines{"hotel action 1"});
  trip.ends("hotel", ok());
  EXPECT_EQ(trip.saga.state, SagaState::completed);
  EXPECT_EQ(trip.step("flight").output, "{\"id\":1}");
  EXPECT_EQ(trip.saga.ended_at, trip.now);
  EXPECT_EQ(stored_due(trip.saga), std::nullopt);
}

TEST(SagaForward, StepsOfATagStartTogetherAndTheNextWaitsForAll) {
  ScriptedSaga trip(
      {tagged(step_of("flight"), "b"), tagged(step_of("hotel"), "b"), step_of("car")});
  trip.start();
  EXPECT_EQ(trip.called(), (Lines{"flight action 1", "hotel action 1"}));
  trip.ends("hotel", ok());
  EXPECT_TRUE(trip.called().empty());
  trip.ends("flight", ok());
  EXPECT_EQ(trip.called(), Lines{"car action 1"});
}

TEST(SagaForward, RetryIsRepeatedUntilAttemptsAreUsedUp) {
  ScriptedSaga trip({step_of("flight")});
  trip.start().ends("flight", retry());
  EXPECT_EQ(trip.state("flight"), State::retrying);
  EXPECT_EQ(next_time(trip.saga), trip.now + 1s);
  EXPECT_EQ(stored_due(trip.saga), trip.now + 1s);
  trip.pass(500ms);
  EXPECT_TRUE(trip.called().empty());
  trip.pass(500ms);
  EXPECT_EQ(trip.called(), Lines{"flight action 2"});
  EXPECT_FALSE(trip.last().write) << "the stored state allows the repetition of an idempotent step";
  EXPECT_EQ(trip.calls[1].idempotency_key, trip.calls[0].idempotency_key);
  trip.ends("flight", retry());
  trip.pass(1s);
  trip.ends("flight", retry());
  EXPECT_EQ(trip.state("flight"), State::failed) << "no attempt is in doubt";
  EXPECT_EQ(trip.saga.state, SagaState::cancelled);
}

TEST(SagaForward, AParticipantMayAskForItsOwnDelay) {
  ScriptedSaga trip({step_of("flight")});
  auto later = retry();
  later.retry_after = 7min;
  trip.start().ends("flight", later);
  EXPECT_EQ(next_time(trip.saga), trip.now + 7min);
}

TEST(SagaForward, ANonIdempotentStepWritesItsMarkBeforeEachCall) {
  ScriptedSaga trip({once(step_of("charge"))});
  trip.start();
  EXPECT_TRUE(trip.last().write);
  EXPECT_TRUE(trip.saga.steps[0].in_flight);
  trip.ends("charge", retry());
  trip.pass(1s);
  EXPECT_EQ(trip.called(), Lines{"charge action 2"});
  EXPECT_TRUE(trip.last().write);
}

TEST(SagaForward, UnreachableSpendsNoAttempt) {
  ScriptedSaga trip({step_of("flight")});
  trip.start();
  for (int i = 0; i < 20; ++i) {
    trip.ends("flight", unreachable());
    EXPECT_EQ(trip.step("flight").attempts, 0U);
    trip.pass(1s);
    EXPECT_EQ(trip.called(), Lines{"flight action 1"});
  }
  EXPECT_FALSE(trip.step("flight").doubt);
}

TEST(SagaForward, TimeoutOfACallIsInDoubtAndRepeated) {
  ScriptedSaga trip({step_of("flight")});
  trip.start().pass(30s);
  ASSERT_EQ(trip.last().abandoned.size(), 1U);
  EXPECT_EQ(trip.last().abandoned[0], trip.calls[0].key);
  EXPECT_TRUE(trip.step("flight").doubt);
  EXPECT_EQ(trip.state("flight"), State::retrying);
  EXPECT_EQ(trip.step("flight").code, Code::tx_timeout);
}

TEST(SagaForward, ALateSuccessCountsWhicheverAttemptItAnswers) {
  ScriptedSaga trip({step_of("flight"), step_of("hotel")});
  trip.start().pass(30s);
  const auto first = trip.calls[0].key;
  trip.pass(1s);
  EXPECT_EQ(trip.called(), Lines{"flight action 2"});
  trip.event(CallEnded{first, ok("1")});
  EXPECT_EQ(trip.state("flight"), State::succeeded);
  EXPECT_EQ(trip.last().abandoned.at(0), trip.calls[1].key);
  EXPECT_EQ(trip.called(), Lines{"hotel action 1"});
  trip.event(CallEnded{trip.calls[1].key, ok("2")});
  EXPECT_EQ(trip.step("flight").output, "1") << "counted once";
}

TEST(SagaForward, AStepPastItsTimeoutIsCompensatedIfInDoubt) {
  auto flight = step_of("flight");
  flight.timeout = 20s;
  flight.retry.attempts_max = 100;
  ScriptedSaga trip({flight});
  trip.start();
  EXPECT_EQ(trip.calls[0].deadline, trip.now + 20s);
  trip.ends("flight", in_doubt());
  for (int i = 0; i < 30 && trip.saga.state == SagaState::running; ++i) {
    trip.pass(1s);
    if (!trip.last().calls.empty()) trip.ends("flight", retry());
  }
  EXPECT_EQ(trip.saga.state, SagaState::compensating);
  EXPECT_EQ(trip.state("flight"), State::undoing);
}

TEST(SagaForward, OutputsAreBoundedAndTheirStepIsUndone) {
  ScriptedSaga trip({step_of("flight")});
  trip.start().ends("flight", ok("\"" + std::string(output_bytes_max, 'x') + "\""));
  EXPECT_EQ(trip.state("flight"), State::undoing) << "it had its effect";
  ScriptedSaga other({step_of("flight")});
  other.start().ends("flight", ok("{no json"));
  EXPECT_EQ(other.state("flight"), State::undoing);
}

TEST(SagaForward, OutputsOfEarlierStepsStandInLaterInputs) {
  auto hotel = step_of("hotel");
  hotel.input = R"({"flight":"${steps.flight.output.id}","who":"for ${input.customer}"})";
  ScriptedSaga trip({step_of("flight"), hotel});
  trip.start().ends("flight", ok(R"({"id":1.50})"));
  EXPECT_EQ(trip.calls.back().input, R"({"flight":1.50,"who":"for ann"})");
}

TEST(SagaForward, AnInputThatCannotBeMadeFailsTheStep) {
  auto hotel = step_of("hotel");
  hotel.input = R"({"flight":"${steps.flight.output.id}"})";
  ScriptedSaga trip({step_of("flight"), hotel});
  trip.start().ends("flight", ok("{}"));
  EXPECT_EQ(trip.state("hotel"), State::failed);
  EXPECT_EQ(trip.state("flight"), State::undoing);
}

TEST(SagaForward, AnOutboxStepIsDoneWithTheWriteThatEmitsIt) {
  auto ticket = last("ticket");
  ticket.action = "outbox:travel.ticket.issue.v1";
  ScriptedSaga trip({ticket});
  trip.start();
  ASSERT_EQ(trip.emissions.size(), 1U);
  EXPECT_EQ(trip.emissions[0].call.target.name, "travel.ticket.issue.v1");
  EXPECT_EQ(trip.emissions[0].call.target.table, "default");
  EXPECT_FALSE(trip.emissions[0].wants_reply);
  EXPECT_TRUE(trip.last().write);
  EXPECT_EQ(trip.saga.state, SagaState::completed);
}

TEST(SagaForward, AnOutboxStepMayWaitForAReplyAndIsEmittedAgain) {
  auto ticket = last("ticket");
  ticket.action = "outbox:travel.ticket.issue.v1";
  ticket.wait = SagaWait::callback;
  ticket.attempt_timeout = 1min;
  ScriptedSaga trip({ticket});
  trip.start();
  EXPECT_TRUE(trip.emissions.at(0).wants_reply);
  trip.pass(1min);
  trip.pass(1s);
  ASSERT_EQ(trip.emissions.size(), 2U);
  EXPECT_EQ(trip.emissions[1].call.attempt, 2U);
  EXPECT_EQ(trip.emissions[1].call.idempotency_key, trip.emissions[0].call.idempotency_key);
  trip.reply("ticket", ok());
  EXPECT_EQ(trip.saga.state, SagaState::completed);
}

TEST(SagaForward, AStepThatIsRunningIsDueAtOnceInTheStore) {
  ScriptedSaga trip({step_of("flight")});
  trip.start();
  EXPECT_EQ(next_time(trip.saga), trip.now + 30s);
  EXPECT_EQ(stored_due(trip.saga), trip.now);
  EXPECT_TRUE(has_calls(trip.saga));
}

}  // namespace
}  // namespace sagabox::saga::testing
