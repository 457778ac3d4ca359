#include "saga/history.hpp"
#include "unit/saga/scripted_saga.hpp"

namespace sagabox::saga::testing {
namespace {

using State = SagaStepState;
using Kind = SagaCommandKind;
using Lines = std::vector<std::string>;

TEST(SagaTakeOver, WhatMayHaveStartedIsUnknownUntilItIsRunAgain) {
  ScriptedSaga trip({step_of("flight")});
  trip.start().event(TakenOver{});
  EXPECT_TRUE(trip.last().write) << "the attempt is counted before it is made";
  EXPECT_EQ(trip.called(), Lines{"flight action 2"});
  EXPECT_TRUE(trip.step("flight").doubt);
  trip.act(Kind::cancel);
  EXPECT_TRUE(trip.called().empty()) << "its call has not ended";
  trip.ends("flight", fail());
  EXPECT_EQ(trip.called(), Lines{"flight compensation 1"});
}

TEST(SagaTakeOver, ARepetitionThatWasDueMayHaveStarted) {
  ScriptedSaga trip({step_of("flight")});
  trip.start().ends("flight", retry());
  trip.now += 2s;
  trip.event(TakenOver{});
  EXPECT_TRUE(trip.step("flight").doubt);
  ScriptedSaga other({step_of("flight")});
  auto later = retry();
  later.retry_after = 1h;
  other.start().ends("flight", later);
  other.event(TakenOver{});
  EXPECT_FALSE(other.step("flight").doubt) << "nobody began it before its time";
}

TEST(SagaTakeOver, CrashesUseUpAttemptsAndHandOversDoNot) {
  ScriptedSaga trip({step_of("flight")});
  trip.start();
  for (int i = 0; i < 10; ++i) trip.event(TakenOver{.clean = true});
  EXPECT_EQ(trip.step("flight").attempts, 1U);
  for (int i = 0; i < 3; ++i) trip.event(TakenOver{});
  EXPECT_EQ(trip.state("flight"), State::unknown) << "a step that kills its process is given up";
  EXPECT_EQ(trip.saga.state, SagaState::compensating);
  trip.pass(30s);
  EXPECT_EQ(trip.called(), Lines{"flight compensation 1"});
}

TEST(SagaTakeOver, ANonIdempotentStepIsCompensatedAfterItsDeadline) {
  ScriptedSaga trip({once(step_of("charge"))});
  trip.start().event(TakenOver{});
  EXPECT_EQ(trip.state("charge"), State::unknown);
  EXPECT_TRUE(trip.called().empty()) << "the call may still be on its way";
  trip.pass(30s);
  EXPECT_EQ(trip.called(), Lines{"charge compensation 1"});
}

TEST(SagaTakeOver, CompensationsRunAgain) {
  ScriptedSaga trip({step_of("flight"), step_of("hotel")});
  trip.start().ends("flight", ok());
  trip.ends("hotel", fail());
  trip.event(TakenOver{});
  EXPECT_EQ(trip.called(), Lines{"flight compensation 2"});
  EXPECT_EQ(trip.calls.back().idempotency_key, trip.saga.id.str() + "/flight/compensation/0");
}

TEST(SagaPause, ATakeOverDoesNotTimeOutAStepWhoseTimeStandsStill) {
  auto step = step_of("flight");
  step.timeout = 10min;
  ScriptedSaga trip({step});
  trip.start();
  trip.act(Kind::pause);
  // Everything is down for an hour.
  trip.now += 1h;
  trip.event(TakenOver{});
  EXPECT_EQ(trip.state("flight"), State::retrying);
  trip.act(Kind::resume);
  EXPECT_EQ(trip.saga.state, SagaState::running);
  trip.pass(0s);
  EXPECT_EQ(trip.called(), Lines{"flight action 2"});
  EXPECT_EQ(trip.step("flight").deadline, trip.now + 10min) << "its time goes on";
}

TEST(SagaPause, ACallThatEndsWhilePausedIsTriedAgainAlsoAfterTheTimeOfItsStep) {
  auto step = step_of("flight");
  step.timeout = 10min;
  ScriptedSaga trip({step});
  trip.start();
  trip.act(Kind::pause);
  trip.now += 20min;
  trip.ends("flight", retry());
  EXPECT_EQ(trip.state("flight"), State::retrying);
  trip.act(Kind::resume);
  trip.pass(1s);
  EXPECT_EQ(trip.called(), Lines{"flight action 2"});
}

TEST(SagaCommands, ARefusedCommandIsNotAppliedWhenItComesAgain) {
  ScriptedSaga trip({step_of("flight"), wait_of("visa", SagaWait::approval)});
  trip.start();
  const auto approve = trip.made(Kind::approve, act_body(Kind::approve, {.actor = "ada"}));
  EXPECT_FALSE(trip.event(CommandArrived{approve}).result->applied);
  EXPECT_TRUE(trip.last().write) << "it is remembered";
  trip.ends("flight", ok());
  ASSERT_EQ(trip.state("visa"), State::waiting);
  EXPECT_FALSE(trip.event(CommandArrived{approve}).result) << "its result stands";
  EXPECT_EQ(trip.state("visa"), State::waiting);
  EXPECT_TRUE(trip.act(Kind::approve, {.actor = "ada"}).result->applied) << "with a new id";
  EXPECT_EQ(trip.saga.state, SagaState::completed);
}

TEST(SagaCommands, RefusedIdsAreBounded) {
  ScriptedSaga trip({step_of("flight")});
  trip.start();
  for (std::size_t i = 0; i < 2 * refused_max; ++i) trip.act(Kind::resume);
  EXPECT_EQ(trip.saga.refused.size(), refused_max);
}

TEST(SagaWaits, ACallbackCountsOnceAndWhicheverAttemptItAnswers) {
  ScriptedSaga trip({step_of("flight"), wait_of("pay", SagaWait::callback)});
  trip.start().ends("flight", accepted());
  EXPECT_EQ(trip.state("flight"), State::waiting);
  EXPECT_TRUE(trip.reply("flight", ok("1")).result->applied);
  const auto again = *trip.reply("flight", ok("2")).result;
  EXPECT_FALSE(again.applied);
  EXPECT_NE(again.reason.find("ignored"), std::string::npos);
  EXPECT_TRUE(trip.told(event::reply_ignored));
  EXPECT_EQ(trip.step("flight").output, "1");
  EXPECT_FALSE(trip.reply("pay", ok(), BarrierDirection::action, 3).result->applied)
      << "of another round";
  trip.reply("pay", ok("3"));
  EXPECT_EQ(trip.saga.state, SagaState::completed);
  EXPECT_FALSE(trip.reply("pay", ok()).result->applied);
}

/// An array in an array, and so on.
std::string nested(std::size_t levels) {
  return std::string(levels, '[') + std::string(levels, ']');
}

// What cannot be read again fails each decision of ScriptedSaga.
TEST(SagaNesting, WhatIsStoredCanBeReadAgain) {
  const auto most = nested(508);
  const auto more = nested(509);
  ScriptedSaga trip({step_of("flight"), wait_of("visa", SagaWait::signal), step_of("hotel")});
  trip.start({.input = nested(511), .key = "trip-77"});
  const auto signal = [&](const std::string& payload) {
    return *trip.tell(Kind::signal, signal_body({.name = "visa", .payload = payload})).result;
  };
  EXPECT_FALSE(signal(more).applied);
  EXPECT_TRUE(signal(most).applied);
  trip.ends("flight", ok(most));
  EXPECT_EQ(trip.state("visa"), State::succeeded);
  trip.ends("hotel", ok(more));
  EXPECT_TRUE(trip.told(event::step_unknown)) << "it had its effect";
}

TEST(SagaStart, AKeyIsAsLongAsSqlAllows) {
  ScriptedSaga trip({step_of("flight")});
  trip.start({.input = "1", .key = std::string(255, 'k')});
  EXPECT_EQ(trip.saga.state, SagaState::running);
  ScriptedSaga longer({step_of("flight")});
  longer.start({.input = "1", .key = std::string(256, 'k')});
  EXPECT_FALSE(longer.last().result->applied);
}

TEST(SagaStart, ATraceparentThatIsNoneIsLeftOut) {
  const std::string good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  for (const auto& said : {good, std::string("none"), good + "-x"}) {
    ScriptedSaga trip({step_of("flight")});
    trip.start({.input = "1", .key = "trip-77", .traceparent = said});
    EXPECT_EQ(trip.saga.state, SagaState::running);
    EXPECT_EQ(trip.saga.traceparent, said == good ? good : "") << said;
  }
}

TEST(SagaWaits, AFailureThatOvertakesItsCallLeavesTheStepInDoubt) {
  ScriptedSaga trip({step_of("flight")});
  trip.start().reply("flight", fail());
  EXPECT_EQ(trip.state("flight"), State::unknown);
  EXPECT_TRUE(trip.called().empty());
  trip.ends("flight", ok());
  EXPECT_EQ(trip.called(), Lines{"flight compensation 1"});
}

TEST(SagaWaits, ARetryReplyIsANewAttempt) {
  ScriptedSaga trip({step_of("flight")});
  trip.start().ends("flight", accepted());
  trip.reply("flight", retry());
  EXPECT_EQ(trip.state("flight"), State::retrying);
  trip.pass(1s);
  EXPECT_EQ(trip.called(), Lines{"flight action 2"});
}

TEST(SagaWaits, AnAnswerThatNeverComesIsInDoubt) {
  auto flight = step_of("flight");
  flight.timeout = 1h;
  ScriptedSaga trip({flight});
  trip.start().ends("flight", accepted());
  trip.pass(1h);
  EXPECT_EQ(trip.called(), Lines{"flight compensation 1"});
}

TEST(SagaWaits, EarlySignalsAreKept) {
  auto arrived = wait_of("arrived", SagaWait::signal);
  arrived.signal = "landing";
  ScriptedSaga trip({step_of("flight"), arrived, wait_of("left", SagaWait::signal)});
  trip.start();
  EXPECT_TRUE(trip.tell(Kind::signal, signal_body({"landing", "{\"gate\": 4}"})).result->applied);
  EXPECT_FALSE(trip.tell(Kind::signal, signal_body({"nothing", "1"})).result->applied);
  trip.ends("flight", ok());
  EXPECT_EQ(trip.step("arrived").output, "{\"gate\":4}");
  EXPECT_EQ(trip.state("left"), State::waiting);
  trip.tell(Kind::signal, signal_body({"left", ""}));
  EXPECT_EQ(trip.saga.state, SagaState::completed);
}

TEST(SagaWaits, EarlySignalsAreBounded) {
  ScriptedSaga trip({step_of("flight"), wait_of("arrived", SagaWait::signal)});
  trip.start();
  for (std::size_t i = 0; i < early_signals_max; ++i) {
    EXPECT_TRUE(trip.tell(Kind::signal, signal_body({"arrived", "1"})).result->applied);
  }
  EXPECT_FALSE(trip.tell(Kind::signal, signal_body({"arrived", "1"})).result->applied);
}

TEST(SagaWaits, APersonApprovesOrDenies) {
  auto yes = wait_of("yes", SagaWait::approval);
  yes.timeout = 1h;
  ScriptedSaga trip({step_of("flight"), yes});
  trip.start();
  EXPECT_FALSE(trip.act(Kind::approve, {.actor = "bo"}).result->applied) << "not reached";
  trip.ends("flight", ok());
  EXPECT_EQ(stored_due(trip.saga), trip.now + 1h);
  EXPECT_TRUE(trip.act(Kind::approve, {.actor = "bo", .note = "fine"}).result->applied);
  EXPECT_EQ(trip.step("yes").output, R"({"approved":true,"by":"bo","note":"fine"})");
  EXPECT_EQ(trip.last().audit.at(0).kind, AuditKind::saga_approved);
  EXPECT_EQ(trip.last().audit.at(0).actor, "bo");

  ScriptedSaga other({step_of("flight"), yes});
  other.start().ends("flight", ok());
  other.act(Kind::approve, {.actor = "bo", .approved = false});
  EXPECT_EQ(other.called(), Lines{"flight compensation 1"});

  ScriptedSaga late({step_of("flight"), yes});
  late.start().ends("flight", ok());
  late.pass(1h);
  EXPECT_EQ(late.state("yes"), State::failed) << "waiting had no effect";
  EXPECT_EQ(late.called(), Lines{"flight compensation 1"});
}

TEST(SagaWaits, ATimerRunsOut) {
  ScriptedSaga trip({wait_of("pause", SagaWait::timer), step_of("flight")});
  trip.start();
  EXPECT_EQ(stored_due(trip.saga), trip.now + 10min);
  trip.pass(9min);
  EXPECT_FALSE(trip.last().changed);
  trip.pass(1min);
  EXPECT_EQ(trip.called(), Lines{"flight action 1"});
}

TEST(SagaPause, NothingStartsResultsAreRecordedAndTheTimeoutStandsStill) {
  SagaDefinition saga{
      .name = "travel", .timeout = 1h, .steps = {step_of("flight"), step_of("hotel")}};
  ScriptedSaga trip(saga);
  trip.start();
  trip.now += 10min;
  EXPECT_TRUE(trip.act(Kind::pause, {.actor = "bo"}).result->applied);
  EXPECT_FALSE(trip.act(Kind::pause).result->applied);
  trip.ends("flight", ok("5"));
  EXPECT_EQ(trip.step("flight").output, "5");
  EXPECT_TRUE(trip.called().empty());
  trip.pass(5h);
  EXPECT_EQ(trip.saga.state, SagaState::paused);
  EXPECT_EQ(next_time(trip.saga), std::nullopt);
  trip.act(Kind::resume);
  EXPECT_EQ(trip.called(), Lines{"hotel action 1"});
  EXPECT_EQ(trip.saga.deadline, trip.now + 50min);
}

TEST(SagaPause, AFailureWaitsForTheResume) {
  ScriptedSaga trip({step_of("flight"), step_of("hotel")});
  trip.start().ends("flight", ok());
  trip.act(Kind::pause);
  trip.ends("hotel", fail());
  EXPECT_EQ(trip.saga.state, SagaState::paused);
  trip.act(Kind::resume);
  EXPECT_EQ(trip.called(), Lines{"flight compensation 1"});
}

TEST(SagaPause, ATakeOverStartsNothing) {
  ScriptedSaga trip({step_of("flight")});
  trip.start();
  trip.act(Kind::pause);
  trip.event(TakenOver{});
  EXPECT_TRUE(trip.called().empty());
  EXPECT_EQ(trip.state("flight"), State::retrying);
  trip.act(Kind::resume);
  trip.pass(0s);
  EXPECT_EQ(trip.called(), Lines{"flight action 2"});
}

TEST(SagaCancel, CompensatesAndRefusesWhatComesAfterTheEnd) {
  ScriptedSaga trip({step_of("flight"), step_of("hotel")});
  trip.start().ends("flight", ok());
  EXPECT_TRUE(trip.act(Kind::cancel, {.actor = "bo"}).result->applied);
  EXPECT_EQ(trip.saga.undo, UndoReason::cancelled);
  EXPECT_TRUE(trip.called().empty()) << "the hotel is being booked";
  EXPECT_FALSE(trip.act(Kind::cancel).result->applied);
  trip.ends("hotel", ok());
  EXPECT_EQ(trip.called(), Lines{"hotel compensation 1"}) << "no new step runs";
  trip.ends("hotel", ok());
  trip.ends("flight", ok());
  EXPECT_EQ(trip.saga.state, SagaState::cancelled);
  const auto version = trip.saga.version;
  for (const auto kind : {Kind::cancel, Kind::compensate, Kind::pause, Kind::replay, Kind::approve,
                          Kind::resume, Kind::quarantine}) {
    EXPECT_FALSE(trip.act(kind).result->applied) << saga_command_name(kind);
  }
  EXPECT_EQ(trip.saga.version, version);
}

TEST(SagaCancel, OfACompletedSagaIsRefused) {
  ScriptedSaga trip({step_of("flight")});
  trip.start().ends("flight", ok());
  const auto result = *trip.act(Kind::cancel).result;
  EXPECT_FALSE(result.applied);
  EXPECT_NE(result.reason.find("completed"), std::string::npos) << result.reason;
}

TEST(SagaCommands, TheSameIdIsAppliedOnce) {
  ScriptedSaga trip({step_of("flight")});
  trip.start();
  const auto pause = trip.made(Kind::pause, "");
  EXPECT_TRUE(trip.event(CommandArrived{pause}).result->applied);
  trip.act(Kind::resume);
  EXPECT_FALSE(trip.event(CommandArrived{pause}).result);
  EXPECT_FALSE(trip.last().changed);
  EXPECT_EQ(trip.saga.state, SagaState::running);
}

TEST(SagaCommands, OfAnotherTenantAreRefused) {
  ScriptedSaga trip({step_of("flight")});
  trip.start();
  auto cancel = trip.made(Kind::cancel, "");
  cancel.tenant = "other";
  EXPECT_FALSE(trip.event(CommandArrived{cancel}).result->applied);
  EXPECT_EQ(trip.saga.state, SagaState::running);
}

TEST(SagaCommands, ARepeatedStartIsTheFirstOneAndOtherInputAMismatch) {
  ScriptedSaga trip({step_of("flight")});
  trip.start();
  EXPECT_TRUE(trip.tell(Kind::start, R"({"input": {"customer": "ann"}, "key": "trip-77"})")
                  .result->applied);
  EXPECT_FALSE(trip.last().changed);
  const auto other = *trip.tell(Kind::start, R"({"input":{"customer":"bo"}})").result;
  EXPECT_FALSE(other.applied);
  EXPECT_TRUE(other.reason.starts_with("TX.IDEMPOTENT_MISMATCH")) << other.reason;
}

TEST(SagaCommands, AreRefusedWithTheReason) {
  ScriptedSaga trip({step_of("flight")});
  trip.start();
  EXPECT_EQ(trip.tell(Kind::pause, "{\"actr\":\"bo\"}").result->reason,
            "SCHEMA.VALIDATION_FAILED: pause: unknown member \"actr\"");
  EXPECT_FALSE(trip.tell(Kind::reply, "{\"step\":\"flight\"}").result->applied);
  EXPECT_FALSE(trip.tell(Kind::signal, "[]").result->applied);
  EXPECT_FALSE(trip.tell(Kind::set_step, "{\"step\":\"flight\"}").result->applied);
  EXPECT_EQ(trip.saga.version, 1U) << "nothing of it has to be remembered";
  EXPECT_FALSE(trip.reply("nowhere", ok()).result->applied);
}

TEST(SagaCommands, AStartIsCheckedAsAWhole) {
  ScriptedSaga trip(SagaDefinition{.name = "travel",
                                   .isolate = "${input.customer}",
                                   .labels = {{"who", "customer ${input.customer}"}},
                                   .steps = {step_of("flight")}});
  trip.start({.input = "{}"});
  EXPECT_FALSE(trip.last().result->applied);
  EXPECT_FALSE(trip.last().write);
  trip.start({.input = "{\"customer\":\"ann\"}", .labels = {{"order", "77"}}});
  EXPECT_EQ(trip.saga.isolate, "ann");
  EXPECT_EQ(trip.saga.labels, (std::vector<SagaLabel>{{"order", "77"}, {"who", "customer ann"}}));
}

TEST(SagaByHand, ASetStepIsAuditedAndRaisesTheRound) {
  ScriptedSaga trip({once(step_of("charge"), SagaInDoubt::wait), step_of("hotel")});
  trip.start();
  EXPECT_FALSE(
      trip.act(Kind::set_step, {.step = "charge", .state = State::pending}).result->applied)
      << "its call is under way";
  trip.ends("charge", in_doubt());
  const auto before = trip.call_of("charge")->idempotency_key;
  EXPECT_TRUE(trip.act(Kind::set_step, {.actor = "bo", .step = "charge", .state = State::pending})
                  .result->applied);
  EXPECT_EQ(trip.last().audit.at(0).kind, AuditKind::saga_step_set);
  EXPECT_EQ(trip.called(), Lines{"charge action 1"});
  EXPECT_EQ(trip.step("charge").round, 1U);
  EXPECT_NE(trip.call_of("charge")->idempotency_key, before);
  trip.event(CallEnded{trip.calls[0].key, ok("\"late\"")});
  EXPECT_EQ(trip.state("charge"), State::running) << "an answer of the round before";
  trip.ends("charge", ok());
  EXPECT_FALSE(
      trip.act(Kind::set_step, {.step = "charge", .state = State::pending}).result->applied)
      << "a later step has started";
}

TEST(SagaByHand, AStepSetToSucceededGoesOn) {
  ScriptedSaga trip({once(step_of("charge"), SagaInDoubt::wait), step_of("hotel")});
  trip.start().ends("charge", in_doubt());
  trip.act(Kind::set_step, {.step = "charge", .state = State::succeeded, .output = "{\"id\":9}"});
  EXPECT_EQ(trip.called(), Lines{"hotel action 1"});
  EXPECT_EQ(trip.step("charge").output, "{\"id\":9}");
}

TEST(SagaByHand, DeadSagasAreQuarantinedAndReleased) {
  ScriptedSaga trip({pivot_of("charge"), last("ticket")});
  trip.start().ends("charge", ok());
  trip.ends("ticket", fail());
  ASSERT_EQ(trip.saga.state, SagaState::failed);
  EXPECT_TRUE(trip.act(Kind::quarantine, {.actor = "bo"}).result->applied);
  EXPECT_FALSE(trip.act(Kind::replay).result->applied);
  EXPECT_TRUE(trip.act(Kind::release).result->applied);
  EXPECT_TRUE(trip.act(Kind::replay).result->applied);
}

}  // namespace
}  // namespace sagabox::saga::testing
